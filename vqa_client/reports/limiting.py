"""The bottleneck of one start in sentences, for the page and for the end of a run in a terminal."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from vqa_client.reports.bottleneck import (
    CPU_FULL,
    LEAST_S,
    AutoWorkers,
    ServerFigures,
    Start,
    WorkerStates,
    grown_latency,
    grown_memory,
    limit_of,
    read_start,
    worker_states,
)
from vqa_client.reports.names import count

OTHERS = 2.0
"""At least this many requests at the server beyond this run's are other clients'; fewer are errors of sampling."""
SHOWN = 0.05
"""Fewer workers round to 0.0."""
_STATES = {
    "preparing": "waiting for images",
    "repeating": "waiting to repeat a request",
    "paused": "in a pause",
    "sending": "sending",
    "server": "waiting for the server",
    "preprocessing": "in the server's preprocessing",
    "waiting": "in its queue",
    "running": "running there",
    "idle": "without a question",
}


def limits_of(session: Mapping[str, Any]) -> list[str]:
    """The bottleneck of a start, and whether its server became slower or memory grew; only what its figures show."""
    start = read_start(session)
    return [
        *(_bottleneck(start) if start is not None and start.answered else []),
        *([_auto_workers(start.auto_workers)] if start is not None and start.auto_workers is not None else []),
        *_first_token(session),
        *(grown_latency(session) if "auto_workers" not in session else []),  # more workers each wait longer
        *grown_memory(session),
    ]


def _bottleneck(start: Start) -> Iterator[str]:
    if (limit := limit_of(start)) is not None:
        evidence, way_out = WORDS[limit]
        helps = way_out if isinstance(way_out, str) else way_out(start)
        yield f"bottleneck: {limit} ({evidence(start, worker_states(start))}). {helps}."


def _first_token(session: Mapping[str, Any]) -> Iterator[str]:
    if first := session.get("ttft_s"):
        speeds = session.get("reply_tokens_per_s")
        speed = f", then {speeds['median']:,.1f} tokens/s in the median reply" if speeds else ""
        yield f"time to the first token: {first['median']:.3g} s (median), {first['p95']:.3g} s (95 % within){speed}."


def _auto_workers(auto: AutoWorkers) -> str:
    return (
        f"--max_workers auto: {count(auto.last, 'worker')} at the end, {auto.most:,} at most: {WHY_NOT_MORE[auto.why]}."
    )


WHY_NOT_MORE = {
    "": "the questions ended before there were too many",
    "refused": "the server refused some of more (429 or 503), or was late with them",
    "queue": "more waited in the server's queue",
    "latency": "with more each took longer, and no more were answered in a second",
    "most": "auto tries no more",
}


def states_of(session: Mapping[str, Any]) -> Iterator[str]:
    """What the workers waited for on average, if the start was long enough to know, and each server's own figures."""
    start = read_start(session)
    if start is None:
        return
    if start.client.watched_s >= LEAST_S:
        yield f"of {count(start.workers.most, 'worker')}, on average: {_worker_counts(worker_states(start))}."
    for server in start.server_metrics:
        if figures := ", ".join(_server_figures(server)):
            yield f"the server at {server.address}: {figures}."


def _worker_counts(states: WorkerStates) -> str:
    numbers = {_STATES[name]: float(getattr(states, name)) for name in WorkerStates.__struct_fields__}
    return ", ".join(f"{numbers[words]:.1f} {words}" for words in _STATES.values() if numbers[words] >= SHOWN)


def _server_figures(server: ServerFigures) -> Iterator[str]:
    rates = {"prefix cache": server.prefix_hit_rate, "image cache": server.mm_hit_rate, "KV cache": server.kv_use_max}
    for name, rate in rates.items():
        if rate is not None:
            yield f"{name} up to {100 * rate:.0f} % full" if name == "KV cache" else f"{name} {100 * rate:.0f} % hits"
    if server.generation_tokens_s is not None:
        yield f"{server.generation_tokens_s:,.0f} tokens generated per second"
    if server.preemptions:
        yield f"{count(server.preemptions, 'request')} preempted"


def _event_loop(start: Start, states: WorkerStates) -> str:
    client = start.client
    used = f"{100 * client.loop_cpu:.0f} % of a core (the whole client {100 * client.cpu:.0f} %)"
    if client.loop_cpu >= CPU_FULL:
        return f"its event loop used {used}"
    return f"its event loop came {1000 * client.loop_late_s:.0f} ms late on average and used but {used}"


def _uploads(start: Start, states: WorkerStates) -> str:
    pace = f", {start.sent_bytes / start.wall_s / 1e6:,.1f} MB/s" if start.wall_s else ""
    return f"{states.sending:.1f} of {start.workers.most:,} requests were still on their way{pace}"


def _at_server(start: Start, states: WorkerStates) -> str:
    """The server's own figures, which include other clients' requests."""
    running, waiting = start.of_servers("running"), start.of_servers("waiting")
    most_kv = max((server.kv_use_max for server in start.server_metrics if server.kv_use_max is not None), default=None)
    others, preempted = running + waiting - start.workers.at_server, int(start.of_servers("preemptions"))
    parts = [
        f"the server ran {running:.1f} requests and had {waiting:.1f} waiting, at {start.workers.most:,} workers",
        f"its KV cache was up to {100 * most_kv:.0f} % full" if most_kv is not None else "",
        f"{preempted:,} requests were preempted" if preempted else "",
        f"some {others:.0f} requests were others'" if others >= OTHERS else "",
    ]
    return ", ".join(filter(None, parts))


def _more_servers(start: Start) -> str:
    if start.kv_full:
        return "More GPU memory for its cache, another server (--endpoint) or shorter replies; more workers won't help"
    return "Another server (--endpoint), or a larger --max-num-seqs if the GPU has room; more workers won't help"


def _more_workers(start: Start) -> str:
    return (
        "Raise --max_workers" if start.auto_workers is None else "With more questions, auto finds out how many it takes"
    )


WORDS: Mapping[str, tuple[Callable[[Start, WorkerStates], str], str | Callable[[Start], str]]] = {
    "client CPU": (
        _event_loop,
        lambda start: (
            "--processes N asks on N cores; encoding images again (--image_format, --max_pixels) takes the most"
            if start.client.loop_cpu >= CPU_FULL
            else "Other work on this machine leaves it too little; fewer workers or another machine help"
        ),
    ),
    "preparing images": (
        lambda start, states: f"{states.preparing:.1f} of {start.workers.most:,} workers waited for their images",
        "Images that need no encoding, made beforehand, or more cores help",
    ),
    "repeats": (
        lambda start, states: (
            f"{start.requests - start.questions:,} requests were repeats after failures; {states.repeating:.1f} of "
            f"{start.workers.most:,} workers waited to repeat one, on average"
        ),
        "The server's log may say why; fewer --max_workers may help, and a lower --max_retries gives up sooner",
    ),
    "timeouts": (
        lambda start, states: f"{start.timeouts:,} of {start.questions:,} questions timed out",
        "Lower --max_workers or raise --timeout: the server is slower than its questions wait",
    ),
    "rate limit": (
        lambda start, states: (
            f"{states.paused:.1f} of {start.workers.most:,} workers waited for a rate limit or in a pause"
        ),
        lambda start: (
            "A higher limit helps"
            + ("; with fewer --max_workers fewer requests are refused" if start.requests > start.questions else "")
        ),
    ),
    "upload": (
        _uploads,
        "Send less (--image_uuid auto or --file_urls with vLLM, --max_pixels, --image_format webp), or from nearer",
    ),
    "server preprocessing": (
        lambda start, states: (
            f"{states.preprocessing:.1f} of {start.workers.most:,} requests were in image preprocessing at the server, "
            f"{states.running:.1f} running, {states.waiting:.1f} queued"
        ),
        "Images are prepared on the processor: send smaller ones; vLLM has --api-server-count and --image_uuid",
    ),
    "upload or server": (
        lambda start, states: (
            f"{states.preprocessing:.1f} of {start.workers.most:,} requests were on their way, or had "
            "come to the server and were neither running nor waiting"
        ),
        "Smaller images help either way; vLLM has --api-server-count",
    ),
    "GPU queue": (_at_server, _more_servers),
    "KV cache": (_at_server, _more_servers),
    "too few workers": (_at_server, _more_workers),
    "too few questions": (
        lambda start, states: f"only {count(start.questions)}, all sent at once",
        "The time is that of the slowest replies",
    ),
    "last replies": (
        lambda start, states: f"{states.idle:.1f} of {start.workers.most:,} workers had no question left, on average",
        "A few long replies ended the run: a lower --max_tokens shortens them",
    ),
    "server": (
        lambda start, states: (
            f"{states.server:.1f} of {start.workers.most:,} workers waited for it; it reports no figures of its own"
        ),
        "Try more --max_workers",
    ),
}
"""For each limit: the figures that show it, and what may help."""

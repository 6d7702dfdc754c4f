"""The bottleneck of a run, from the figures of its workers, its processor and its servers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reports.paces import served, start
from vqa_client.reports.bottleneck import Start, WorkerStates, limit_of, limited_by, read_start, worker_states
from vqa_client.reports.limiting import WORDS, limits_of


def read(session: dict[str, Any]) -> Start:
    found = read_start(session)
    assert found is not None
    return found


CASES: list[tuple[dict[str, Any], str, str]] = [
    (
        start(at_server=31, client={"loop_cpu": 0.97, "cpu": 1.2}),
        "client CPU",
        "its event loop used 97 % of a core (the whole client 120 %)). --processes N asks on N cores; "
        "encoding images again (--image_format, --max_pixels) takes the most.",
    ),
    (
        start(at_server=31, client={"loop_late_s": 0.09}),
        "client CPU",
        "its event loop came 90 ms late on average and used but 10 % of a core (the whole client 10 %)). "
        "Other work on this machine leaves it too little; fewer workers or another machine help.",
    ),
    (start(at_server=31, client={"loop_cpu": 0.85}), "client CPU", "its event loop used 85 % of a core"),
    (start(at_server=31, client={"loop_late_s": 0.05}), "client CPU", "came 50 ms late on average and used but 10 %"),
    (start(at_server=31, client={"loop_late_s": 2.5}), "client CPU", "came 2500 ms late"),
    (
        start(preparing=20, at_server=12),
        "preparing images",
        "20.0 of 32 workers waited for their images). Images that need no encoding, made beforehand, or "
        "more cores help.",
    ),
    (
        start(paused=20, at_server=12, requests=1001),
        "rate limit",
        "20.0 of 32 workers waited for a rate limit or in a pause). A higher limit helps; with fewer "
        "--max_workers fewer requests are refused.",
    ),
    (start(paused=20, at_server=12, requests=1000), "rate limit", "in a pause). A higher limit helps."),
    (
        start(sending=20, at_server=12),
        "upload",
        "20.0 of 32 requests were still on their way, 2.0 MB/s). Send less (--image_uuid auto or "
        "--file_urls with vLLM, --max_pixels, --image_format webp), or from nearer.",
    ),
    (
        start(at_server=31, servers=[served(4, 1)]),
        "server preprocessing",
        "26.0 of 32 requests were in image preprocessing at the server, 4.0 running, 1.0 queued). Images "
        "are prepared on the processor: send smaller ones; vLLM has --api-server-count and --image_uuid.",
    ),
    (
        start(sending=None, at_server=31, servers=[served(4, 1)]),
        "upload or server",
        "26.0 of 32 requests were on their way, or had come to the server and were neither running nor "
        "waiting). Smaller images help either way; vLLM has --api-server-count.",
    ),
    (
        start(at_server=31, servers=[served(8, 22)]),
        "GPU queue",
        "the server ran 8.0 requests and had 22.0 waiting, at 32 workers). Another server (--endpoint), "
        "or a larger --max-num-seqs if the GPU has room; more workers won't help.",
    ),
    (start(at_server=31, servers=[served(24, 6)]), "GPU queue", "--max-num-seqs"),
    (
        start(at_server=31, servers=[served(24, 6, kv_use_max=0.99, preemptions=4)]),
        "GPU queue",
        "the server ran 24.0 requests and had 6.0 waiting, at 32 workers, its KV cache was up to 99 % "
        "full, 4 requests were preempted). More GPU memory for its cache, another server (--endpoint) or "
        "shorter replies; more workers won't help.",
    ),
    (
        start(at_server=31, servers=[served(28, 0)]),
        "too few workers",
        "the server ran 28.0 requests and had 0.0 waiting, at 32 workers). Raise --max_workers.",
    ),
    (start(at_server=31, servers=[served(28, 0, kv_use_max=0.95)]), "KV cache", "up to 95 % full"),
    (
        start(at_server=31, servers=[served(28, 0)], questions=32),
        "too few questions",
        "only 32 questions, all sent at once). The time is that of the slowest replies.",
    ),
    (
        start(at_server=31, servers=[served(14, 0), served(14, 0)], answered_by={"a": 1, "b": 2}),
        "too few workers",
        "28",
    ),
    (
        start(at_server=31),
        "server",
        "31.0 of 32 workers waited for it; it reports no figures of its own). Try more --max_workers.",
    ),
    (start(at_server=31, questions=32), "too few questions", "only 32"),
    (start(at_server=31, questions=32, stopped=True), "server", "31.0 of 32 workers waited for it"),
    (
        start(at_server=31, servers=[served(28, 0)], timeouts=14),
        "timeouts",
        "14 of 1,000 questions timed out). Lower --max_workers or raise --timeout: the server is slower "
        "than its questions wait.",
    ),
    (start(at_server=31, timeouts=14), "timeouts", "Lower --max_workers or raise --timeout"),
    (
        start(repeating=20, at_server=3, requests=1025),
        "repeats",
        "25 requests were repeats after failures; 20.0 of 32 workers waited to repeat one, on average). "
        "The server's log may say why; fewer --max_workers may help, and a lower --max_retries gives up sooner.",
    ),
    (start(repeating=5, at_server=1), "repeats", "a lower --max_retries gives up sooner"),
    (start(paused=6, at_server=4), "rate limit", "6.0 of 32 workers waited for a rate limit"),
    (start(repeating=5, paused=6, at_server=4), "rate limit", "6.0 of 32 workers waited for a rate limit"),
    (start(sending=16, at_server=16, servers=[served(12, 4)]), "GPU queue", "had 4.0 waiting, at 32 workers"),
    (
        start(at_server=10),
        "last replies",
        "22.0 of 32 workers had no question left, on average). A few long replies ended the run: a lower "
        "--max_tokens shortens them.",
    ),
]


@pytest.mark.parametrize(("session", "limit", "said"), CASES)
def test_a_limit_is_named_with_its_figures_and_a_way_out(session: dict[str, Any], limit: str, said: str) -> None:
    assert limited_by(session) == {"limited_by": limit}
    (sentence,) = limits_of(session)
    assert sentence.startswith(f"bottleneck: {limit} (")
    assert said in sentence


def test_max_workers_auto_is_not_advised_to_raise_the_number() -> None:
    auto = {"last": 32, "most": 32, "why": ""}
    first, settled = limits_of(start(at_server=31, servers=[served(28, 0)], auto_workers=auto))
    assert first.endswith("With more questions, auto finds out how many it takes.")
    assert settled.startswith("--max_workers auto: 32 workers at the end")


def test_every_limit_has_a_case_and_words() -> None:
    assert set(WORDS) == {limit for _, limit, _ in CASES}


def test_requests_of_other_clients_are_not_counted_as_this_runs() -> None:
    session = start(at_server=8, most=8, servers=[served(10, 30)])
    found = worker_states(read(session))
    assert (found.running, found.waiting, found.preprocessing) == (2, 6, 0)
    assert "some 32 requests were others'" in limits_of(session)[0]
    even = worker_states(read(start(at_server=8, servers=[served(4, 4)])))
    assert (even.running, even.waiting, even.preprocessing) == (4, 4, 0)


def test_without_figures_of_every_server_their_part_is_not_divided() -> None:
    session = start(at_server=31, servers=[served(14, 0)], answered_by={"a": 1, "b": 2})
    assert worker_states(read(session)).server == 31
    assert limited_by(session) == {"limited_by": "server"}


@pytest.mark.parametrize(
    "session",
    [
        {},
        {"wall_s": 10.0, "questions": 80},
        {"workers": {"most": "many"}, "client": {}},
        {"workers": [], "client": None},
        start(at_server=31, client={"watched_s": 1.0}),
    ],
)
def test_a_start_without_enough_figures_has_no_bottleneck(session: dict[str, Any]) -> None:
    assert limited_by(session) == {}
    assert limits_of(session) == []


share = st.floats(min_value=0, max_value=50)


@st.composite
def starts(draw: st.DrawFn) -> dict[str, Any]:
    counts = {name: draw(share) for name in ("preparing", "paused", "at_server")}
    sending, idle = draw(share | st.none()), draw(share)
    most = int(sum(counts.values()) + (sending or 0) + idle) + 1
    kv = draw(st.floats(0, 1) | st.none())
    server = st.builds(lambda running, waiting: served(running, waiting, kv_use_max=kv), share, share)
    client = {"loop_cpu": draw(st.floats(0, 0.8)), "loop_late_s": draw(st.floats(0, 0.04))}
    servers = draw(st.none() | st.lists(server, max_size=3))
    return start(
        most=most, sending=sending, client=client, servers=servers, questions=draw(st.integers(1, 300)), **counts
    )


@given(starts())
def test_the_states_of_the_workers_add_up_to_all_workers(session: dict[str, Any]) -> None:
    found = worker_states(read(session))
    parts = [float(getattr(found, name)) for name in WorkerStates.__struct_fields__]
    assert min(parts) >= 0
    assert sum(parts) == pytest.approx(session["workers"]["most"])


@given(starts())
def test_every_start_has_one_known_limit_and_words_for_it(session: dict[str, Any]) -> None:
    assert limit_of(read(session)) in WORDS
    assert len(limits_of(session)) == 1


OWN = {
    "preparing": ["preparing images"],
    "paused": ["rate limit"],
    "sending": ["upload"],
    "idle": ["last replies", "rate limit"],
}


@given(starts())
def test_what_more_than_half_of_the_workers_wait_for_is_the_limit(session: dict[str, Any]) -> None:
    found = worker_states(read(session))
    for name, limits in OWN.items():
        if getattr(found, name) > session["workers"]["most"] / 2:
            assert limited_by(session)["limited_by"] in limits


@given(starts())
def test_no_more_workers_are_advised_where_requests_already_wait(session: dict[str, Any]) -> None:
    found = worker_states(read(session))
    if limit_of(read(session)) == "too few workers":
        assert found.waiting < max(1.0, 0.1 * (found.waiting + found.running))


@given(starts(), st.floats(0.85, 1.0))
def test_a_busy_processor_of_the_client_is_the_limit_before_anything_else(
    session: dict[str, Any], loop_cpu: float
) -> None:
    session["client"]["loop_cpu"] = loop_cpu
    assert limited_by(session) == {"limited_by": "client CPU"}


def test_without_an_answer_there_is_no_bottleneck() -> None:
    figures = start(at_server=32.0, latency_s={})
    assert limits_of(figures) == []
    assert limits_of(figures | {"latency_s": {"median": 0.5}}) != []

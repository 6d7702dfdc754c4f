"""The numbers that are read from servers' metrics."""

from types import SimpleNamespace
from typing import cast

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.linear_time import RATIO, growth_of
from vqa_client.client.endpoint import Endpoint
from vqa_client.client.routes import Route
from vqa_client.client.watching import MetricsReader, Scrape, ServerWatch, brief, read_metrics

LABELS = '{engine="0",model_name="tiny \\"} 7\\" vlm"}'


def vllm(values: dict[str, float], labels: str = LABELS) -> bytes:
    lines = [
        f"# HELP vllm:{name} Said in words.\n# TYPE vllm:{name} gauge\nvllm:{name}{labels} {value}\n"
        for name, value in values.items()
    ]
    return "".join(lines).encode()


FULL = {
    "num_requests_running": 3.0,
    "num_requests_waiting": 2.0,
    "kv_cache_usage_perc": 0.25,
    "prefix_cache_queries_total": 1000.0,
    "prefix_cache_hits_total": 800.0,
    "mm_cache_queries_total": 10.0,
    "mm_cache_hits_total": 9.0,
    "prompt_tokens_total": 5e3,
    "generation_tokens_total": 1.5e2,
    "num_preemptions_total": 1.0,
}
LLAMACPP = b"""# HELP llamacpp:requests_processing Slots at work.
# TYPE llamacpp:requests_processing gauge
llamacpp:requests_processing 1
llamacpp:requests_deferred 4
llamacpp:prompt_tokens_total 720
llamacpp:tokens_predicted_total 77
"""
MLX = (
    b'{"latest": null, "recent": [], "summary": {"uptime_s": 9, "in_flight": 5, "generated_tokens_total": 40, '
    b'"prompt_tokens_total": 720, "last_error": null}, "server": {"request_queue_depth": 2, "loaded_model": "m"}}'
)


def test_vllms_metrics_are_read_with_any_labels() -> None:
    found = read_metrics(vllm(FULL) + b"process_resident_memory_bytes 3e+09\n")
    assert found == Scrape(
        running=3,
        waiting=2,
        kv_use=0.25,
        counters={
            "prefix_queries": 1000,
            "prefix_hits": 800,
            "mm_queries": 10,
            "mm_hits": 9,
            "prompt_tokens": 5000,
            "generation_tokens": 150,
            "preemptions": 1,
        },
        memory_bytes=3_000_000_000,
    )


def test_the_state_of_the_servers_is_described_in_a_few_words() -> None:
    def watch(reading: Scrape | None, **rates: float) -> ServerWatch:
        return cast(ServerWatch, SimpleNamespace(latest=reading, hit_rate=rates.get))

    one = watch(Scrape(running=3.0, waiting=2.0, kv_use=0.25), prefix=0.8)
    other = watch(Scrape(running=1.0, waiting=0.0, kv_use=0.5), prefix=0.6, mm=0.9)
    assert brief([one]) == "3 running · 2 waiting · prefix cache 80 % · KV 25 %"
    assert brief([one, watch(None), other]) == (
        "4 running · 2 waiting · prefix cache 70 % · image cache 90 % · KV 50 %"
    )
    assert brief([watch(None)]) == brief([]) == ""


async def test_only_servers_that_are_there_and_have_metrics_are_read_again() -> None:
    asked: list[str] = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        assert request.url.path == "/metrics"
        asked.append(request.url.host)
        return httpx2.Response(404 if request.url.host == "silent" else 200, content=vllm(FULL))

    def route(host: str) -> Route:
        return Route(Endpoint(httpx2.URL(f"http://{host}/v1"), httpx2.MockTransport(reply), {}))

    routes, shown, notes = [route("tells"), route("silent"), route("lost")], list[str](), list[str]()
    routes[2].lost = True
    reader = MetricsReader(routes, show=shown.append, note=notes.append)
    assert await reader.look(1.0)
    assert asked == ["tells", "silent"]
    assert await reader.look(1.0)
    assert asked == ["tells", "silent", "tells"]
    assert (len(shown), notes) == (2, [])
    routes[0].lost = True
    assert await reader.look(1.0)  # a lost server may come back with metrics
    assert (len(asked), len(shown)) == (3, 2)


@pytest.mark.parametrize(
    ("status", "body", "silent"),
    [
        *((200, vllm(FULL), False), (200, b"a page", True), (200, vllm(FULL) + b"\n" * 4_000_000, True)),
        *((404, vllm(FULL), True), (500, b"", False), (501, b"", True), (503, b"", False)),
    ],
)
async def test_a_server_without_metrics_differs_from_one_that_fails(status: int, body: bytes, silent: bool) -> None:
    transport = httpx2.MockTransport(lambda request: httpx2.Response(status, content=body))
    watch = ServerWatch(Route(Endpoint(httpx2.URL("http://host/v1"), transport, {})))
    await watch.look(1.0)
    assert (watch.silent, watch.readings) == (silent, int(status == 200 and not silent))


async def test_metrics_that_fail_later_are_noted_once_and_give_no_queue() -> None:
    away, asked, notes = set[str](), list[str](), list[str]()

    def reply(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.host)
        if request.url.host in away:
            raise httpx2.ConnectError("[Errno 111] Connect call failed")
        memory = b"process_resident_memory_bytes 3e+09\n" if request.url.host == "tells" else b""
        return httpx2.Response(200, content=vllm(FULL) + memory)

    hosts = ("tells", "other")
    routes = [Route(Endpoint(httpx2.URL(f"http://{host}/v1"), httpx2.MockTransport(reply), {})) for host in hosts]
    reader = MetricsReader(routes, show=lambda text: None, note=notes.append)
    away.update(hosts)
    assert await reader.look(1.0)
    assert notes == []
    away.clear()
    assert await reader.look(1.0)
    assert (await reader.queue(0.0), reader.memory_bytes()) == ((6, 4), None)
    away.add("tells")
    for _ in range(2):
        assert await reader.look(1.0)
    why = "nothing listens on tells:80"
    assert notes == [f"http://tells/v1: its /metrics can't be read now ({why}); the run continues without"]
    assert await reader.queue(0.0) == (0, 0)
    before = len(asked)
    await reader.last_look()
    assert len(asked) == before


async def test_the_memory_of_all_servers_is_unknown_if_one_never_reported_it() -> None:
    asked: list[str] = []

    def route(host: str, body: bytes) -> Route:
        def reply(request: httpx2.Request) -> httpx2.Response:
            asked.append(host)
            return httpx2.Response(200, content=body)

        transport = httpx2.MockTransport(reply)
        return Route(Endpoint(httpx2.URL(f"http://{host}/v1"), transport, {}))

    tells, silent = route("tells", vllm(FULL) + b"process_resident_memory_bytes 3e+09\n"), route("silent", b"")
    for routes, memory in (([tells], 3_000_000_000), ([tells, tells], 6_000_000_000), ([tells, silent], None)):
        reader = MetricsReader(routes, show=lambda text: None, note=lambda text: None)
        await reader.look(1.0)
        await reader.last_look()
        assert reader.memory_bytes() == memory
    assert asked == ["tells"] * 7 + ["silent", "tells"], "those with metrics are read again at the end"


def test_readings_are_averaged_over_time_and_counters_survive_a_restart() -> None:
    watch = ServerWatch(cast(Route, SimpleNamespace(address="http://localhost:8000/v1")))
    assert watch.described() == {}
    bare = ServerWatch(watch.route)
    for now_s in (1.0, 3.0):
        bare.take(Scrape(running=2, waiting=1), now_s)
    known = {"address": "http://localhost:8000/v1", "readings": 2, "watched_s": 2.0, "running": 2.0, "waiting": 1.0}
    assert bare.described() == known
    caches = {"prefix_queries": 100.0, "prefix_hits": 50.0, "mm_queries": 0.0, "mm_hits": 0.0}
    tokens = {"prompt_tokens": 1000.0, "generation_tokens": 10.0}
    watch.take(Scrape(running=9, waiting=9, kv_use=0.75004, counters=caches | tokens, memory_bytes=5), 10.0)
    assert watch.described() == {}
    later = {"prefix_queries": 300.0, "prefix_hits": 100.004, "prompt_tokens": 1500.0, "preemptions": 3.0}
    later |= {"mm_queries": 2.0, "mm_hits": 3.0}
    watch.take(Scrape(running=4, waiting=2, kv_use=0.25, counters=caches | tokens | later, memory_bytes=6), 12.0)
    restarted = tokens | {"generation_tokens": 4.0, "preemptions": 1.0}
    watch.take(Scrape(running=1, waiting=0, kv_use=0.5, counters=restarted, memory_bytes=7), 14.0004)
    assert watch.described() == {
        "address": "http://localhost:8000/v1",
        "readings": 3,
        "watched_s": 4.0,
        "running": 2.5,
        "waiting": 1.0,
        "kv_use": 0.375,
        "kv_use_max": 0.75,
        "prefix_hit_rate": 0.25,
        "mm_hit_rate": 1.0,
        "prompt_tokens_s": 374.96,
        "generation_tokens_s": 1.0,
        "preemptions": 4,
        "memory_bytes": [5, 7],
    }


def test_engines_behind_one_address_are_added_up_and_the_fullest_cache_counts() -> None:
    one, other = vllm(FULL, '{engine="0"}'), vllm(FULL | {"kv_cache_usage_perc": 0.5}, '{engine="1"}')
    found = read_metrics(one + other)
    assert found is not None
    assert (found.running, found.waiting, found.kv_use, found.counters["mm_hits"]) == (6, 4, 0.5, 18)


def test_metrics_with_longer_or_shorter_names_are_not_read() -> None:
    text = (
        b'vllm:num_requests_waiting_by_reason{reason="capacity"} 9\nvllm:num_requests_running_x 9\n'
        b"x_vllm:num_requests_running 9\n# vllm:num_requests_running 9\nvllm:num_requests_running 1\n"
        b'vllm:prompt_tokens_created{engine="0"} 1.7e+09\n'
    )
    assert read_metrics(text) == Scrape(running=1, waiting=0)


def test_the_metrics_of_llama_cpp_and_mlx_vlm_are_read() -> None:
    assert read_metrics(LLAMACPP) == Scrape(
        running=1, waiting=4, counters={"prompt_tokens": 720, "generation_tokens": 77}
    )
    uncounted = {"prompt_tokens": 0, "generation_tokens": 0}
    assert read_metrics(b'{"summary": {"in_flight": 1}}') == Scrape(running=1, waiting=0, counters=uncounted)
    assert read_metrics(MLX) == Scrape(running=3, waiting=2, counters={"prompt_tokens": 720, "generation_tokens": 40})


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not found",
        b"<html>502</html>",
        b"python_gc_objects_collected_total 3\n",
        b"vllm:num_requests_running NaN\n",
        b"vllm:num_requests_running -1\n",
        b'vllm:num_requests_running{model_name="half',
        b'{"latest": null, "recent": []}',
        b'{"summary": {"in_flight": "many"}}',
        b'{"error": {"code": 501, "message": "no metrics here"}}',
        b"[" * 100_000,
    ],
)
def test_a_body_without_metrics_is_not_a_reading(body: bytes) -> None:
    assert read_metrics(body) is None


@given(st.binary(max_size=200) | st.text(alphabet='vllm:num_requests_running{}"= 1\n', max_size=200).map(str.encode))
def test_any_bytes_are_read_without_an_error(body: bytes) -> None:
    found = read_metrics(body)
    assert found is None or found.running >= 0


def test_a_megabyte_of_metrics_is_read_in_linear_time() -> None:
    def text(size: int) -> bytes:
        bucket = "".join(
            f'vllm:e2e_request_latency_seconds_bucket{{engine="0",le="{n}",model_name="m"}} {n}\n' for n in range(size)
        )
        hostile = "\nvllm:num_requests_running{" + '"x' * (size * 13)
        return bucket.encode() + vllm(FULL) + hostile.encode()

    assert read_metrics(text(15_000)) is not None
    took = growth_of(read_metrics, text, 15_000, limit=1_000)
    assert took.ratio < RATIO
    assert took.whole < 1_000

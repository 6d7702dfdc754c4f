"""A server's memory, as its /metrics and /health report it."""

import json
import time
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.fixtures import StartsServers
from tests.fakes.words import at_path, body_of, delay, error, json_reply
from vqa_client.client.direct import DirectTransport
from vqa_client.client.endpoint import Endpoint, headers_for
from vqa_client.client.watching import ask_memory_bytes, memory_bytes

WIRE = Path(__file__).parents[3] / "shared/data/wire"
PROMETHEUS = b"""# HELP process_resident_memory_bytes Resident memory size in bytes.
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 1.5e+09
process_virtual_memory_bytes 9e+09
vllm:num_requests_running{model_name="m"} 0.0
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (PROMETHEUS, 1_500_000_000),
        (b'process_resident_memory_bytes{pid="1"} 100\nprocess_resident_memory_bytes{pid="2"} 50\n', 150),
        (b'{"status": "ok", "memory": {"rss_bytes": 4096}}', 4096),
        (b'{"rss_mb": 2}', 2 << 20),
        (b'{"memory_mb": 3}', 3 << 20),
        (b'{"memory_gb": 2}', 2 << 30),
        (b'{"rss_gb": 1}', 1 << 30),
        *((b'{"%b": 77}' % name, 77) for name in (b"process_resident_memory_bytes", b"resident_memory_bytes")),
        *((b'{"%b": 77}' % name, 77) for name in (b"memory_bytes", b"rss_bytes", b"memory_rss_bytes")),
        (b'{"latest": {"peak_memory_gb": 0.009}}', None),
        (b'{"status": "ok"}', None),
        (b"process_virtual_memory_bytes 9e+09\n", None),
        (b"process_resident_memory_bytes NaN\n", None),
        (b'{"rss_bytes": null}', None),
        (b'{"rss_bytes": -1}', None),
        (b"[1, 2]", None),
        (b"", None),
        (b"<html>502</html>", None),
    ],
)
def test_only_the_memory_of_the_process_is_read(body: bytes, expected: int | None) -> None:
    assert memory_bytes(body) == expected


@given(st.binary(max_size=80))
def test_any_reply_is_read_without_an_error(body: bytes) -> None:
    assert memory_bytes(body) is None or isinstance(memory_bytes(body), int)


@pytest.mark.parametrize("name", ["mlx-vlm/root_metrics", "mlx-vlm/root_health", "llamacpp/root_metrics"])
def test_the_memory_of_servers_that_do_not_report_it_is_unknown(name: str) -> None:
    path = WIRE / f"{name}.json"
    if not path.is_file():
        pytest.skip("the recorded replies are not here")
    assert memory_bytes(json.dumps(json.loads(path.read_text())["response"]["body"]).encode()) is None


RESIDENT = body_of(b"process_resident_memory_bytes 2.5e+09\n", content_type="text/plain; version=0.0.4")


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqa_client.client.watching.ASK_S", 60.0)


async def asked(base_url: str) -> int | None:
    base = httpx2.URL(base_url)
    async with DirectTransport(None) as transport:
        return await ask_memory_bytes(Endpoint(base, transport, headers_for(base, "secret-key")))


async def test_metrics_are_read_at_the_address_before_v1(fault_server: StartsServers) -> None:
    server = fault_server(at_path("/metrics", RESIDENT, ()))
    assert await asked(server.base_url) == 2_500_000_000
    assert [received.route for received in server.requests] == ["/metrics"]


async def test_a_path_before_v1_is_kept(fault_server: StartsServers) -> None:
    server = fault_server(at_path("/proxy/metrics", RESIDENT, ()))
    assert await asked(f"{server.origin}/proxy/v1") == 2_500_000_000


async def test_health_is_read_if_the_metrics_have_no_memory(fault_server: StartsServers) -> None:
    server = fault_server(at_path("/health", json_reply({"status": "ok", "rss_bytes": 4096}), ()))
    assert await asked(server.base_url) == 4096
    assert [received.route for received in server.requests] == ["/metrics", "/health"]


@pytest.mark.parametrize("kind", ["vllm", "mlx-vlm", "llamacpp", "plain"])
async def test_the_memory_of_other_servers_is_unknown(kind: str, fault_server: StartsServers) -> None:
    assert await asked(fault_server((), kind=kind).base_url) is None


async def test_a_refused_or_broken_reply_gives_no_memory(fault_server: StartsServers) -> None:
    told = body_of(b"process_resident_memory_bytes 7\n", status=500, content_type="text/plain")
    assert await asked(fault_server(at_path("/metrics", told, at_path("/health", error(401), ()))).base_url) is None


async def test_a_server_that_is_gone_is_unknown() -> None:
    assert await asked("http://127.0.0.1:9/v1") is None


async def test_a_slow_server_delays_nothing(monkeypatch: pytest.MonkeyPatch, fault_server: StartsServers) -> None:
    monkeypatch.setattr("vqa_client.client.watching.ASK_S", 0.1)
    slow = (delay(600.0), RESIDENT)
    server = fault_server(at_path("/metrics", slow, at_path("/health", slow, ())))
    started_s = time.monotonic()
    assert await asked(server.base_url) is None
    assert time.monotonic() - started_s < 60

"""A server's own report of its memory, read over the network."""

import time

import httpx2
import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.words import at_path, body_of, delay, error, json_reply
from vqa_client.client.direct import DirectTransport
from vqa_client.client.endpoint import Endpoint, headers_for
from vqa_client.client.watching.server_memory import ask_memory_bytes

RESIDENT = body_of(b"process_resident_memory_bytes 2.5e+09\n", content_type="text/plain; version=0.0.4")


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqa_client.client.watching.server_memory.ASK_S", 60.0)


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
    monkeypatch.setattr("vqa_client.client.watching.server_memory.ASK_S", 0.1)
    slow = (delay(600.0), RESIDENT)
    server = fault_server(at_path("/metrics", slow, at_path("/health", slow, ())))
    started_s = time.monotonic()
    assert await asked(server.base_url) is None
    assert time.monotonic() - started_s < 60

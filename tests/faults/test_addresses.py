"""Every form of a server's address leads to the server, or one message says why not."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.certificates import server_context
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import at_path, hang, only_path, oracle
from tests.faults.questions import Notes, Questions
from vqa_client.errors import ServerUnusable, UsageError


@pytest.mark.parametrize("typed", ["{at}", "  HTTP://{at}/v1/chat/completions/ "])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/chat/completions"])
async def test_both_places_of_the_chats_are_found_from_an_address(
    path: str, typed: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server(only_path(path, then=oracle(of.replies())))
    notes = Notes()
    records = await of.ask(typed.format(at=f"127.0.0.1:{server.port}"), progress=notes, wait_for_server=60.0)
    assert {record["status"] for record in records.values()} == {"ok"}
    assert {chat.path for chat in server.chats} == {path}
    assert notes.about(server.origin + path.removesuffix("/chat/completions"))


@pytest.mark.parametrize(("prefix", "ending"), [("/api/v1", "/"), ("/openai/deployments/x", "/chat/completions")])
async def test_a_prefix_is_kept(prefix: str, ending: str, tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 1)
    server = fault_server(only_path(f"{prefix}/chat/completions", then=oracle(of.replies())))
    records = await of.ask(f"{server.origin}{prefix}{ending}", wait_for_server=60.0)
    assert records["q0"]["status"] == "ok"


async def test_a_prefix_without_its_v1_is_found(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 1)
    server = fault_server(only_path("/api/v1/chat/completions", then=oracle(of.replies())))
    records = await of.ask(f"{server.origin}/api", wait_for_server=60.0)
    assert records["q0"]["status"] == "ok"


async def test_an_address_that_takes_no_chats_is_reported_as_wrong(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 20)
    server = fault_server("B")
    with pytest.raises(ServerUnusable, match="5 questions in a row failed") as caught:
        await of.ask(f"{server.origin}/nowhere", model="tiny-vlm", breaker_after=5, wait_for_server=0)
    assert "base_url" in caught.value.hint
    assert len(server.requests) < 20


@pytest.mark.parametrize("engine", ["direct", "httpx2"])
async def test_no_proxy_is_ever_asked_for_this_machine(
    engine: str, tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server(oracle(of.replies()))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    records = await of.ask(f"http://localhost:{server.port}/v1", wait_for_server=60.0, engine=engine)
    assert {record["status"] for record in records.values()} == {"ok"}


async def test_a_server_elsewhere_is_reached_through_the_proxy(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = Questions(tmp_path, 4)
    proxy = fault_server("B", kind="plain", tolerates_violations=True)
    monkeypatch.setenv("HTTP_PROXY", proxy.origin)
    with pytest.raises(ServerUnusable):  # this proxy answers every question with an error
        await of.ask("http://gpu.example:8000/v1", model="m", wait_for_server=0, breaker_after=1)
    assert [request.path for request in proxy.requests][:1] == ["http://gpu.example:8000/v1/models"]
    assert "http://gpu.example:8000/v1/chat/completions" in [request.path for request in proxy.requests]


async def _refused(base_url: str, of: Questions, **changes: Any) -> str:
    with pytest.raises(ServerUnusable) as caught:
        await of.ask(base_url, **changes)
    return f"{caught.value} {caught.value.hint}"


async def test_a_private_authority_is_trusted_when_it_is_named(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server(oracle(of.replies()), tls=True)
    ways: tuple[dict[str, Any], ...] = ({"ca_bundle": Path(server.ca_file)}, {"engine": "httpx2"}, {})
    for number, changes in enumerate(ways):
        if number:
            monkeypatch.setenv("SSL_CERT_FILE", server.ca_file)
        records = await of.ask(server, fresh=True, **changes)
        assert {record["status"] for record in records.values()} == {"ok"}


@pytest.mark.parametrize("engine", ["direct", "httpx2"])
async def test_an_unknown_authority_is_named_at_once(engine: str, tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server("B", tls=True)
    started_s = time.monotonic()
    told = await _refused(server.base_url, of, wait_for_server=600.0, engine=engine, model="tiny-vlm")
    assert time.monotonic() - started_s < 60
    assert "certificate" in told.lower()
    assert "ca_bundle" in told.replace("-", "_")
    assert (server.connections_opened, server.requests) == (1, [])


async def test_an_unverified_server_is_warned_of_and_recorded(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server(oracle(of.replies()), tls=True)
    notes = Notes()
    records = await of.ask(server, insecure=True, progress=notes)
    assert {record["status"] for record in records.values()} == {"ok"}
    assert notes.about("certificate")
    assert of.run_file()["described"]["server"]["insecure"] is True


async def test_a_certificate_for_another_name_is_refused_at_once(tmp_path: Path, fault_server: StartsServers) -> None:
    try:
        server = fault_server("B", tls=True, host="127.0.0.2")
    except OSError:
        pytest.skip("this system has one loopback address only")
    told = await _refused(server.base_url, Questions(tmp_path, 1), ca_bundle=Path(server.ca_file), wait_for_server=30.0)
    assert "127.0.0.2" in told
    assert server.requests == []


async def test_a_missing_authority_file_is_named(tmp_path: Path, fault_server: StartsServers) -> None:
    server = fault_server("B", tls=True)
    with pytest.raises(UsageError, match=r"nowhere\.pem"):
        await Questions(tmp_path, 1).ask(server, ca_bundle=Path("nowhere.pem"))


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
        return any(family == socket.AF_INET6 for family, *_ in socket.getaddrinfo("localhost", 1))
    except OSError:
        return False


@pytest.fixture
def both_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolve localhost to ::1 first and 127.0.0.1 second, as on many systems."""

    async def resolve(self: Any, host: Any, port: Any, **more: Any) -> Any:
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", int(port), 0, 0)),
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", int(port))),
        ]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", resolve)


@pytest.mark.usefixtures("both_addresses")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_localhost_is_reached_at_whichever_address_it_listens(
    host: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 8)
    try:
        server = fault_server(oracle(of.replies()), host=host)
    except OSError:
        pytest.skip("no IPv6 here")
    started_s = time.monotonic()
    records = await of.ask(f"http://localhost:{server.port}/v1", wait_for_server=60.0)
    assert {record["status"] for record in records.values()} == {"ok"}
    assert time.monotonic() - started_s < 60


async def test_an_ipv6_address_is_taken_as_people_write_it(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    try:
        server = fault_server(oracle(of.replies()), host="::1")
    except OSError:
        pytest.skip("no IPv6 here")
    assert server.base_url.startswith("http://[::1]:")
    records = await of.ask(server)
    assert {record["status"] for record in records.values()} == {"ok"}


async def test_an_encrypted_address_of_a_plain_server_is_one_message(tmp_path: Path) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as plain:
        port = plain.sockets[0].getsockname()[1]
        told = await _refused(f"https://127.0.0.1:{port}/v1", Questions(tmp_path, 1), wait_for_server=0.2)
    assert "\n" not in told
    assert str(port) in told


@pytest.mark.parametrize("engine", ["direct", "httpx2"])
async def test_a_server_that_accepts_connections_but_sends_nothing_is_one_message(
    engine: str, tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.client.endpoint.GET_TIMEOUT_S", 0.3)
    server = fault_server(at_path("/v1/models", hang()))
    async with asyncio.timeout(60):
        told = await _refused(server.base_url, Questions(tmp_path, 1), wait_for_server=0.5, engine=engine)
    assert str(server.port) in told


class Relay:
    """Relays connections to a server, as a proxy if `tunnels`; connections with the numbers `silent` get nothing."""

    def __init__(self, port: int, silent: Callable[[int], bool], *, tunnels: bool) -> None:
        self.port, self.silent, self.tunnels, self.opened = port, silent, tunnels, 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        silent = self.silent(self.opened)
        with contextlib.closing(writer):
            while self.tunnels and await reader.readline() not in (b"\r\n", b""):
                pass
            if silent:
                await reader.read()
                return
            to = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n" * self.tunnels)
            await asyncio.gather(self._pump(reader, to[1]), self._pump(to[0], writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError), contextlib.closing(writer):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()


async def lists_models_and_closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    listed = b'{"data": [{"id": "tiny-vlm"}]}'
    head = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(listed)
    with contextlib.suppress(OSError), contextlib.closing(writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head + listed)
        await writer.drain()


WAYS = [("direct", False), ("httpx2", False), ("direct", True)]
"""The engine, and whether there is a proxy, which needs httpx2."""


@pytest.mark.parametrize(("engine", "tunnels"), WAYS, ids=["TLS direct", "TLS httpx2", "CONNECT"])
@pytest.mark.parametrize("probes", [False, True], ids=["from now on", "every other time"])
async def test_a_way_that_falls_silent_before_the_first_byte_ends_questions_in_their_time(
    probes: bool, engine: str, tunnels: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = Questions(tmp_path, 1)
    context, others = server_context(tmp_path / "ca.pem"), asyncio.all_tasks()

    async with await asyncio.start_server(lists_models_and_closes, "127.0.0.1", 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]
        relay = Relay(port, lambda n: n > 1 and (not probes or n % 2 == 0), tunnels=tunnels)
        async with await asyncio.start_server(relay, "127.0.0.1", 0) as front:
            relayed = front.sockets[0].getsockname()[1]
            if tunnels:
                monkeypatch.setattr("vqa_client.client.endpoint.is_loopback", lambda host: False)
                monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{relayed}")
            asking = of.ask(
                f"https://127.0.0.1:{port if tunnels else relayed}/v1",
                engine=engine,
                ca_bundle=tmp_path / "ca.pem",
                timeout=1.0,
                wait_for_server=60.0 if probes else 0.5,
                breaker_after=0,
                max_workers=1,
                metrics=False,
            )
            async with asyncio.timeout(120):
                if probes:
                    assert {record["status"] for record in (await asking).values()} == {"connection"}
                else:
                    with pytest.raises(ServerUnusable, match="no answer from"):
                        await asking
                while asyncio.all_tasks() - others:  # the relay ends a moment after the client has left
                    await asyncio.sleep(0.01)

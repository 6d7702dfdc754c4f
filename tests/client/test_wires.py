"""Both transports over real sockets: all forms of replies, and all ways in which a connection ends."""

import asyncio
import gc
import socket
import struct
import time
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import httpcore2
import httpx2
import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.script import Script
from tests.fakes.server import FaultServer
from tests.fakes.words import (
    answer,
    answer_then_bytes,
    answer_twice,
    chunked,
    close_mid_body,
    close_without_reply,
    connection_close,
    delay,
    early_413_while_uploading,
    first_n,
    hang,
    hang_mid_body,
    http_1_0,
    huge_headers,
    invalid_http,
    redirect,
    reset,
    slow_reading,
    stale_keepalive,
    trickle,
    until_close,
    wrong_content_length,
)
from vqa_client.client.chat import ChatClient
from vqa_client.client.direct import DirectTransport
from vqa_client.client.messages import Target
from vqa_client.client.pool import PoolTransport
from vqa_client.client.reply_room import ReplyRoom
from vqa_client.client.session import open_session
from vqa_client.errors import QuestionFailed, ServerUnusable
from vqa_client.model_config import ModelSettings
from vqa_client.settings.run import RunSettings
from vqa_client.types import Completion, Image, Request

Engine = Literal["direct", "httpx2", "openai"]
both = pytest.mark.parametrize("engine", ["direct", "httpx2", "openai"])


def picture(size_bytes: int) -> Image:
    data = bytes(range(256)) * (size_bytes // 256)
    return Image(name="x.png", mime="image/png", sha256="", size_bytes=len(data), data=data)


@asynccontextmanager
async def asker(server: FaultServer, engine: Engine = "direct", **changes: Any) -> AsyncIterator[ChatClient]:
    given: dict[str, Any] = {"base_url": server.base_url, "api_key": None, "engine": engine, "max_retries": 0}
    settings = RunSettings(**(given | {"wait_for_server": 60.0, "timeout": 60.0} | changes))
    model = ModelSettings(model_name="tiny-vlm", max_tokens=5)
    async with open_session(settings, model, note=lambda text: None) as session:
        yield session.chat


async def ask(server: FaultServer, engine: Engine = "direct", *images: Image, **changes: Any) -> Completion:
    async with asker(server, engine, **changes) as chat:
        return await chat.complete(Request(content=(*images, "[[q]] ?")))


@both
@pytest.mark.parametrize(
    "form",
    [
        (),
        chunked(3),
        connection_close(),
        http_1_0(),
        until_close(),
        huge_headers(20_000),
        trickle(16, 0.001, head_too=True),
    ],
    ids=["plain", "chunked", "close", "http1.0", "until close", "huge headers", "trickle"],
)
async def test_every_form_of_a_reply_is_read(engine: Engine, form: Any, fault_server: StartsServers) -> None:
    server = fault_server((form, answer("It is B")) if form else answer("It is B"))
    async with asker(server, engine) as chat:
        for _ in range(3):
            assert (await chat.complete(Request(content=("?",)))).text == "It is B"


@both
@pytest.mark.parametrize(
    "end",
    [close_without_reply(), reset(), close_mid_body(5), invalid_http()],
    ids=["closed", "reset", "mid body", "no http"],
)
async def test_a_broken_reply_is_a_lost_connection_and_is_retried(
    engine: Engine, end: Any, fault_server: StartsServers
) -> None:
    server = fault_server(first_n(1, end, then=answer("B")))
    completion = await ask(server, engine, max_retries=1)
    assert completion.text == "B"
    assert len(server.chats) == 2
    with pytest.raises(QuestionFailed) as caught:
        await ask(fault_server(end), engine)
    assert caught.value.status in ("connection", "bad_response")


@both
async def test_a_connection_that_the_server_closes_under_a_request_costs_no_retry_and_is_counted(
    engine: Engine, fault_server: StartsServers
) -> None:
    server = fault_server(stale_keepalive(answer("B")))
    async with asker(server, engine, max_retries=0) as chat:
        attempts = [(await chat.complete(Request(content=("?",)))).attempts for _ in range(4)]
    assert sum(attempts) == len(server.chats)
    assert 2 in attempts
    assert max(attempts) == 2


@both
async def test_bytes_after_a_reply_are_never_read_for_the_next_question(
    engine: Engine, fault_server: StartsServers
) -> None:
    for play in (
        answer_twice(_own_words),
        answer_twice(_own_words, after_s=0.0),
        answer_then_bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", _own_words),
        answer_then_bytes(b"\r\n", _own_words),
        answer_then_bytes(b"junk", _own_words),
        (chunked(5), answer(_own_words)),
    ):
        async with asker(fault_server(play), engine, max_retries=0) as chat:
            for number in range(12):
                assert (await chat.complete(Request(content=(f"[[{number}]]",)))).text == f"[[{number}]]"
                if isinstance(play, tuple):
                    continue
                await asyncio.sleep(0.002)  # the second reply is on its way


class ReusedOnce(httpcore2.AsyncNetworkBackend):
    """A network whose first connection ends during its second request, and whose later ones never open."""

    def __init__(self) -> None:
        self.opened = 0

    async def connect_tcp(self, *args: Any, **kwargs: Any) -> httpcore2.AsyncNetworkStream:
        self.opened += 1
        if self.opened > 1:
            await asyncio.Event().wait()
        return httpcore2.AsyncMockStream([b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", b""])


async def test_a_request_that_is_sent_again_has_the_whole_connection_limit() -> None:
    async with PoolTransport(ReplyRoom()) as transport:
        transport._network._network = network = ReusedOnce()
        request = httpx2.Request("POST", "http://localhost/", extensions={"timeout": {"connect": 0.05}}, json={})
        assert (await transport.handle_async_request(request)).content == b"{}"
        with pytest.raises(httpx2.ConnectTimeout, match=r"no connection to localhost:http in 0\.05 s"):
            async with asyncio.timeout(60):
                await transport.handle_async_request(request)
    assert network.opened == 2


@pytest.mark.parametrize("transport", [DirectTransport(), PoolTransport(ReplyRoom())], ids=["direct", "httpx2"])
async def test_a_connection_that_opens_too_late_is_closed(
    transport: httpx2.AsyncBaseTransport, fault_server: StartsServers
) -> None:
    url = f"{fault_server().base_url}/models"
    with warnings.catch_warnings(record=True) as unclosed:
        warnings.simplefilter("always", ResourceWarning)
        async with transport:
            for number in range(100):
                extensions = {"timeout": {"connect": number / 20_000}}
                with suppress(httpx2.ConnectTimeout):
                    await transport.handle_async_request(httpx2.Request("GET", url, extensions=extensions))
        gc.collect()
    assert [str(each.message) for each in unclosed] == []


def _own_words(received: Received) -> str:
    return received.prompt


@both
async def test_bytes_between_requests_close_the_connection(engine: Engine, fault_server: StartsServers) -> None:
    server = fault_server(answer_then_bytes(b"HTTP/1.1 408 Request Timeout\r\n\r\n", _own_words, after_s=0.01))
    async with asker(server, engine, max_retries=0) as chat:
        for number in range(4):
            assert (await chat.complete(Request(content=(f"[[{number}]]",)))).text == f"[[{number}]]"
            await asyncio.sleep(0.05)


@both
@pytest.mark.parametrize("connection", [b"connection: close\r\n", b""])
async def test_chunks_win_over_a_length(engine: Engine, connection: bytes, fault_server: StartsServers) -> None:
    body = b'{"choices":[{"message":{"content":"B"},"finish_reason":"stop"}]}'
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n" + connection + b"\r\n"
    server = fault_server(invalid_http(head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)))
    async with asker(server, engine) as chat:
        for _ in range(3):
            assert (await chat.complete(Request(content=("?",)))).text == "B"


@both
@pytest.mark.parametrize(("status", "posts"), [(307, [2, 2, 2]), (308, [2, 1, 1])])
async def test_a_redirection_on_the_same_server_is_followed_with_the_body(
    status: int, posts: list[int], engine: Engine, fault_server: StartsServers
) -> None:
    def script(received: Received) -> Script:
        return answer("B") if "moved" in received.path else redirect("/v1/chat/completions?moved=1", status)

    server = fault_server(script)
    image = picture(300_000)
    async with asker(server, engine, max_retries=0) as chat:
        attempts = [(await chat.complete(Request(content=(image, "?")))).attempts for _ in posts]
    assert attempts == posts
    assert {chat.images[0].data for chat in server.chats} == {image.data}


@both
@pytest.mark.parametrize(
    ("location", "status"),
    [
        ("https://elsewhere.example/v1/chat/completions", 307),
        ("/v1/chat/completions", 302),
        ("/v1/chat/completions", 307),
        ("http://[", 308),
        ("http://h:port/", 308),
    ],
    ids=["elsewhere", "another method", "in a circle", "nowhere", "no address"],
)
async def test_a_redirection_that_is_not_followed_names_its_target(
    location: str, status: int, engine: Engine, fault_server: StartsServers
) -> None:
    server = fault_server(redirect(location, status))
    with pytest.raises(QuestionFailed) as caught:
        await ask(server, engine, max_retries=2)
    assert caught.value.status == "rejected"
    assert location in str(caught.value) or location in ("http://[", "http://h:port/")
    assert len(server.chats) <= 5


@both
@pytest.mark.parametrize(
    "slow",
    [hang(), (trickle(1, 0.1), answer("B" * 1_000)), hang_mid_body(5), delay(120), wrong_content_length(10)],
    ids=["hang", "trickle", "mid", "late", "too long a length"],
)
async def test_the_deadline_is_for_the_whole_exchange(engine: Engine, slow: Any, fault_server: StartsServers) -> None:
    started_s = time.monotonic()
    with pytest.raises(QuestionFailed) as caught:
        await ask(fault_server(slow), engine, timeout=0.2)
    assert caught.value.status == "timeout"
    assert 0.15 <= time.monotonic() - started_s < 60


@both
async def test_the_deadline_holds_for_an_upload_that_the_server_does_not_read(
    engine: Engine, fault_server: StartsServers
) -> None:
    server = fault_server(slow_reading(1000), receive_buffer_bytes=4096, tolerates_violations=True)
    with pytest.raises(QuestionFailed) as caught:
        await ask(server, engine, picture(8_000_000), timeout=0.5)
    assert caught.value.status == "timeout"


@both
async def test_large_images_arrive_whole(engine: Engine, fault_server: StartsServers) -> None:
    server = fault_server(answer("B"))
    image = picture(1_000_000)
    await ask(server, engine, image, image, picture(256))
    assert [received.data for received in server.chats[0].images] == [image.data, image.data, picture(256).data]


async def test_a_refusal_during_the_upload_ends_it(fault_server: StartsServers) -> None:
    server = fault_server(early_413_while_uploading(100_000), tolerates_violations=True)
    with pytest.raises(QuestionFailed) as caught:
        await ask(server, "direct", picture(20_000_000))
    assert (caught.value.status, len(server.chats)) == ("rejected", 1)
    assert "MB" in caught.value.hint
    assert server.counts["body_bytes"] < 20_000_000


async def test_connections_are_reused_and_never_more_than_workers(fault_server: StartsServers) -> None:
    server = fault_server((delay(0.01), answer("B")))
    async with asker(server) as chat:
        for _ in range(4):
            await asyncio.gather(*(chat.complete(Request(content=("?",))) for _ in range(10)))
    assert server.connections_opened <= 10


async def test_cancelled_questions_leave_the_pool_usable(fault_server: StartsServers) -> None:
    server = fault_server((delay(0.002), answer("B")), tolerates_violations=True)
    async with asker(server, timeout=60.0) as chat:

        async def cancelled(after_s: float) -> None:
            asking = asyncio.create_task(chat.complete(Request(content=(picture(300_000), "?"))))
            await asyncio.sleep(after_s)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

        for turn in range(20):
            await asyncio.gather(*(cancelled(number / 5000) for number in range(20 + turn % 3)))
        completions = await asyncio.wait_for(
            asyncio.gather(*(chat.complete(Request(content=("?",))) for _ in range(40))), 60
        )
    assert {completion.text for completion in completions} == {"B"}


async def test_closing_while_a_connection_opens_leaves_no_task_behind(fault_server: StartsServers) -> None:
    transport, others = DirectTransport(), asyncio.all_tasks()
    target = Target("GET", httpx2.URL(fault_server("B").base_url), [])
    asking = asyncio.create_task(transport.send(target, None, 5.0))
    while not transport._connecting:
        await asyncio.sleep(0)
    asking.cancel()
    await transport.aclose()
    assert asyncio.all_tasks() <= others | {asking}


@both
async def test_ipv6_and_localhost_are_reached(engine: Engine, fault_server: StartsServers) -> None:
    six = fault_server(answer("6"), host="::1")
    assert (await ask(six, engine)).text == "6"
    four = fault_server(answer("4"))
    assert (await ask(four, engine, base_url=f"http://localhost:{four.port}/v1")).text == "4"


@both
async def test_a_private_authority_is_trusted_only_if_it_is_named(
    engine: Engine, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = fault_server(answer("B"), tls=True)
    assert (await ask(server, engine, ca_bundle=Path(server.ca_file or ""))).text == "B"
    assert (await ask(server, engine, insecure=True)).text == "B"
    started_s = time.monotonic()
    with pytest.raises(ServerUnusable, match=r"(?i)certificate"):
        await ask(server, engine, wait_for_server=600.0)
    assert time.monotonic() - started_s < 60
    monkeypatch.setenv("SSL_CERT_FILE", server.ca_file or "")
    assert (await ask(server, engine)).text == "B"


@pytest.mark.parametrize(
    "form", [lambda port: f"http://127.0.0.1:{port}", lambda port: f"127.0.0.1:{port}/v1/chat/completions"]
)
async def test_the_address_is_found_from_what_users_type(
    form: Callable[[int], str], fault_server: StartsServers
) -> None:
    server = fault_server(answer("B"))
    assert (await ask(server, base_url=form(server.port))).text == "B"
    assert {chat.path for chat in server.chats} == {"/v1/chat/completions"}


async def test_a_reply_without_a_length_that_a_reset_cuts_is_a_lost_connection() -> None:
    half = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"choices": [{"mess'

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(half)
        await writer.drain()
        linger = struct.pack("ii", 1, 0)  # then closing resets the connection
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server, DirectTransport() as transport:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(httpx2.ReadError, match="in the middle of its reply"):
            await transport.handle_async_request(httpx2.Request("GET", f"http://127.0.0.1:{port}/v1/models"))


async def test_a_switch_of_protocols_is_a_transport_error() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server, DirectTransport() as transport:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(httpx2.RemoteProtocolError, match="does not speak HTTP"):
            await transport.handle_async_request(httpx2.Request("GET", f"http://127.0.0.1:{port}/v1/models"))

"""The large replies of all workers stay within a limit, in order, and none waits forever."""

import asyncio
import contextlib
import gc
import weakref

import httpx2
import pytest

from vqa_client.client.connection import Connection
from vqa_client.client.direct import DirectTransport
from vqa_client.client.endpoint import Endpoint
from vqa_client.client.messages import read_whole
from vqa_client.client.pool import PoolTransport
from vqa_client.client.reply_room import FREE_BYTES, REPLY_LIMIT_BYTES, ReplyRoom, without_frames


async def settled() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_shares_wait_for_room_and_get_it_in_order() -> None:
    room = ReplyRoom(100)
    first, second, third = room.share(), room.share(), room.share()
    assert first.grow(60) is None
    assert second.grow(30) is None
    waits = third.grow(30), second.grow(50)
    assert all(waits)
    assert first.grow(1000) is None  # the oldest share may always grow
    del first
    await settled()
    assert [wait is not None and wait.done() for wait in waits] == [True, True]
    assert third.grow(60) is not None
    del second
    await settled()
    assert third.grow(60) is None


async def test_four_replies_at_the_limit_of_one_fill_the_room() -> None:
    room = ReplyRoom()
    shares = [room.share() for _ in range(5)]
    assert [share.grow(REPLY_LIMIT_BYTES) for share in shares[:4]] == [None] * 4
    assert shares[4].grow(1) is not None


async def test_a_share_deleted_while_it_waits_takes_no_room() -> None:
    room = ReplyRoom(100)
    kept, lost = room.share(), room.share()
    assert (kept.grow(100), lost.grow(1) is None) == (None, False)
    del lost
    await settled()
    del kept
    await settled()
    assert room.share().grow(100) is None
    assert not room._waiting


async def test_an_error_does_not_keep_its_reply_in_memory() -> None:
    class Large(bytearray):
        pass

    def failing() -> None:
        reply = Large()
        held.append(weakref.ref(reply))
        try:
            raise ValueError("cause")
        except ValueError as error:
            raise httpx2.ReadError("lost") from error

    held: list[weakref.ref[Large]] = []
    with pytest.raises(httpx2.ReadError) as caught:
        failing()
    error = without_frames(caught.value)
    del caught
    gc.collect()
    assert held[0]() is None
    assert str(error.__cause__) == "cause"


async def test_a_redirection_frees_its_room_before_the_next_reply() -> None:
    def reply(request: httpx2.Request) -> httpx2.Response:
        assert all(earlier() is None for earlier in replies)
        moves = len(replies) < 2
        response = httpx2.Response(307 if moves else 200, headers={"location": "/moved"}, content=b"x" * FREE_BYTES)
        replies.append(weakref.ref(response))
        return response

    class Wire(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            return reply(request)

    replies: list[weakref.ref[httpx2.Response]] = []
    assert (await Endpoint(httpx2.URL("http://localhost/v1"), Wire(), {}).get("/models")).status_code == 200
    assert len(replies) == 3


async def test_an_abandoned_reply_that_ends_with_its_connection_takes_no_room() -> None:
    class Wire:
        def abort(self) -> None: ...

    room = ReplyRoom()
    connection = Connection(room, on_second_reply=lambda: None)
    connection.transport, connection.alive = Wire(), True  # type: ignore[assignment]
    connection.data_received(b"HTTP/1.1 200 OK\r\n\r\n" + bytes(2 * FREE_BYTES))
    assert room._total_bytes > 0
    connection.end()
    connection.connection_lost(None)
    await settled()
    assert room._total_bytes == 0


class Slow:
    """A server that sends a reply of `size_bytes` to each request, piece by piece."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError), contextlib.closing(writer):
            while await reader.readline():
                while await reader.readline() != b"\r\n":
                    pass
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % self.size_bytes)
                for _ in range(self.size_bytes // FREE_BYTES):
                    writer.write(bytes(FREE_BYTES))
                    await writer.drain()


@pytest.mark.parametrize("engine", ["direct", "httpx2"])
async def test_large_replies_arrive_whole_and_not_all_at_once(engine: str) -> None:
    serve, room = Slow(8 * FREE_BYTES), ReplyRoom(10 * FREE_BYTES)
    most_bytes = 0

    async def ask() -> None:
        nonlocal most_bytes
        response = await transport.handle_async_request(httpx2.Request("GET", f"http://127.0.0.1:{port}/"))
        assert len(response.content) == serve.size_bytes
        most_bytes = max(most_bytes, room._total_bytes)

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with DirectTransport(room=room) if engine == "direct" else PoolTransport(room) as transport:
            async with asyncio.timeout(60):
                await asyncio.gather(*(ask() for _ in range(12)))
                await asyncio.gather(*(ask() for _ in range(12)))  # on reused connections, if there are any
    await settled()
    assert most_bytes <= room._limit_bytes + serve.size_bytes + FREE_BYTES
    assert room._total_bytes == 0


async def test_a_connection_reads_nothing_while_there_is_no_room() -> None:
    class Wire:
        reads = True

        def pause_reading(self) -> None:
            self.reads = False

        def resume_reading(self) -> None:
            self.reads = True

    room, wire = ReplyRoom(FREE_BYTES), Wire()
    other = room.share()
    assert other.grow(FREE_BYTES) is None
    connection = Connection(room, on_second_reply=lambda: None)
    connection.transport, connection.alive = wire, True  # type: ignore[assignment]
    connection.data_received(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (3 * FREE_BYTES))
    connection.data_received(bytes(FREE_BYTES))
    assert wire.reads
    connection.data_received(b"x")
    assert not wire.reads
    del other
    await settled()
    assert wire.reads
    connection.data_received(bytes(2 * FREE_BYTES - 1))
    assert len((await connection.reply).content) == 3 * FREE_BYTES
    assert connection.keep


async def test_an_endless_reply_ends_at_the_limit_in_either_engine() -> None:
    class Endless(httpx2.AsyncByteStream):
        async def __aiter__(self):  # type: ignore[no-untyped-def]
            while True:
                yield bytes(1_000_000)

    room = ReplyRoom()
    with pytest.raises(httpx2.RemoteProtocolError, match=f"larger than {REPLY_LIMIT_BYTES}"):
        await read_whole(httpx2.Response(200, stream=Endless()), room)
    serve = Slow(2 * REPLY_LIMIT_BYTES)
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server, DirectTransport(room=room) as transport:
        request = httpx2.Request("GET", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        with pytest.raises(httpx2.RemoteProtocolError, match=f"larger than {REPLY_LIMIT_BYTES}"):
            await transport.handle_async_request(request)
    await settled()
    assert room._total_bytes == 0

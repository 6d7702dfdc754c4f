"""Pieces that are written at once arrive whole and in order, even if the socket takes few bytes."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import httpx2
import pytest

from vqa_client.client.body import Body, Upload
from vqa_client.client.connection import Connection
from vqa_client.client.direct import DirectTransport
from vqa_client.client.messages import Response, Target
from vqa_client.client.reply_room import ReplyRoom


@asynccontextmanager
async def connected(send_buffer_bytes: int) -> AsyncIterator[tuple[Connection, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
    theirs.setblocking(False)
    made = partial(Connection, ReplyRoom(), on_second_reply=lambda: None)
    transport, connection = await asyncio.get_running_loop().create_connection(made, sock=ours)
    try:
        yield connection, theirs
    finally:
        transport.abort()
        await asyncio.sleep(0)
        theirs.close()


@pytest.mark.anyio
@pytest.mark.parametrize("sizes", [(80, 400_000), (60_000, 10), (60_000, 60_000), (1, 1), (0, 50_000)])
async def test_pieces_that_the_socket_takes_in_part_arrive_whole(sizes: tuple[int, int]) -> None:
    async with connected(4_096) as (connection, theirs):
        expected = b""
        for turn in b"xy":  # the second time, a part of the first is left
            pieces = bytes([turn]) * sizes[0], bytes([turn + 100]) * sizes[1]
            connection.write(pieces)
            expected += b"".join(pieces)
        arrived = b""
        while len(arrived) < len(expected):
            arrived += await asyncio.get_running_loop().sock_recv(theirs, 3_000)
        assert arrived == expected


@pytest.mark.anyio
async def test_one_system_call_is_enough_if_the_socket_has_room() -> None:
    async with connected(1 << 20) as (connection, theirs):
        connection.write((b"before", b"piece"))
        assert (connection.transport.get_write_buffer_size(), theirs.recv(100)) == (0, b"beforepiece")


@pytest.mark.anyio
async def test_nothing_is_written_to_a_file_with_the_number_of_a_closed_socket() -> None:
    async with connected(4_096) as (connection, theirs):
        connection.transport.abort()
        connection.write((b"before", b"piece"))
        await asyncio.sleep(0)
        others = [socket.socketpair() for _ in range(20)]
        try:
            connection.write((b"before", b"piece"))
            for pair in others:
                pair[1].setblocking(False)
                with pytest.raises(BlockingIOError):
                    pair[1].recv(1)
            assert theirs.recv(100) == b""
        finally:
            for pair in others:
                pair[0].close()
                pair[1].close()


REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
SIZE_BYTES = 8_000_000


@pytest.mark.anyio
@pytest.mark.parametrize("how", ["sent", "cancelled", "broken off"])
async def test_an_upload_frees_its_place_while_the_socket_is_full_and_at_its_end(how: str) -> None:
    stuck, goes_on = asyncio.Event(), asyncio.Event()

    serving: list[asyncio.Task[None] | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.append(asyncio.current_task())
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            if not stuck.is_set():
                stuck.set()
                await goes_on.wait()
            if how != "broken off":
                await reader.readexactly(SIZE_BYTES)
                writer.write(REPLY)
                await reader.read()
        writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    target = Target("POST", httpx2.URL(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"), ())
    async with server, DirectTransport() as transport:
        transport._uploads = places = asyncio.Semaphore(1)

        def sending() -> asyncio.Task[Response]:
            return asyncio.create_task(transport.send(target, Upload(body, lambda: None), 60.0))

        body = Body([bytes(SIZE_BYTES)])
        first = sending()
        await stuck.wait()
        second = sending()
        if how == "broken off":
            with pytest.raises(httpx2.ReadError):
                await asyncio.wait_for(second, 60)
        else:
            assert (await asyncio.wait_for(second, 60)).status_code == 200
        assert not first.done()
        assert not places.locked()
        if how == "cancelled":
            first.cancel()
        goes_on.set()
        done = (await asyncio.gather(first, return_exceptions=True))[0]
        ends = {"sent": Response, "cancelled": asyncio.CancelledError, "broken off": httpx2.ReadError}
        assert isinstance(done, ends[how])
        assert not places.locked()
        await places.acquire()
        assert places.locked()
    await asyncio.gather(*filter(None, serving))

"""Two pieces that are written at once arrive whole and in order, however little the socket takes."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from vqa_client.client.connection import Connection
from vqa_client.client.direct import _Place


@asynccontextmanager
async def connected(send_buffer_bytes: int) -> AsyncIterator[tuple[Connection, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
    theirs.setblocking(False)
    transport, connection = await asyncio.get_running_loop().create_connection(Connection, sock=ours)
    try:
        yield connection, theirs
    finally:
        transport.abort()
        await asyncio.sleep(0)
        theirs.close()


@pytest.mark.anyio
@pytest.mark.parametrize("sizes", [(80, 400_000), (60_000, 10), (60_000, 60_000), (1, 1), (0, 50_000)])
async def test_what_the_socket_takes_in_part_arrives_whole(sizes: tuple[int, int]) -> None:
    async with connected(4_096) as (connection, theirs):
        expected = b""
        for turn in b"xy":  # the second time, something is left of the first
            before, piece = bytearray([turn]) * sizes[0], bytes([turn + 100]) * sizes[1]
            connection.write(before, piece)
            expected += before + piece
        arrived = b""
        while len(arrived) < len(expected):
            arrived += await asyncio.get_running_loop().sock_recv(theirs, 3_000)
        assert arrived == expected


@pytest.mark.anyio
async def test_one_system_call_is_enough_where_the_socket_has_room() -> None:
    async with connected(1 << 20) as (connection, theirs):
        connection.write(bytearray(b"before"), b"piece")
        assert (connection.transport.get_write_buffer_size(), theirs.recv(100)) == (0, b"beforepiece")


@pytest.mark.anyio
async def test_nothing_is_written_to_what_has_the_number_of_a_closed_socket() -> None:
    async with connected(4_096) as (connection, theirs):
        connection.transport.abort()
        connection.write(bytearray(b"before"), b"piece")
        await asyncio.sleep(0)
        others = [socket.socketpair() for _ in range(20)]
        try:
            connection.write(bytearray(b"before"), b"piece")
            for pair in others:
                pair[1].setblocking(False)
                with pytest.raises(BlockingIOError):
                    pair[1].recv(1)
            assert theirs.recv(100) == b""
        finally:
            for pair in others:
                pair[0].close()
                pair[1].close()


@pytest.mark.anyio
@pytest.mark.parametrize("how", ["unlent", "lent", "broken off"])
async def test_a_place_among_the_uploads_is_lent_and_given_back_once(how: str) -> None:
    places = asyncio.Semaphore(1)

    async def drained() -> None:
        assert not places.locked()
        if how == "broken off":
            raise ConnectionResetError

    with contextlib.suppress(ConnectionResetError):
        async with _Place(places) as place:
            assert places.locked()
            if how != "unlent":
                await place.lend_while(drained())
            assert places.locked()
    assert not places.locked()
    await places.acquire()
    assert places.locked()

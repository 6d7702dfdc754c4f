"""The default transport: HTTP/1.1 keep-alive connections on asyncio, replies parsed by httptools.

httpx2's own pool visits every connection at every event; aiohttp needs seven more packages and two to three times the
CPU per request (tests/bench measures both).
"""

import asyncio
import ssl
import time
from collections import deque
from collections.abc import Iterator
from itertools import chain

import httpx2

from vqa_client.client.body import Upload
from vqa_client.client.connection import Connection
from vqa_client.client.messages import RequestHead, Response, Target, unpack_reply
from vqa_client.client.reply_room import ReplyRoom
from vqa_client.client.url import port_of

UPLOADS_AT_ONCE = 16
"""If all workers upload at once, large bodies compete and the event loop stalls."""
YIELD_BYTES = 262_144
COALESCE_BYTES = 32_768
"""Pieces are collected up to this size and sent in one system call."""
IDLE_S = 4.0
"""A longer idle connection is not reused: uvicorn closes it after 5 s, perhaps while a request is on its way."""
CONNECT_TIMEOUT_S = 60.0
"""For everything before a request's first byte: host name, connection, a proxy's tunnel, and TLS."""
NEXT_ADDRESS_S = 0.25
"""The time without an answer after which a host's next address is tried (RFC 8305, section 5)."""
CLOSE_S = 0.5
LATE_S = 1.0
"""How long a late connection may still open, to be closed then."""


class DirectTransport(httpx2.AsyncBaseTransport):
    """A pool of keep-alive connections to one server; it never has more connections than requests in flight."""

    def __init__(self, ssl_context: ssl.SSLContext | None = None, room: ReplyRoom | None = None) -> None:
        self._ssl = ssl_context
        self._room = room or ReplyRoom()
        self._idle: deque[Connection] = deque()
        self._connecting: set[asyncio.Task[Connection]] = set()
        self._uploads = asyncio.Semaphore(UPLOADS_AT_ONCE)
        self._replies_once = True

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request and read its reply whole; raises httpx2.TransportError."""
        target = Target(request.method, request.url, request.headers.raw)
        body, limit_s = await request.aread(), connect_limit_s(request)
        return (await self.send(target, body, limit_s, head=target.head(None))).for_httpx2()

    async def send(
        self, target: Target, body: Upload | bytes | None, connect_s: float, *, head: RequestHead | None = None
    ) -> Response:
        """Send one request and read its whole reply; its first byte must leave within `connect_s` seconds.

        `head` overrides the target's head. Raises httpx2.TransportError.
        """
        head, body = head or target.head(body), body or b""
        idle = self._take_idle()
        if idle is not None:
            try:
                return await self._exchange(idle, head, body)
            except httpx2.ReadError:
                if idle.answered:
                    raise
                # the server had closed an idle connection, which is not the request's fault
                self._drop_idle()  # the others may be closed too, and a large body must not be sent once for each
        return await self._exchange(await self._connect(target, connect_s), head, body)

    async def _exchange(self, connection: Connection, head: RequestHead, body: Upload | bytes) -> Response:
        connection.begin()
        if not connection.alive:
            raise httpx2.ReadError("the server closed the connection at once")
        early = True
        try:
            await self._send(connection, head, body)
            early = connection.reply.done()  # after a reply before the body's end, the connection's state is unknown
            response = await connection.reply
            if early and 200 <= response.status_code < 300 and connection.idle_since_s:
                connection.answered = False
                raise httpx2.ReadError("a reply came before the question was sent")
            return await unpack_reply(response, self._room)
        finally:
            kept = not early and connection.reply.done() and connection.alive and connection.keep and self._replies_once
            connection.end()
            if kept:
                connection.idle_since_s = time.monotonic()
                self._idle.append(connection)
            else:
                connection.transport.abort()

    async def _send(self, connection: Connection, head: RequestHead, body: Upload | bytes) -> None:
        if isinstance(body, bytes):
            connection.write((head, body))
            return
        if body.size_bytes <= COALESCE_BYTES:
            connection.write((head, *body.pieces()))  # less than the size at which asyncio pauses a writer
            return
        pieces, is_sent = chain((head,), body.pieces()), False
        while not (is_sent or connection.reply.done()):
            async with self._uploads:
                is_sent = await _write_until_full(connection, pieces)
            await connection.wait_until_drained()

    async def _connect(self, target: Target, connect_s: float) -> Connection:
        """Connect in a task that continues if the question is late or cancelled.

        asyncio loses the socket of a connect that is cancelled at the moment in which it succeeds.
        """
        connecting = asyncio.create_task(self._open(target.url, connect_s + LATE_S))
        self._connecting.add(connecting)
        connecting.add_done_callback(self._connecting.discard)
        try:
            async with asyncio.timeout(connect_s):
                return await asyncio.shield(connecting)
        except (TimeoutError, asyncio.CancelledError) as error:
            connecting.add_done_callback(_drop)
            if isinstance(error, TimeoutError):
                raise httpx2.ConnectTimeout(
                    f"no connection to {target.url.host}:{port_of(target.url)} in {connect_s:.3g} s"
                ) from None
            raise
        except (OSError, UnicodeError) as error:
            raise httpx2.ConnectError(str(error)) from error

    async def _open(self, url: httpx2.URL, limit_s: float) -> Connection:
        async with asyncio.timeout(limit_s):
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: Connection(self._room, on_second_reply=self._distrust),
                url.host,
                port_of(url),
                ssl=self._ssl if url.scheme == "https" else None,
                happy_eyeballs_delay=NEXT_ADDRESS_S,
            )
        return connection

    def _take_idle(self) -> Connection | None:
        oldest_s = time.monotonic() - IDLE_S
        while self._idle:
            connection = self._idle.pop()
            if connection.idle_since_s <= oldest_s:
                connection.transport.abort()
            elif connection.is_reusable():  # else its end, or more bytes, are waiting to be read
                return connection
        return None

    def _distrust(self) -> None:
        """Use each connection once from now on: a second reply may arrive after the next question was sent."""
        self._replies_once = False
        self._drop_idle()

    def _drop_idle(self) -> None:
        while self._idle:
            self._idle.pop().transport.abort()

    async def aclose(self) -> None:
        """Close the idle connections; a cancelled request closes its own."""
        if self._connecting:
            await asyncio.wait(self._connecting, timeout=CLOSE_S)
        self._drop_idle()
        await asyncio.sleep(0)


async def _write_until_full(connection: Connection, pieces: Iterator[bytes]) -> bool:
    """Write until the socket is full or a reply arrives; True at the body's end."""
    together: list[bytes] = []
    size_bytes = since_yield = 0
    for piece in pieces:
        together.append(piece)
        size_bytes += len(piece)
        if size_bytes <= COALESCE_BYTES:
            continue
        connection.write(together)
        since_yield += size_bytes
        together, size_bytes = [], 0
        if connection.is_full:
            return False
        if since_yield >= YIELD_BYTES:
            await asyncio.sleep(0)
            since_yield = 0
        if connection.reply.done():
            return False
    connection.write(together)
    return True


def connect_limit_s(request: httpx2.Request) -> float:
    """The limit for the time before a request's first byte."""
    limit_s: float | None = request.extensions.get("timeout", {}).get("connect")
    return CONNECT_TIMEOUT_S if limit_s is None else limit_s


def _drop(connecting: asyncio.Task[Connection]) -> None:
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().transport.abort()

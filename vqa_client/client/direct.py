"""The default wire: HTTP/1.1 keep-alive connections on asyncio, replies parsed by httptools.

httpx2's own pool walks every connection at every event, and aiohttp would bring seven distributions at two to
three times the CPU a request (tests/bench measures both); this one does what a benchmark needs and no more.
"""

import asyncio
import os
import ssl
import time
from asyncio.trsock import TransportSocket
from collections import deque
from collections.abc import Awaitable
from types import TracebackType
from typing import Self

import httptools
import httpx2

from vqa_client.client.body import Upload
from vqa_client.client.coding import raw_response, too_large, unpacked
from vqa_client.client.reply_room import FREE_BYTES, REPLY_LIMIT_BYTES, ReplyRoom, Share

UPLOADS_AT_ONCE = 16
"""With all workers uploading at once, large bodies compete and the event loop stalls."""
YIELD_BYTES = 262_144
COALESCE_BYTES = 32_768
"""Smaller pieces leave together, in one system call."""
IDLE_S = 4.0
"""uvicorn closes idle connections after 5 s; one that old is not worth the race."""
CONNECT_TIMEOUT_S = 60.0
"""For all that comes before a request's first byte: the name, the connection, a proxy's tunnel and TLS."""
CLOSE_S = 0.5
HEAD_LIMIT_BYTES = 1_000_000
"""The parser keeps a header whole and copies it at each piece that comes."""


class Connection(asyncio.Protocol):
    """One connection and the reply being read from it."""

    def __init__(self, room: ReplyRoom | None = None) -> None:
        self.transport: asyncio.Transport
        self._room = room or ReplyRoom()
        self._bare: TransportSocket | None = None
        self.alive = False
        self.idle_since_s = 0.0
        self._drained: asyncio.Future[None] | None = None
        self.begin()

    def begin(self) -> None:
        """Make ready for the next reply."""
        self._parser = httptools.HttpResponseParser(self)
        self.reply: asyncio.Future[httpx2.Response] = asyncio.get_running_loop().create_future()
        self.answered = False
        self._headers: list[tuple[bytes, bytes]] = []
        self._head_read = False
        self._head_bytes = 0
        self._size_bytes = 0
        self._keep = self._resting = False
        self._forget()

    def _forget(self) -> None:
        self._body: list[bytes] = []
        self._share: Share | None = None
        self._counted_bytes = FREE_BYTES

    @property
    def full(self) -> bool:
        """The socket takes no more for now."""
        return self._drained is not None

    async def drained(self) -> None:
        """Wait until the socket takes more, or the reply has come."""
        if self._drained is not None:
            await self._drained

    def write(self, before: bytearray, piece: bytes) -> None:
        """Write both, in one system call where that can be: asyncio makes two, or copies them."""
        written = self._written_at_once(before, piece)
        if written < len(before):
            self.transport.write(before[written:])
        rest = memoryview(piece)[max(0, written - len(before)) :]
        if rest:
            self.transport.write(rest)

    def _written_at_once(self, *pieces: bytes | bytearray) -> int:
        """How many bytes the socket itself took; none where others wait before them, or have to be encrypted."""
        if self._bare is None or self.transport.is_closing() or self.transport.get_write_buffer_size():
            return 0
        try:
            return os.writev(self._bare.fileno(), pieces)
        except OSError:  # full, or broken, which the transport finds and tells
            return 0

    def reusable(self) -> bool:
        """The reply is read whole and the server means to go on."""
        return self.alive and self._keep

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # noqa: D102
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._bare = None if transport.get_extra_info("sslcontext") else transport.get_extra_info("socket")
        self.alive = True

    def pause_writing(self) -> None:  # noqa: D102
        self._drained = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:  # noqa: D102
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)

    def data_received(self, data: bytes) -> None:  # noqa: D102
        self.answered = True
        if not self._head_read:
            self._count_head(len(data))
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(httpx2.RemoteProtocolError(f"the server does not speak HTTP: {error}"))
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: D102
        self.alive = False
        self.resume_writing()
        if exc is None and self._until_close():  # a reset may have cut it
            self.on_message_complete()
        when = "in the middle of its reply" if self.answered else "without a reply"
        self._fail(httpx2.ReadError(f"the server closed the connection {when}" + (f" ({exc})" if exc else "")))

    def on_header(self, name: bytes, value: bytes) -> None:  # noqa: D102
        self._headers.append((name, value))
        if self._head_read:  # behind a chunked body, where there is no end to them either
            self._count_head(len(name) + len(value))

    def on_headers_complete(self) -> None:  # noqa: D102
        self._head_read = True

    def on_body(self, body: bytes) -> None:  # noqa: D102
        self._body.append(body)
        self._size_bytes += len(body)
        if self._size_bytes > self._counted_bytes:
            self._count_body()

    def on_message_complete(self) -> None:  # noqa: D102
        status = self._parser.get_status_code()
        if status < 200:  # 100 Continue and the like come before the reply
            self._headers.clear()
            self._head_read = False
            return
        self._keep = self.alive and self._parser.should_keep_alive() and not self._resting
        if not self.reply.done():
            response = raw_response(status, self._headers, b"".join(self._body))
            if self._share is not None:
                response.extensions["share"] = self._share
            self.reply.set_result(response)
        self._forget()
        self.resume_writing()

    def _count_head(self, size_bytes: int) -> None:
        self._head_bytes += size_bytes
        if self._head_bytes > HEAD_LIMIT_BYTES:
            self._fail(httpx2.RemoteProtocolError(f"the reply's headers are larger than {HEAD_LIMIT_BYTES} bytes"))
            self.transport.abort()

    def _count_body(self) -> None:
        """Read on where the replies of all workers leave room for it."""
        if self._size_bytes > REPLY_LIMIT_BYTES:
            self._fail(too_large())
            self.transport.abort()
            return
        self._share = self._share or self._room.share()
        self._counted_bytes = min(self._size_bytes + FREE_BYTES, REPLY_LIMIT_BYTES)
        if waits := self._share.grow(self._counted_bytes):
            self._resting = True
            self.transport.pause_reading()
            waits.add_done_callback(self._read_on)

    def _read_on(self, _: object) -> None:
        self._resting = False
        self.transport.resume_reading()

    def _until_close(self) -> bool:
        """Whether the end of the connection is the end of the reply: it has headers and no length."""
        if self.reply.done() or not self._head_read:
            return False
        names = {name.lower() for name, _ in self._headers}
        return not names & {b"content-length", b"transfer-encoding"}

    def _fail(self, error: Exception) -> None:
        if not self.reply.done():
            self.reply.set_exception(error)
            self.reply.exception()  # marks it as seen: the sender may have been cancelled
        self._forget()
        self.resume_writing()


class _Place:
    """A place among the uploads that is given up while the socket is full."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places
        self._held = False

    async def __aenter__(self) -> Self:
        await self._places.acquire()
        self._held = True
        return self

    async def lend_while(self, wait: Awaitable[None]) -> None:
        self._places.release()
        self._held = False
        await wait
        await self._places.acquire()
        self._held = True

    async def __aexit__(self, *exc_info: object) -> None:
        if self._held:
            self._places.release()


class DirectTransport(httpx2.AsyncBaseTransport):
    """A keep-alive pool to the one server a run talks to; it opens no more connections than there are requests."""

    def __init__(self, ssl_context: ssl.SSLContext | None = None, room: ReplyRoom | None = None) -> None:
        self._ssl = ssl_context
        self._room = room or ReplyRoom()
        self._idle: deque[Connection] = deque()
        self._connecting: set[asyncio.Task[Connection]] = set()
        self._uploads = asyncio.Semaphore(UPLOADS_AT_ONCE)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request and read its reply whole; raises httpx2.TransportError."""
        head = _head(request)
        idle = self._take_idle()
        if idle is not None:
            try:
                return await self._exchange(idle, head, request)
            except httpx2.ReadError:
                if idle.answered:
                    raise  # else the server had closed an idle connection: that says nothing about the request
                self._drop_idle()  # the others may be no better, and a large body is not to be sent once for each
        return await self._exchange(await self._connect(request), head, request)

    async def _exchange(self, connection: Connection, head: bytes, request: httpx2.Request) -> httpx2.Response:
        connection.begin()
        if not connection.alive:
            raise httpx2.ReadError("the server closed the connection at once")
        early = True
        try:
            await self._send(connection, head, request)
            early = connection.reply.done()  # a reply before the body's end leaves the connection in no known state
            return await unpacked(await connection.reply, self._room)
        finally:
            kept = connection.reply.done() and not early and connection.reusable()
            connection.reply.cancel()
            connection.reply = asyncio.get_running_loop().create_future()  # the reply is its asker's alone
            if kept:
                connection.idle_since_s = time.monotonic()
                self._idle.append(connection)
            else:
                connection.transport.abort()

    async def _send(self, connection: Connection, head: bytes, request: httpx2.Request) -> None:
        if not isinstance(request.stream, Upload):
            connection.transport.write(head + await request.aread())
            return
        pending, since_yield = bytearray(head), 0
        async with _Place(self._uploads) as place:
            for piece in request.stream.pieces():
                if len(pending) + len(piece) <= COALESCE_BYTES:
                    pending += piece
                    continue
                since_yield += len(pending) + len(piece)
                connection.write(pending, piece)
                pending, piece = bytearray(), b""  # whoever waits for the socket holds no more than it does
                if connection.full:
                    await place.lend_while(connection.drained())
                    since_yield = 0
                elif since_yield >= YIELD_BYTES:
                    await asyncio.sleep(0)
                    since_yield = 0
                if connection.reply.done():
                    return
            connection.transport.write(pending)
        await connection.drained()

    async def _connect(self, request: httpx2.Request) -> Connection:
        """Connect in a task that a cancelled question leaves running: asyncio drops sockets of cancelled connects."""
        connecting = asyncio.create_task(self._opened(request.url, connect_limit_s(request)))
        self._connecting.add(connecting)
        connecting.add_done_callback(self._connecting.discard)
        try:
            return await asyncio.shield(connecting)
        except asyncio.CancelledError:
            connecting.add_done_callback(_dropped)
            raise

    async def _opened(self, url: httpx2.URL, limit_s: float) -> Connection:
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            async with asyncio.timeout(limit_s):
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: Connection(self._room),
                    url.host,
                    port,
                    ssl=self._ssl if url.scheme == "https" else None,
                    happy_eyeballs_delay=0.25,  # localhost may mean ::1 first, where nobody listens
                )
        except TimeoutError:
            raise httpx2.ConnectTimeout(f"no connection to {url.host}:{port} in {limit_s:.3g} s") from None
        except (OSError, UnicodeError) as error:
            raise httpx2.ConnectError(str(error)) from error
        return connection

    def _take_idle(self) -> Connection | None:
        oldest_s = time.monotonic() - IDLE_S
        while self._idle:
            connection = self._idle.pop()
            if connection.alive and connection.idle_since_s > oldest_s and not connection.transport.is_closing():
                return connection
            connection.transport.abort()
        return None

    def _drop_idle(self) -> None:
        while self._idle:
            self._idle.pop().transport.abort()

    async def aclose(self) -> None:
        """Close the idle connections; each request closes its own when it is cancelled."""
        if self._connecting:
            await asyncio.wait(self._connecting, timeout=CLOSE_S)
        self._drop_idle()
        await asyncio.sleep(0)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self.aclose()


def connect_limit_s(request: httpx2.Request) -> float:
    """How long the way to a request's first byte may take."""
    limit_s: float | None = request.extensions.get("timeout", {}).get("connect")
    return CONNECT_TIMEOUT_S if limit_s is None else limit_s


def _dropped(connecting: asyncio.Task[Connection]) -> None:
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().transport.abort()


class _Head(bytes):
    """A request's first bytes; they hold the key, so that no traceback may show them."""

    def __repr__(self) -> str:
        return "<request head>"


def _head(request: httpx2.Request) -> _Head:
    lines = [b"%s %s HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
    lines += [b"%s: %s" % header for header in request.headers.raw]
    return _Head(b"\r\n".join(lines) + b"\r\n\r\n")

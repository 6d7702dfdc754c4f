"""One keep-alive connection of the default transport, whose replies httptools parses."""

import asyncio
import os
import select
import time
from asyncio.trsock import TransportSocket
from collections.abc import Callable, Sequence

import httptools
import httpx2

from vqa_client.client.messages import Response, headers_of, too_large_error
from vqa_client.client.reply_room import FREE_BYTES, REPLY_LIMIT_BYTES, ReplyRoom, Share

HEAD_LIMIT_BYTES = 1_000_000
"""A limit is needed because the parser copies a whole header with each new piece of it."""
_LENGTHS = frozenset({b"content-length", b"transfer-encoding"})


class Connection(asyncio.Protocol):
    """One connection and the reply being read from it; calls `on_second_reply` for a reply without a request."""

    def __init__(self, room: ReplyRoom, *, on_second_reply: Callable[[], None]) -> None:
        self.transport: asyncio.Transport
        self._room = room
        self._on_second_reply = on_second_reply
        self._bare: TransportSocket | None = None
        self.alive = False
        self.idle_since_s = 0.0
        self._drained: asyncio.Future[None] | None = None
        self._arrived = select.poll()
        self._cancelled: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._cancelled.cancel()
        self.begin()

    def begin(self) -> None:
        """Prepare for the next reply."""
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(lenient_chunked_length=True)  # chunks win over a length (RFC 9112, 6.3)
        self.reply: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self.answered = False
        self._headers: list[tuple[bytes, bytes]] = []
        self._head_read = False
        self._head_bytes = 0
        self._size_bytes = 0
        self._chunked = False
        self._whole = False
        self.keep = self._resting = False
        self._forget()

    def end(self) -> None:
        """Drop the reply: the cycle with the parser would keep it, and its share of the room, in memory for long."""
        self.reply = self._cancelled

    def _forget(self) -> None:
        self._body: list[bytes] = []
        self._came: list[tuple[float, int]] = []
        self._share: Share | None = None
        self._counted_bytes = FREE_BYTES

    @property
    def is_full(self) -> bool:
        """Whether the socket's buffer is full."""
        return self._drained is not None

    async def wait_until_drained(self) -> None:
        """Wait until the socket takes more bytes, or the reply is complete."""
        if self._drained is not None:
            await self._drained

    def write(self, pieces: Sequence[bytes]) -> None:
        """Write all pieces, if possible in one system call: asyncio makes several, or copies the pieces."""
        written = self._write_to_socket(pieces)
        if written < sum(map(len, pieces)):
            self.transport.write(memoryview(b"".join(pieces))[written:])

    def _write_to_socket(self, pieces: Sequence[bytes]) -> int:
        """Write to the socket itself; returns the bytes written, 0 if others wait before them or TLS encrypts them."""
        if self._bare is None or self.transport.is_closing() or self.transport.get_write_buffer_size():
            return 0
        try:
            return os.writev(self._bare.fileno(), pieces)
        except OSError:  # the socket is full, or broken, which the transport notices
            return 0

    def is_reusable(self) -> bool:
        """Whether the reply is complete, the server keeps the connection open, and no bytes have arrived since."""
        return self.alive and self.keep and not self.transport.is_closing() and not self._arrived.poll(0)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._arrived.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
        self._bare = None if transport.get_extra_info("sslcontext") else transport.get_extra_info("socket")
        self.alive = True

    def pause_writing(self) -> None:
        self._drained = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self._whole:  # bytes without a request would become the next question's reply
            if data.startswith(b"HTTP/1.1 2"):
                self._on_second_reply()
            self.transport.abort()
            return
        if self.idle_since_s and not self.answered and not data.startswith(b"HTTP/") and is_stray(data):
            self._fail(httpx2.ReadError("bytes came on an idle connection"))
            self.transport.abort()
            return
        self.answered = True
        if not self._head_read:
            self._count_head(len(data))
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(httpx2.RemoteProtocolError(f"the server does not speak HTTP: {error}"))
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.alive = False
        self.resume_writing()
        if exc is None and self._head_read and not self.reply.done() and not self._lengths():
            self.on_message_complete()  # without a length, the reply ends with the connection; a reset may have cut it
        when = "in the middle of its reply" if self.answered else "without a reply"
        self._fail(httpx2.ReadError(f"the server closed the connection {when}" + (f" ({exc})" if exc else "")))

    def on_message_begin(self) -> None:
        if self._whole:
            self.keep = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))
        if self._head_read:  # trailers after a chunked body, which have no limit either
            self._count_head(len(name) + len(value))

    def on_headers_complete(self) -> None:
        self._head_read = True

    def on_chunk_header(self) -> None:
        self._chunked = True

    def on_body(self, body: bytes) -> None:
        self._body.append(body)
        self._size_bytes += len(body)
        self._came.append((time.monotonic(), self._size_bytes))
        if self._size_bytes > self._counted_bytes:
            self._count_body()

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # 100 Continue and the like come before the reply
            self._headers.clear()
            self._head_read = False
            return
        if self._whole:
            self._on_second_reply()
            return
        self._whole = True
        self.keep = (
            self.alive
            and self._parser.should_keep_alive()
            and not self._resting
            and not (self._chunked and self._lengths() > 1)
        )
        if not self.reply.done():
            headers, body = headers_of(self._headers), b"".join(self._body)
            self.reply.set_result(Response(status, headers, body, self._share, self._came))
        self._forget()
        self.resume_writing()

    def _count_head(self, size_bytes: int) -> None:
        self._head_bytes += size_bytes
        if self._head_bytes > HEAD_LIMIT_BYTES:
            self._fail(httpx2.RemoteProtocolError(f"the reply's headers are larger than {HEAD_LIMIT_BYTES} bytes"))
            self.transport.abort()

    def _count_body(self) -> None:
        """Count the body; pause reading while the replies of all workers leave no room for it."""
        if self._size_bytes > REPLY_LIMIT_BYTES:
            self._fail(too_large_error())
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

    def _lengths(self) -> int:
        return len(_LENGTHS & {name.lower() for name, _ in self._headers})

    def _fail(self, error: Exception) -> None:
        if not self.reply.done():
            self.reply.set_exception(error)
            self.reply.exception()  # marks the error as seen: the sender may have been cancelled
        self._forget()
        self.resume_writing()


def is_stray(data: bytes) -> bool:
    """Whether the first bytes on a reused connection are left over from an earlier reply."""
    start = data.lstrip(b"\r\n")[:5]
    return start != b"HTTP/"[: len(start)]

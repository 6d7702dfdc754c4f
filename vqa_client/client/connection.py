"""One keep-alive connection of the default wire, and the reply that httptools parses from it."""

import asyncio
import os
import select
import time
from asyncio.trsock import TransportSocket
from collections.abc import Callable, Sequence

import httptools
import httpx2

from vqa_client.client.messages import Response, headers_of, too_large
from vqa_client.client.reply_room import FREE_BYTES, REPLY_LIMIT_BYTES, ReplyRoom, Share

HEAD_LIMIT_BYTES = 1_000_000
"""The parser keeps a header whole and copies it at each piece that comes."""
_LENGTHS = frozenset({b"content-length", b"transfer-encoding"})


class Connection(asyncio.Protocol):
    """One connection and the reply being read from it; `on_second_reply` hears of one that nobody asked for."""

    def __init__(self, room: ReplyRoom | None = None, *, on_second_reply: Callable[[], None] = lambda: None) -> None:
        self.transport: asyncio.Transport
        self._room = room or ReplyRoom()
        self._on_second_reply = on_second_reply
        self._bare: TransportSocket | None = None
        self.alive = False
        self.idle_since_s = 0.0
        self._drained: asyncio.Future[None] | None = None
        self._arrived = select.poll()
        self._nobody: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._nobody.cancel()
        self.begin()

    def begin(self) -> None:
        """Make ready for the next reply."""
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
        """Leave the reply to its asker: the parser's cycle would keep it, and its share of the room, for long."""
        self.reply = self._nobody  # what comes now is for nobody

    def _forget(self) -> None:
        self._body: list[bytes] = []
        self._came: list[tuple[float, int]] = []
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

    def write(self, pieces: Sequence[bytes]) -> None:
        """Write all, in one system call where that can be: asyncio makes several, or copies them."""
        written = self._written_at_once(pieces)
        if written < sum(map(len, pieces)):
            self.transport.write(memoryview(b"".join(pieces))[written:])

    def _written_at_once(self, pieces: Sequence[bytes]) -> int:
        """How many bytes the socket itself took; none where others wait before them, or have to be encrypted."""
        if self._bare is None or self.transport.is_closing() or self.transport.get_write_buffer_size():
            return 0
        try:
            return os.writev(self._bare.fileno(), pieces)
        except OSError:  # full, or broken, which the transport finds and tells
            return 0

    def reusable(self) -> bool:
        """The reply is read whole, the server keeps the connection open, and nothing has come on it since."""
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
        if self._whole:  # nobody asked for it, and the next question would be given it
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
        if exc is None and self._until_close():  # a reset may have cut it
            self.on_message_complete()
        when = "in the middle of its reply" if self.answered else "without a reply"
        self._fail(httpx2.ReadError(f"the server closed the connection {when}" + (f" ({exc})" if exc else "")))

    def on_message_begin(self) -> None:
        if self._whole:
            self.keep = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))
        if self._head_read:  # behind a chunked body, where there is no end to them either
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
        return not self._lengths()

    def _lengths(self) -> int:
        return len(_LENGTHS & {name.lower() for name, _ in self._headers})

    def _fail(self, error: Exception) -> None:
        if not self.reply.done():
            self.reply.set_exception(error)
            self.reply.exception()  # marks it as seen: the sender may have been cancelled
        self._forget()
        self.resume_writing()


def is_stray(data: bytes) -> bool:
    """Whether what comes first on a connection in use is not the start of a reply, but left over from before."""
    start = data.lstrip(b"\r\n")[:5]
    return start != b"HTTP/"[: len(start)]

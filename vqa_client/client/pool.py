"""httpx2's own pool, for --engine httpx2 and for proxies, with the rules and limits of the direct one.

By itself httpx2 takes bytes after a reply for the next question's reply, and fails a question on a connection that the
server had closed before.
"""

import asyncio
import copy
from collections.abc import AsyncIterator
from typing import Any

import httpcore2
import httptools
import httpx2

from vqa_client.client.connection import is_stray
from vqa_client.client.direct import connect_limit_s
from vqa_client.client.messages import read_whole
from vqa_client.client.reply_room import ReplyRoom
from vqa_client.client.url import without_secrets


class Closed(httpcore2.ReadError):
    """The server closed a reused connection before the first byte of the reply."""


STEP = 0.5
"""The part of the connection's limit for each step, which httpx2 enforces; it then closes what it has opened."""


class PoolTransport(httpx2.AsyncHTTPTransport):
    """An `AsyncHTTPTransport` whose large replies share `room`.

    It closes a connection with bytes after a reply, and repeats once a request that a closed connection lost.
    """

    def __init__(self, room: ReplyRoom, **options: Any) -> None:
        super().__init__(**options)
        self._room = room
        self._through = f" through {without_secrets(options['proxy'])}" if options.get("proxy") else ""
        self._network = _Network(self._pool._network_backend)  # noqa: SLF001  (the transport doesn't pass it on)
        self._pool._network_backend = self._network  # noqa: SLF001

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request and read its reply whole; raises httpx2.TransportError."""
        return (await read_whole(await self._send(request), self._room)).for_httpx2()

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await self._send_once(request)
        except httpx2.ReadError as error:
            if not isinstance(error.__cause__, Closed):
                raise
        self._network.age += 1  # the others may be closed too
        return await self._send_once(request)

    async def _send_once(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request whose first byte must leave within a limit: httpx2 waits for a proxy's tunnel without one."""
        limit_s = connect_limit_s(request)
        begun = copy.copy(request)  # the request itself may be sent again
        begun.extensions = {"timeout": {"connect": STEP * limit_s}}
        try:
            async with asyncio.timeout(limit_s) as deadline:
                assert isinstance(request.stream, httpx2.AsyncByteStream)
                begun.stream = _Begun(request.stream, deadline)
                return await super().handle_async_request(begun)
        except TimeoutError:
            where = f"{request.url.host}:{request.url.port or request.url.scheme}{self._through}"
            raise httpx2.ConnectTimeout(f"no connection to {where} in {limit_s:.3g} s") from None


class _Begun(httpx2.AsyncByteStream):
    """A request's body that removes a deadline when its first piece is taken."""

    def __init__(self, stream: httpx2.AsyncByteStream, deadline: asyncio.Timeout) -> None:
        self._stream = stream
        self._deadline = deadline

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._deadline.reschedule(None)
        async for piece in self._stream:
            yield piece


class _Network(httpcore2.AsyncNetworkBackend):
    """Opens connections; one of an earlier `age` is not reused, and none is once a second reply came (not `once`)."""

    def __init__(self, network: httpcore2.AsyncNetworkBackend) -> None:
        self._network = network
        self.age = 0
        self.once = True

    async def connect_tcp(self, *args: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        return _Stream(await self._network.connect_tcp(*args, **options), self)


class _Stream(httpcore2.AsyncNetworkStream):
    """A connection that knows where a reply ends."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream, network: _Network) -> None:
        self._stream = stream
        self._network = network
        self._age = network.age
        self._replies = 0
        self._begin()

    def _begin(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(lenient_chunked_length=True)
        self._silent = True
        self._whole = False
        self._chunked = False
        self._spoilt = False

    def on_message_begin(self) -> None:
        self._spoilt = self._whole

    def on_chunk_header(self) -> None:
        self._chunked = True

    def on_message_complete(self) -> None:
        self._network.once = self._network.once and not self._whole
        self._whole = self._parser.get_status_code() >= 200

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            data = await self._stream.read(max_bytes, timeout)
        except httpcore2.ReadError as error:
            if self._replies and self._silent:
                raise Closed(str(error)) from error
            raise
        if self._replies and self._silent and (not data or is_stray(data)):
            raise Closed("the server closed the connection without a reply")
        self._silent = False
        self._spoilt = self._spoilt or self._whole
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._spoilt = True
        if self._whole and data.endswith(b"\r\n\r\n\r\n" if self._chunked else b"\r\n"):
            self._spoilt = True  # the parser skips an empty line, and h11 does not
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._whole:
            self._replies += 1
            self._begin()
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(self, *args: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        return _Stream(await self._stream.start_tls(*args, **options), self._network)

    def get_extra_info(self, info: str) -> Any:
        """httpcore calls this for an idle connection: if it is readable, it has bytes without a request."""
        if info == "is_readable" and (self._spoilt or self._age < self._network.age or not self._network.once):
            return True
        return self._stream.get_extra_info(info)

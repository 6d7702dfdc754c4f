"""httpx2's own pool, for --engine httpx2 and for proxies, with the limits of the direct one."""

import asyncio
import copy
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from vqa_client.client.coding import read_whole
from vqa_client.client.direct import connect_limit_s
from vqa_client.client.reply_room import ReplyRoom
from vqa_client.client.stock import StockTransport
from vqa_client.client.url import without_secrets

STEP = 0.5
"""Of the limit for all steps, that for a single one, which httpx2 keeps itself: then it closes what it has opened."""


class PoolTransport(StockTransport):
    """Takes what `AsyncHTTPTransport` takes; large replies share `room`."""

    def __init__(self, room: ReplyRoom, **given: Any) -> None:
        super().__init__(**given)
        self._room = room
        self._through = f" through {without_secrets(given['proxy'])}" if given.get("proxy") else ""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request and read its reply whole; raises httpx2.TransportError."""
        return (await read_whole(await super().handle_async_request(request), self._room)).for_httpx2()

    async def send_once(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request within a limit for all before its first byte: httpx2 waits for a proxy's tunnel for ever."""
        limit_s = connect_limit_s(request)
        begun = copy.copy(request)  # the request itself may be sent again
        begun.extensions = {"timeout": {"connect": STEP * limit_s}}
        try:
            async with asyncio.timeout(limit_s) as deadline:
                assert isinstance(request.stream, httpx2.AsyncByteStream)
                begun.stream = _Begun(request.stream, deadline)
                return await super().send_once(begun)
        except TimeoutError:
            where = f"{request.url.host}:{request.url.port or request.url.scheme}{self._through}"
            raise httpx2.ConnectTimeout(f"no connection to {where} in {limit_s:.3g} s") from None


class _Begun(httpx2.AsyncByteStream):
    """A request's body that lifts a deadline once the first piece of it is wanted."""

    def __init__(self, stream: httpx2.AsyncByteStream, deadline: asyncio.Timeout) -> None:
        self._stream = stream
        self._deadline = deadline

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._deadline.reschedule(None)
        async for piece in self._stream:
            yield piece

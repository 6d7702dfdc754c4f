"""Requests and replies of either engine: httpx2's own objects cost as much CPU as the sending.

A reply may be compressed although that wasn't requested. It is unpacked within the limit of all replies: a few hundred
bytes can unpack to gigabytes, and httpx2 has no limit.
"""

import time
import zlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import httpx2
from msgspec import Struct

from vqa_client.client.body import Upload
from vqa_client.client.reply_room import FREE_BYTES, REPLY_LIMIT_BYTES, ReplyRoom, Share

RawHeaders = Iterable[tuple[bytes, bytes]]


class RequestHead(bytes):
    """A request's head; no traceback shows it, because it contains the key."""

    def __repr__(self) -> str:
        return "<request head>"


class Target:
    """A request's method, address and headers; the head's constant part is encoded once.

    No traceback shows the address or the headers: both may contain a key.
    """

    def __init__(self, method: str, url: httpx2.URL, headers: RawHeaders) -> None:
        self.method = method
        self.url = url
        self.headers = tuple(headers)

    def __repr__(self) -> str:
        return f"<target of {self.method}>"

    @cached_property
    def _start(self) -> RequestHead:
        lines = [b"%s %s HTTP/1.1" % (self.method.encode(), self.url.raw_path)]
        return RequestHead(b"\r\n".join([*lines, *(b"%s: %s" % header for header in self.headers)]) + b"\r\n")

    def head(self, body: Upload | bytes | None) -> RequestHead:
        """The request line and all headers, with Content-Length unless the body is None."""
        length = b"" if body is None else b"Content-Length: %d\r\n" % _size_bytes(body)
        return RequestHead(self._start + length + b"\r\n")

    def request(self, body: Upload | bytes | None, connect_s: float) -> httpx2.Request:
        """The request as httpx2's object; connecting may take `connect_s` seconds."""
        headers = list(self.headers)
        if body is not None:
            headers.append((b"Content-Length", b"%d" % _size_bytes(body)))
        stream = body if isinstance(body, Upload) else httpx2.ByteStream(body or b"")
        limits = {"timeout": {"connect": connect_s}}
        return _Request(self.method, self.url, headers=headers, stream=stream, extensions=limits)


class _Request(httpx2.Request):
    def __repr__(self) -> str:
        return f"<request {self.method}>"


def _size_bytes(body: Upload | bytes) -> int:
    return len(body) if isinstance(body, bytes) else body.size_bytes


class Response(Struct, weakref=True):
    """A whole reply; names of headers are lower-case. `share` is its part of the room until it is deleted.

    `arrived` has the time and the size of the content so far for each piece.
    """

    status_code: int
    headers: dict[str, str]
    content: bytes
    share: Share | None = None
    arrived: Sequence[tuple[float, int]] = ()

    def for_httpx2(self) -> httpx2.Response:
        """The reply as httpx2's object."""
        extensions: dict[str, Any] = {"share": self.share, "arrived": self.arrived}
        return httpx2.Response(self.status_code, headers=self.headers, content=self.content, extensions=extensions)


def headers_of(raw: RawHeaders) -> dict[str, str]:
    """Headers by lower-case name; several of one name are joined by commas."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), _text(value)
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


MOST_MEMBERS = 64
"""The most members of a gzip body (RFC 1952, section 2.2); a body could have a million empty ones."""
_OF_CODING = frozenset({"content-encoding", "content-length"})
_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


def too_large_error() -> httpx2.RemoteProtocolError:
    """The error for a reply over the size limit."""
    return httpx2.RemoteProtocolError(f"the reply is larger than {REPLY_LIMIT_BYTES} bytes")


async def unpack_reply(response: Response, room: ReplyRoom) -> Response:
    """The unpacked reply; raises httpx2.RemoteProtocolError if it can't be unpacked or is too large."""
    coding = response.headers.get("content-encoding", "").lower()
    if not coding:
        return response
    content, share = _unpack(response.content, coding, FREE_BYTES), None
    if content is None:
        share = room.share()
        if waits := share.grow(REPLY_LIMIT_BYTES):
            await waits
        content = _unpack(response.content, coding, REPLY_LIMIT_BYTES)
    if content is None:
        raise too_large_error()
    headers = {name: value for name, value in response.headers.items() if name not in _OF_CODING}
    return Response(response.status_code, headers, content, share)


async def read_whole(response: httpx2.Response, room: ReplyRoom | None = None) -> Response:
    """Read the rest of an httpx2 reply within the size limit; raises httpx2.TransportError."""
    if response.is_closed:
        headers = headers_of(response.headers.raw)
        kept = response.extensions
        return Response(response.status_code, headers, response.content, kept.get("share"), kept.get("arrived", ()))
    room = room or ReplyRoom()
    pieces: list[bytes] = []
    arrived: list[tuple[float, int]] = []
    size_bytes, counted_bytes, share = 0, FREE_BYTES, None
    try:
        async for piece in response.aiter_raw():
            pieces.append(piece)
            size_bytes += len(piece)
            arrived.append((time.monotonic(), size_bytes))
            if size_bytes > REPLY_LIMIT_BYTES:
                raise too_large_error()
            if size_bytes > counted_bytes:
                share, counted_bytes = share or room.share(), size_bytes + FREE_BYTES
                if waits := share.grow(counted_bytes):
                    await waits
    finally:
        await response.aclose()
    raw = Response(response.status_code, headers_of(response.headers.raw), b"".join(pieces), share, arrived)
    return await unpack_reply(raw, room)


def _unpack(body: bytes, codings: str, limit_bytes: int) -> bytes | None:
    """The content, or None if it is larger than the limit."""
    names = [name for coding in codings.split(",") if (name := coding.strip()) not in ("", "identity")]
    if not names:
        return body
    if len(names) > 1:
        raise httpx2.RemoteProtocolError(f"the reply is packed {len(names)} times over: {', '.join(names)[:40]!r}")
    if names[0] not in _WINDOW_BITS:
        raise httpx2.RemoteProtocolError(f"the reply comes in a coding that was not requested: {names[0][:40]!r}")
    window_bits = _WINDOW_BITS[names[0]]
    try:
        try:
            return _inflate(body, window_bits, limit_bytes)
        except zlib.error:
            if window_bits != 15:
                raise
            return _inflate(body, -15, limit_bytes)  # many servers omit the zlib header (RFC 9110, 8.4.1.2)
    except zlib.error as error:
        raise httpx2.RemoteProtocolError(f"the reply says that it is {names[0]} and is not: {error}") from None


def _inflate(body: bytes, window_bits: int, limit_bytes: int) -> bytes | None:
    contents: list[bytes] = []
    left_bytes = limit_bytes + 1
    for _ in range(MOST_MEMBERS if window_bits > 15 else 1):
        stream = zlib.decompressobj(window_bits)
        contents.append(stream.decompress(body, left_bytes))
        left_bytes -= len(contents[-1])
        if left_bytes <= 0:
            return None
        if not stream.eof:
            raise zlib.error("its end is missing")
        body = stream.unused_data.lstrip(b"\0")  # padding, which gzip(1) allows
        if not body:
            return b"".join(contents)
    raise zlib.error("something follows its end")

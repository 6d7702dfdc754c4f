"""What goes over the wire and what comes back, for either engine: httpx2's own objects cost as much as the sending."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import httpx2
from msgspec import Struct

from vqa_client.client.body import Upload
from vqa_client.client.reply_room import Share

RawHeaders = Iterable[tuple[bytes, bytes]]


class Head(bytes):
    """A request's first bytes, which no traceback shows: they contain the key."""

    def __repr__(self) -> str:
        return "<request head>"


class Target:
    """Where a request goes and what it always carries, with the head's constant part encoded once.

    Neither the address nor the headers are shown by a traceback: both may contain a key.
    """

    def __init__(self, method: str, url: httpx2.URL, headers: RawHeaders) -> None:
        self.method = method
        self.url = url
        self.headers = tuple(headers)

    def __repr__(self) -> str:
        return f"<target of {self.method}>"

    @cached_property
    def _start(self) -> Head:
        lines = [b"%s %s HTTP/1.1" % (self.method.encode(), self.url.raw_path)]
        return Head(b"\r\n".join([*lines, *(b"%s: %s" % header for header in self.headers)]) + b"\r\n")

    def head(self, body: Upload | bytes | None) -> Head:
        """The request line and all headers, the length of the body among them; None of a request without one."""
        length = b"" if body is None else b"Content-Length: %d\r\n" % _size_bytes(body)
        return Head(self._start + length + b"\r\n")

    def request(self, body: Upload | bytes | None, connect_s: float) -> httpx2.Request:
        """The same for httpx2; connecting may take `connect_s` seconds."""
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
    """A reply read whole; names of headers are lower-case, `share` is its part of the room for as long as it lives.

    `arrived` are the times at which so many bytes of the content were there.
    """

    status_code: int
    headers: dict[str, str]
    content: bytes
    share: Share | None = None
    arrived: Sequence[tuple[float, int]] = ()

    def for_httpx2(self) -> httpx2.Response:
        """The same as httpx2's transports give it."""
        extensions: dict[str, Any] = {"share": self.share, "arrived": self.arrived}
        return httpx2.Response(self.status_code, headers=self.headers, content=self.content, extensions=extensions)


def headers_of(raw: RawHeaders) -> dict[str, str]:
    """Headers by lower-case name; several of one name are one, with commas between."""
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

"""Reads HTTP/1.1 requests from a connection, head and body."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from tests.fakes.wire import HungUp, Wire

HEAD_LIMIT_BYTES, LINE_LIMIT_BYTES, PIECE_BYTES = 1 << 16, 1 << 12, 1 << 18


class Malformed(Exception):
    """Bytes that are not a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A request's first line and headers; names are lower-case, a header given twice is joined with a comma."""

    method: str
    path: str
    headers: dict[str, str]
    faults: tuple[str, ...] = ()

    @property
    def length_bytes(self) -> int | None:
        """The value of Content-Length."""
        return int(self.headers["content-length"]) if "content-length" in self.headers else None

    @property
    def is_chunked(self) -> bool:
        """Whether the body comes in chunks."""
        return "chunked" in self.headers.get("transfer-encoding", "").lower()


async def read_head(wire: Wire, idle_s: float | None) -> Head | None:
    """The next request's head; None if the peer leaves before it or sends nothing for `idle_s`."""
    try:
        async with asyncio.timeout(idle_s):
            await wire.arrival()
    except TimeoutError:
        return None
    except HungUp:
        return None
    try:
        return parse_head(await wire.take_until(b"\r\n\r\n", HEAD_LIMIT_BYTES))
    except ValueError as error:
        raise Malformed(f"no request head: {error}") from error


def parse_head(data: bytes) -> Head:
    """Read a head; ValueError if it isn't one."""
    first, *lines = data[:-4].decode("latin-1").split("\r\n")
    method, path, version = first.split(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError(f"version {version!r}")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip():
            raise ValueError(f"header line {line!r}")
        key = name.lower()
        headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        raise ValueError(f"Content-Length {length!r}")
    return Head(method=method, path=path, headers=headers, faults=_faults(method, headers))


def _faults(method: str, headers: dict[str, str]) -> tuple[str, ...]:
    rules = {
        "no Host header": "host" not in headers,
        "both Content-Length and Transfer-Encoding": {"content-length", "transfer-encoding"} <= headers.keys(),
        "a POST without any length": method == "POST" and not {"content-length", "transfer-encoding"} & headers.keys(),
        f"Content-Type {headers.get('content-type')!r}": method == "POST"
        and not headers.get("content-type", "").startswith(("application/json", "multipart/form-data")),
    }
    return tuple(text for text, broken in rules.items() if broken)


async def body_pieces(wire: Wire, head: Head, piece_bytes: int = PIECE_BYTES) -> AsyncGenerator[bytearray, None]:
    """The body piece by piece, decoded if it is chunked; HungUp if the peer leaves before its end."""
    if head.is_chunked:
        async for piece in _chunks(wire):
            yield piece
        return
    left = head.length_bytes or 0
    while left:
        piece = await wire.take(min(left, piece_bytes))
        left -= len(piece)
        yield piece


async def _chunks(wire: Wire) -> AsyncGenerator[bytearray, None]:
    try:
        while left := int((await wire.take_until(b"\r\n", LINE_LIMIT_BYTES)).split(b";")[0], 16):
            while left:
                piece = await wire.take(min(left, PIECE_BYTES))
                left -= len(piece)
                yield piece
            if await wire.take_until(b"\r\n", LINE_LIMIT_BYTES) != b"\r\n":
                raise ValueError("surplus bytes after a chunk")
        while await wire.take_until(b"\r\n", LINE_LIMIT_BYTES) != b"\r\n":
            pass
    except ValueError as error:
        raise Malformed(f"a broken chunk: {error}") from error

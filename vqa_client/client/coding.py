"""Replies that come compressed, though nobody asked for it: unpacked within the same limit as all others.

A reply of a few hundred kilobytes can unpack to gigabytes, and httpx2 unpacks whatever comes.
"""

import zlib
from collections.abc import Callable, Sequence

import httpx2

REPLY_LIMIT_BYTES = 64_000_000
RawHeaders = Sequence[tuple[bytes, bytes]]
_NAMES = frozenset({b"content-encoding", b"content-length"})


def too_large() -> httpx2.RemoteProtocolError:
    """What a reply beyond the limit is."""
    return httpx2.RemoteProtocolError(f"the reply is larger than {REPLY_LIMIT_BYTES} bytes")


def plain_response(status: int, headers: RawHeaders, body: bytes) -> httpx2.Response:
    """A reply as it was meant; raises httpx2.RemoteProtocolError where it can't be unpacked or is too large then."""
    codings = [value for name, value in headers if name.lower() == b"content-encoding"]
    if not codings:
        return httpx2.Response(status, headers=headers, content=body)
    for coding in reversed(b",".join(codings).decode("latin-1").split(",")):
        body = _unpacked(body, coding.strip().lower())
    return httpx2.Response(status, headers=[pair for pair in headers if pair[0].lower() not in _NAMES], content=body)


async def read_whole(response: httpx2.Response) -> httpx2.Response:
    """Read a reply that is still on the wire, within the limit; raises httpx2.TransportError."""
    pieces, size_bytes = [], 0
    try:
        async for piece in response.aiter_raw():
            pieces.append(piece)
            size_bytes += len(piece)
            if size_bytes > REPLY_LIMIT_BYTES:
                raise too_large()
    finally:
        await response.aclose()
    return plain_response(response.status_code, response.headers.raw, b"".join(pieces))


def _unpacked(body: bytes, coding: str) -> bytes:
    if coding in ("", "identity"):
        return body
    unpack = _UNPACK.get(coding)
    if unpack is None:
        raise httpx2.RemoteProtocolError(f"the reply comes in a coding that nobody asked for: {coding[:40]!r}")
    try:
        return unpack(body)
    except zlib.error as error:
        raise httpx2.RemoteProtocolError(f"the reply says that it is {coding} and is not: {error}") from None


def _gunzipped(body: bytes) -> bytes:
    return _inflated(body, 31)


def _deflated(body: bytes) -> bytes:
    """Unpack the coding that half of all servers send without its zlib header (RFC 9110, section 8.4.1.2)."""
    try:
        return _inflated(body, 15)
    except zlib.error:
        return _inflated(body, -15)


def _inflated(body: bytes, window_bits: int) -> bytes:
    """What comes out of one stream; more behind its end could be a million streams of nothing, and is refused."""
    stream = zlib.decompressobj(window_bits)
    content = stream.decompress(body, REPLY_LIMIT_BYTES + 1)
    if len(content) > REPLY_LIMIT_BYTES:
        raise too_large()
    if not stream.eof or stream.unused_data:
        raise zlib.error("something follows its end" if stream.eof else "its end is missing")
    return content


_UNPACK: dict[str, Callable[[bytes], bytes]] = {"gzip": _gunzipped, "x-gzip": _gunzipped, "deflate": _deflated}

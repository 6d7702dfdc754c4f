"""Replies that come compressed, though nobody asked for it: unpacked within the same limit as all others.

A reply of a few hundred bytes can unpack to gigabytes, and httpx2 unpacks whatever comes.
"""

import zlib
from collections.abc import Sequence

import httpx2

from vqa_client.client.reply_room import FREE_BYTES, REPLY_LIMIT_BYTES, ReplyRoom

MOST_MEMBERS = 64
"""Parts of one gzip body, each a stream of its own (RFC 1952, section 2.2); a million of them could hold nothing."""
RawHeaders = Sequence[tuple[bytes, bytes]]
_NAMES = frozenset({b"content-encoding", b"content-length"})
_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


def too_large() -> httpx2.RemoteProtocolError:
    """What a reply beyond the limit is."""
    return httpx2.RemoteProtocolError(f"the reply is larger than {REPLY_LIMIT_BYTES} bytes")


def raw_response(status: int, headers: RawHeaders, body: bytes) -> httpx2.Response:
    """A reply as it came; its codings are not among its headers, where httpx2 would find and obey them."""
    codings = [value for name, value in headers if name.lower() == b"content-encoding"]
    if not codings:
        return httpx2.Response(status, headers=headers, content=body)
    return httpx2.Response(
        status,
        headers=[pair for pair in headers if pair[0].lower() not in _NAMES],
        content=body,
        extensions={"coding": b",".join(codings).decode("latin-1").lower()},
    )


async def unpacked(response: httpx2.Response, room: ReplyRoom) -> httpx2.Response:
    """A raw response as it was meant; raises httpx2.RemoteProtocolError where it can't be unpacked or is too large."""
    coding = response.extensions.get("coding")
    if coding is None:
        return response
    content, share = _unpacked(response.content, coding, FREE_BYTES), None
    if content is None:
        share = room.share()
        if waits := share.grow(REPLY_LIMIT_BYTES):
            await waits
        content = _unpacked(response.content, coding, REPLY_LIMIT_BYTES)
    if content is None:
        raise too_large()
    return httpx2.Response(response.status_code, headers=response.headers, content=content, extensions={"share": share})


async def read_whole(response: httpx2.Response, room: ReplyRoom | None = None) -> httpx2.Response:
    """Read a reply that is still on the wire, within the limit; raises httpx2.TransportError."""
    room = room or ReplyRoom()
    pieces: list[bytes] = []
    size_bytes, counted_bytes, share = 0, FREE_BYTES, None
    try:
        async for piece in response.aiter_raw():
            pieces.append(piece)
            size_bytes += len(piece)
            if size_bytes > REPLY_LIMIT_BYTES:
                raise too_large()
            if size_bytes > counted_bytes:
                share, counted_bytes = share or room.share(), size_bytes + FREE_BYTES
                if waits := share.grow(counted_bytes):
                    await waits
    finally:
        await response.aclose()
    raw = raw_response(response.status_code, response.headers.raw, b"".join(pieces))
    raw.extensions["share"] = share
    return await unpacked(raw, room)


def _unpacked(body: bytes, codings: str, limit_bytes: int) -> bytes | None:
    """The content, or None where it is larger than the limit."""
    names = [name for coding in codings.split(",") if (name := coding.strip()) not in ("", "identity")]
    if not names:
        return body
    if len(names) > 1:
        raise httpx2.RemoteProtocolError(f"the reply is packed {len(names)} times over: {', '.join(names)[:40]!r}")
    if names[0] not in _WINDOW_BITS:
        raise httpx2.RemoteProtocolError(f"the reply comes in a coding that nobody asked for: {names[0][:40]!r}")
    window_bits = _WINDOW_BITS[names[0]]
    try:
        try:
            return _inflated(body, window_bits, limit_bytes)
        except zlib.error:
            if window_bits != 15:
                raise
            return _inflated(body, -15, limit_bytes)  # half of all servers leave out the header (RFC 9110, 8.4.1.2)
    except zlib.error as error:
        raise httpx2.RemoteProtocolError(f"the reply says that it is {names[0]} and is not: {error}") from None


def _inflated(body: bytes, window_bits: int, limit_bytes: int) -> bytes | None:
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
        body = stream.unused_data.lstrip(b"\0")  # padding, as gzip(1) allows it
        if not body:
            return b"".join(contents)
    raise zlib.error("something follows its end")

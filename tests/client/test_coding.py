"""Compressed replies are read as others are, and never unpacked beyond the limit."""

import gzip
import json
import zlib
from functools import partial
from pathlib import Path

import httpx2
import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.replies import Reply
from tests.faults.questions import Questions
from vqa_client.client.messages import MOST_MEMBERS, Response, headers_of, read_whole, unpack_reply
from vqa_client.client.reply_room import FREE_BYTES, REPLY_LIMIT_BYTES, ReplyRoom

SAID = json.dumps({"choices": [{"message": {"content": "B"}, "finish_reason": "stop"}]}).encode()
gzipped = partial(gzip.compress, mtime=0)
"""The same bytes in every run, because test names contain them."""
RAW = zlib.compressobj(wbits=-15)
MEMBERS = gzipped(SAID[:9]) + gzipped(b"") + gzipped(SAID[9:])
CODED = {
    "gzip": gzipped(SAID),
    "gzip ": MEMBERS,
    "GZIP": MEMBERS + bytes(7),
    "gzip, identity": gzipped(SAID),
    "x-gzip": gzipped(SAID),
    "deflate": zlib.compress(SAID),
    "Identity": SAID,
}


def packed(size_bytes: int) -> bytes:
    return gzipped(bytes(size_bytes))


async def plain(coding: str, body: bytes, *more: tuple[bytes, bytes]) -> Response:
    headers = [(b"Content-Encoding", coding.encode()), *more]
    return await unpack_reply(Response(200, headers_of(headers), body), ReplyRoom())


@pytest.mark.parametrize(("coding", "body"), CODED.items(), ids=list(CODED))
async def test_every_common_coding_is_unpacked(coding: str, body: bytes) -> None:
    response = await plain(coding, body, (b"x-other", b"1"))
    assert (response.content, response.headers["x-other"]) == (SAID, "1")
    assert "content-encoding" not in response.headers


async def test_a_deflated_reply_without_its_header_is_unpacked() -> None:
    assert (await plain("deflate", RAW.compress(SAID) + RAW.flush())).content == SAID


async def test_a_large_reply_is_unpacked_to_its_last_byte() -> None:
    for size_bytes in (FREE_BYTES, FREE_BYTES + 1, REPLY_LIMIT_BYTES):
        assert (await plain("gzip", packed(size_bytes))).content == bytes(size_bytes)


@pytest.mark.parametrize(
    ("coding", "body", "words"),
    [
        ("gzip", packed(REPLY_LIMIT_BYTES + 1), "larger than"),
        ("deflate", zlib.compress(bytes(REPLY_LIMIT_BYTES + 1)), "larger than"),
        ("gzip", SAID, "says that it is gzip"),
        ("gzip", gzipped(SAID)[:-4], "end is missing"),
        ("gzip", packed(REPLY_LIMIT_BYTES) + packed(1), "larger than"),
        ("gzip", gzipped(SAID) + SAID, "says that it is gzip"),
        ("gzip", MEMBERS[:-4], "end is missing"),
        ("gzip", gzipped(b"") * (MOST_MEMBERS + 1), "follows its end"),
        ("deflate", zlib.compress(SAID) * 2, "follows its end|says that it is deflate"),
        ("gzip", b"", "end is missing"),
        ("br", b"anything", "not requested"),
        ("gzip, gzip", gzipped(gzipped(SAID)), "packed 2 times"),
        ("deflate, gzip", gzipped(zlib.compress(SAID)), "packed 2 times"),
        ("gzip," * 50 + "zstd", b"anything", "packed 51 times"),
    ],
)
async def test_a_reply_that_can_not_be_unpacked_is_a_transport_error(coding: str, body: bytes, words: str) -> None:
    with pytest.raises(httpx2.RemoteProtocolError, match=words):
        await plain(coding, body)


async def test_an_endless_reply_ends_at_the_limit() -> None:
    read = 0

    class Endless(httpx2.AsyncByteStream):
        async def __aiter__(self):  # type: ignore[no-untyped-def]
            nonlocal read
            while True:
                read += 1_000_000
                yield bytes(1_000_000)

    with pytest.raises(httpx2.RemoteProtocolError, match="larger than"):
        await read_whole(httpx2.Response(200, stream=Endless()))
    assert read <= REPLY_LIMIT_BYTES + 1_000_000


@pytest.mark.parametrize("engine", ["direct", "httpx2"])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (CODED["gzip"], "ok"),
        (MEMBERS, "ok"),
        (packed(REPLY_LIMIT_BYTES + 1), "connection"),
        (packed(REPLY_LIMIT_BYTES) + packed(1), "connection"),
        (SAID, "connection"),
    ],
    ids=["packed", "members", "bomb", "bomb in members", "no gzip"],
)
async def test_a_decompression_bomb_fails_one_question_and_not_the_run(
    body: bytes, status: str, engine: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 2)
    packed_reply = Reply(body=body, headers=(("content-type", "application/json"), ("content-encoding", "gzip")))
    server = fault_server(lambda received: packed_reply if "[[q0]]" in received.prompt else "B")
    records = await of.ask(server, engine=engine, max_retries=0)
    assert {name: record["status"] for name, record in records.items()} == {"q0": status, "q1": "ok"}
    assert server.chats[0].headers["accept-encoding"] == "identity"

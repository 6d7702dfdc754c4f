"""The head of a reply and the trailers after a chunked body have a limit, in any pieces."""

from collections.abc import Callable

import httpx2
import pytest

from vqa_client.client.connection import HEAD_LIMIT_BYTES, Connection
from vqa_client.client.messages import Response, Target, headers_of, read_whole
from vqa_client.client.reply_room import ReplyRoom

CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
OPENED = {"one line": b"HTTP/1.1 200 OK\r\nx: ", "many lines": b"HTTP/1.1 200 OK\r\n", "trailers": CHUNKED}
PIECES = {"one line": b"x" * 50_000, "many lines": b"x: " + b"x" * 5_000 + b"\r\n", "trailers": b"x: y\r\n" * 1_000}


def test_a_request_is_written_with_its_headers_and_no_traceback_shows_them() -> None:
    target = Target("POST", httpx2.URL("http://h/v1?key=SECRET"), [(b"Authorization", b"Bearer SECRET")])
    head, request = target.head(b"{}"), target.request(b"{}", 5.0)
    assert head == b"POST /v1?key=SECRET HTTP/1.1\r\nAuthorization: Bearer SECRET\r\nContent-Length: 2\r\n\r\n"
    assert target.head(None) == head.replace(b"Content-Length: 2\r\n", b"")
    sent = {"authorization": "Bearer SECRET", "content-length": "2"}
    assert (request.extensions, dict(request.headers)) == ({"timeout": {"connect": 5.0}}, sent)
    assert [repr(each) for each in (target, head, request)] == ["<target of POST>", "<request head>", "<request POST>"]


async def test_a_reply_keeps_its_share_of_the_room_and_its_times_in_httpx2s_form() -> None:
    reply = Response(201, {"a": "b"}, b"x", ReplyRoom().share(), [(1.0, 1)])
    same = await read_whole(reply.for_httpx2())
    assert (same.status_code, same.headers["a"], same.content) == (201, "b", b"x")
    assert (same.share, same.arrived) == (reply.share, [(1.0, 1)])


class Wire:
    """The transport of a connection."""

    aborted = 0

    def abort(self) -> None:
        self.aborted += 1


def connected(on_second_reply: Callable[[], None] = lambda: None) -> tuple[Connection, Wire]:
    connection, wire = Connection(ReplyRoom(), on_second_reply=on_second_reply), Wire()
    connection.transport, connection.alive = wire, True  # type: ignore[assignment]
    return connection, wire


@pytest.mark.parametrize("form", OPENED)
async def test_an_endless_head_ends_at_the_limit(form: str) -> None:
    connection, wire = connected()
    connection.data_received(OPENED[form])
    fed = 0
    while not wire.aborted and fed < 4 * HEAD_LIMIT_BYTES:
        connection.data_received(PIECES[form])
        fed += len(PIECES[form])
    assert fed <= 3 * HEAD_LIMIT_BYTES
    with pytest.raises(httpx2.RemoteProtocolError, match="headers are larger"):
        await connection.reply


async def test_large_headers_below_the_limit_are_read_and_each_reply_is_counted_separately() -> None:
    connection, wire = connected()
    for _ in range(3):
        padding = b"x: " + b"y" * (HEAD_LIMIT_BYTES * 6 // 10) + b"\r\n"
        connection.data_received(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n" + padding + b"\r\n{}")
        assert (await connection.reply).content == b"{}"
        connection.begin()
    assert wire.aborted == 0


async def test_a_long_body_does_not_count_as_a_head() -> None:
    connection, _ = connected()
    body = b"x" * (2 * HEAD_LIMIT_BYTES)
    connection.data_received(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body))
    connection.data_received(body)
    assert (await connection.reply).content == body


async def test_a_reply_without_a_length_is_read_once_when_its_connection_ends() -> None:
    replies = []
    connection, _ = connected(lambda: replies.append("second"))
    connection.data_received(b"HTTP/1.1 204 No Content\r\n\r\n")
    assert ((await connection.reply).status_code, connection.keep) == (204, True)
    connection.end()
    connection.connection_lost(None)
    assert not replies


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nContent-Ty", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200", b""])
async def test_a_connection_that_ends_inside_the_head_has_no_reply(head: bytes) -> None:
    connection, _ = connected()
    connection.data_received(head)
    connection.connection_lost(None)
    with pytest.raises(httpx2.ReadError, match="closed the connection"):
        await connection.reply


def test_headers_of_any_encoding_are_read_by_lower_case_names() -> None:
    raw = [(b"X-A", b"caf\xe9"), (b"x-b", "caf\u00e9".encode()), (b"x-\xe9", b""), (b"x-a", b"2")]
    assert headers_of(raw) == {"x-a": "caf\u00e9, 2", "x-b": "caf\u00e9", "x-\u00e9": ""}

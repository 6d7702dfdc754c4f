import socket
import time
from http.client import BadStatusLine, IncompleteRead, LineTooLong, RemoteDisconnected
from itertools import pairwise

import pytest

from tests.fakes.asking import ask, asked, chat_body, connected, plugged, read_to_end, request_bytes, speak
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import (
    answer,
    chunked,
    close_mid_body,
    close_without_reply,
    connection_close,
    delay,
    early_413_while_uploading,
    hang,
    hang_mid_body,
    http_1_0,
    huge_headers,
    invalid_http,
    reset,
    reset_mid_body,
    slow_reading,
    stale_keepalive,
    trickle,
    until_close,
    while_uploading,
    wrong_content_length,
)

LARGE = chat_body("x" * 3_000_000)
CLOSING = request_bytes(None, "connection: close")
APART_S = (0.05, 0.5, 3.0)
"""Between pieces: those that come while this process has to rest are read as one."""


def test_a_delay_comes_before_the_reply(fault_server: StartsServers) -> None:
    server = fault_server((delay(0.1), answer("slow")))
    assert ask(server).text == "slow"
    [received] = server.requests
    assert received.answered_s is not None
    assert received.received_s is not None
    assert 0.1 <= received.answered_s - received.received_s < 60


def test_a_trickled_body_comes_in_small_pieces_and_whole(fault_server: StartsServers) -> None:
    for apart_s in APART_S:
        with plugged(fault_server((trickle(200, apart_s), answer("B" * 300)))) as sock:
            sock.sendall(CLOSING)
            pieces = list(iter(lambda: sock.recv(65536), b""))
        if all(len(piece) <= 200 for piece in pieces[1:]):
            break
    assert all(len(piece) <= 200 for piece in pieces[1:])
    assert len(pieces) >= 4
    assert b"B" * 300 in b"".join(pieces)


def test_a_trickled_head_comes_in_small_pieces_too(fault_server: StartsServers) -> None:
    for apart_s in APART_S:
        with plugged(fault_server(trickle(8, apart_s, head_too=True))) as sock:
            sock.sendall(CLOSING)
            if (first := sock.recv(65536)) == b"HTTP/1.1":
                break
    assert first == b"HTTP/1.1"


def test_a_client_may_leave_a_trickle(fault_server: StartsServers) -> None:
    server = fault_server(trickle(1, 0.01))
    with plugged(server) as sock:
        sock.sendall(request_bytes())
        sock.recv(10)
    server.wait_until(lambda: server.requests[0].hung_up)


def test_chunks_are_well_formed(fault_server: StartsServers) -> None:
    server = fault_server((chunked(7), answer("in chunks")))
    heard = ask(server)
    assert (heard.text, heard.headers["transfer-encoding"]) == ("in chunks", "chunked")
    assert "content-length" not in heard.headers


def test_connection_close_is_sent_and_done(fault_server: StartsServers) -> None:
    server = fault_server(connection_close())
    with plugged(server) as sock:
        sock.sendall(request_bytes())
        assert b"\r\nconnection: close\r\n" in read_to_end(sock)


@pytest.mark.parametrize(("word", "version"), [(http_1_0, b"HTTP/1.0 200 OK"), (until_close, b"HTTP/1.1 200 OK")])
def test_a_body_may_end_with_its_connection(word: type, version: bytes, fault_server: StartsServers) -> None:
    head, _, body = speak(fault_server(word()), request_bytes()).partition(b"\r\n\r\n")
    assert head.startswith(version)
    assert b"content-length" not in head
    assert body.endswith(b"}")


def test_a_content_length_too_large_leaves_the_client_waiting(fault_server: StartsServers) -> None:
    server = fault_server(wrong_content_length(10))
    with connected(server, timeout_s=0.1) as connection, pytest.raises(TimeoutError):
        asked(connection)
    server.script = (wrong_content_length(10), connection_close())
    with pytest.raises(IncompleteRead):
        ask(server)


def test_a_content_length_too_small_leaves_bytes_over(fault_server: StartsServers) -> None:
    server = fault_server((wrong_content_length(-1), connection_close()))
    head, _, body = speak(server, request_bytes()).partition(b"\r\n\r\n")
    assert f"content-length: {len(body) - 1}".encode() in head


def test_headers_may_be_huge(fault_server: StartsServers) -> None:
    with pytest.raises(LineTooLong):
        ask(fault_server(huge_headers(70_000)))
    head = speak(fault_server(huge_headers(100, lines=300)), CLOSING)
    assert head.count(b"x-padding-") == 300


def test_a_body_may_be_cut_by_a_close_a_reset_or_silence(fault_server: StartsServers) -> None:
    with pytest.raises(IncompleteRead) as cut:
        ask(fault_server((close_mid_body(20), answer("B"))))
    assert len(cut.value.partial) == 20
    with pytest.raises(IncompleteRead):
        ask(fault_server((chunked(5), close_mid_body(), answer("B"))))
    with pytest.raises(ConnectionResetError):
        ask(fault_server(reset_mid_body()))
    silent = fault_server(hang_mid_body())
    with connected(silent, timeout_s=0.1) as connection, pytest.raises(TimeoutError):
        asked(connection)
    silent.wait_until(lambda: silent.requests[0].hung_up)
    assert (silent.requests[0].status, silent.requests[0].answered_s) == (200, None)


def test_a_connection_may_be_closed_or_reset_unanswered(fault_server: StartsServers) -> None:
    with pytest.raises(RemoteDisconnected):
        ask(fault_server(close_without_reply()))
    server = fault_server(reset())
    with plugged(server) as sock:
        sock.sendall(request_bytes())
        with pytest.raises(ConnectionResetError, match="reset by peer"):
            sock.recv(1)
    assert [received.status for received in server.requests] == [None]


def test_what_comes_back_may_be_no_http(fault_server: StartsServers) -> None:
    with pytest.raises(BadStatusLine):
        ask(fault_server(invalid_http()))
    assert speak(fault_server(invalid_http(b"SSH-2.0\r\n")), request_bytes()) == b"SSH-2.0\r\n"


def test_a_stale_connection_drops_its_second_request(fault_server: StartsServers) -> None:
    server = fault_server(stale_keepalive("B"))
    with connected(server) as connection:
        assert asked(connection).text == "B"
        with pytest.raises(RemoteDisconnected):
            asked(connection)
    assert ask(server).text == "B"
    assert [(received.turn, received.status) for received in server.requests] == [(1, 200), (2, None), (1, 200)]


def test_an_early_413_reaches_a_client_that_continues_to_upload(fault_server: StartsServers) -> None:
    server = fault_server(early_413_while_uploading(1 << 20, "small"))
    with connected(server) as connection:
        assert asked(connection, LARGE).status == 413
    assert ask(server).text == "small"
    assert 1 << 20 <= server.requests[0].size_bytes < len(LARGE)
    assert server.requests[0].declared_bytes == len(LARGE)


def test_an_early_413_may_come_with_a_reset_and_only_so_often(fault_server: StartsServers) -> None:
    server = fault_server(early_413_while_uploading(1000, "in the end", times=1, reads_on=False))
    with plugged(server) as sock, pytest.raises(ConnectionError):
        sock.sendall(request_bytes(LARGE * 8))
    assert ask(server, "x" * 2000).text == "in the end"


def test_an_upload_may_stall(fault_server: StartsServers) -> None:
    server = fault_server(while_uploading(1000, hang()), receive_buffer_bytes=1 << 16)
    with plugged(server, timeout_s=0.1) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        with pytest.raises(TimeoutError):
            sock.sendall(request_bytes(LARGE * 4))
        server.wait_for_requests(1)
    assert server.requests[0].size_bytes < 1 << 20


def test_a_slow_reader_slows_the_upload(fault_server: StartsServers) -> None:
    server = fault_server(slow_reading(10_000_000))
    started_s = time.monotonic()
    ask(server, "x" * 1_500_000)
    assert time.monotonic() - started_s >= 0.15
    assert server.counts["uploads_peak"] == 1


def test_uploads_in_progress_are_counted(fault_server: StartsServers) -> None:
    server = fault_server()
    request = request_bytes()
    with plugged(server) as first, plugged(server) as second:
        for sock in (first, second):
            sock.sendall(request[:-10])
        server.wait_for_requests(2)
        for sock in (first, second):
            sock.sendall(request[-10:])
            assert sock.recv(12) == b"HTTP/1.1 200"
    assert server.counts["uploads_peak"] == 2


def test_pieces_are_apart_in_time(fault_server: StartsServers) -> None:
    for apart_s in APART_S:
        moments: list[float] = []
        with plugged(fault_server((trickle(150, apart_s), answer("B")))) as sock:
            sock.sendall(CLOSING)
            while sock.recv(65536):
                moments.append(time.monotonic())
        longest_s = max((later - earlier for earlier, later in pairwise(moments)), default=0.0)
        if longest_s >= 0.8 * apart_s:
            break
    assert longest_s >= 0.8 * apart_s

import pytest

from tests.fakes.asking import PNG, chat_body, data_url, plugged, request_bytes, speak
from tests.fakes.fixtures import StartsServers

BROKEN = {
    "no_json": (request_bytes(b"{nope", "connection: close"), "not valid JSON"),
    "not_utf8": (request_bytes(b'{"messages": "\xff"}', "connection: close"), "not valid JSON"),
    "nan": (request_bytes(b'{"messages": [], "temperature": NaN}', "connection: close"), "NaN is not JSON"),
    "key_twice": (request_bytes(b'{"messages": [], "messages": []}', "connection: close"), "given twice"),
    "no_messages": (request_bytes(b"{}", "connection: close"), "no list of messages"),
    "base64": (request_bytes(chat_body("", ["data:image/png;base64,iVB*"]), "connection: close"), "base64"),
    "padding": (request_bytes(chat_body("", ["data:image/png;base64,aGk"]), "connection: close"), "base64"),
    "empty_image": (request_bytes(chat_body("", ["data:image/png;base64,"]), "connection: close"), "empty"),
    "mime": (request_bytes(chat_body("", [data_url(PNG, "image/jpeg")]), "connection: close"), "is image/png"),
    "surrogate": (request_bytes(chat_body("\ud800"), "connection: close"), "lone surrogate"),
    "too_short": (request_bytes(chat_body(), "content-length: 20", "connection: close"), "more bytes follow"),
    "not_http": (b"hello\r\n\r\n", "no request head"),
    "bad_chunk": (request_bytes(b"xyz\r\n", "transfer-encoding: chunked"), "broken chunk"),
    "both_lengths": (
        request_bytes(b"0\r\n\r\n", "transfer-encoding: chunked", "content-length: 5", "connection: close"),
        "both Content-Length and Transfer-Encoding",
    ),
    "content_type": (
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}",
        "Content-Type None",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_every_fault_of_a_client_is_a_violation(name: str, fault_server: StartsServers) -> None:
    data, expected = BROKEN[name]
    server = fault_server(tolerates_violations=True)
    speak(server, data)
    assert any(expected in text for text in server.violations), server.violations


def test_a_content_length_larger_than_the_body_is_a_violation(fault_server: StartsServers) -> None:
    server = fault_server(tolerates_violations=True)
    with plugged(server) as sock:
        sock.sendall(request_bytes(chat_body(), "content-length: 5000"))
        server.wait_for_requests(1)
    server.wait_until(lambda: bool(server.violations))
    assert "Content-Length 5000 for a body of" in server.violations[0]


def test_a_client_that_leaves_in_mid_upload_has_hung_up_and_broken_no_rule(fault_server: StartsServers) -> None:
    server = fault_server()
    with plugged(server) as sock:
        sock.sendall(request_bytes(b'{"messages": [', "content-length: 5000"))
        server.wait_for_requests(1)
    server.wait_until(lambda: server.requests[0].hung_up)
    assert server.requests[0].received_s is None

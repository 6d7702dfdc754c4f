import asyncio
import gc
import hashlib
import json
import socket
import ssl
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.fakes.asking import (
    PNG,
    WHILES_S,
    ask,
    asked,
    chat_body,
    connected,
    data_url,
    get,
    plugged,
    request_bytes,
    speak,
)
from tests.fakes.fixtures import StartsServers
from tests.fakes.server import FaultServer
from tests.fakes.words import answer, barrier, delay, error, hang, hold, only_path, restart
from tests.faults.commands import wait_until


def test_a_request_is_logged_with_prompt_images_sizes_and_times(fault_server: StartsServers) -> None:
    server = fault_server()
    before_s = time.monotonic()
    body = chat_body("How many?", [data_url(PNG)], temperature=0)
    with connected(server) as connection:
        asked(connection, body, headers={"x-run": "7"})
        asked(connection)
    first, second = server.requests
    assert (first.number, first.connection, first.turn) == (1, 1, 1)
    assert (second.number, second.connection, second.turn) == (2, 1, 2)
    assert (first.method, first.path, first.headers["x-run"]) == ("POST", "/v1/chat/completions", "7")
    assert (first.body, first.size_bytes, first.json["temperature"]) == (body, len(body), 0)
    assert first.prompt == "How many?"
    [image] = first.images
    assert (image.mime, image.size_bytes) == ("image/png", len(PNG))
    assert (image.sha256, image.data) == (hashlib.sha256(PNG).hexdigest(), PNG)
    assert first.received_s is not None
    assert first.answered_s is not None
    assert before_s <= first.started_s <= first.received_s <= first.answered_s <= time.monotonic()
    assert (first.status, first.hung_up, server.connections_opened) == (200, False, 1)


def test_a_log_without_bodies_keeps_prompts_and_digests(fault_server: StartsServers) -> None:
    server = fault_server(keep_bodies=False)
    ask(server, "How many?", [data_url(PNG)])
    [received] = server.requests
    assert (received.body, received.json, received.images[0].url) == (b"", None, "")
    assert (received.prompt, received.images[0].size_bytes) == ("How many?", len(PNG))


def test_without_parsing_a_body_is_only_counted(fault_server: StartsServers) -> None:
    server = fault_server(parse_bodies=False)
    assert speak(server, request_bytes(b"{", "connection: close")).startswith(b"HTTP/1.1 200")
    assert (server.requests[0].size_bytes, server.counts["body_bytes"], server.requests[0].prompt) == (1, 1, "")


def test_chunked_and_expect_continue_requests_are_understood(fault_server: StartsServers) -> None:
    server = fault_server()
    body = chat_body("in chunks")
    chunks = b"%x\r\n%b\r\n%x;ext=1\r\n%b\r\n0\r\n\r\n" % (9, body[:9], len(body) - 9, body[9:])
    heard = speak(server, request_bytes(chunks, "transfer-encoding: chunked", "connection: close"))
    assert heard.startswith(b"HTTP/1.1 200")
    with plugged(server) as sock:
        head, _, rest = request_bytes(chat_body("later"), "expect: 100-continue").partition(b"\r\n\r\n")
        sock.sendall(head + b"\r\n\r\n")
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(rest)
        assert sock.recv(12) == b"HTTP/1.1 200"
    assert [received.prompt for received in server.requests] == ["in chunks", "later"]


def test_a_client_that_leaves_while_it_waits_is_recorded_as_hung_up(fault_server: StartsServers) -> None:
    server = fault_server(hang())
    with plugged(server) as sock:
        sock.sendall(request_bytes())
        server.wait_for_requests(1)
    server.wait_until(lambda: server.requests[0].hung_up)
    server.wait_until(lambda: server.log.in_flight == 0)
    assert (server.requests[0].answered_s, server.requests[0].status) == (None, None)


def test_requests_in_flight_are_counted_and_released_together(fault_server: StartsServers) -> None:
    server = fault_server(hold())
    with ThreadPoolExecutor(8) as pool:
        asking = [pool.submit(ask, server) for _ in range(8)]
        server.wait_until(lambda: server.log.in_flight == 8)
        server.release()
        assert {heard.result().status for heard in asking} == {200}
    assert server.in_flight_peak == 8


def test_128_connections_at_once_are_served(fault_server: StartsServers) -> None:
    server = fault_server(barrier(128), keep_bodies=False)
    request = request_bytes(chat_body("x" * 20_000, [data_url(PNG)]), "connection: close")

    async def one() -> bytes:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(request)
        heard = await reader.read()
        writer.close()
        await writer.wait_closed()
        return heard

    async def all_of_them() -> list[bytes]:
        return await asyncio.gather(*(one() for _ in range(128)))

    heard = asyncio.run(all_of_them())
    assert {reply[:12] for reply in heard} == {b"HTTP/1.1 200"}
    assert (server.connections_opened, server.in_flight_peak, server.counts["status_200"]) == (128, 128, 128)


def test_what_a_script_raises_reaches_the_test(fault_server: StartsServers) -> None:
    server = fault_server(lambda received: received.json["nothing"], tolerates_violations=True)
    assert ask(server).status == 500
    assert server.violations == ["request 1: the script raised KeyError('nothing')"]


def test_a_script_may_be_a_text_a_sequence_or_a_function_and_may_change(fault_server: StartsServers) -> None:
    server = fault_server("C")
    assert ask(server).text == "C"
    server.script = (delay(0), answer("D"))
    assert ask(server).text == "D"
    server.script = lambda received: received.prompt.upper()
    assert ask(server, "echo").text == "ECHO"


def is_refused(server: FaultServer) -> bool:
    try:
        return ask(server).status != 200
    except ConnectionRefusedError:
        return True


def test_a_server_refuses_connections_until_its_time_has_come(fault_server: StartsServers) -> None:
    assert any(is_refused(server := fault_server(start_after_s=seconds)) for seconds in WHILES_S)
    assert wait_until(lambda: not is_refused(server))


def test_a_restart_refuses_for_a_while_and_comes_back_on_the_same_port(fault_server: StartsServers) -> None:
    for seconds in WHILES_S:
        server = fault_server(lambda received, down_s=seconds: restart(down_s) if received.number == 1 else "B")
        with pytest.raises(ConnectionError):
            ask(server)
        if is_refused(server):
            break
    assert wait_until(lambda: not is_refused(server))
    assert [received.status for received in server.requests] == [None, 200]


def test_a_second_server_may_take_a_port_over(fault_server: StartsServers) -> None:
    first = fault_server()
    ask(first)
    first.stop()
    second = fault_server(port=first.port)
    assert (ask(second).status, second.port) == (200, first.port)
    with pytest.raises(OSError, match="in use"):
        FaultServer(port=second.port).start()


def test_idle_connections_are_closed_after_a_while(fault_server: StartsServers) -> None:
    server = fault_server(idle_close_s=0.05)
    with plugged(server) as sock:
        assert sock.recv(1) == b""


def test_dropping_connections_resets_them_and_the_server_still_listens(fault_server: StartsServers) -> None:
    server = fault_server()
    with connected(server) as connection:
        asked(connection)
        server.drop_connections()
        with pytest.raises(ConnectionError):
            asked(connection)
    assert ask(server).status == 200


def test_ipv6_and_tls_with_a_private_authority(fault_server: StartsServers) -> None:
    server = fault_server(host="::1", tls=True)
    assert server.base_url == f"https://[::1]:{server.port}/v1"
    with connected(server, ca_file=server.ca_file) as connection:
        assert asked(connection).text == "B"
        assert asked(connection).text == "B"
    with socket.create_connection((server.host, server.port)) as sock:
        context = ssl.create_default_context()
        with pytest.raises(ssl.SSLCertVerificationError):
            context.wrap_socket(sock, server_hostname="localhost")
    server.wait_until(lambda: server.counts["handshakes_failed"] == 1)
    assert server.connections_opened == 2


def test_the_base_url_follows_the_chat_path(fault_server: StartsServers) -> None:
    server = fault_server(only_path("/openai/deployments/x/chat/completions"))
    assert server.base_url == f"http://127.0.0.1:{server.port}/openai/deployments/x"
    assert ask(server).status == 200
    assert get(server, "/openai/deployments/x/models").status == 200
    assert get(server, "/v1/models").status == 404


def test_a_server_leaves_no_thread_and_no_open_socket_behind() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        server = FaultServer(hang()).start()
        idle = socket.create_connection((server.host, server.port))
        busy = socket.create_connection((server.host, server.port))
        busy.sendall(request_bytes())
        server.wait_for_requests(1)
        server.stop()
        server.stop()
        idle.close()
        busy.close()
        gc.collect()
    assert not [thread for thread in threading.enumerate() if thread.name == "fault-server"]


def test_an_error_reply_keeps_the_connection_but_for_llamacpp(fault_server: StartsServers) -> None:
    for kind, header in (("vllm", None), ("llamacpp", "close")):
        server = fault_server(error(400, "no"), kind=kind)
        with connected(server) as connection:
            assert asked(connection).headers.get("connection") == header
            assert json.loads(asked(connection).body)["error"]["message"] == "no"

"""Handshakes that fail: one error line, and no waiting for the server."""

import contextlib
import datetime
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
import trustme

from tests.faults.questions import Questions
from vqa_client.client.probe import _untrusted
from vqa_client.errors import ServerUnusable

Acts = Callable[[socket.socket], None]


def garbage(peer: socket.socket) -> None:
    peer.recv(4096)
    peer.sendall(b"\x15\x03\x01\x00\x02\x02\x28" + b"no handshake at all")


def alert(peer: socket.socket) -> None:
    peer.recv(4096)
    peer.sendall(b"\x15\x03\x03\x00\x02\x02\x46")  # protocol_version


def close(peer: socket.socket) -> None:
    peer.recv(4096)


def close_at_once(peer: socket.socket) -> None:
    del peer


def cut_handshake(peer: socket.socket) -> None:
    peer.recv(4096)
    peer.sendall(b"\x16\x03\x03\x02\x00\x02\x00\x01\xfc")


@contextlib.contextmanager
def listening(act: Acts) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    peer, _ = listener.accept()
                    with peer, contextlib.suppress(OSError):
                        peer.settimeout(5)
                        act(peer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize("engine", ["direct", "httpx2"])
@pytest.mark.parametrize("act", [garbage, alert, close, close_at_once, cut_handshake])
async def test_a_handshake_that_fails_is_one_message_in_time(act: Acts, engine: str, tmp_path: Path) -> None:
    of = Questions(tmp_path, 1)
    with listening(act) as port:
        started_s = time.monotonic()
        with pytest.raises(ServerUnusable) as refused:
            await of.ask(f"https://127.0.0.1:{port}/v1", engine=engine, wait_for_server=0.3)
        assert time.monotonic() - started_s < 60
    assert "\n" not in str(refused.value)
    assert str(port) in str(refused.value)
    assert not of.output.exists()


@pytest.mark.parametrize(
    ("said", "way_out"),
    [
        ("[SSL: WRONG_VERSION_NUMBER] wrong version", "is it an http:// address?"),
        (
            "[SSL: CERTIFICATE_VERIFY_FAILED]",
            "--ca_bundle FILE trusts its authority; --insecure skips the check, and the run records it",
        ),
    ],
)
def test_the_way_out_is_named(said: str, way_out: str) -> None:
    assert _untrusted(httpx2.URL("https://here"), ssl.SSLError(said)).hint == way_out


@pytest.mark.parametrize("engine", ["direct", "httpx2"])
async def test_an_expired_certificate_is_reported_at_once(engine: str, tmp_path: Path) -> None:
    authority = trustme.CA()
    long_ago = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    certificate = authority.issue_cert("127.0.0.1", not_before=long_ago, not_after=long_ago)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)

    def shake(peer: socket.socket) -> None:
        with contextlib.suppress(OSError), context.wrap_socket(peer, server_side=True):
            pass

    of = Questions(tmp_path / "of", 1)
    with listening(shake) as port:
        started_s, address = time.monotonic(), f"https://127.0.0.1:{port}/v1"
        with pytest.raises(ServerUnusable, match="expired"):
            await of.ask(address, engine=engine, ca_bundle=tmp_path / "ca.pem", wait_for_server=600.0)
        assert time.monotonic() - started_s < 60

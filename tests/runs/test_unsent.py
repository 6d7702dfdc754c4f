"""The number of sockets with unsent bytes."""

import socket
import sys

import pytest

from vqa_client.runs.figures import unsent_sockets

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems don't report it")


def test_a_socket_counts_until_the_other_side_has_received_its_bytes() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        before = unsent_sockets()
        assert before is not None
        with socket.create_connection(listener.getsockname()) as sender, listener.accept()[0] as receiver:
            sender.sendall(b"x" * 1000)
            receiver.recv(1000)
            assert unsent_sockets() == before
            sender.setblocking(False)
            sent = sender.send(b"x" * 4_000_000)
            assert unsent_sockets() == before + 1
            receiver.settimeout(5)
            while sent > 0:
                sent -= len(receiver.recv(65_536))
            sender.setblocking(True)
            sender.sendall(b"x")
            receiver.recv(1)
            assert unsent_sockets() == before


def test_without_a_list_of_descriptors_the_number_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def listed(folder: str) -> list[str]:
        raise FileNotFoundError(2, "No such file or directory", folder)

    monkeypatch.setattr("vqa_client.runs.figures.os.listdir", listed)
    assert unsent_sockets() is None

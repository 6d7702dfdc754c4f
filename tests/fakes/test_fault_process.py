import socket
import subprocess
import sys
from http.client import HTTPConnection

import pytest

from tests.fakes.asking import PNG, asked, chat_body, data_url
from tests.fakes.fixtures import StartsProcesses
from tests.fakes.process import ROOT, FaultProcess


def test_a_process_serves_a_script_given_as_text_and_tells_what_it_saw(fault_process: StartsProcesses) -> None:
    process = fault_process("first_n(1, error(500), then='C')", "--kind", "plain")
    assert process.base_url == f"http://127.0.0.1:{process.port}/v1"
    connection = HTTPConnection("127.0.0.1", process.port, timeout=60)
    assert asked(connection, chat_body("one")).status == 500
    assert asked(connection, chat_body("two", [data_url(PNG)])).text == "C"
    assert asked(connection, b"{").status == 200
    connection.close()
    counts = process.counts
    assert (counts["requests"], counts["status_500"], counts["status_200"], counts["in_flight"]) == (3, 1, 2, 0)
    assert process.violations[0].startswith("request 3: the body is not valid JSON")
    assert [(seen["prompt"], seen["status"]) for seen in process.requests] == [("one", 500), ("two", 200), ("", 200)]
    assert process.requests[1]["images"][0]["size_bytes"] == len(PNG)


def test_a_word_alone_is_a_script_and_tls_can_be_asked_for(fault_process: StartsProcesses) -> None:
    process = fault_process("engine_dead", "--tls", "--host", "::1", "--model", "a/b")
    assert process.origin == f"https://[::1]:{process.port}"
    assert process.counts == {"connections_opened": 1, "in_flight": 0}


def test_a_wrong_script_is_reported_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    for script in ("no_such_word", "error(", "error()"):
        with pytest.raises(RuntimeError, match="doesn't start"):
            FaultProcess(script).start()
        told = capfd.readouterr().err
        assert f"'{script}" in told
        assert "the words are " in told
        assert "Traceback" not in told


def test_a_port_that_is_taken_is_one_error_line(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RuntimeError, match="doesn't start"):
            FaultProcess("delay(0)", "--port", str(port)).start()
    assert capfd.readouterr().err == f"127.0.0.1:{port} can't be served at: Address already in use\n"


@pytest.mark.parametrize("module", ["tests.fakes", "tests.fakes.server"])
def test_the_help_names_the_words(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert "first_n" in done.stdout
    assert "retry_after" in done.stdout


def test_a_process_ends_with_its_parent() -> None:
    starts = "from tests.fakes.process import FaultProcess; print(FaultProcess().start().port)"
    # The fault server holds the same stderr, so that this returns only when it has ended too.
    told = subprocess.run([sys.executable, "-c", starts], cwd=ROOT, capture_output=True, text=True, timeout=120)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(told.stdout)), timeout=60)

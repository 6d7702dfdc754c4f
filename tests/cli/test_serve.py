"""`vqa-client serve` as people type it, with small programs instead of the servers."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import RemoteDisconnected
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests import forked
from tests.fakes.listening import bind
from tests.servers.processes import alive, children, gone
from tests.servers.programs import DIES, NEVER_READY, SERVES, program

needs_tesseract = pytest.mark.skipif("not __import__('importlib').util.find_spec('tesserocr')", reason="no tesserocr")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "model.json"
    serve = {"model": "/weights", "max_model_len": 2048, "extra_args": ["--seed", "1"]}
    path.write_text(json.dumps({"model_name": "org/Model", "max_tokens": 64, "serve": serve}))
    return path


@pytest.fixture
def port() -> Iterator[str]:
    """A free port, which the system gives only on request."""
    with bind("127.0.0.1", 0) as free:
        yield str(free.getsockname()[1])


@contextmanager
def serving(*words: str, path: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """The running command; processes that a test leaves are killed."""
    env = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}" if path else os.environ["PATH"]}
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with forked.popen(["serve", *words], env=env, text=True, **quiet) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(*words: str, path: Path | None = None) -> tuple[int, str, str]:
    with serving(*words, path=path) as process:
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err


def server_of(process: subprocess.Popen[str]) -> list[int]:
    """The processes of the command without the guard, once the base_url is printed."""
    assert process.stdout
    assert process.stdout.readline().startswith("http://127.0.0.1:")
    listing = subprocess.run(["ps", "-A", "-ww", "-o", "pid=,args="], capture_output=True, text=True, check=True).stdout
    guards = {int(line.split()[0]) for line in listing.splitlines() if "guard.py" in line}
    return [pid for pid in children(process.pid) if pid not in guards]


COMMANDS = {
    "vllm": "vllm serve /weights --served-model-name org/Model --host 127.0.0.1 --port 8000 --max-model-len 2048 "
    """--limit-mm-per-prompt '{"image": 999}' --disable-uvicorn-access-log --seed 1\n""",
    "mlx": "mlx_vlm.server --model /weights --host 127.0.0.1 --port 8000 --max-kv-size 2048 --top-logprobs-k 20 "
    "--seed 1\n",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_dry_run_prints_the_command_and_needs_nothing_installed(name: str, config: Path) -> None:
    assert ended(name, "-c", str(config), "--dry_run") == (0, COMMANDS[name], "")


def test_a_dry_run_covers_the_longest_document(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pages" / "images"
    folder.mkdir(parents=True)
    for number in range(1, 41):
        (folder / f"doc_page_{number:03d}.png").write_bytes(b"")
    _, out, _ = ended("vllm", "-c", str(config), "--images-dir", str(folder.parent), "--dry-run")
    assert """--limit-mm-per-prompt '{"image": 40}'""" in out
    assert "--max-model-len 2048" in out
    assert "--served-model-name org/Model" in out


def test_a_server_without_a_config_is_refused() -> None:
    code, _, err = ended("vllm", "--dry_run")
    assert code == 2
    assert err == "error: serve vllm needs --config\nhint: the config of the model, as the run will get it\n"


def test_a_server_that_is_not_installed_is_named(config: Path, port: str) -> None:
    if any((Path(folder) / "vllm").is_file() for folder in os.environ["PATH"].split(os.pathsep)):
        pytest.skip("vLLM is installed here")
    code, _, err = ended("vllm", "-c", str(config), "--port", port)
    assert code == 2
    assert "pip install 'vqa-client[vllm]'" in err


def test_a_taken_port_is_found_before_anything_is_started(config: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, out, err = ended(
            "vllm", "-c", str(config), "--port", port, path=program(tmp_path / "bin", "vllm", SERVES)
        )
    assert (code, out) == (2, "")
    assert f"port {port}" in err


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGKILL, -9)]
)
def test_no_server_outlives_the_command(number: int, code: int, config: Path, tmp_path: Path, port: str) -> None:
    path = program(tmp_path / "bin", "vllm", SERVES)
    with serving("vllm", "-c", str(config), "--port", port, path=path) as process:
        servers = server_of(process)
        assert len(servers) == 1
        assert all(map(alive, servers))
        os.kill(process.pid, number)
        assert process.wait(120) == code
        assert gone(servers)


def test_a_server_that_dies_at_once_is_reported_with_its_last_lines(config: Path, tmp_path: Path, port: str) -> None:
    path = program(tmp_path / "bin", "vllm", DIES)
    code, out, err = ended("vllm", "-c", str(config), "--port", port, path=path)
    assert (code, out) == (3, "")
    assert "vLLM ended with exit status 1 before it was ready" in err
    assert "| CUDA out of memory" in err


def test_a_server_that_dies_later_is_reported_too(config: Path, tmp_path: Path, port: str) -> None:
    path = program(tmp_path / "bin", "mlx_vlm.server", SERVES)
    with serving("mlx", "-c", str(config), "--port", port, path=path) as process:
        assert process.stdout
        assert process.stdout.readline() == f"http://127.0.0.1:{port}/v1\n"
        with pytest.raises(RemoteDisconnected):
            urlopen(Request(f"http://127.0.0.1:{port}", method="DELETE"), timeout=120)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (3, "")
    assert re.search(r"^mlx-vlm is ready after \d+ s, as process \d+; at:$", err, re.MULTILINE)
    assert "mlx-vlm ended with exit status 9" in err
    assert err.endswith("\nhint: see what it printed last; an interrupted run resumes\n")
    assert "| engine died" in err


def test_a_server_that_is_never_ready_is_stopped_after_a_time(config: Path, tmp_path: Path, port: str) -> None:
    path = program(tmp_path / "bin", "vllm", NEVER_READY)
    for seconds in ("1", "10", "60"):  # a busy machine starts it late
        words = ("vllm", "-c", str(config), "--port", port, "--start_timeout", seconds)
        code, out, err = ended(*words, path=path)
        assert (code, out) == (3, "")
        assert f"vLLM was not ready after {seconds} s" in err
        if "loading" in err:
            break
    pid = int(err.split("loading shard 1 of 9 as ")[1].split()[0])
    assert gone([pid])


def test_a_start_can_be_interrupted(config: Path, tmp_path: Path, port: str) -> None:
    path = program(tmp_path / "bin", "vllm", NEVER_READY)
    with serving("vllm", "-c", str(config), "--port", port, path=path) as process:
        assert process.stderr
        assert process.stderr.readline().startswith(str(path / "vllm"))
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert re.search(r"^stopping vLLM, for at most \d+ s \(Ctrl-C again: stop now\)$", err, re.MULTILINE)
    assert "Traceback" not in err


@needs_tesseract
def test_the_page_reader_is_served_at_the_given_port(port: str) -> None:
    with serving("reader", "--port", port) as process:
        servers = server_of(process)
        check = subprocess.run(
            [sys.executable, "-m", "vqa_client", "check", "--base_url", f"127.0.0.1:{port}", "--json"],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        process.terminate()
        assert process.wait(120) == 143
    assert gone(servers)
    assert check.returncode == 0
    found = json.loads(check.stdout)["fingerprint"]
    assert (found["kind"], found["sight"], found["answers_under_load"]) == ("page-reader", "text", "same")


def test_the_page_readers_printed_command_does_not_end_with_this_process() -> None:
    pytest.importorskip("tesserocr")
    code, out, _ = ended("reader", "--dry_run")
    assert code == 0
    assert "-m reader --host 127.0.0.1 --port 8000" in out
    assert "--exit-with-parent" not in out

"""Starts, controls and stops the two servers of the benchmark, each in its own process."""

import json
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent
CONTROL_TIMEOUT_S = 10.0
STOP_TIMEOUT_S = 5.0
NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class NoCompiler(RuntimeError):
    """`cc`, which builds the mock server, is missing."""


def compiled(build: Path = HERE / "build") -> Path:
    """Compile mock_server.c unless the program is newer than its source; raises NoCompiler."""
    source, program = HERE / "mock_server.c", build / "mock_server"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    if shutil.which("cc") is None:
        raise NoCompiler("no cc on the path: install a C compiler to run the benchmark")
    build.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-o", str(program), str(source)], check=True)
    return program


def mock_command() -> list[str]:
    """The command that starts the fast server on a free port."""
    return [str(compiled()), "--port", "0"]


def verify_command(data_json: Path, images_dir: Path) -> list[str]:
    """The command that starts the checking server on a free port."""
    module = [sys.executable, "-m", "tests.bench.verify_server"]
    return [*module, "--data_json", str(data_json), "--images_dir", str(images_dir)]


@contextmanager
def running(command: Sequence[str]) -> Iterator[str]:
    """Run a server while the block runs; yields its address without a path."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
    try:
        assert process.stdout is not None
        first_line = process.stdout.readline()
        if not first_line.startswith("listening on "):
            raise RuntimeError(f"{command[0]} did not start: {first_line!r}")
        yield f"http://127.0.0.1:{int(first_line.split()[-1])}"
    finally:
        process.terminate()
        process.communicate(timeout=STOP_TIMEOUT_S)


def control(address: str, path: str) -> dict[str, Any]:
    """GET a control path and decode its answer."""
    with NO_PROXY.open(address + path, timeout=CONTROL_TIMEOUT_S) as response:
        answer: dict[str, Any] = json.load(response)
    return answer

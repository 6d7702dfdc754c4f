"""Runs `python -m vqa_client` in a process with its own environment, limits and terminal."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from tests import forked
from tests.fakes.server import FaultServer

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 300.0
FOREIGN_VARIABLES = (
    *(name for stem in ("http", "https", "all", "no") for name in (f"{stem}_proxy", f"{stem}_proxy".upper())),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "OPENAI_API_KEY", "VQA_CLIENT_API_KEY"),
    *("NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONIOENCODING", "PYTHONUTF8", "LC_ALL", "LANG"),
)
"""Variables of a developer's shell that must not affect a test."""
TRACEBACKS = ("Traceback", "Exception ignored", "was never retrieved", "Warning:")
"""Words that only a bug prints."""
Variables = Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    def is_clean(self) -> bool:
        return not any(word in self.text for word in TRACEBACKS)


def command_line(arguments: Sequence[str]) -> list[str]:
    """Warnings are errors in the child too, so an unclosed socket or a forgotten coroutine is on stderr."""
    return [sys.executable, "-W", "error", "-m", "vqa_client", *arguments]


def environment(changes: Variables | None = None) -> dict[str, str]:
    """A bare environment; a change of None leaves a variable out."""
    kept = {name: value for name, value in os.environ.items() if name not in FOREIGN_VARIABLES}
    wanted = {**kept, "TERM": "xterm-256color", **(changes or {})}
    return {name: value for name, value in wanted.items() if value is not None}


def ran(arguments: Sequence[str], env: Variables | None = None, *, limits: forked.Limits = ()) -> Finished:
    """Run a command to its end."""
    done = forked.run(arguments, cwd=ROOT, env=environment(env), timeout=TIMEOUT_S, limits=limits)
    out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return Finished(code=done.returncode, out=out, err=err)


class Running:
    """A running command, with the time of each line of its standard error."""

    def __init__(self, arguments: Sequence[str], env: dict[str, str]) -> None:
        self.process = forked.popen(
            arguments,
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.errors: list[tuple[float, str]] = []
        self.out: list[str] = []
        assert self.process.stdout
        assert self.process.stderr
        self._readers = [
            threading.Thread(target=self._read_errors, args=(self.process.stderr,)),
            threading.Thread(target=self._read_out, args=(self.process.stdout,)),
        ]
        for reader in self._readers:
            reader.start()

    def signal(self, number: signal.Signals) -> float:
        """Send the signal; returns the time."""
        sent_s = time.monotonic()
        self.process.send_signal(number)
        return sent_s

    def said_within(self, word: str, since_s: float, timeout_s: float) -> bool:
        """Whether standard error has a line with this word before the time is up."""
        wait_until(lambda: any(word in line for _, line in self.errors), timeout_s + since_s - time.monotonic())
        return any(word in line and at_s <= since_s + timeout_s for at_s, line in self.errors)

    def finished(self, timeout_s: float = TIMEOUT_S) -> Finished:
        """Wait for the end; TimeoutExpired if it doesn't come."""
        code = self.process.wait(timeout_s)
        for reader in self._readers:
            reader.join()
        return Finished(code=code, out="".join(self.out), err="".join(line for _, line in self.errors))

    def end(self) -> None:
        """Make sure that nothing is left running."""
        if self.process.poll() is None:
            self.process.kill()
        self.finished()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()

    def _read_errors(self, pipe: TextIO) -> None:
        for line in pipe:
            self.errors.append((time.monotonic(), line))

    def _read_out(self, pipe: TextIO) -> None:
        self.out.extend(pipe)


@contextmanager
def running(arguments: Sequence[str], env: Variables | None = None) -> Iterator[Running]:
    """Start a command; it is killed at the end of the block if it still runs."""
    started = Running(arguments, environment(env))
    try:
        yield started
    finally:
        started.end()


def wait_until(holds: Callable[[], Any], timeout_s: float = 120.0) -> bool:
    """Poll a condition; False if it isn't true in time."""
    until_s = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > until_s:
            return False
        time.sleep(0.002)
    return True


def wait_for(server: FaultServer, count: str, least: int, timeout_s: float = 120.0) -> bool:
    """Wait until one of a server's counters has reached a value."""
    return wait_until(lambda: server.counts[count] >= least, timeout_s)


def children(pid: int) -> list[int]:
    """The running child processes of this process."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(words[1]) == pid and words[0] != "Z":
            found.append(int(path.parent.name))
    return found

"""A program that answers line by line, ended whatever happens: at the end, at an error, after too long a silence."""

import contextlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from typing import IO

from vqa_client.errors import UsageError

_LAST_WORDS_BYTES = 4096


class Child:
    """A running program; `name` is what messages call it."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], errors: IO[bytes], silence_s: float) -> None:
        self._name, self._process, self._errors, self._silence_s = name, process, errors, silence_s
        self._heard, self._over, self._silent = threading.Event(), threading.Event(), False
        self._watch = threading.Thread(target=self._kill_when_silent, daemon=True)
        self._watch.start()

    def say(self, line: str) -> None:
        """Send one line; raises UsageError where the program is gone."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode("utf-8", "replace") + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._gone() from None

    def hear(self) -> str:
        """Wait for one line; raises UsageError where the program ends or is silent for too long."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        self._heard.set()
        if not line.endswith(b"\n"):
            raise self._gone()
        return line.decode("utf-8", "replace").strip()

    def end(self) -> None:
        """End the program by its id and wait until it is gone."""
        self._over.set()
        self._heard.set()
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):  # what was still to be sent
                pipe.close()
        self._process.wait()
        self._watch.join()

    def _kill_when_silent(self) -> None:
        while self._heard.wait(self._silence_s):
            if self._over.is_set():
                return
            self._heard.clear()
        self._silent = True
        self._process.kill()

    def _gone(self) -> UsageError:
        self._process.kill()
        code = self._process.wait()
        if self._silent:
            return UsageError(f"{self._name} printed nothing for {self._silence_s:g} s and was ended")
        return UsageError(f"{self._name} ended with code {code}: {last_words(self._errors)}")


@contextlib.contextmanager
def running(name: str, command: Sequence[str], *, folder: str, silence_s: float) -> Iterator[Child]:
    """Run a program in `folder`; raises UsageError where it can't be started."""
    with tempfile.TemporaryFile() as errors:
        child = Child(name, started(name, command, folder=folder, errors=errors), errors, silence_s)
        try:
            yield child
        finally:
            child.end()


def started(name: str, command: Sequence[str], *, folder: str, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a program whose complaints go to a file, so that they can't fill a pipe; raises UsageError."""
    try:
        return subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
    except OSError as error:
        raise UsageError(f"{name} can't be started: {error.strerror or error}") from error


def last_words(errors: IO[bytes]) -> str:
    """The last line that a program complained with; of a Java trace the last cause, not where it was."""
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - _LAST_WORDS_BYTES))
    lines = [line.strip() for line in errors.read().decode("utf-8", "replace").split("\n")]
    telling = [line for line in lines if line and not line.startswith(("at ", "... "))]
    return telling[-1] if telling else "it gave no reason"

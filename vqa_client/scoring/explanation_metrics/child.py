"""Programs that score explanations, where they are, and how one is run as a child process."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Final

from msgspec import Struct

from vqa_client.errors import UsageError

METEOR_VARIABLE: Final = "VQA_CLIENT_METEOR_JAR"
SPICE_VARIABLE: Final = "VQA_CLIENT_SPICE_JAR"
BERTSCORE_VARIABLE: Final = "VQA_CLIENT_BERTSCORE_MODEL"
_DISTILBERT_LAYERS: Final = 5
"""The layer that the bert-score package reads of distilbert-base-uncased, e-ViL's model."""


class Tools(Struct, frozen=True, kw_only=True):
    """Paths of the outside scorers; None where there is none, and its metric is left null.

    `bertscore_model` is a folder of weights or a name that the bert-score package knows; `bertscore_layers` is the
    layer read of a folder's model. `silence_s` is how long METEOR may say nothing; SPICE, which says nothing till the
    end, has that long and `spice_text_s` more for each text it parses.
    """

    meteor_jar: str | None = None
    spice_jar: str | None = None
    bertscore_model: str | None = None
    bertscore_layers: int = _DISTILBERT_LAYERS
    java: str = "java"
    silence_s: float = 300.0
    spice_text_s: float = 1.0


def tools_named_in(environment: Mapping[str, str]) -> Tools:
    """The tools that VQA_CLIENT_METEOR_JAR, VQA_CLIENT_SPICE_JAR and VQA_CLIENT_BERTSCORE_MODEL name."""
    return Tools(
        meteor_jar=environment.get(METEOR_VARIABLE) or None,
        spice_jar=environment.get(SPICE_VARIABLE) or None,
        bertscore_model=environment.get(BERTSCORE_VARIABLE) or None,
    )


def java_command(metric: str, jar: str | None, variable: str, tools: Tools, options: list[str]) -> list[str]:
    """The command that starts a jar; raises UsageError that names what is missing, the jar or Java itself."""
    if not jar:
        raise UsageError(f"{metric} needs its Java program, and no path to it is given", hint=f"set {variable}")
    if not os.path.isfile(jar):
        raise UsageError(f"{metric}: there is no file {jar}", hint=f"set {variable} to the jar's path")
    java = shutil.which(tools.java)
    if java is None:
        raise UsageError(f"{metric} needs Java, and {tools.java!r} is not here", hint="install a Java runtime")
    return [java, "-Dfile.encoding=UTF-8", *options, "-jar", os.path.abspath(jar)]


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

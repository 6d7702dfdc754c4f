"""Exit codes, and output that is safe for a terminal and survives a closed stream."""

import codecs
import json
import os
import re
import signal
import sys
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

from vqa_client.errors import OutputError
from vqa_client.unseen import unseen

if TYPE_CHECKING:
    from vqa_client.reports.report import Report

_UNSEEN = unseen(lines=True)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_TO_COPY = re.compile(r"pip install|vqa-client [^`]*--|-m vqa_client|run-batch")
"""Lines with a command that people may copy: they are not folded."""


def safe(text: str) -> str:
    """Replace control, invisible and direction characters by their codes."""
    return _UNSEEN.sub(lambda match: f"\\x{ord(match.group()):02x}", text)


def folded(text: str, width: int) -> str:
    """Break lines between words at `width` (0: never); a terminal would also break inside names and numbers."""
    if not width or len(text) <= width or _TO_COPY.search(text):
        return text
    return "\n".join(
        textwrap.fill(
            line,
            width,
            subsequent_indent=line[: len(line) - len(line.lstrip())],
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.split("\n")
    )


EXIT_OK, EXIT_FAILED_QUESTIONS, EXIT_USAGE, EXIT_SERVER = range(4)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that stop a command; its exit code is then 128 plus the number."""


class Stopped(Exception):
    """A signal ended the work; `code` is the exit code, `reports` are those so far."""

    def __init__(self, number: int, reports: "Sequence[Report]") -> None:
        super().__init__(number)
        self.code, self.reports = 128 + number, reports


_ASCII = str.maketrans(
    {"─": "-", "━": "-", "│": "|", "·": "-", "–": "-", "—": "-", "…": "...", "×": "x", "±": "+-", "→": "->", "≥": ">="}
    | dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼╸╺", "+")
)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Replace our own lines and dots by ASCII for a stream that can't encode them; other letters become escapes."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end].translate(_ASCII)
    return text.encode("ascii", "backslashreplace").decode(), error.end


def prepare_streams() -> None:
    """Make both streams writable: a closed one goes to /dev/null, and one with a small encoding gets ASCII."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, _Printed):
            continue
        if stream is None:  # started with the descriptor closed
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (for the process's life)
        elif hasattr(stream, "reconfigure"):
            codecs.register_error("in_ascii", _in_ascii)
            stream.reconfigure(errors="in_ascii")
    if not isinstance(sys.stdout, _Printed):
        sys.stdout = cast(TextIO, _Printed(sys.stdout))


def terminal_width(stream: TextIO | None = None) -> int:
    """The columns of the terminal at a stream, by default standard output; 0 if it isn't a terminal."""
    if not (stream or sys.stdout).isatty():
        return 0
    import shutil

    return shutil.get_terminal_size().columns


def say(text: str) -> None:
    """Print a line to standard error, folded on a terminal; a closed stream is not an error."""
    try:
        print(folded(safe(text), terminal_width(sys.stderr)), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        _redirect_to_null(sys.stderr)


def emit(text: str) -> None:
    """Write a result to standard output; a closed pipe is not an error, a full disk raises OutputError."""
    _write(sys.stdout, text)


def emit_lines(*lines: str) -> None:
    """Write lines to standard output as `emit` does, with codes for the characters that `safe` replaces."""
    emit("".join(f"{safe(line)}\n" for line in lines))


class _Printed:
    """Standard output for libraries that print, such as the help: writes as `emit` does."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        _write(self._stream, text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _redirect_to_null(stream)
    except OSError as error:
        _redirect_to_null(stream)
        raise OutputError(
            f"standard output can't be written: {error.strerror}", hint="files that a run has written are complete"
        ) from None


def emit_json(value: Any) -> None:
    """Print JSON; characters that could control a terminal, or that standard output can't encode, are escaped."""
    from vqa_client.files import indented  # msgspec: many commands print no JSON

    text = _UNSEEN.sub(_as_json, indented(value).decode() + "\n")
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = _NOT_ASCII.sub(_as_json, text)
    emit(text)


def _as_json(match: re.Match[str]) -> str:
    return json.dumps(match.group())[1:-1]


def _redirect_to_null(stream: TextIO) -> None:
    """Redirect a stream to /dev/null, so that Python's flush at its end does not fail again."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)

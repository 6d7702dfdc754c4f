"""What a command gives back: its exit code, and text that is safe for a terminal, also where nobody reads it."""

import codecs
import json
import os
import re
import shutil
import signal
import sys
import textwrap
from typing import Any, TextIO, cast

from vqa_client.errors import OutputError
from vqa_client.reports.names import count as count
from vqa_client.unseen import unseen

_UNSEEN = unseen(lines=True)
_TO_COPY = re.compile(r"pip install|vqa-client [^`]*--|-m vqa_client|run-batch")
"""Lines with a command that people copy."""


def safe(text: str) -> str:
    """Show what is not seen, turns the direction or commands the terminal as its code, instead of obeying it."""
    return _UNSEEN.sub(lambda match: f"\\x{ord(match.group()):02x}", text)


def folded(text: str, width: int) -> str:
    """The lines broken between words at `width`, 0 for never: a terminal itself breaks names and numbers too."""
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


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


EXIT_OK, EXIT_FAILED_QUESTIONS, EXIT_USAGE, EXIT_SERVER = range(4)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""A command that one of these stops ends with 128 and its number."""


_ASCII = str.maketrans(
    {"─": "-", "━": "-", "│": "|", "·": "-", "–": "-", "—": "-", "…": "...", "×": "x", "±": "+-", "→": "->", "≥": ">="}
    | dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼╸╺", "+")
)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """What a narrow terminal shows for our own lines and dots; foreign letters become escapes."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end].translate(_ASCII)
    return text.encode("ascii", "backslashreplace").decode(), error.end


def prepare_streams() -> None:
    """Make both streams writable: a closed one leads nowhere, a narrow one shows what it can't encode in ASCII."""
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
    """The columns of the terminal that a stream, by default standard output, leads to; 0 where it isn't one."""
    return shutil.get_terminal_size().columns if (stream or sys.stdout).isatty() else 0


def say(text: str) -> None:
    """One line on standard error, folded at words on a terminal; the run continues if nobody reads it."""
    try:
        print(folded(safe(text), terminal_width(sys.stderr)), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        _lead_nowhere(sys.stderr)


def emit(text: str) -> None:
    """A result on standard output; a reader that has left is not an error, a full disk is an OutputError."""
    _put(sys.stdout, text)


class _Printed:
    """Standard output for libraries that print by themselves, such as the help: they end as `emit` does."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        _put(self._stream, text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _put(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _lead_nowhere(stream)
    except OSError as error:
        _lead_nowhere(stream)
        raise OutputError(
            f"standard output can't be written: {error.strerror}", hint="files that a run has written are complete"
        ) from None


def emit_json(value: Any) -> None:
    """Print JSON for machines; characters that a terminal would obey are escaped."""
    from vqa_client.files import indented  # msgspec: many commands print no JSON

    text = indented(value).decode() + "\n"
    emit(_UNSEEN.sub(lambda match: json.dumps(match.group())[1:-1], text))


def _lead_nowhere(stream: TextIO) -> None:
    """Python flushes its streams when it ends, and must not fail at that again."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass

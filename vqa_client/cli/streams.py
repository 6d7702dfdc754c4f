"""Standard output and standard error, whoever reads them, and whether or not anyone still does."""

import codecs
import json
import os
import sys
from typing import Any, TextIO

from vqa_client.cli.text import safe
from vqa_client.errors import OutputError
from vqa_client.files import indented
from vqa_client.unseen import unseen

_UNSEEN = unseen(lines=True)


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
        if stream is None:  # started with the descriptor closed
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (for the process's life)
        elif hasattr(stream, "reconfigure"):
            codecs.register_error("in_ascii", _in_ascii)
            stream.reconfigure(errors="in_ascii")


def say(text: str) -> None:
    """One line on standard error; where nobody reads it any more, the run goes on all the same."""
    try:
        print(safe(text), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        _lead_nowhere(sys.stderr)


def emit(text: str) -> None:
    """A result on standard output; a reader that has left is no error, a full disk is a UsageError."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _lead_nowhere(sys.stdout)
    except OSError as error:
        _lead_nowhere(sys.stdout)
        raise OutputError(
            f"standard output can't be written: {error.strerror}", hint="the report files are complete all the same"
        ) from None


def emit_json(value: Any) -> None:
    """The same for what machines read: no less is said where a terminal must not obey it."""
    text = indented(value).decode() + "\n"
    emit(_UNSEEN.sub(lambda found: json.dumps(found.group())[1:-1], text))


def _lead_nowhere(stream: TextIO) -> None:
    """Python flushes its streams when it ends, and must not fail at that again."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass

"""A completion that came as a stream of events, with or without `--stream`."""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from vqa_client.errors import UNDECODABLE
from vqa_client.types import without_none

JOINED = ("content", "reasoning", "reasoning_content", "refusal")
"""Fields of a message that come in pieces."""
LAST = ("finish_reason", "error")
"""Fields of a choice whose last value counts; of other fields the first counts."""
_END_OF_LINE = re.compile(r"\r\n|\r|\n")
_DATA = re.compile(rb"^data:[ ]?(.*)$", re.MULTILINE)
_DONE = "[DONE]"


def completion_in_events(text: str) -> dict[str, Any]:
    """Join the chunks of a stream; raises ValueError if it is not a stream, or was cut before its end."""
    whole: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    texts: dict[str, list[Any]] = {field: [] for field in JOINED}
    ended = False
    if "data:" not in text:  # a large body of another kind must not be split into lines
        raise ValueError("no stream of events")
    for event in _events(text):
        if event == _DONE:
            ended = True
            continue
        chunk = json.loads(event)
        if not isinstance(chunk, dict):
            raise ValueError("an event is not a chunk of a completion")
        pieces = chunk.pop("choices", None) or ()
        whole |= without_none(chunk)
        for piece in pieces:
            if isinstance(piece, dict) and not piece.get("index"):
                choice = without_none(piece) | choice | {key: piece[key] for key in LAST if piece.get(key)}
                _collect(texts, piece.get("delta") or piece.get("message"))
    if not whole.get("error") and not (choice and (ended or choice.get("finish_reason"))):
        raise ValueError("the stream has no end")
    return whole | {"choices": [choice | {"message": {field: _join(parts) for field, parts in texts.items() if parts}}]}


def first_text_end(body: bytes) -> int | None:
    """The end of the first event of a stream that has a piece of the reply; None if there is none."""
    for line in _DATA.finditer(body):
        try:
            chunk = msgspec.json.decode(line[1], type=_Chunk)
        except UNDECODABLE:
            continue
        if any(piece.delta.get(field) for piece in chunk.choices or () for field in JOINED):
            return line.end()
    return None


class _Piece(Struct):
    delta: dict[str, Any] = {}


class _Chunk(Struct):
    choices: list[_Piece] | None = None


def _collect(texts: dict[str, list[Any]], message: Any) -> None:
    for field, parts in texts.items():
        if isinstance(message, dict) and isinstance(text := message.get(field), str | list):
            parts.append(text)


def _join(pieces: list[Any]) -> Any:
    """One text, or the list of all parts if some pieces are parts."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    return [part for piece in pieces for part in (piece if isinstance(piece, list) else [{"text": piece}])]


def _events(text: str) -> Iterator[str]:
    """The data of each event, which ends with a blank line."""
    lines: list[str] = []
    for line in [*_END_OF_LINE.split(text), ""]:
        if line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))
        elif not line and lines:
            yield from _split(lines)
            lines = []


def _split(lines: list[str]) -> Iterator[str]:
    """One event of several lines, or one event per line, as some servers write them."""
    if len(lines) > 1 and all(line == _DONE or line[:1] + line[-1:] == "{}" for line in lines):
        yield from lines
    else:
        yield "\n".join(lines)

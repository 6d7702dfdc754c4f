"""The lines of a record log: each is a record in JSON with a checksum as its last key; the first one names the run."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import nan
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
from msgspec import Raw, Struct

from vqa_client.errors import UNDECODABLE, IdentityError
from vqa_client.files import BUFFER_BYTES
from vqa_client.types import Record, Status

_OPEN = b',"crc":"'
_END = _OPEN + b'%08x"}'
"""The end of a record, with the checksum of the text before it."""
_COVERED, _LINE_COVERED = slice(-18), slice(-19)
"""The text before the end: that of a record, and that of a line, which ends in a line feed."""
_BEGIN = re.compile(r'(?:\A|(?<=\}))\s*(?=\{)|(?=\{\s*"question_id"\s*:)')
"""Where a record may begin in a line that is not one record; a quote inside a text has a backslash before it."""
_MOST_NAMED = 10
_REBASED = 1 << 16
"""Characters after which a searched text is cut: a parser's error counts all line feeds before its place."""
_SERVER = "server"
"""The field of an identity that a later start may fill in: it is left out of the digest."""
_NO_PARTS = b"{}"


class Error(Struct):
    """The part of an error that decides whether a failed question is asked again."""

    transient: bool = False


class Head(Struct):
    """A record without its decoded texts; only the first line has `run`."""

    question_id: str
    status: Status
    variant: str = ""
    folder: str = ""
    error: Error | None = None
    run: str = ""
    prompt: Raw = Raw(b"")
    system: Raw = Raw(b"")
    images: Raw = Raw(b"[]")
    image_stamps: Raw = Raw(b"")
    score: float = 0.0
    parts: Raw = Raw(_NO_PARTS)

    @property
    def key(self) -> "Key":
        return self.question_id, self.variant or self.folder

    @property
    def asked(self) -> int:
        """A checksum of what was asked: the JSON of the images' stamps, the system message and the prompt.

        Older logs have no stamps: their checksums equal no question's.
        """
        return crc32(self.prompt, crc32(self.system, crc32(self.image_stamps or self.images)))

    @property
    def known_score(self) -> float:
        """The score, NaN if the right answer isn't known."""
        return self.score if len(self.parts) > len(_NO_PARTS) else nan


Key = tuple[str, str]
"""Question id and form, as `Record.key`."""
Place = tuple[int, bytes, Head]
"""The place of a record in the file in bytes, its text, and its head."""
Bad = Callable[[int, bytes], object]
"""Gets the number of a faulty line, and the part that is not a record: empty if the line only has several records."""
head_of = msgspec.json.Decoder(Head).decode
record_of = msgspec.json.Decoder(Record).decode
_encoder = msgspec.json.Encoder()
_parse = json.JSONDecoder().raw_decode


def line_of(record: Record, run: str = "") -> bytearray:
    """A record as a line; `run` is the name of the run, for the first line."""
    line = bytearray()
    _encoder.encode_into(record, line)  # one buffer: copying a line costs more than its checksum
    del line[-1:]
    if run:
        line += b',"run":%b' % _encoder.encode(run)
    line += _END % crc32(line) + b"\n"
    return line


def run_name(identity: Mapping[str, Any]) -> str:
    """The name of a run in its log's first line: a digest of the identity without the server."""
    known = _without_none({field: value for field, value in identity.items() if field != _SERVER})
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]


def _without_none(value: Any) -> Any:
    """A value without None: a setting of a later version is None in older runs."""
    if not isinstance(value, dict):
        return value
    kept = {field: _without_none(inner) for field, inner in value.items()}
    return {field: inner for field, inner in kept.items() if inner is not None and inner != {}}


def check_run(path: Path, name: str, identity: Mapping[str, Any]) -> None:
    """Raise IdentityError if a log's first line names another run than its run file.

    Older logs have no name, and a log may have no run file: then nothing is compared.
    """
    if name and identity and name != run_name(identity):
        raise IdentityError(
            f"{path} is the log of another run: its first line names {name}, its run file is of {run_name(identity)}",
            hint="put back the log or the run file that belongs here, or give the log a folder of its own",
        )


def records_in(path: Path, bad: Bad) -> Iterator[Place]:
    """Every whole record of a log, in the order of the file; raises OSError.

    Only a line feed ends a line. A record with a wrong checksum is not a record; without a checksum, as in older logs,
    every field must be valid.
    """
    place = 0
    with path.open("rb", buffering=BUFFER_BYTES) as file:
        for number, line in enumerate(file, 1):
            if line.endswith(_END % crc32(line[_LINE_COVERED]) + b"\n"):
                try:
                    yield place, line, head_of(line)
                except UNDECODABLE:  # it may be of a later version
                    bad(number, line)
            elif line.strip():
                salvaged, rest = _salvaged(line)
                if rest or len(salvaged) > 1:
                    bad(number, rest)
                yield from ((place + start, text, head) for start, text, head in salvaged)
            place += len(line)


def run_of(path: Path) -> str:
    """The name of the run in a log's first record; "" if it has none, as in older logs, or can't be read."""
    with suppress(OSError):
        return next((head.run for _, _, head in records_in(path, lambda line, rest: None)), "")
    return ""


def first_in(line: bytes) -> bytes:
    """The first whole record of a line with several; the line itself if it has none."""
    records, _ = _salvaged(line)
    return records[0][1] if records else line


def numbered(lines: Sequence[int]) -> str:
    """The first few line numbers as text."""
    return ", ".join(map(str, lines[:_MOST_NAMED])) + (", ..." if len(lines) > _MOST_NAMED else "")


def _salvaged(line: bytes) -> tuple[list[Place], bytes]:
    """The whole records in a line that is not one record, and the rest; the time is proportional to its length."""
    records, end, rest = list(_objects(line)), 0, b""
    for start, text, _ in records:
        rest += line[end:start]
        end = start + len(text)
    rest += line[end:]
    return records, rest if rest.strip() else b""


def _objects(line: bytes) -> Iterator[Place]:
    text, base, at = line.decode("latin-1"), 0, 0  # one character per byte
    while begin := _BEGIN.search(text, at):
        start = begin.end()
        if start > _REBASED:
            text, base, start = text[start:], base + start, 0
        try:
            at = _parse(text, start)[1]
        except RecursionError:  # each nested object would take as long again
            return
        except ValueError:
            at = start + 1
            continue
        text_of_record = line[base + start : base + at]
        if head := _intact(text_of_record):
            yield base + start, text_of_record, head


def _intact(text: bytes) -> Head | None:
    try:
        if text.startswith(_OPEN, len(text[_COVERED])):
            return head_of(text) if text.endswith(_END % crc32(text[_COVERED])) else None
        record_of(text)
        return head_of(text)
    except UNDECODABLE:
        return None

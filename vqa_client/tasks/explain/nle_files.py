"""The records of one NLE file, in any of its forms, with an id each."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from vqa_client.errors import UNDECODABLE, DataError
from vqa_client.not_json import fault

Id = str | int | None
Texts = str | list[str] | None
"""One text, or several."""
_BOM = b"\xef\xbb\xbf"
_HINT = "an NLE file is a JSON object of records by id, or a list of them; a .jsonl file has one per line"


class NleRow(Struct, frozen=True, kw_only=True):
    """What the records of all benchmarks may have; the explanations come under one of five names."""

    id: Id = None
    sample_id: Id = None
    question_id: Id = None
    annot_id: Id = None
    explanation: Texts = None
    explanations: Texts = None
    rationale: Texts = None
    nle: Texts = None
    exp: Texts = None

    def own_id(self) -> str:
        """The id that the record itself gives, or ""."""
        ids = (self.id, self.sample_id, self.question_id, self.annot_id)
        return next((str(each) for each in ids if each not in (None, "")), "")

    def gold_explanations(self) -> tuple[str, ...]:
        """All explanations of people that the record has; the published script keeps the first."""
        fields = (self.explanation, self.explanations, self.rationale, self.nle, self.exp)
        given = next((field for field in fields if field is not None), [])
        texts = [given] if isinstance(given, str) else given
        return tuple(text for text in texts if text.strip())


Row = TypeVar("Row", bound=NleRow)


def read_rows(path: Path, row_type: type[Row]) -> tuple[list[tuple[str, Row]], str]:
    """Give every record with its id, in file order, and the file's SHA-256.

    The id is the record's key in the file; in a list, the one it gives itself, else its index from 0. One that comes
    again gets "#2", "#3" and so on behind it, so that no record hides another. Raises DataError that names the file
    and the record.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"can't read {path}: {error.strerror or error}", hint=_HINT) from None
    rows: dict[str, Row] = {}
    for index, (key, record) in enumerate(_records(path, data.removeprefix(_BOM))):
        row = _decoded(path, key or f"at index {index}", record, row_type)
        rows[_unused(key or row.own_id() or str(index), rows)] = row
    if not rows:
        raise DataError(f"{path} contains no record", hint=_HINT)
    return list(rows.items()), hashlib.sha256(data).hexdigest()


def _records(path: Path, data: bytes) -> Iterator[tuple[str, Raw]]:
    try:
        if path.suffix.lower() == ".jsonl":
            yield from (("", line) for line in msgspec.json.Decoder(Raw).decode_lines(data))
            return
        found = msgspec.json.decode(data, type=dict[str, Raw] | list[Raw])
    except UNDECODABLE as error:
        raise DataError(f"{path}: {fault(error, data)}", hint=_HINT) from None
    yield from found.items() if isinstance(found, dict) else (("", record) for record in found)


def _decoded(path: Path, name: str, record: Raw, row_type: type[Row]) -> Row:
    try:
        return msgspec.json.decode(record, type=row_type)
    except UNDECODABLE as error:
        raise DataError(f"{path}: record {name}: {fault(error, bytes(record))}", hint=_HINT) from None


def _unused(name: str, taken: dict[str, Row]) -> str:
    times = 1
    unused = name
    while unused in taken:
        times += 1
        unused = f"{name}#{times}"
    return unused

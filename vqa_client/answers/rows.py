"""Read the rows of a JSON, JSONL or CSV file; normalise ids, and split captions into answer and explanation."""

import csv
import mmap
import os
import re
from collections.abc import Collection, Iterator
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Final, Literal, TypeVar

import msgspec

from vqa_client.errors import UNDECODABLE, DataError, reading, unreadable
from vqa_client.log_lines import records_in
from vqa_client.not_json import fault
from vqa_client.tables.delimited import separator_of

Id = int | str
Row = TypeVar("Row")
_BOM = b"\xef\xbb\xbf"
_SHOWN = 40
_LARGEST_FIELD = 1 << 30
_FORMS = "a file is a JSON list, one JSON object per line, or CSV or TSV by its name, all in UTF-8"
_QUOTE_HINT = 'quote an answer that contains the separator: 42,"yes, it is"'


def key_of(question_id: Id) -> str:
    """The text of an id for comparisons: 42 and "42" are one question."""
    return str(question_id).strip()


def is_csv(path: str | os.PathLike[str]) -> bool:
    """Whether the name is that of a CSV or TSV file."""
    return os.fspath(path).lower().endswith((".csv", ".tsv"))


def is_log(path: str | os.PathLike[str]) -> bool:
    """Whether the name is that of a run's record log."""
    return os.fspath(path).endswith(".records.jsonl")


def json_text(path: str | os.PathLike[str]) -> memoryview:
    """The content of a JSON file as a memory map, without its byte order mark; raises DataError for an empty file."""
    try:
        with open(path, "rb") as file:
            text = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except ValueError:
        raise DataError(f"{os.fspath(path)} is empty", hint=_FORMS) from None
    except OSError as error:
        raise unreadable(path, error) from None
    return text[len(_BOM) :] if text[: len(_BOM)] == _BOM else text


def first_character(text: memoryview) -> bytes:
    """The first character that isn't a blank."""
    return bytes(text[:4096]).lstrip()[:1]


def lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes]]:
    """Number and content of each line that is not blank; only a line feed ends a line."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            content = line.removeprefix(_BOM) if number == 1 else line
            if content.strip():
                yield number, content


def decode_json(path: str | os.PathLike[str], text: bytes | memoryview, row_type: type[Row], *, where: str = "") -> Row:
    """Decode JSON as `row_type`; raises DataError with the file, the place and the field."""
    try:
        return msgspec.json.decode(text, type=row_type)
    except UNDECODABLE as error:
        message = f"{os.fspath(path)}{where}: {fault(error, text)}; it begins with {_beginning(text)}"
        raise DataError(message, hint="" if isinstance(error, msgspec.ValidationError) else _FORMS) from None


def json_rows(path: str | os.PathLike[str], row_type: type[Row], unread: list[int]) -> Iterator[tuple[str, Row]]:
    """Each item of a JSON list, or line of a JSONL file, as `row_type` after its place in the file, for messages.

    In a record log, the numbers of lines that aren't records go to `unread`, since its run may have been killed or may
    be still writing; such a line of another file raises DataError.
    """
    text = json_text(path)
    if first_character(text) == b"[":
        rows = decode_json(path, text, list[row_type])  # type: ignore[valid-type]
        yield from ((f", item {number}", row) for number, row in enumerate(rows, 1))
        return
    with reading(path):
        for number, line in _records(path, unread) if is_log(path) else lines(path):
            where = f", line {number}"
            yield where, decode_json(path, line, row_type, where=where)


def _records(path: str | os.PathLike[str], unread: list[int]) -> Iterator[tuple[int, bytes]]:
    records = records_in(Path(path), lambda number, rest: unread.append(number) if rest else None)
    yield from enumerate((text for _, text, _ in records), start=1)


def csv_rows(path: str | os.PathLike[str]) -> Iterator[dict[str, str]]:
    """Each line of a file with commas, tabs or semicolons by its column names; raises DataError for a malformed one."""
    usual_limit = csv.field_size_limit(_LARGEST_FIELD)  # a limit of the whole process
    try:
        with open(path, "rb") as file, TextIOWrapper(file, "utf-8-sig", newline="") as text:
            first = text.readline()
            usual_separator = "\t" if os.fspath(path).lower().endswith(".tsv") else ","
            separator = separator_of(first, usual_separator)
            rows = csv.DictReader(chain([first], text), delimiter=separator, restval="")
            for number, row in enumerate(rows, 1):
                if None in row:
                    raise DataError(f"{os.fspath(path)}, row {number} has more cells than columns", hint=_QUOTE_HINT)
                yield row
    except OSError as error:
        raise unreadable(path, error) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"can't read {os.fspath(path)} as CSV in UTF-8: {error}") from None
    finally:
        csv.field_size_limit(usual_limit)


def _beginning(text: bytes | memoryview) -> str:
    """The first characters as a Python literal, or the first bytes if it is not text."""
    start = bytes(text[:_SHOWN])
    return (
        f"the bytes {start[:8].hex(' ')}, which are not text"
        if b"\0" in start
        else repr(start.decode("utf-8", "replace"))
    )


PredictionForm = Literal["full", "exp"]
"""Whether a caption is "answer because explanation" or only an explanation."""
_NAMED = re.compile(r"(?<![a-z])(?P<form>full|exp)(?![a-z])")
_BECAUSE: Final = re.compile(r"\s+because\s+", re.IGNORECASE)
_MOST_WORDS: Final = 8
"""The most words before "because" that are an answer; more are part of an explanation."""


def caption_form(path: str | Path, captions: Collection[str]) -> PredictionForm:
    """The form in the file's name (NLX-GPT's and ours end in _full and _exp), else that of most captions."""
    named = _NAMED.findall(Path(path).name.lower())
    if named:
        return "full" if named[-1] == "full" else "exp"
    answered = sum(_begins_with_an_answer(caption) for caption in captions)
    return "full" if 2 * answered > len(captions) else "exp"


def split_caption(caption: str, form: PredictionForm) -> tuple[str, str]:
    """The answer and the explanation, split at the first "because"; each may be ""."""
    if form == "exp":
        return "", caption.strip()
    answer, *explanation = _BECAUSE.split(f" {caption} ", maxsplit=1)
    return answer.strip(), "".join(explanation).strip()


def _begins_with_an_answer(caption: str) -> bool:
    answer, explanation = split_caption(caption, "full")
    return bool(explanation) and 0 < len(answer.split()) <= _MOST_WORDS

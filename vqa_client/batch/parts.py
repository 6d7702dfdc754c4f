"""The parts of a run: each is asked by one batch. Their files and states are in a folder of the run.

Also the lines of these files: requests, and results.
"""

import hashlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final, Literal

import msgspec
from msgspec import Raw, Struct

from vqa_client.client.body import Body
from vqa_client.client.failures import Verdict, codes_of, error_message, excerpt
from vqa_client.client.wire import NotACompletion, read_reply
from vqa_client.errors import UNDECODABLE, QuestionFailed, UsageError
from vqa_client.files import BUFFER_BYTES, replacing, writing
from vqa_client.reports.log_reader import LOG_ENDING, SHARD
from vqa_client.reports.names import count
from vqa_client.types import Completion, Image, Note, Question, Request

URL: Final = "/v1/chat/completions"
LATE = frozenset({"batch_expired", "batch_cancelled"})
"""Codes of requests that the server did not try and does not charge."""
FOLDER_ENDING = ".batches"
_KEY_CHARACTERS = 17
_MIDDLE = b'","method":"POST","url":"%b","body":' % URL.encode()
_NULL = b"null"


class Unasked(Exception):
    """A question without a usable result: the batch ended first, or the question has changed. No record is kept."""


def key_of(question: Question) -> str:
    """The beginning of the custom ids of a question, for all its requests."""
    return f"v{_digest(question.key)}"


def key_in(custom_id: str) -> str:
    """The key of the question in a custom id."""
    return custom_id[:_KEY_CHARACTERS]


def run_digest(identity: dict[str, Any]) -> str:
    """The digest of a run's identity for `custom_id`."""
    return _digest(msgspec.json.encode(identity, order="sorted"))


def custom_id(question: Question, request: Request, run: str) -> str:
    """The id of a request: always the same for the same question, request and run; 33 characters of [a-z0-9]."""
    asked = {name: value for name, value in msgspec.structs.asdict(request).items() if name != "document"}
    return key_of(question) + _digest((run, _with_digests(asked)))


def _with_digests(value: Any) -> Any:
    """A request's content, with digests instead of images."""
    if isinstance(value, Image):
        return "image", value.sha256
    if isinstance(value, Struct):
        value = msgspec.structs.asdict(value)
    if isinstance(value, dict):
        return [(name, _with_digests(inner)) for name, inner in sorted(value.items())]
    return [_with_digests(inner) for inner in value] if isinstance(value, tuple | list) else value


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def line_pieces(custom_id: str, body: Body) -> Iterator[bytes]:
    """A line of a batch's file; images are encoded while they are read. Raises QuestionFailed as `Body.pieces`."""
    yield b'{"custom_id":"' + custom_id.encode() + _MIDDLE
    yield from body.pieces()
    yield b"}\n"


def line_bytes(custom_id: str, body: Body) -> int:
    """The length of that line in bytes, without reading its images."""
    return body.size_bytes + len(custom_id) + len(_MIDDLE) + len(b'{"custom_id":"}\n')


class _Response(Struct):
    status_code: int | None = None
    body: Raw = Raw(_NULL)


class Result(Struct):
    """A line of a batch's results."""

    custom_id: str
    response: _Response | None = None
    error: Raw = Raw(_NULL)

    @property
    def answered(self) -> bool:
        """Whether the result is an answer: status 200 without an error."""
        return self.response is not None and self.response.status_code == 200 and bytes(self.error) == _NULL


read_result = msgspec.json.Decoder(Result).decode


def reply_of(result: Result, size_bytes: int) -> Completion:
    """The reply in a result; `size_bytes` is the size of the request's body.

    Raises NotACompletion for a refusal, by its status or its error, and Unasked if the request was not tried.
    """
    error, response = bytes(result.error), result.response
    if response is None or response.status_code is None:
        codes = codes_of(error)
        if LATE.intersection(codes):
            raise Unasked(codes[0])
        if "request_timeout" in codes:
            raise NotACompletion(error_message(error), Verdict("timeout", retry=True), excerpt(error))
        return _reply(200, b'{"error":' + error + b"}", size_bytes)
    body = bytes(response.body)
    if response.status_code == 200 and error != _NULL:
        return _reply(200, b'{"error":' + error + b"}", size_bytes)
    return _reply(response.status_code, error if body == _NULL else body, size_bytes)


def _reply(http_status: int, body: bytes, size_bytes: int) -> Completion:
    try:
        return read_reply(http_status, "application/json", body, size_bytes)
    except NotACompletion as refused:
        refused.http_status = http_status
        raise


State = Literal["written", "uploading", "uploaded", "creating", "open", "read"]
_INPUT = re.compile(r"part-[0-9]{4,}\.jsonl")


class BatchPart(Struct, kw_only=True):
    """One part: the ids of its lines in order, and its batch.

    `state` is saved before and after each step; `name` is the unique name of its file at the server; `round` counts how
    often its questions are asked.
    """

    number: int
    name: str
    ids: list[str]
    size_bytes: int
    round: int = 1
    state: State = "written"
    file_id: str = ""
    batch_id: str = ""
    results: list[str] = []


class PartSize(Struct, frozen=True):
    """The largest size of one part."""

    size_bytes: int
    lines: int


class Sizes:
    """Counts the `parts` that lines fill, and the `lines` and `size_bytes` of the last part."""

    def __init__(self, limits: PartSize) -> None:
        self._limits = limits
        self.parts = self.lines = self.size_bytes = 0

    def fits(self, size_bytes: int) -> bool:
        """Whether the last part has room for a line."""
        return self.size_bytes + size_bytes <= self._limits.size_bytes and self.lines < self._limits.lines

    def add(self, size_bytes: int) -> None:
        """Count a line; it begins a new part if the last one is full."""
        if not self.lines or not self.fits(size_bytes):
            self.parts, self.lines, self.size_bytes = self.parts + 1, 0, 0
        self.lines += 1
        self.size_bytes += size_bytes


class PartFolder:
    """The folder beside a record log with the unfinished parts; it is deleted with the last one."""

    def __init__(self, log: Path) -> None:
        stem = log.name.removesuffix(LOG_ENDING)
        self.folder = log.with_name(stem + FOLDER_ENDING)
        self._stem = re.sub(r"[^\w.-]", "_", stem, flags=re.ASCII)

    def all(self) -> list[BatchPart]:
        """The parts in order; raises UsageError for a file of another form."""
        return [self._read(path) for path in sorted(self.folder.glob("part-*.json"))]

    def _read(self, path: Path) -> BatchPart:
        try:
            return msgspec.json.decode(path.read_bytes(), type=BatchPart)
        except (OSError, *UNDECODABLE) as error:
            raise UsageError(f"{path} can't be read: {error}", hint="was it edited?") from None

    def save(self, part: BatchPart, **changes: object) -> None:
        """Save the state of a part with these changes."""
        for name, value in changes.items():
            setattr(part, name, value)
        with replacing(self._path(part.number, "json")) as file:
            file.write(msgspec.json.encode(part))

    def drop(self, part: BatchPart) -> None:
        """Delete the files of a part on this machine."""
        for path in (self.input(part.number), *self.downloads(part), self._path(part.number, "json")):
            path.unlink(missing_ok=True)
        self._remove_if_empty()

    def clear(self) -> None:
        """Delete the files written for a command, and its results."""
        for path in (*self.inputs(), *self.commanded()):
            path.unlink()
        self._remove_if_empty()

    def _remove_if_empty(self) -> None:
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def input(self, number: int) -> Path:
        """The file of requests."""
        return self._path(number, "jsonl")

    def result(self, number: int) -> Path:
        """The file for the results of a command."""
        return self._path(number, "out.jsonl")

    def downloads(self, part: BatchPart) -> list[Path]:
        """The files for a batch's answers and errors."""
        return [self._path(part.number, f"{kind}.jsonl") for kind in ("output", "error")]

    def set_aside(self, lines: Iterable[bytes], note: Note, *, damaged: bool = False) -> None:
        """Save unmatched results, or damaged lines, each once, in a file beside the folder."""
        if aside := list(lines):
            path = self.folder.with_suffix(".damaged.jsonl" if damaged else ".unmatched.jsonl")
            with writing(path), path.open("ab+") as file:
                file.seek(0)
                kept = {hashlib.sha256(line).digest() for line in file}
                file.writelines(line for line in aside if hashlib.sha256(line).digest() not in kept)
            what = count(len(aside), "damaged result" if damaged else "result")
            note(f"{what}{'' if damaged else ' without a question of this run'}: saved in {path.name}")

    def foreign_results(self) -> list[Path]:
        """Files of results that another program has put here."""
        return [path for path in sorted(self.folder.glob("*.jsonl")) if not _INPUT.fullmatch(path.name)]

    def files_of_others(self) -> str:
        """Words for the files that another program answers; empty if there are none."""
        if not (inputs := self.inputs()):
            return ""
        files = f"{count(len(inputs), 'file')} of requests and {len(self.foreign_results())} of results"
        return f"; {files} in {self.folder}, for `vqa-client batch read`"

    def commanded(self) -> list[Path]:
        """Files of results that a command has put here; an incomplete last line is cut off."""
        paths = sorted(self.folder.glob("part-*.out.jsonl"))
        for path in paths:
            with path.open("rb+") as file:
                file.truncate(sum(len(line) for line in file if line.endswith(b"\n") or _is_whole(line)))
        return paths

    def inputs(self) -> list[Path]:
        """Files of requests that were written here."""
        return [path for path in sorted(self.folder.glob("*.jsonl")) if _INPUT.fullmatch(path.name)]

    def new_name(self, number: int) -> str:
        """A unique name for a file at the server."""
        return f"{self._stem}-part-{number:04d}-{secrets.token_hex(6)}.jsonl"

    def _path(self, number: int, ending: str) -> Path:
        return self.folder / f"part-{number:04d}.{ending}"


def _is_whole(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except UNDECODABLE:
        return False
    return True


def progress_of(parts: list[BatchPart], answered: int, total: int) -> str:
    """The numbers of a run's questions that are answered, in open batches, and not sent yet."""
    open_parts = [part for part in parts if part.state == "open"]
    asked = sum(len(part.ids) for part in open_parts)
    ids = f"batch{'' if len(open_parts) == 1 else 'es'} ({', '.join(part.batch_id for part in open_parts)})"
    batches = f"{asked:,} in {len(open_parts):,} {ids}" if open_parts else ""
    left = max(0, total - answered - asked)
    clauses = (f"{answered:,} of {total:,} answered", batches, f"{left:,} not sent yet" if left else "")
    return ", ".join(filter(None, clauses))


def refuse_open(log: Path, *, own: bool = True) -> None:
    """Raise UsageError if questions of the log's run are in batches: they would be asked twice.

    The run may be divided in any way; the batches of this log itself count only with `own`.
    """
    for parts in map(PartFolder, _logs_with_same_questions(log)):
        waiting = sum(len(part.ids) for part in parts.all() if part.state != "read")
        if waiting and (own or parts.folder != PartFolder(log).folder):
            hint = "the same command with --batch collects them; `vqa-client batch cancel` ends them"
            raise UsageError(f"{count(waiting, 'question')} already in batches ({parts.folder})", hint=hint)


def _logs_with_same_questions(log: Path) -> Iterator[Path]:
    """The logs of a run that have batches: the undivided one, and its shards, without those beside a shard."""
    shard, whole = SHARD.search(log.name), SHARD.sub("", log.name)
    for folder in sorted(log.parent.glob(f"*{FOLDER_ENDING}")):
        other = folder.name.removesuffix(FOLDER_ENDING) + LOG_ENDING
        mark = SHARD.search(other)
        beside = shard and mark and shard[2] == mark[2] and shard[1] != mark[1]
        if SHARD.sub("", other) == whole and not beside:
            yield log.with_name(other)


class PartWriter:
    """Writes lines into one file after the other, each within the limits; for a `with` statement."""

    def __init__(self, parts: PartFolder, limits: PartSize, first: int, round: int = 1) -> None:
        self._parts, self._limits, self._round = parts, limits, round
        self._sizes = Sizes(limits)
        self._number = first
        self._file: IO[bytes] | None = None
        self._ids: list[str] = []

    def add(self, custom_id: str, body: Body) -> Iterator[BatchPart]:
        """Write a line; yields the part before it if that is full.

        Raises QuestionFailed for an image that has changed, and then removes the line; UsageError for a line above the
        limit.
        """
        size_bytes = line_bytes(custom_id, body)
        if size_bytes > self._limits.size_bytes:
            raise UsageError(
                f"one question takes {size_bytes / 1e6:.1f} MB, and a batch {self._limits.size_bytes / 1e6:g}",
                hint="--batch_mb, or smaller questions: --max_pages, --max_pixels",
            )
        if not self._sizes.fits(size_bytes):
            yield from self.end()
        with writing(self._unfinished_path):
            self._write(line_pieces(custom_id, body))
        self._ids.append(custom_id)
        self._sizes.add(size_bytes)

    def _write(self, pieces: Iterator[bytes]) -> None:
        if self._file is None:
            self._unfinished_path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._unfinished_path.open("wb", buffering=BUFFER_BYTES)
        try:
            self._file.writelines(pieces)
        except QuestionFailed:
            self._file.seek(self._sizes.size_bytes)
            self._file.truncate()
            raise

    def end(self) -> Iterator[BatchPart]:
        """Finish the file and yield its part, if it has a line."""
        if not self._ids or self._file is None:
            return
        with writing(self._unfinished_path):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._unfinished_path.replace(self._parts.input(self._number))
        number, ids, size_bytes = self._number, self._ids, self._sizes.size_bytes
        self._number, self._file, self._ids, self._sizes = number + 1, None, [], Sizes(self._limits)
        name = self._parts.new_name(number)
        yield BatchPart(number=number, name=name, ids=ids, size_bytes=size_bytes, round=self._round)

    @property
    def _unfinished_path(self) -> Path:
        return self._parts.input(self._number).with_suffix(".unfinished")

    def __enter__(self) -> "PartWriter":
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._file is not None:
            self._file.close()
            self._unfinished_path.unlink(missing_ok=True)


def keys_of(parts: list[BatchPart]) -> set[str]:
    """The keys of the questions that are in parts."""
    return {key_in(custom_id) for part in parts for custom_id in part.ids}

"""Writes questions as lines of a batch, and reads each result as the reply to its question."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import IO

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.batch.parts import (
    BatchPart,
    PartWriter,
    Result,
    Unasked,
    custom_id,
    key_in,
    key_of,
    read_result,
    reply_of,
)
from vqa_client.client.body import Body, RequestTemplate, by_address, by_bytes
from vqa_client.client.failures import BODY_CHARACTERS
from vqa_client.client.uploading.file_proof import file_address
from vqa_client.client.wire import NotACompletion
from vqa_client.errors import UNDECODABLE, QuestionFailed
from vqa_client.reports.names import count
from vqa_client.runner import Pipeline, answer_one
from vqa_client.types import Asks, Completion, Note, Question, Record, Request


class Results(ExitStack):
    """The places of the results in files, for a `with` statement; `damaged` are lines that aren't results.

    `keys` has the keys of the questions with a result, of any request.
    If a request has two results, the first one that is an answer counts; `repeated` counts further answers.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        super().__init__()
        self._files: list[IO[bytes]] = []
        self._places: dict[str, tuple[int, int]] = {}
        self.damaged: list[bytes] = []
        self.repeated = 0
        answered: set[str] = set()
        with ExitStack() as opened:
            for number, path in enumerate(paths):
                self._files.append(opened.enter_context(path.open("rb")))
                place = 0
                for line in self._files[-1]:
                    if line.strip() and (result := self._decode(line)):
                        if result.custom_id not in answered:
                            self._places[result.custom_id] = number, place
                        if result.answered:
                            self.repeated += result.custom_id in answered
                            answered.add(result.custom_id)
                    place += len(line)
            self.enter_context(opened.pop_all())
        self.total, self.keys = len(self._places), set(map(key_in, self._places))

    def take(self, custom_id: str) -> Result | None:
        """The result of a request, which is removed here."""
        place = self._places.pop(custom_id, None)
        return None if place is None else read_result(self._line(place))

    def left_over(self, known: set[str]) -> Iterator[bytes]:
        """The lines that were not taken, without those of questions whose keys are `known`."""
        for request_id, place in self._places.items():
            if key_in(request_id) not in known:
                yield _with_newline(self._line(place))

    def _line(self, place: tuple[int, int]) -> bytes:
        file = self._files[place[0]]
        file.seek(place[1])
        return file.readline()

    def _decode(self, line: bytes) -> Result | None:
        try:
            return read_result(line)
        except UNDECODABLE:
            self.damaged.append(_with_newline(line))
            return None


def note_repeated(results: Results, note: Note) -> None:
    """Note the answers that are there twice, which may differ."""
    if results.repeated:
        note(f"{count(results.repeated, 'repeated answer')}: the first one to a question counts")


def _with_newline(line: bytes) -> bytes:
    return line.rstrip(b"\n") + b"\n"


AHEAD = 8
"""The number of questions whose images are prepared ahead."""


class LineForm(Struct, frozen=True, kw_only=True):
    """How a run's questions become lines, and results its records; `run` is the digest of its identity.

    `choosing` wraps a client so that each request chooses among labels, if the run wants that. With `file_urls`,
    unchanged images are sent as addresses. `redacted` removes an API key from a server's message. `names` gets the
    model's name in each reply.
    """

    line: Pipeline
    template: RequestTemplate
    run: str
    choosing: Callable[[Asks], Asks] = lambda asks: asks
    file_urls: bool
    redacted: Callable[[str], str] = lambda text: text
    names: Callable[[str], None] = lambda name: None

    def body(self, request: Request) -> Body:
        if not self.file_urls:
            return self.template.body(request)
        addresses = [(image, file_address(image)) for image in request.images]
        parts = [by_address(address) if address else by_bytes(image) for image, address in addresses]
        return self.template.body(request, parts)


class _Ready(Exception):
    """Ends `answer_one` when the request is complete, and carries the request."""

    def __init__(self, request: Request) -> None:
        super().__init__()
        self.request = request


class Stops:
    """A client that sends no request: it raises each request."""

    async def complete(self, request: Request) -> Completion:
        raise _Ready(request)


async def requests_of(
    questions: Iterable[Question], form: LineForm
) -> AsyncGenerator[tuple[Question, Request | Record]]:
    """Each question in order with its request, or with the record of one that can't be asked."""
    line = replace(form.line, chat=form.choosing(Stops()))

    async def request_of(question: Question) -> Request | Record:
        try:
            return await answer_one(question, line)
        except _Ready as ready:
            return ready.request

    ahead: deque[tuple[Question, asyncio.Task[Request | Record]]] = deque()
    try:
        for question in questions:
            ahead.append((question, asyncio.create_task(request_of(question))))
            if len(ahead) >= AHEAD:
                question, task = ahead.popleft()
                yield question, await task
        while ahead:
            question, task = ahead.popleft()
            yield question, await task
    finally:
        for _, task in ahead:
            task.cancel()
        await asyncio.gather(*(task for _, task in ahead), return_exceptions=True)


async def parts_of(
    questions: Iterable[Question],
    form: LineForm,
    writer: PartWriter,
    *,
    keep: Callable[[Question, Record], None],
    left_out: Callable[[Question, QuestionFailed], None],
) -> AsyncGenerator[BatchPart]:
    """Files of the questions' requests, each as soon as it is full.

    `keep` gets the record of a question that can't be asked, `left_out` a question whose image changes meanwhile.
    """
    async with aclosing(requests_of(questions, form)) as requests:
        async for question, request in requests:
            if isinstance(request, Record):
                keep(question, request)
                continue
            try:
                for part in writer.add(custom_id(question, request, form.run), form.body(request)):
                    yield part
            except QuestionFailed as failure:
                left_out(question, failure)
            del request  # frees its images before the next ones are read
    for part in writer.end():
        yield part


class _ResultReader:
    """A client that answers one question from its result; with `later`, a transient failure waits for a later round."""

    def __init__(self, question: Question, results: Results, form: LineForm, *, attempts: int, later: bool) -> None:
        self._question, self._results, self._form = question, results, form
        self._attempts, self._later = attempts, later

    async def complete(self, request: Request) -> Completion:
        result = self._results.take(custom_id(self._question, request, self._form.run))
        if result is None:
            raise Unasked("asked otherwise now")
        size_bytes = self._form.body(request).size_bytes
        try:
            completion = reply_of(result, size_bytes)
        except NotACompletion as refused:
            if refused.verdict.retry and self._later:
                raise Unasked(refused.verdict.status) from None
            raise QuestionFailed(
                refused.verdict.status,
                self._form.redacted(refused.message)[:BODY_CHARACTERS],
                http_status=refused.http_status or None,
                body=self._form.redacted(refused.body)[:BODY_CHARACTERS],
                hint=refused.verdict.hint,
                attempts=self._attempts,
                request_bytes=size_bytes,
            ) from None
        if completion.model:
            self._form.names(completion.model)
        return replace(completion, attempts=self._attempts, request_bytes=size_bytes)


async def read_results(
    results: Results,
    waiting: Iterable[Question],
    form: LineForm,
    keep: Callable[[Question, Record], None],
    *,
    of: Iterable[Question],
    aside: Callable[[Iterator[bytes]], None],
    attempts: int = 1,
    later: bool = False,
) -> Counter[str]:
    """Keep a record of each waiting question with a result; counts unusable results by reason.

    `aside` gets the results that match no question as it is asked now, `of` being all questions of the run.
    """
    left, remaining = Counter[str](), set(results.keys)
    for question in waiting:
        if not remaining:  # each of many parts reads the data from its beginning
            break
        if (key := key_of(question)) in remaining:
            remaining.discard(key)
            asks = form.choosing(_ResultReader(question, results, form, attempts=attempts, later=later))
            try:
                keep(question, await answer_one(question, replace(form.line, chat=asks)))
            except Unasked as reason:
                left[str(reason)] += 1
    answered = {key for question in of if (key := key_of(question)) in remaining} if remaining else set()
    aside(results.left_over(answered))
    return left

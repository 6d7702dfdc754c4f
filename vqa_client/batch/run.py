"""A run through batches: each part is uploaded, made a batch, waited for, read and deleted, wherever it was left."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct

from vqa_client.batch.asking import Form, Results, parts_of, read_results
from vqa_client.batch.parts import Limits, Part, Parts, PartWriter, key_in, key_of, keys_of
from vqa_client.batch.service import ENDED, TOKEN_LIMIT, Batch, Refused, Service, Unreachable
from vqa_client.errors import QuestionFailed, ServerUnusable
from vqa_client.reports.names import count
from vqa_client.runner import Line
from vqa_client.settings.batch import BatchSettings
from vqa_client.types import Question, Record

MOST_POLL_S, POLL_GROWTH = 300.0, 1.25
FETCHES = 3
PAUSES_S = (1.0, 5.0, 25.0, 125.0)
"""Between attempts at a step that the server could not be reached for."""
Result = TypeVar("Result")


class Listener(Struct, frozen=True, kw_only=True):
    """What a batched run reports to: notes, the line that shows its batches, and the records."""

    note: Callable[[str], None]
    shows: Callable[[str], None]
    keep: Callable[[Record], None]


class BatchRun:
    """Asks what `waiting` gives, and walks `questions` for results; `title` names the run at the server.

    Raises ServerUnusable if the server has no batch API or refuses a batch. The state is on the disk, so the same
    command resumes.
    """

    def __init__(
        self,
        *,
        title: str,
        questions: Iterable[Question],
        waiting: Callable[[], Iterator[Question]],
        line: Line,
        form: Form,
        parts: Parts,
        settings: BatchSettings,
        service: Service,
        listener: Listener,
    ) -> None:
        self._title, self._questions, self._waiting = title, questions, waiting
        self._line, self._form, self._parts, self._settings = line, form, parts, settings
        self._limits = Limits(settings.batch_bytes, settings.batch_lines)
        self._service, self._listener = service, listener
        self._open: dict[int, Part] = {}
        self._pending: deque[Part] = deque()
        self._seen: dict[int, Batch] = {}
        self._recorded: set[str] = set()
        self._most_open = settings.batch_parallel
        self._cancelled = self._leaves = False
        self._said = ""
        self._described: list[dict[str, Any]] = []

    async def ask(self, described: list[dict[str, Any]]) -> None:
        """Ask until every question has its record or had its last round; `described` gets each batch that was read."""
        self._described = described
        await self._service.check()
        for part in self._parts.all():
            if part.state == "read":
                await self._tidy(part)
            elif part.state == "open":
                self._open[part.number] = part
            elif part.file_id or self._parts.input(part.number).exists():
                self._pending.append(part)
            else:
                self._parts.drop(part)
        first = max((part.round for part in (*self._open.values(), *self._pending)), default=1)
        rounds = self._settings.batch_rounds
        for round in range(first, max(first, rounds) + 1):
            left = await self._round(round)
            if not left or self._leaves:
                return
            if self._cancelled or round >= rounds:
                break
            self._listener.note(f"{count(left, 'question')} not answered: asked again ({round + 1} of {rounds})")
        self._listener.note(f"{count(left, 'question')} not answered: the same command without --batch asks online")

    async def _round(self, round: int) -> int:
        """How many questions have no record after it; with --no_wait it ends where it would wait."""
        left, poll_s = Counter[str](), self._settings.poll
        async with aclosing(self._new_parts(round)) as new:
            while True:
                exhausted = await self._submit_new(new)
                if not self._open and (exhausted or self._cancelled):
                    return left.total()
                open_before, read_before = set(self._open), len(self._described)
                for part in list(self._open.values()):
                    left += await self._look(part)
                self._show()
                if self._settings.no_wait:
                    if len(self._described) == read_before:
                        self._leaves = True
                        return left.total()
                elif self._open or self._pending:
                    grown_s = max(self._settings.poll, min(poll_s * POLL_GROWTH, MOST_POLL_S))
                    poll_s = grown_s if set(self._open) == open_before else self._settings.poll
                    await asyncio.sleep(poll_s)

    async def _submit_new(self, new: AsyncGenerator[Part]) -> bool:
        """Send what may be open at once; whether nothing is left to send."""
        while len(self._open) < self._most_open and not self._cancelled:
            part = self._pending.popleft() if self._pending else await anext(new, None)
            if part is None:
                return True
            if not await self._submit(part):
                break
        return False

    async def _new_parts(self, round: int) -> AsyncGenerator[Part]:
        """Parts of what is waiting and in no part, written one by one as they are wanted."""
        there = self._parts.all()
        taken = keys_of(there) | self._recorded
        questions = (question for question in self._waiting() if key_of(question) not in taken)
        first = max((part.number for part in there), default=0) + 1
        with PartWriter(self._parts, self._limits, first, round) as writer:
            parts = parts_of(questions, self._line, self._form, writer, keep=self._keep, left_out=self._left_out)
            async with aclosing(parts):
                async for part in parts:
                    yield part

    def _left_out(self, question: Question, failure: QuestionFailed) -> None:
        """Its image changes under our eyes; the next start asks it."""
        self._listener.note(f"{question.id} is left out: {failure}")
        self._recorded.add(key_of(question))

    async def _submit(self, part: Part) -> bool:
        """Bring a part to an open batch, from where it is; False where the server takes no more now."""
        try:
            await _patiently(lambda: self._step(part))
        except Refused as refused:
            if refused.code == TOKEN_LIMIT:
                self._postpone(part)
                return False
            await self._forget(part)
            raise
        self._open[part.number] = part
        until = (datetime.now().astimezone() + timedelta(hours=self._settings.batch_hours)).strftime("%a %H:%M")
        size = f"{count(len(part.ids), 'question')}, {part.size_bytes / 1e6:,.1f} MB"
        self._listener.note(f"batch {part.batch_id}: {size}, ends by {until}")
        return True

    async def _step(self, part: Part) -> None:
        if part.state in ("written", "uploading"):
            if part.state == "uploading":
                await self._service.delete_named(part.name)
            self._parts.save(part, state="uploading")
            path = self._parts.input(part.number)
            self._parts.save(part, file_id=await self._service.upload(path, part.name), state="uploaded")
            path.unlink(missing_ok=True)
        batch = await self._service.find(part.file_id) if part.state == "creating" else None
        if batch is None:
            self._parts.save(part, state="creating")
            about = {"run": self._title[:500], "part": str(part.number), "file": part.name}
            batch = await self._service.create(part.file_id, about)
        self._parts.save(part, batch_id=batch.id, state="open")

    def _postpone(self, part: Part) -> None:
        """Nothing of a part was asked, since too many tokens wait: it is sent again when another one has ended."""
        self._open.pop(part.number, None)
        self._parts.save(part, batch_id="", state="uploaded")
        self._pending.append(part)
        self._most_open = max(1, len(self._open))
        message = f"part {part.number}: the account's limit of waiting tokens is reached; it is sent later"
        if not self._open:
            message += "; if nothing else of yours waits there, it is too large: batch cancel, then fewer --batch_lines"
        self._listener.note(message)

    async def _look(self, part: Part) -> Counter[str]:
        """Ask how far a batch is, and read one that has ended; gives what it leaves without a record."""
        try:
            batch = await self._service.look(part.batch_id)
            self._seen[part.number] = batch
            if batch.status not in ENDED:
                return Counter()
            if batch.status != "failed":
                return await self._read(part, batch)
        except Unreachable as error:
            self._listener.note(f"{error}; waiting")
            return Counter()
        if batch.over_token_limit:
            self._postpone(part)
            return Counter()
        await self._forget(part)
        raise ServerUnusable(f"batch {batch.id} was refused: {self._complaints(part, batch)}", hint="nothing was asked")

    async def _read(self, part: Part, batch: Batch) -> Counter[str]:
        """Take an ended batch's records over, then delete what the server has of it."""
        paths = self._parts.downloads(part)[: len(batch.results)]
        for attempt in range(1, FETCHES + 1):
            for file_id, path in zip(batch.results, paths, strict=True):
                await self._service.fetch(file_id, path)
            with Results(paths) as results:
                if results.damaged and attempt < FETCHES:  # the download may have been cut
                    continue
                left = await self._take(part, results)
            break
        left += Counter({"without a result": max(0, len(part.ids) - results.total)})
        reasons = [f"{count:,} {reason.replace('batch_', '')}" for reason, count in left.items() if count]
        self._listener.note(f"batch {batch.id}: {batch.status}" + (f"; {', '.join(reasons)}" if reasons else ""))
        self._cancelled |= batch.status == "cancelled"
        self._parts.save(part, state="read", results=list(batch.results))
        self._seen.pop(part.number, None)
        del self._open[part.number]
        self._described.append({"id": batch.id, "questions": len(part.ids), "status": batch.status})
        await self._tidy(part)
        return left

    async def _take(self, part: Part, results: Results) -> Counter[str]:
        self._parts.set_aside(results.damaged, self._listener.note, damaged=True)
        return await read_results(
            *(results, self._waiting(), self._line, self._form, self._keep),
            of=keys_of([part]),
            aside=partial(self._parts.set_aside, note=self._listener.note),
            attempts=part.round,
            later=part.round < self._settings.batch_rounds,
        )

    def _keep(self, question: Question, record: Record) -> None:
        self._recorded.add(key_of(question))
        self._listener.keep(record)

    async def _tidy(self, part: Part) -> None:
        """Delete a part's files there, which contain its images, and here; what can't be deleted expires."""
        with suppress(Unreachable):
            for file_id in (part.file_id, *part.results):
                await self._service.delete(file_id)
        self._parts.drop(part)

    async def _forget(self, part: Part) -> None:
        """Leave a part to be written again."""
        self._open.pop(part.number, None)
        if part.file_id:
            with suppress(Unreachable):
                await self._service.delete(part.file_id)
        self._parts.drop(part)

    def _complaints(self, part: Part, batch: Batch) -> str:
        keys = {line: key_in(part.ids[line - 1]) for *_, line in batch.errors[:3] if 0 < line <= len(part.ids)}
        names = {key: each.id for each in self._questions if (key := key_of(each)) in keys.values()} if keys else {}
        return "; ".join(
            f"{code}: {message}" + (f" (question {names.get(keys[line])})" if line in keys else "")
            for code, message, line in batch.errors[:3]
        )

    def _show(self) -> None:
        asked = sum(len(part.ids) for part in self._open.values())
        batches = [self._seen[number] for number in self._open if number in self._seen]
        kinds = Counter(batch.status.replace("_", " ") for batch in batches)
        text = ", ".join(f"{number:,} {status}" for status, number in kinds.items())
        text = f"batches: {text}; {sum(batch.done for batch in batches):,} of {asked:,} questions done" if text else ""
        self._listener.shows(text + (f"; {len(self._pending):,} more to be sent" if self._pending else ""))


async def _patiently(step: Callable[[], Awaitable[Result]]) -> Result:
    """Do a step again where the server could not be reached; each begins by looking what the last one has done."""
    for pause_s in PAUSES_S:
        try:
            return await step()
        except Unreachable:
            await asyncio.sleep(pause_s)
    return await step()

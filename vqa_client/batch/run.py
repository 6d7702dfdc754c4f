"""A run by batches: each part is uploaded, becomes a batch, and is read and deleted when the batch has ended."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from vqa_client.batch.asking import LineForm, Results, note_repeated, parts_of, read_results
from vqa_client.batch.parts import BatchPart, PartFolder, PartSize, PartWriter, key_in, key_of, keys_of
from vqa_client.batch.service import ENDED, TOKEN_LIMIT, Batch, RequestRefused, Service, Unreachable
from vqa_client.errors import QuestionFailed, ServerUnusable
from vqa_client.progress import Progress
from vqa_client.reports.names import count
from vqa_client.settings.batch import BatchSettings
from vqa_client.types import Question, Record

MOST_POLL_S, POLL_GROWTH = 300.0, 1.25
FETCHES = 3
MOST_COMPLAINTS = 3
"""As many of a refused file's faults are named."""
PAUSES_S = (1.0, 5.0, 25.0, 125.0)
"""Pauses between attempts at a step, if the server can't be reached."""


class BatchRun:
    """Asks the questions that `waiting` gives, some of all `questions`; `title` names the run at the server.

    The `unfinished` parts of earlier starts are continued. Raises ServerUnusable if the server has no batch API or
    refuses a batch. All state is on the disk, so that the same command resumes.
    """

    def __init__(
        self,
        *,
        title: str,
        questions: Iterable[Question],
        waiting: Callable[[], Iterator[Question]],
        form: LineForm,
        parts: PartFolder,
        unfinished: Sequence[BatchPart],
        settings: BatchSettings,
        service: Service,
        progress: Progress,
        keep: Callable[[Record], None],
    ) -> None:
        self._title, self._questions, self._waiting = title, questions, waiting
        self._form, self._parts, self._settings = form, parts, settings
        self._limits = PartSize(settings.batch_bytes, settings.batch_lines)
        self._service, self._unfinished, self._progress, self._keep_record = service, unfinished, progress, keep
        self._open: dict[int, BatchPart] = {}
        self._pending: deque[BatchPart] = deque()
        self._seen: dict[int, Batch] = {}
        self._recorded: set[str] = set()
        self._most_open = settings.batch_parallel
        self._cancelled = self._ends_early = False
        self._described: list[dict[str, Any]] = []

    async def ask(self, described: list[dict[str, Any]]) -> None:
        """Ask until every question has a record or had its last round; `described` gets each batch that was read."""
        self._described = described
        await self._service.check()
        for part in self._unfinished:
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
            if not left or self._ends_early:
                return
            if self._cancelled or round >= rounds:
                break
            self._note(f"{count(left, 'question')} not answered: asked again ({round + 1} of {rounds})")
        self._note(f"{count(left, 'question')} not answered: the same command without --batch asks online")

    async def _round(self, round: int) -> int:
        """One round; returns how many questions have no record after it. With --no_wait it ends instead of waiting."""
        left, poll_s = Counter[str](), self._settings.poll
        async with aclosing(self._new_parts(round)) as new:
            while True:
                exhausted = await self._submit_new(new)
                if not self._open and (exhausted or self._cancelled):
                    return left.total()
                open_before, read_before = set(self._open), len(self._described)
                for part in list(self._open.values()):
                    left += await self._check(part)
                self._show_progress()
                if self._settings.no_wait:
                    if len(self._described) == read_before:
                        self._ends_early = True
                        return left.total()
                elif self._open or self._pending:
                    grown_s = max(self._settings.poll, min(poll_s * POLL_GROWTH, MOST_POLL_S))
                    poll_s = grown_s if set(self._open) == open_before else self._settings.poll
                    await asyncio.sleep(poll_s)

    async def _submit_new(self, new: AsyncGenerator[BatchPart]) -> bool:
        """Submit as many parts as may be open at once; True if none is left to submit."""
        while len(self._open) < self._most_open and not self._cancelled:
            part = self._pending.popleft() if self._pending else await anext(new, None)
            if part is None:
                return True
            if not await self._submit(part):
                break
        return False

    async def _new_parts(self, round: int) -> AsyncGenerator[BatchPart]:
        """Parts of waiting questions that are in no part yet, written one by one when they are needed."""
        earlier = self._parts.all()
        taken = keys_of(earlier) | self._recorded
        questions = (question for question in self._waiting() if key_of(question) not in taken)
        first = max((part.number for part in earlier), default=0) + 1
        with PartWriter(self._parts, self._limits, first, round) as writer:
            parts = parts_of(questions, self._form, writer, keep=self._keep, left_out=self._left_out)
            async with aclosing(parts):
                async for part in parts:
                    yield part

    def _left_out(self, question: Question, failure: QuestionFailed) -> None:
        """Leave a question to the next start, since its image is changing."""
        self._note(f"{question.id} is left out: {failure}")
        self._recorded.add(key_of(question))

    async def _submit(self, part: BatchPart) -> bool:
        """Bring a part from its state to an open batch; False if the server accepts no more now."""
        try:
            await self._step_with_retries(part)
        except RequestRefused as refused:
            if refused.code == TOKEN_LIMIT:
                self._postpone(part)
                return False
            await self._drop(part)
            raise
        self._open[part.number] = part
        until = clock(datetime.now() + timedelta(hours=self._settings.batch_hours))
        size = f"{count(len(part.ids), 'question')}, {part.size_bytes / 1e6:,.1f} MB"
        self._note(f"batch {part.batch_id}: {size}, ends by {until}")
        return True

    async def _step_with_retries(self, part: BatchPart) -> None:
        """Repeat a step if the server can't be reached; a step first checks what the last attempt has done."""
        for pause_s in PAUSES_S:
            with suppress(Unreachable):
                return await self._step(part)
            await asyncio.sleep(pause_s)
        await self._step(part)

    async def _step(self, part: BatchPart) -> None:
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

    def _postpone(self, part: BatchPart) -> None:
        """Send a part again later: too many tokens are waiting at the server, so none of it was asked."""
        self._open.pop(part.number, None)
        self._parts.save(part, batch_id="", state="uploaded")
        self._pending.append(part)
        self._most_open = max(1, len(self._open))
        message = f"part {part.number}: the account's limit of waiting tokens is reached; it is sent later"
        if not self._open:
            message += "; if nothing else of yours waits there, it is too large: batch cancel, then fewer --batch_lines"
        self._note(message)

    async def _check(self, part: BatchPart) -> Counter[str]:
        """Check a batch, and read it if it has ended; counts its questions without a record by reason."""
        try:
            batch = await self._service.look(part.batch_id)
            self._seen[part.number] = batch
            if batch.status not in ENDED:
                return Counter()
            if batch.status != "failed":
                return await self._read(part, batch)
        except Unreachable as error:
            self._note(f"{error}; waiting")
            return Counter()
        if batch.over_token_limit:
            self._postpone(part)
            return Counter()
        await self._drop(part)
        raise ServerUnusable(f"batch {batch.id} was refused: {self._complaints(part, batch)}", hint="nothing was asked")

    async def _read(self, part: BatchPart, batch: Batch) -> Counter[str]:
        """Keep the records of an ended batch, then delete its files at the server."""
        paths = self._parts.downloads(part)[: len(batch.results)]
        for attempt in range(1, FETCHES + 1):
            for file_id, path in zip(batch.results, paths, strict=True):
                await self._service.fetch(file_id, path)
            with Results(paths) as results:
                if results.damaged and attempt < FETCHES:  # the download may be incomplete
                    continue
                left = await self._keep_results(part, results)
            break
        left += Counter({"without a result": max(0, len(part.ids) - results.total)})
        reasons = [f"{count:,} {reason.replace('batch_', '')}" for reason, count in left.items() if count]
        self._note(f"batch {batch.id}: {batch.status}" + (f"; {', '.join(reasons)}" if reasons else ""))
        self._cancelled |= batch.status == "cancelled"
        self._parts.save(part, state="read", results=list(batch.results))
        self._seen.pop(part.number, None)
        del self._open[part.number]
        self._described.append({"id": batch.id, "questions": len(part.ids), "status": batch.status})
        await self._tidy(part)
        return left

    async def _keep_results(self, part: BatchPart, results: Results) -> Counter[str]:
        self._parts.set_aside(results.damaged, self._note, damaged=True)
        note_repeated(results, self._note)
        return await read_results(
            results,
            self._waiting(),
            self._form,
            self._keep,
            of=self._questions,
            aside=partial(self._parts.set_aside, note=self._note),
            attempts=part.round,
            later=part.round < self._settings.batch_rounds,
        )

    def _keep(self, question: Question, record: Record) -> None:
        self._recorded.add(key_of(question))
        self._progress.asking()
        self._keep_record(record)

    async def _tidy(self, part: BatchPart) -> None:
        """Delete a part's files at the server, which have its images, and here; those that can't be deleted expire."""
        with suppress(Unreachable):
            for file_id in (part.file_id, *part.results):
                await self._service.delete(file_id)
        self._parts.drop(part)

    async def _drop(self, part: BatchPart) -> None:
        """Drop a part, so that its questions are written again."""
        self._open.pop(part.number, None)
        if part.file_id:
            with suppress(Unreachable):
                await self._service.delete(part.file_id)
        self._parts.drop(part)

    def _complaints(self, part: BatchPart, batch: Batch) -> str:
        errors = batch.errors[:MOST_COMPLAINTS]
        keys = {line: key_in(part.ids[line - 1]) for *_, line in errors if 0 < line <= len(part.ids)}
        names: dict[str, str] = {}
        for question in self._questions if keys else ():
            if (key := key_of(question)) in keys.values():
                names[key] = question.id
        return "; ".join(
            f"{code}: {message}" + (f" (question {names.get(keys[line])})" if line in keys else "")
            for code, message, line in errors
        )

    def _show_progress(self) -> None:
        asked = sum(len(part.ids) for part in self._open.values())
        batches = [self._seen[number] for number in self._open if number in self._seen]
        kinds = Counter(batch.status.replace("_", " ") for batch in batches)
        open_now = ", ".join(f"{number:,} {status}" for status, number in kinds.items())
        done = f"{sum(batch.done for batch in batches):,} of {count(asked)} done"
        later = [f"{len(self._pending):,} more to be sent"] if self._pending else []
        self._progress.serving("; ".join([*((f"batches: {open_now}", done) if open_now else ()), *later]))
        self._progress.pulse(0.0)

    def _note(self, text: str) -> None:
        self._progress.note(f"{self._title}: {text}")


def clock(time: datetime) -> str:
    """The weekday and the time of day in local time, which say enough about a day or a week."""
    return time.astimezone().strftime("%a %H:%M")

"""One question from its prompt to its record, and the workers that answer all questions."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from typing import Protocol, TypeVar
from zlib import crc32

from msgspec import UNSET, Struct
from msgspec.structs import replace

from vqa_client.errors import QuestionFailed
from vqa_client.scoring.reply import kept_completion, reply_from
from vqa_client.task import Shot, Task, visible
from vqa_client.types import (
    Answer,
    Asks,
    Completion,
    Content,
    Example,
    Failure,
    Image,
    Parts,
    Question,
    Record,
    Request,
    Score,
    SentImage,
)

GRACE_S = 1.5
"""How long the questions in flight may take to end after an interruption."""
LOOP_CHARACTERS = 1_000
"""A longer reply is read in a thread, because reading it could block the loop for more than 50 ms."""
_READER = ThreadPoolExecutor(1, thread_name_prefix="reading")
"""One thread: several would share the processor with the loop and block it together."""
_TASKS_READ: set[str] = set()
"""Tasks with a reply read: the first one compiles patterns, which takes up to 40 ms."""
PROMPT_CHARACTERS = 10_000
"""Of a longer prompt, as in text-only runs, the record keeps both ends."""


class Prepares(Protocol):
    """Prepares the images of a question."""

    async def prepare(self, paths: Sequence[str]) -> tuple[Image, ...]:
        """Raises QuestionFailed."""


class Pipeline(Struct, frozen=True, kw_only=True):
    """What all questions of one run share; `images_for` gives the preparer of a variant's images.

    `max_pages` of None sends every page.
    """

    task: Task
    chat: Asks
    images_for: Callable[[str], Prepares]
    max_pages: int | None


async def answer_one(question: Question, line: Pipeline) -> Record:
    """Ask one question, and read, score and record the reply; raises only for a bug or a lost server."""
    shown, task = first_pages(question, line.max_pages), line.task
    content = task.content(shown)
    system, shots = task.system_for(question), task.shots(question) if task.shots else ()
    images: tuple[Image, ...] = ()

    def before_reply() -> Record:
        record = _record_before_reply(
            question, visible(content, question.turns), images, cut=len(question.images) - len(shown.images)
        )
        if not (system or shots):
            return record
        ids = tuple(shot.id for shot, _ in shots)
        return replace(record, system=kept_prompt(system) or UNSET, shots=ids or UNSET)

    try:
        images = await line.images_for(question.variant).prepare(shown.images)
        request = Request(
            content=_with_images(content, images),
            system=system,
            examples=await _examples(question, shots, images, line) if shots or question.turns else (),
            parameters=task.parameters,
            document=question.cluster,
        )
        completion = await line.chat.complete(request)
    except QuestionFailed as failure:
        return _with_failure(before_reply(), failure)
    answer, score = await _judge_without_blocking(completion, question, task)
    record = _with_reply(before_reply(), completion, answer, score)
    return replace(record, model=completion.model or UNSET) if task.names_model else record


def first_pages(question: Question, max_pages: int | None) -> Question:
    """The question with its first `max_pages` images; None keeps all."""
    return question if max_pages is None else replace(question, images=question.images[:max_pages])


async def _examples(
    question: Question, shots: Sequence[Shot], images: tuple[Image, ...], line: Pipeline
) -> tuple[Example, ...]:
    """The worked examples and earlier turns to send; raises QuestionFailed for a bad image.

    Images of worked examples are never corrupted.
    """
    sent: list[Example] = []
    for shot, reply in shots:
        shown = first_pages(shot, line.max_pages)
        own = await line.images_for("").prepare(shown.images)
        sent.append(Example(content=_with_images(line.task.content(shown), own), reply=reply))
    turns = [Example(content=_with_images(turn.content, images), reply=turn.reply) for turn in question.turns]
    return (*sent, *turns)


def _with_images(content: Content, images: tuple[Image, ...]) -> Parts:
    """The parts to send; the mark of an image that isn't sent, such as a page over the limit, stays as text."""
    there = len(images)
    return tuple(
        [
            part if isinstance(part, str) else images[part - 1] if part <= there else f"<image {part}>"
            for part in content
        ]
    )


def record_of(question: Question, completion: Completion | QuestionFailed, task: Task) -> Record:
    """The record of a reply or a failure from elsewhere, without prompt and images."""
    if isinstance(completion, QuestionFailed):
        return _with_failure(_record_before_reply(question, "", ()), completion)
    return _with_reply(_record_before_reply(question, "", ()), completion, *judge(completion, question, task))


def record_of_answer(question: Question, answer: Answer, score: Score) -> Record:
    """The record of an answer that was read and scored elsewhere, without its reply."""
    return _with_answer(_record_before_reply(question, "", ()), answer, score)


def judge(completion: Completion, question: Question, task: Task) -> tuple[Answer, Score]:
    """The answer in a completion and its score; a blocked reply is a refusal and scores nothing.

    An error of the benchmark's own rules names the question.
    """
    reply = reply_from(completion)
    try:
        if reply.status == "refused":
            return reply.without_answer(), task.score(reply.without_answer(), _NOTHING, question)
        answer = task.parse(reply, question)
        return answer, task.score(answer, reply, question)
    except Exception as error:
        error.add_note(f"question {question.id}")
        raise


_NOTHING = reply_from(Completion(text=""))


async def _judge_without_blocking(completion: Completion, question: Question, task: Task) -> tuple[Answer, Score]:
    """`judge`, but a thread reads a long reply and a task's first reply, so that the loop isn't blocked."""
    is_short = len(completion.text) + len(completion.reasoning or "") <= LOOP_CHARACTERS
    if is_short and task.name in _TASKS_READ:
        return judge(completion, question, task)
    read = await asyncio.get_running_loop().run_in_executor(_READER, judge, completion, question, task)
    _TASKS_READ.add(task.name)
    return read


def read_again(record: Record, question: Question, task: Task) -> Record:
    """The record parsed and scored again by today's code, without asking; a failed question stays as it is."""
    today = replace(record, references=question.references, groups=question.groups)
    if record.output is None:
        return today
    return _with_answer(today, *judge(kept_completion(record), question, task))


class Crew:
    """The workers; `size` is their number, and while they are `on_break` none starts a question.

    `in_flight` counts the questions that are being answered.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.on_break = self._no_more = False
        self._questions = self._at_work = self.in_flight = 0
        self._changed = asyncio.Event()

    def change(self, *, size: int | None = None, on_break: bool | None = None) -> None:
        """Change the number of workers, or begin or end a break, while they work."""
        self.size = self.size if size is None else size
        self.on_break = self.on_break if on_break is None else on_break
        self._changed.set()

    def begin(self, questions: int) -> None:
        """Prepare for a number of questions."""
        self._questions, self._no_more = questions, False

    @property
    def useful(self) -> int:
        """The number of workers that can have a question, on a break or not."""
        return min(self.size, self._questions)

    async def work(self, waiting: Iterator[Question], ask: Callable[[Question], Awaitable[None]]) -> None:
        """Ask all questions; an error of `ask` ends all workers.

        Workers start one by one, and between a reply and the next request other workers have their turn: that halves
        the longest stall of the loop when many replies come at once.
        """

        async def worker() -> None:
            try:
                while self._at_work <= self._wanted and not self._no_more:
                    question = next(waiting, None)
                    self._no_more = self._no_more or question is None
                    if question is not None:
                        self.in_flight += 1
                        try:
                            await ask(question)
                        finally:
                            self.in_flight -= 1
                        await asyncio.sleep(0)
            finally:
                self._at_work -= 1
                self._changed.set()

        async with asyncio.TaskGroup() as group:
            while not self._no_more:
                self._changed.clear()
                while self._at_work < self._wanted and not self._no_more:
                    self._at_work += 1
                    group.create_task(worker())
                    await asyncio.sleep(0)
                await self._changed.wait()

    @property
    def _wanted(self) -> int:
        return 0 if self.on_break else self.useful


async def answer_all(
    questions: Iterable[Question],
    answer: Callable[[Question], Awaitable[Record]],
    keep: Callable[[Record], None],
    *,
    crew: Crew,
    stop: asyncio.Event,
) -> None:
    """Let the crew answer all questions; after `stop`, those in flight have GRACE_S to end.

    `keep` gets each record as it is done. An error of `keep` or of a worker ends all workers and is raised here.
    """

    async def ask(question: Question) -> None:
        keep(await answer(question))

    waiting = takewhile(lambda _: not stop.is_set(), questions)
    try:
        await until_stopped(stop, crew.work(waiting, ask), grace_s=GRACE_S)
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


Result = TypeVar("Result")


async def until_stopped(stop: asyncio.Event, work: Awaitable[Result], grace_s: float = 0.0) -> Result | None:
    """The result of `work`, or None `grace_s` after `stop` is set; `work` is cancelled then or with this call."""

    async def stopped() -> None:
        await stop.wait()
        await asyncio.sleep(grace_s)

    working = asyncio.ensure_future(work)
    stopping = asyncio.create_task(stopped())
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        stopping.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)


def _record_before_reply(question: Question, prompt: str, images: tuple[Image, ...], cut: int = 0) -> Record:
    """The record of a question before its reply; the status follows."""
    return Record(
        question_id=question.id,
        variant=question.variant,
        folder=question.folder or UNSET,
        status="ok",
        prompt=kept_prompt(prompt),
        references=question.references,
        groups=question.groups,
        cluster=question.cluster,
        images=tuple(map(_kept_image, images)),
        image_stamps=stamps([image.stamp for image in images]) or UNSET,
        truncated_pages=cut,
    )


def _with_reply(record: Record, completion: Completion, answer: Answer, score: Score) -> Record:
    return replace(
        _with_answer(record, answer, score),
        output=completion.text,
        reasoning=completion.reasoning,
        replaced_characters=f"{completion.text}{completion.reasoning or ''}".count("\ufffd") or UNSET,
        finish_reason=completion.finish_reason,
        first_token=completion.first_token or UNSET,
        prompt_tokens=completion.prompt_tokens,
        completion_tokens=completion.completion_tokens,
        latency_s=round(completion.latency_s, 6),
        ttft_s=UNSET if completion.ttft_s is None else round(completion.ttft_s, 6),
        attempts=completion.attempts,
        request_bytes=completion.request_bytes,
    )


def _with_answer(record: Record, answer: Answer, score: Score) -> Record:
    return replace(
        record,
        status=answer.status,
        answer=answer.text,
        rationale=answer.rationale,
        rule=answer.rule,
        rivals=answer.rivals,
        source=answer.source,
        probabilities=answer.probabilities or UNSET,
        score=score.value,
        parts=score.parts,
    )


def _with_failure(record: Record, failure: QuestionFailed) -> Record:
    return replace(
        record,
        status=failure.status,
        error=Failure(
            message=str(failure),
            http_status=failure.http_status,
            body=failure.body,
            hint=failure.hint,
            transient=failure.transient,
        ),
        attempts=failure.attempts,
        request_bytes=failure.request_bytes,
        image_stamps=failure.image_stamp or record.image_stamps,
    )


def stamps(file_stamps: Sequence[str]) -> str:
    """The stamps of a question's image files for its record: a checksum of several, "" if one has no stamp."""
    if len(file_stamps) > 1 and all(file_stamps):
        return f"{crc32(' '.join(file_stamps).encode()):08x}"
    return file_stamps[0] if len(file_stamps) == 1 else ""


def _kept_image(image: Image) -> SentImage:
    return SentImage(
        name=image.name,
        sha256=image.sha256,
        size_bytes=image.size_bytes,
        width=image.width,
        height=image.height,
        transforms=image.transforms,
        file_sha256=image.file_sha256,
        file_size_bytes=image.file_size_bytes,
    )


def kept_prompt(prompt: str) -> str:
    """A prompt as a record keeps it."""
    if len(prompt) <= PROMPT_CHARACTERS:
        return prompt
    half = PROMPT_CHARACTERS // 2
    digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()
    left_out = f"[... {len(prompt) - 2 * half} characters left out, SHA-256 of the whole {digest} ...]"
    return f"{prompt[:half]}\n{left_out}\n{prompt[-half:]}"

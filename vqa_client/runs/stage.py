"""What all plans of a command share: model, session, workers, images and costs; and long work in a thread."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import Struct

from vqa_client.client.limits import Breaker
from vqa_client.client.session import Session
from vqa_client.errors import UsageError
from vqa_client.images.prepare import ImagePreparer
from vqa_client.images.steps import Recipe
from vqa_client.model_config import ModelSettings, Prices
from vqa_client.progress import Progress
from vqa_client.reports.names import in_dollars
from vqa_client.runner import Crew, Prepares
from vqa_client.settings.run import RunSettings
from vqa_client.types import ANSWERED, Note, Record

MILLION = 1e6


class Budget:
    """Adds up the cost of the answers; when `over`, no further question is asked, and those in flight end.

    A question in flight counts as the mean of the answers, so that the limit is kept.
    """

    def __init__(self, dollars: float | None, note: Note) -> None:
        self.over = False
        self.spent = 0.0
        self._dollars, self._note = dollars, note
        self._prices: Prices | None = None
        self._answers = 0

    def of_model(self, model: ModelSettings | None) -> None:
        """Use the prices of this model; raises UsageError if --max_cost needs them and the config has none."""
        self._prices = model.prices if model else None
        if self._dollars is not None and self._prices is None:
            raise UsageError(
                "--max_cost needs the model's prices", hint='"prices": {"input": 2.5, "output": 10} in its --config'
            )

    def finished(self, record: Record, in_flight: int) -> None:
        """Add the cost of a record while `in_flight` other questions are asked."""
        if self._dollars is None or self._prices is None or record.status not in ANSWERED:
            return
        if record.prompt_tokens is None:
            self._end("--max_cost needs token counts, which the server doesn't report")
            return
        tokens = record.prompt_tokens * self._prices.input + (record.completion_tokens or 0) * self._prices.output
        self.spent += tokens / MILLION
        self._answers += 1
        self.has_room(in_flight)

    def has_room(self, in_flight: int) -> bool:
        """Whether one more question may be asked beside those in flight; if not, this is noted once."""
        mean = self.spent / self._answers if self._answers else 0.0
        if self._dollars is not None and self.spent + (in_flight + 1) * mean > self._dollars:
            spent = f"{in_dollars(self.spent)} of --max_cost {in_dollars(self._dollars)}"
            self._end(f"{spent} are spent: questions in flight end")
        return not self.over

    def _end(self, why: str) -> None:
        if not self.over:
            self.over = True
            self._note(why)


@contextmanager
def minutes_at_most(minutes: float | None, stop: asyncio.Event, note: Note) -> Iterator[None]:
    """Set `stop` after this many minutes."""

    def end() -> None:
        if not stop.is_set():
            note(f"--max_minutes {minutes:g} are over; waiting a moment for running requests")
            stop.set()

    timer = None
    if minutes is not None:
        timer = asyncio.get_running_loop().call_later(60 * minutes, end)
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()


AskAll = Callable[[Callable[[Record], None]], Awaitable[object]]
"""Asks the waiting questions and passes each record on as soon as it is there."""


class CtlOrders(Struct):
    """What `vqa-client ctl` has ordered, for all benchmarks and shards of one command.

    `folder` is the folder of ctl's file, if it is not beside the log.
    """

    folder: Path | None = None
    max_workers: int | Literal["auto"] | None = None

    def workers(self, settings: RunSettings) -> int | Literal["auto"]:
        """The number of workers: the one that was ordered, else that of the settings."""
        return self.max_workers or settings.max_workers


class Stage(Struct, frozen=True, kw_only=True):
    """What all plans of one command share; `model` is None if the server has to name it.

    `connect` opens the session that all plans share; it is called only if there is something to ask. `images_for` gives
    the preparer for the images of a variant. `shown_model` is the model's name in the progress, "" if the command has
    only one.
    """

    settings: RunSettings
    model: ModelSettings | None
    connect: Callable[[], Awaitable[Session]]
    images_for: Callable[[str], Prepares]
    progress: Progress
    stop: asyncio.Event
    breaker: Breaker
    budget: Budget
    crew: Crew
    ctl: CtlOrders
    shown_model: str

    def named(self, step: str) -> ModelSettings:
        """The model in a step without a server; raises UsageError if no model is named."""
        if self.model is None:
            raise UsageError(f"{step} asks no server: name the model", hint=self.settings.name_option)
        return self.model


def recipe_of(settings: RunSettings) -> Recipe:
    """What the settings change every image to."""
    return Recipe(
        max_pixels=settings.max_pixels,
        max_side=settings.max_side,
        white_value=settings.white_value,
        image_format=settings.image_format,
        image_quality=settings.image_quality,
    )


@contextmanager
def prepared_images(settings: RunSettings, note: Note) -> Iterator[Callable[[str], Prepares]]:
    """Yield a function that gives the preparer for the images of a variant; its processes end with the context.

    `note` gets a line at the end if corrupting the images slowed the run down.
    """
    recipe = recipe_of(settings)
    if (corrupted := settings.corrupted) is not None:
        if settings.hands_over:
            raise UsageError("an image that the server fetches can't be corrupted", hint="--image_urls fetch")
        from vqa_client.images.corruption_pool import CorruptedImages

        with CorruptedImages(recipe, profile=corrupted.profile, seed=corrupted.corruption_seed) as images:
            yield images.of_variant
            if limit := images.limit():
                note(limit)
        return
    preparer = ImagePreparer(recipe, hands_over=settings.hands_over)
    try:
        yield lambda variant: preparer
    finally:
        preparer.close()


Result = TypeVar("Result")


async def in_daemon_thread(work: Callable[[], Result]) -> Result:
    """Run `work` in a thread; the program can end without waiting for it."""
    future: Future[Result] = Future()
    future.set_running_or_notify_cancel()  # a caller that is cancelled doesn't stop the work

    def body() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # raised again for the caller
            future.set_exception(error)

    threading.Thread(target=body, daemon=True).start()
    return await asyncio.wrap_future(future)

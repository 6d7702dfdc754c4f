"""What all plans of one command share while they are asked: the model, the session, who prepares their images."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from vqa_client.client.limits import Breaker
from vqa_client.client.session import Session
from vqa_client.errors import UsageError
from vqa_client.images.prepare import ImagePreparer
from vqa_client.images.steps import Recipe
from vqa_client.model_config import ModelSettings
from vqa_client.progress import Progress
from vqa_client.runner import Crew, Prepares
from vqa_client.runs.budget import Budget
from vqa_client.runs.plan import Note
from vqa_client.settings.robustness import RobustnessRun
from vqa_client.settings.run import RunSettings
from vqa_client.types import Record

Ask = Callable[[Callable[[Record], None]], Awaitable[None]]
"""Asks what is waiting, and hands over each record as it ends."""


class Stage(Struct, frozen=True, kw_only=True):
    """What all plans of one command share; `model` is None where the server has to say what it serves.

    `connect` gives the one session; it is called only where there is something to ask. `images_for` gives what
    prepares the images of a variant. `records` is where ctl's record of a run is, if not beside its log.
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
    records: Path | None = None

    def named(self, step: str) -> ModelSettings:
        """The model of a step that asks no server; raises UsageError where it isn't named."""
        if self.model is None:
            raise UsageError(f"{step} asks no server: name the model", hint=self.settings.name_option)
        return self.model


@contextmanager
def prepared_images(
    settings: RunSettings, corrupted: RobustnessRun | None, note: Note
) -> Iterator[Callable[[str], Prepares]]:
    """Give what prepares the images of a variant; what it started ends with the context.

    `note` is told at the end where making them held the run up.
    """
    recipe = Recipe(
        max_pixels=settings.max_pixels,
        max_side=settings.max_side,
        white_value=settings.white_value,
        image_format=settings.image_format,
        image_quality=settings.image_quality,
    )
    if corrupted is not None:
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

"""Who prepares the images of a run: one preparer for all, or one for each corruption and level."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vqa_client.errors import UsageError
from vqa_client.images.prepare import ImagePreparer
from vqa_client.images.steps import Recipe
from vqa_client.runner import Prepares
from vqa_client.runs.plan import Note
from vqa_client.settings.robustness import RobustnessRun
from vqa_client.settings.run import RunSettings


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

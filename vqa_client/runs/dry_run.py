"""Estimates a run before any question is asked: requests, megabytes, tokens, and questions that don't fit."""

import dataclasses
import os
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from math import inf

from msgspec import Struct

from vqa_client.batch.parts import PartSize, Sizes
from vqa_client.client.session import addressed, named_model, open_session
from vqa_client.data_url import encoded_size
from vqa_client.errors import DataError, ServerUnusable
from vqa_client.images.pillow import NoDecoder, opened
from vqa_client.images.steps import sent_size
from vqa_client.log_lines import Key
from vqa_client.model_config import ModelSettings, Prices
from vqa_client.pages.estimate import TOKEN_SIDES, tokens
from vqa_client.records import is_settled
from vqa_client.reports.log_reader import LogReader
from vqa_client.runner import first_pages
from vqa_client.runs.plan import Plan
from vqa_client.runs.plans import plans_of
from vqa_client.runs.stage import recipe_of
from vqa_client.settings.run import RunSettings
from vqa_client.tables.inside import open_image
from vqa_client.tables.pictures import is_address
from vqa_client.tasks.longbench.context_length import TokenCounter
from vqa_client.types import Note

LINE_BYTES, IMAGE_BYTES = 400, 80
"""About how many bytes a line of a batch has apart from its prompt and images, and for each image."""
NEIGHBOURS = 4096
"""How many images' sizes are cached: questions about one document are neighbours."""


class Overflow(Struct, frozen=True, kw_only=True):
    """A question whose prompt, images and longest reply have more `tokens` than the context length."""

    question_id: str
    tokens: int


class ExpectedRun(Struct, kw_only=True):
    """The estimate for one plan; `requests` don't include the `kept` questions, which an earlier start has answered.

    `sent_bytes` counts each image as base64, once for each question. `unreadable` names files that are not images;
    `batches` is the number of files of --batch or --batch_command. The benchmark's prompt may limit `max_tokens`.
    """

    title: str
    requests: int = 0
    kept: int = 0
    images: int = 0
    sent_bytes: int = 0
    image_tokens: int = 0
    text_tokens: int = 0
    overflows: tuple[Overflow, ...] = ()
    unreadable: tuple[str, ...] = ()
    batches: int = 0
    max_tokens: int


class DryRun(Struct, frozen=True, kw_only=True):
    """The estimate for one model; `context_length` is None if it is not known, `said_by` is its source."""

    model: str
    context_length: int | None
    said_by: str
    prices: Prices | None
    plans: tuple[ExpectedRun, ...]


async def dry_run(settings: RunSettings, note: Note) -> list[DryRun]:
    """Estimate the run of every model; the server is only asked for its models, and may be away.

    Raises what a run raises before its first question: DataError or UsageError.
    """
    runs = []
    for config, plans in plans_of(settings, note):
        asked, length, said_by = await _find_context_length(settings, config)
        max_tokens = asked.max_tokens if asked else settings.max_tokens or settings.usual_max_tokens
        run = DryRun(
            model=asked.model_name if asked else "",
            context_length=length,
            said_by=said_by,
            prices=asked.prices if asked else None,
            plans=tuple(_estimate(plan, settings, length, max_tokens) for plan in plans),
        )
        runs.append(run)
    return runs


async def _find_context_length(
    settings: RunSettings, config: ModelSettings | None
) -> tuple[ModelSettings | None, int | None, str]:
    """The model that would be asked, its context length in tokens, and the source of that number."""
    model, served = named_model(settings, config), None
    if settings.context_length is None or model is None:
        brief = dataclasses.replace(addressed(settings, config), wait_for_server=0.0)
        with suppress(ServerUnusable):
            async with open_session(brief, config, note=lambda _: None) as session:
                model, served = session.model, session.server["context_length"]
    configured = config.serve.max_model_len if config and config.serve else None
    known = {"--context_length": settings.context_length, "as served": served, "as the config serves it": configured}
    said_by = next((name for name, length in known.items() if length), "")
    return model, known.get(said_by), said_by


def _estimate(plan: Plan, settings: RunSettings, context_length: int | None, max_tokens: int) -> ExpectedRun:
    """The estimate for a plan; `max_tokens` counts unless the plan's own requests limit replies."""
    run = ExpectedRun(title=plan.title, max_tokens=plan.task.parameters.get("max_tokens", max_tokens))
    size_of, counter, kept = _image_sizer(settings), TokenCounter(), answered_before(plan, settings)
    batches = Sizes(PartSize(settings.batch_bytes, settings.batch_lines))
    overflows: dict[str, Overflow] = {}
    unreadable: dict[str, None] = {}
    for question in plan.loaded.questions:
        if question.key in kept:
            continue
        shots = plan.task.shots(question) if plan.task.shots else ()
        turns = [first_pages(turn, settings.max_pages) for turn in (*(shot for shot, _ in shots), question)]
        texts = [plan.task.system_for(question), *map(plan.task.prompt, turns), *(reply for _, reply in shots)]
        prompt, paths = "\n".join(filter(None, texts)), [path for turn in turns for path in turn.images]
        sizes = [size_of(path) for path in paths]
        unreadable |= dict.fromkeys(path for path, size in zip(paths, sizes, strict=True) if size is None)
        of_text, of_images = counter.count(prompt, stop=inf), sum(size[1] for size in sizes if size)
        tokens_used = of_text + of_images + run.max_tokens
        if context_length and tokens_used > context_length:
            overflows[question.id] = Overflow(question_id=question.id, tokens=tokens_used)
        size_bytes = len(prompt.encode("utf-8", "surrogatepass")) + sum(size[0] for size in sizes if size)
        batches.add(size_bytes + LINE_BYTES + IMAGE_BYTES * len(paths))
        run.requests += 1
        run.images += len(paths)
        run.sent_bytes += size_bytes
        run.image_tokens += of_images
        run.text_tokens += of_text
    run.kept = plan.loaded.count - run.requests
    run.overflows, run.unreadable = tuple(overflows.values()), tuple(unreadable)
    run.batches = batches.parts if settings.by_batches else 0
    return run


def answered_before(plan: Plan, settings: RunSettings) -> set[Key]:
    """The keys of the questions that an earlier start has answered; the log is only read."""
    if settings.fresh or not plan.paths.log.exists():
        return set()
    again = settings.asked_again
    return {record.key for record in LogReader(plan.paths.log) if is_settled(record, again)}


def _image_sizer(settings: RunSettings) -> Callable[[str], tuple[int, int] | None]:
    """Returns a function that gives the base64 bytes and the tokens of an image file, None if it isn't an image.

    An image at an address is not read.
    """
    side, recipe = TOKEN_SIDES[settings.token_rule], recipe_of(settings)

    @lru_cache(maxsize=NEIGHBOURS)
    def size_of(path: str) -> tuple[int, int] | None:
        if is_address(path):
            return len(path), 0
        try:
            with open_image(path) as file:
                width, height = opened(file).size
                size_bytes = file.seek(0, os.SEEK_END)
        except (OSError, ValueError, SyntaxError, NoDecoder, DataError):
            return None
        return encoded_size(size_bytes), tokens(*sent_size(width, height, recipe), side)

    return size_of

"""--shots: worked examples before each question, drawn by the seed, from the same group if the benchmark says so."""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace as with_settings
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from vqa_client.benchmark import Benchmark, first_reference
from vqa_client.errors import DataError, UsageError
from vqa_client.own_code import text_of
from vqa_client.reports.logged_run import BLIND
from vqa_client.runs.plan import Plan
from vqa_client.scoring.stratified import drawn_number
from vqa_client.settings.declared import BenchmarkSettings
from vqa_client.task import Shot
from vqa_client.tasks.registry import with_data
from vqa_client.types import Question


def with_shots(plans: Sequence[Plan], settings: BenchmarkSettings) -> list[Plan]:
    """The plans with `--shots` worked examples per question, which are part of the identity.

    Raises UsageError if neither the benchmark nor the command names data for them, DataError for unreadable data.
    """
    benchmark = plans[0].opened.benchmark
    declared, source_name = benchmark.shots, settings.shots_from
    if declared is None and not source_name:
        raise UsageError(
            f"{benchmark.name} doesn't declare where worked examples are from",
            hint="--shots_from FILE names data of its form, or a split",
        )
    place = Path(source_name)
    if source_name and (place.exists() or place.suffix or os.sep in source_name):
        split = ""
        source, _ = with_data(with_settings(settings, data=place, limit=None), plans[0].opened.notify)
    else:
        split = source_name or (declared.split if declared else "")
        source = with_settings(settings, split=split or settings.split, limit=None)
    loaded = [part.loaded for part in replace(plans[0].opened, settings=source).parts(finds_images=True)]
    same = declared.same if declared else ""
    draw = Draw(
        chain.from_iterable(part.questions for part in loaded), benchmark, settings.shots, settings.seed, same=same
    )
    digest = hashlib.sha256("".join(part.data_sha256 for part in loaded).encode()).hexdigest()
    identity = {"number": settings.shots, "seed": settings.seed, "split": split, "data_sha256": digest}
    return [
        replace(
            plan,
            task=replace(plan.task, shots=draw, check=draw.checker(plan)),
            identity={**plan.identity, "shots": identity},
        )
        for plan in plans
    ]


class Draw:
    """Draws the examples of a question: the same ones for the same question, seed and data."""

    def __init__(
        self, pool: Iterable[Question], benchmark: Benchmark, number: int, seed: int, *, same: str = ""
    ) -> None:
        self._reply = first_reference if benchmark.choosing else benchmark.ideal_reply
        self._number, self._seed, self._same = number, seed, same
        self._groups: dict[object, list[Question]] = {}
        for question in (candidate for candidate in pool if candidate.references):
            self._groups.setdefault(self._group(question), []).append(question)

    def __call__(self, question: Question) -> tuple[Shot, ...]:
        """The examples in the order in which they are sent, without their images if the question is asked blind.

        A question with the same id, or with the same text and images, is never drawn. One with the same text is drawn
        only after all others.
        """
        asked, pictures, group = _words(question), _pictures(question), self._groups.get(self._group(question), [])
        drawn: list[Question] = []
        same_text: list[Question] = []
        places: dict[int, int] = {}
        for step in range(len(group)):  # shuffle the group, but only as far as needed
            other = step + drawn_number(self._seed, f"{question.id} {step}") % (len(group) - step)
            candidate = group[places.get(other, other)]
            places[other] = places.get(step, step)
            if candidate.id == question.id:
                continue
            if _words(candidate) != asked:
                drawn.append(candidate)
            elif _pictures(candidate) != pictures:
                same_text.append(candidate)
            if len(drawn) == self._number:
                break
        examples = [*drawn, *same_text][: self._number]
        if question.variant == BLIND:
            examples = [replace(example, images=()) for example in examples]
        return tuple((example, text_of(self._reply, example, "the ideal reply")) for example in examples)

    def checker(self, plan: Plan) -> Callable[[Question], None]:
        """Returns the check of a question of the plan, which also raises DataError if it has too few examples."""
        before = plan.task.check

        def check(question: Question) -> None:
            if before is not None:
                before(question)
            examples = self(question)
            if len(examples) < self._number:
                of = f" of the same {self._same} ({self._group(question)})" if self._same else ""
                raise DataError(
                    f"question {question.id!r} can have {len(examples)} worked examples{of}, not {self._number}",
                    hint="lower --shots, or name larger data with --shots_from",
                )
            if before is not None:
                for example, _ in examples:
                    before(example)

        return check

    def _group(self, question: Question) -> object:
        return question.groups.get(self._same)


def _words(question: Question) -> str:
    return " ".join(question.text.split()).casefold()


def _pictures(question: Question) -> list[str]:
    """The names of a question's images without their folders."""
    return [os.path.basename(name) for name in question.images]

"""Any benchmark's plan over one of several parts of its questions."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.reports.run import Pairs, Run
from vqa_client.reports.summary import Summary, summarise
from vqa_client.runs.plan import Plan
from vqa_client.settings.divided import Shard
from vqa_client.types import Question


def part_of(plan: Plan, shard: Shard) -> Plan:
    """The same plan over the shard's questions, before they are asked in several forms.

    They are neighbours, and those on one document or image stay together: so each shard reads only its part of a
    Parquet file or tar, and a server that holds a document gets all questions on it.
    """
    start, stop = _bounds(plan.loaded.questions, plan.loaded.count, shard)
    questions = _Slice(questions=plan.loaded.questions, start=start, stop=stop)
    return replace(plan, loaded=replace(plan.loaded, questions=questions, count=stop - start))


def of_shard(plan: Plan, shard: Shard) -> Plan:
    """The plan of such a part with files of its own; its report is written once all shards are merged."""
    shown = " · ".join(filter(None, (plan.shown, f"shard {shard}")))
    described = {**plan.described, "shard": list(shard)}
    return replace(plan, paths=plan.paths.shard(*shard), shown=shown, write=_only_summed, described=described)


def _bounds(questions: Iterable[Question], count: int, shard: Shard) -> tuple[int, int]:
    """The places of the groups that begin in the shard's part of `count` questions: its first, and the next shard's."""
    start, group = count, ""
    for place, question in enumerate(questions):
        of = question.cluster or (question.images[0] if question.images else question.id)
        if of == group:
            continue
        group = of
        if place * shard.of >= shard.number * count:
            return min(start, place), place
        if start == count and place * shard.of >= (shard.number - 1) * count:
            start = place
    return start, count


class _Slice(Struct, frozen=True, kw_only=True):
    """The questions from one place to another, in the order of the data file."""

    questions: Iterable[Question]
    start: int
    stop: int

    def __iter__(self) -> Iterator[Question]:
        return islice(self.questions, self.start, self.stop)


def _only_summed(path: Path, run: Run, pairs: Pairs) -> Summary:
    return summarise(record for _, record in pairs())

"""The groups of the LongBench-v2 reports, each listed whether it has questions or not."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vqa_client.reports.additions import percent
from vqa_client.reports.summary import Summary, Tally
from vqa_client.tasks.longbench.context_length import BUCKETS

DIFFICULTIES = ("easy", "medium", "hard")
LENGTHS = ("short", "medium", "long")
CONTEXT_LENGTHS = BUCKETS
DEPTHS = ("0-20%", "20-40%", "40-60%", "60-80%", "80-100%")


def share(total: int, correct: int) -> dict[str, Any]:
    """Write a group as published: accuracy in per cent, null where there is nothing to divide by."""
    return {"total": total, "correct": correct, "accuracy": percent(correct / total) if total else None}


def grouped(summary: Summary, field: str, listed: Sequence[str]) -> dict[str, Any]:
    """List the values of a field: the published ones in their order, then any others that were met."""
    tallies = summary.breakdowns.get(field, {})
    return {value: _group(tallies.get(value)) for value in _values(listed, tallies)}


def crossed(
    summary: Summary, outer: str, listed_outer: Sequence[str], inner: str, listed_inner: Sequence[str]
) -> dict[str, Any]:
    """List every value of one field with every value of another."""
    cells: Mapping[str, Mapping[str, Tally]] = summary.crossings.get((outer, inner), {})
    inners = _values(listed_inner, summary.breakdowns.get(inner, {}))
    return {
        value: {other: _group(cells.get(value, {}).get(other)) for other in inners}
        for value in _values(listed_outer, summary.breakdowns.get(outer, {}))
    }


def _values(listed: Sequence[str], met: Iterable[str]) -> list[str]:
    return [*listed, *sorted(set(met) - set(listed))]


def _group(tally: Tally | None) -> dict[str, Any]:
    found = share(tally.total, tally.correct) if tally else share(0, 0)
    return found if tally is None or tally.accuracy is not None else found | {"accuracy": None}

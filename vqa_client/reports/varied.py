"""What the reports share of runs that ask every question in several forms.

Accuracies and intervals are in per cent, as in this program's other reports.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from vqa_client.files import natural_key
from vqa_client.reports.common_keys import common_keys, interval, percent
from vqa_client.reports.run import Pairs, Run
from vqa_client.reports.summary import Summary, Tally, summarise
from vqa_client.scoring.averages import Mean
from vqa_client.types import Question, Record

VARIANT = "variant"
Asked = tuple[Question, list[Record]]
"""A question, as it is asked first, and its records in all forms."""


class VariedSummary(Summary, frozen=True, kw_only=True):
    """A summary over all forms, and the `figures` that they make together."""

    figures: Any


def by_question(pairs: Pairs) -> Iterator[Asked]:
    """The forms of a question are neighbours."""
    for _, neighbours in groupby(pairs(), key=lambda pair: pair[0].id):
        held = list(neighbours)
        yield held[0][0], [record for _, record in held]


def summarised(pairs: Pairs, *, fields: Sequence[str] = ()) -> Summary:
    """Sum up over all forms, and over each by the group "variant"; `fields` are crossed with it."""
    return summarise(_marked(pairs()), crossings=[(VARIANT, field) for field in fields])


def _marked(pairs: Iterable[tuple[Question, Record]]) -> Iterator[Record]:
    """The forms of one question share its fate, and are a cluster."""
    for _, record in pairs:
        groups = {**record.groups, VARIANT: record.variant}
        yield replace(record, groups=groups, cluster=record.cluster or record.question_id)


def head(run: Run) -> dict[str, Any]:
    """Say of what the report is."""
    return {
        "model": run.model,
        "config": run.config,
        "variant": run.variant,
        "data_path": run.data_path,
        "images_dir": run.images_dir,
        "model_settings": dict(run.model_settings),
    }


def tallies(summary: Summary) -> dict[str, Tally]:
    """Give each form's accuracy, repeat/2 before repeat/10."""
    found = summary.breakdowns.get(VARIANT, {})
    return {variant: found[variant] for variant in sorted(found, key=natural_key)}


def by_variant(summary: Summary) -> dict[str, Any]:
    """Write the same."""
    return {variant: _tally(one) for variant, one in tallies(summary).items()}


def _tally(of: Tally) -> dict[str, Any]:
    """Write an accuracy with its denominators."""
    return {
        "total": of.total,
        "accuracy": percent(of.accuracy),
        "interval": interval(of.interval, percent),
        "answered": of.answered,
        "accuracy_answered": percent(of.accuracy_answered),
    }


def share(of: Mean) -> dict[str, Any]:
    """Write a mean or a share of questions."""
    return {"n": of.n, "value": percent(of.value), "interval": interval(of.interval, percent)}


def rest(run: Run, summary: Summary) -> dict[str, Any]:
    """What all reports say, over all forms together."""
    said = common_keys(run, summary, percent)
    said["breakdowns"].pop(VARIANT, None)
    return {"all_variants": {"total": summary.overall.total, "accuracy": percent(summary.overall.accuracy)} | said}

"""Every number of a report, from one walk over the records, each with its denominator and its interval."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, ClassVar, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from vqa_client.reports.record_counts import ClusterSums, Group, KindCounts, RecordKind, TokenSum, count_kinds
from vqa_client.scoring.statistics import Interval, Mean, SumCounts, interval, sum_of_many
from vqa_client.task import Breakdown, Description
from vqa_client.types import STATUSES, Record, Status, has_verdict


class Tally(Struct, frozen=True, kw_only=True):
    """Accuracy in [0, 1] over all questions, where a failed one counts as wrong, and over the answered ones.

    `correct` counts full scores; accuracies are mean scores, so partial credit is in them.
    """

    total: int
    correct: int
    accuracy: float | None
    interval: Interval | None
    answered: int
    accuracy_answered: float | None
    interval_answered: Interval | None

    @property
    def failed(self) -> int:
        """Questions without a reply."""
        return self.total - self.answered


class Means(Struct, frozen=True, kw_only=True):
    """A score under another metric: over all questions that have it or failed (as 0), and over the answered ones."""

    overall: Mean
    answered: Mean


class Summary(Struct, frozen=True, kw_only=True):
    """The sums over the records of one run and variant; the same for any order of the records.

    `breakdowns` maps a group field to its values; `crossings` maps two fields to the values of the first, and each of
    these to the values of the second. `n_truncated` counts replies cut at the token limit, with or without an answer.
    """

    overall: Tally
    status_counts: dict[Status, int]
    n_truncated: int
    without_truncated: Mean
    parts: dict[str, Means]
    breakdowns: dict[str, dict[str, Tally]]
    crossings: dict[tuple[str, str], dict[str, dict[str, Tally]]]
    prompt_tokens: TokenSum
    completion_tokens: TokenSum

    shown_alone: ClassVar[bool] = False
    """Whether its report is shown by itself, not in one table with the benchmark's other reports."""

    def added(self) -> dict[str, Any]:
        """The keys that a benchmark's own summary adds to the JSON for machines."""
        return {}


def summarise(records: Iterable[Record], *, crossings: Sequence[tuple[str, str]] = ()) -> Summary:
    """Add up the records in one walk; memory grows with clusters and with kinds of records, not with records."""
    return summary_of(count_kinds(records), crossings=crossings)


def summary_of(counts: KindCounts, *, crossings: Sequence[tuple[str, str]]) -> Summary:
    """Add up records that are already counted."""
    fields = sorted({field for kind in counts.kinds for field in kind.fields})
    metrics = sorted({metric for kind in counts.kinds for metric in kind.metrics})
    statuses = counts.numbers(lambda kind: (kind.status,))
    overall = _tallies(counts, lambda kind: ("",)).get("", _tally(0, {}))
    summary = Summary(
        overall=overall,
        status_counts={status: statuses.get(status, 0) for status in STATUSES},
        n_truncated=counts.numbers(lambda kind: (kind.cut,))[True],
        without_truncated=_means(_sums_over_all(counts, lambda kind: None if kind.cut else kind.score))[0],
        parts={metric: _part(counts, metric) for metric in metrics},
        breakdowns={field: _breakdown(counts, field) for field in fields},
        crossings={pair: _crossing(counts, *pair) for pair in crossings},
        prompt_tokens=counts.prompt_tokens,
        completion_tokens=counts.completion_tokens,
    )
    has_score = any(kind.answered and has_verdict(kind.metrics) for kind in counts.kinds)
    return summary if has_score else without_scores(summary)


def without_scores(summary: Summary) -> Summary:
    """The same summary without accuracies: if no answer is known there is no accuracy, not one of 0."""
    return replace(
        summary,
        overall=_without_accuracy(summary.overall),
        without_truncated=replace(summary.without_truncated, value=None, interval=None),
        breakdowns={field: _without_accuracies(tallies) for field, tallies in summary.breakdowns.items()},
        crossings={
            pair: {value: _without_accuracies(tallies) for value, tallies in crossed.items()}
            for pair, crossed in summary.crossings.items()
        },
    )


def _without_accuracies(tallies: Mapping[str, Tally]) -> dict[str, Tally]:
    return {value: _without_accuracy(tally) for value, tally in tallies.items()}


def _without_accuracy(tally: Tally) -> Tally:
    return replace(tally, accuracy=None, interval=None, accuracy_answered=None, interval_answered=None)


def _tallies(counts: KindCounts, groups_of: Callable[[RecordKind], Iterable[Group]]) -> dict[Group, Tally]:
    correct = counts.numbers(lambda kind: groups_of(kind) if kind.score >= 1.0 else ())
    sums = counts.by_group(groups_of, lambda kind: kind.score)
    return {group: _tally(correct[group], sums[group]) for group in sums}


def _tally(correct: int, sums: ClusterSums) -> Tally:
    overall, answered = _means(sums)
    return Tally(
        total=overall.n,
        correct=correct,
        accuracy=overall.value,
        interval=overall.interval,
        answered=answered.n,
        accuracy_answered=answered.value,
        interval_answered=answered.interval,
    )


def _breakdown(counts: KindCounts, field: str) -> dict[str, Tally]:
    return dict(sorted(_tallies(counts, lambda kind: kind.groups(field)).items()))


def _crossing(counts: KindCounts, outer: str, inner: str) -> dict[str, dict[str, Tally]]:
    cells = _tallies(counts, lambda kind: product(kind.groups(outer), kind.groups(inner)))
    crossed: dict[str, dict[str, Tally]] = {}
    for (of_outer, of_inner), tally in sorted(cells.items()):
        crossed.setdefault(of_outer, {})[of_inner] = tally
    return crossed


def _part(counts: KindCounts, metric: str) -> Means:
    overall, answered = _means(_sums_over_all(counts, lambda kind: kind.metric(metric)))
    return Means(overall=overall, answered=answered)


def _sums_over_all(counts: KindCounts, value_of: Callable[[RecordKind], float | None]) -> ClusterSums:
    return counts.by_group(lambda kind: ("",), value_of).get("", {})


def _means(sums: ClusterSums) -> tuple[Mean, Mean]:
    """The means over all and over the answered questions; a failed one adds 0, so both means share their sums."""
    overall: Counter[tuple[float, int]] = Counter()
    answered: Counter[tuple[float, int]] = Counter()
    for (total, n, n_answered), times in sums.items():
        overall[total, n] += times
        if n_answered:
            answered[total, n_answered] += times
    mean = _mean(overall)
    return mean, mean if answered == overall else _mean(answered)


def _mean(clusters: SumCounts) -> Mean:
    n = sum(size * times for (_, size), times in clusters.items())
    total = sum_of_many((value, times) for (value, _), times in clusters.items())
    return Mean(n=n, value=total / n if n else None, interval=interval(clusters))


DOCUMENTS: Final = (
    Breakdown("difficulty", ("easy", "medium", "hard"), crossed_with="length"),
    Breakdown("length", ("short", "medium", "long")),
    Breakdown("context_length", ("<8k", "8k-16k", "16k-24k", "24k-32k", "32k-48k", "48k-64k", ">=64k"), steps=True),
    Breakdown("needle_depth", crossed_with="context_length", steps=True),
)
"""The breakdowns of documents; a context's length is in tokens of cl100k_base."""
_OLD_HEADLINES: Final = {"niah": "containment"}
_OLD_MEASURES: Final = {"vqa2": "VQA accuracy (ten answers)", "niah": "accuracy by containment"}
_OLD_UNITS: Final = {"niah": "document", "mc": "question"}
_OLD_TYPES: Final = {"vqa2": "question_type", "vqax": "answer_kind", "mc": "domain", "niah": "domain"}


def description_of(
    identity: Mapping[str, Any], scoring: Mapping[str, Any], described: Mapping[str, Any]
) -> Description:
    """The description in a run file; for a file of an earlier version, one made from its other fields."""
    try:
        return msgspec.convert(described["benchmark"], Description)
    except (KeyError, msgspec.ValidationError):
        return _old_description(str(identity.get("task") or ""), scoring)


def _old_description(task: str, scoring: Mapping[str, Any]) -> Description:
    rule = scoring.get("parser") or scoring.get("parsing")
    if task in _OLD_MEASURES:
        measure = _OLD_MEASURES[task]
    elif "choice_mode" in scoring:
        measure = f"accuracy by --choice_mode {scoring['choice_mode']}"
    else:
        measure = f"accuracy by the {rule} parser" if rule else "accuracy"
    unit, question_type = _OLD_UNITS.get(task, "image"), _OLD_TYPES.get(task, "")
    return Description(
        headline=_OLD_HEADLINES.get(task, ""),
        measure=measure,
        breakdowns=DOCUMENTS,
        unit=unit,
        question_type=question_type,
    )


def gap_words(parts: Mapping[str, Means], headline: str) -> str:
    """How far the published score is from the headline; "" if they are equal or there is no published score."""
    if not {headline, "published"} <= parts.keys():
        return ""
    value, published = parts[headline].overall.value, parts["published"].overall.value
    if value is None or published is None or value == published:
        return ""
    words = f"published - {headline.replace('_', ' ')} = {100 * (published - value):+.2f} points"
    if headline != "containment":
        return words
    where = "thoughts and refusals" if published > value else "the field of the reasoning"
    return f"{words}: references that are only in {where}"

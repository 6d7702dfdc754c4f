"""What the columns add up to: accuracies with intervals, by type, and what sets two readings of them apart."""

from collections.abc import Sequence
from math import fsum

from msgspec import Struct

from vqa_client.scorefiles.scored import Scored, indices_by_type, picked
from vqa_client.scoring.statistics import Interval, interval
from vqa_client.scoring.vqa_gap import Gap, gap_between

NORMALISED = "normalised"
OFFICIAL = "official"


class Mean(Struct, frozen=True, kw_only=True):
    """The mean of `n` scores in [0, 1], None where there are none; the interval is clustered by image."""

    n: int
    value: float | None
    interval: Interval | None


class Summary(Struct, frozen=True, kw_only=True):
    """The accuracies of all scored questions and of each type, by metric.

    `if_missing_were_wrong` is over all annotated questions, one without a prediction counting as 0.
    """

    overall: dict[str, Mean]
    if_missing_were_wrong: dict[str, float | None]
    per_answer_type: dict[str, dict[str, Mean]]
    per_question_type: dict[str, dict[str, Mean]]
    gap: Gap | None


def summarise(scored: Scored) -> Summary:
    """Add the columns up."""
    n = len(scored.question_ids)
    annotated = n + len(scored.without_prediction)
    return Summary(
        overall={name: mean_of(column, scored.clusters) for name, column in scored.values.items()},
        if_missing_were_wrong={name: fsum(column) / annotated if n else None for name, column in scored.values.items()},
        per_answer_type=_by_type(scored, scored.answer_types),
        per_question_type=_by_type(scored, scored.question_types),
        gap=_gap(scored) if NORMALISED in scored.values and OFFICIAL in scored.values else None,
    )


def _by_type(scored: Scored, types: Sequence[str | None]) -> dict[str, dict[str, Mean]]:
    """The types with most questions first."""
    return {
        name: {
            metric: mean_of(picked(column, indices), picked(scored.clusters, indices))
            for metric, column in scored.values.items()
        }
        for name, indices in sorted(indices_by_type(types).items(), key=lambda found: (-len(found[1]), found[0]))
    }


def mean_of(values: Sequence[float], clusters: Sequence[str]) -> Mean:
    """The mean of the values and its interval; `clusters` names the image of each."""
    sums: dict[str, tuple[float, int]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        total, number = sums.get(cluster, (0.0, 0))
        sums[cluster] = (total + value, number + 1)
    n = len(values)
    return Mean(n=n, value=fsum(values) / n if n else None, interval=interval(sums.values()))


def _gap(scored: Scored) -> Gap | None:
    return gap_between(scored.values[NORMALISED], scored.values[OFFICIAL], scored.unanimous)

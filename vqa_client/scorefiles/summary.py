"""What the columns add up to: accuracies with intervals, by type, and what sets two readings of them apart."""

from collections.abc import Sequence
from itertools import compress
from math import fsum

from msgspec import Struct

from vqa_client.scorefiles.scored import Scored, indices_by_type, picked
from vqa_client.scoring.statistics import Interval, interval

NORMALISED = "normalised"
OFFICIAL = "official"


class Mean(Struct, frozen=True, kw_only=True):
    """The mean of `n` scores in [0, 1], None where there are none; the interval is clustered by image."""

    n: int
    value: float | None
    interval: Interval | None


class Gap(Struct, frozen=True, kw_only=True):
    """How far "normalised" lies above "official", as shares of all scored questions.

    `unanimous` is the number of questions whose annotators all agree, where "official" does not normalise, and
    `differing` of how many the two scores differ. `by_unanimous` is the part of `value` that these questions make.
    """

    value: float
    by_unanimous: float
    unanimous: int
    unanimous_share: float
    differing: int


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
        overall={name: _mean(column, scored.clusters) for name, column in scored.values.items()},
        if_missing_were_wrong={name: fsum(column) / annotated if n else None for name, column in scored.values.items()},
        per_answer_type=_by_type(scored, scored.answer_types),
        per_question_type=_by_type(scored, scored.question_types),
        gap=_gap(scored) if n and NORMALISED in scored.values and OFFICIAL in scored.values else None,
    )


def _by_type(scored: Scored, types: Sequence[str | None]) -> dict[str, dict[str, Mean]]:
    """The types with most questions first."""
    return {
        name: {
            metric: _mean(picked(column, indices), picked(scored.clusters, indices))
            for metric, column in scored.values.items()
        }
        for name, indices in sorted(indices_by_type(types).items(), key=lambda found: (-len(found[1]), found[0]))
    }


def _mean(values: Sequence[float], clusters: Sequence[str]) -> Mean:
    sums: dict[str, tuple[float, int]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        total, number = sums.get(cluster, (0.0, 0))
        sums[cluster] = (total + value, number + 1)
    n = len(values)
    return Mean(n=n, value=fsum(values) / n if n else None, interval=interval(sums.values()))


def _gap(scored: Scored) -> Gap:
    normalised, official = scored.values[NORMALISED], scored.values[OFFICIAL]
    n = len(normalised)
    differences = [a - b for a, b in zip(normalised, official, strict=True)]
    apart = list(compress(differences, scored.unanimous))
    return Gap(
        value=fsum(differences) / n,
        by_unanimous=fsum(apart) / n,
        unanimous=len(apart),
        unanimous_share=len(apart) / n,
        differing=sum(difference != 0 for difference in apart),
    )

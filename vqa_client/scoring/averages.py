"""A mean over many questions with its interval, added up one by one."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from math import fsum

from msgspec import Struct

from vqa_client.scoring.statistics import Interval, interval


class Mean(Struct, frozen=True, kw_only=True):
    """The mean of `n` values in [0, 1], None where there are none; the interval is clustered."""

    n: int
    value: float | None
    interval: Interval | None


class Averaging:
    """Takes values in any order; memory grows with the clusters, and with the kinds of values that have none."""

    def __init__(self) -> None:
        self._alone: Counter[float] = Counter()
        self._clusters: dict[str, tuple[float, int]] = {}

    def add(self, value: float, cluster: str = "") -> None:
        """Take a value in [0, 1] and the document or image that its question shares with others, "" for none."""
        if not cluster:
            self._alone[value] += 1
            return
        total, n = self._clusters.get(cluster, (0.0, 0))
        self._clusters[cluster] = total + value, n + 1

    def average(self) -> Mean:
        """Add everything up; the same for any order."""
        of_clusters = Counter(self._clusters.values())
        of_clusters.update({(value, 1): times for value, times in self._alone.items()})
        ordered = sorted(of_clusters.items())
        n = sum(held * times for (_, held), times in ordered)
        total = sum(value * times for (value, _), times in ordered)
        pairs = chain.from_iterable(repeat(pair, times) for pair, times in ordered)
        return Mean(n=n, value=total / n if n else None, interval=interval(pairs))


def average(values: Iterable[tuple[float, str]]) -> Mean:
    """Average values given with their clusters."""
    adding = Averaging()
    for value, cluster in values:
        adding.add(value, cluster)
    return adding.average()


def mean_of(values: Sequence[float], clusters: Sequence[str]) -> Mean:
    """The mean of values and its interval, from two columns; the value is summed without the clusters' rounding."""
    sums: dict[str, tuple[float, int]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        total, number = sums.get(cluster, (0.0, 0))
        sums[cluster] = (total + value, number + 1)
    n = len(values)
    return Mean(n=n, value=fsum(values) / n if n else None, interval=interval(sums.values()))

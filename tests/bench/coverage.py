"""How often intervals contain the true difference of two models, and how often tests find it; run by hand.

`python -m tests.bench.coverage` simulates two models over clusters of questions, in some minutes of CPU; `--quick`
takes some seconds. Every setting has a row; if both accuracies are the same, every difference found is an error. The
settings with the lowest coverage, and those with most errors of the headline p, are simulated again, ten times as
often: as the extremes of many settings, their first figures are too extreme.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Any
from zlib import crc32

import numpy as np

from tests.bench.table import aligned
from vqa_client.scoring.paired import Cluster, bootstrap, centre_and_error, paired_t
from vqa_client.scoring.sign_flips import mcnemar, sign_flip
from vqa_client.scoring.statistics import t_quantile

ACCURACIES = ((0.5, 0.5), (0.6, 0.5), (0.9, 0.9), (0.9, 0.8), (0.97, 0.97), (0.97, 0.93))
REPLICATIONS = 1_000
WORST, AGAIN = 20, 10
"""The number of settings that are simulated again, and how many times as often."""
DRAWN_AT_ONCE = 4_000_000
BOOTSTRAPPED_SHARE = 0.2
FALSE = ("by_p", "both", "by_mcnemar")
HEADER = (
    *("clusters x questions", "a %", "b %", "correlation", "models", "runs"),
    *("coverage", "width", "excludes 0", "p", "both", "t", "McNemar", "coverage t", "bootstrap"),
)


@dataclass(frozen=True)
class Setting:
    """`size` questions per cluster, "1-10" for unequal ones; `correlation` of two answers of one model in one cluster.

    Clusters are `smooth`, each with its own accuracy, or `whole`: some of its questions are all right or all wrong.
    `shared` is the part of that which both models share; `other_correlation` is the second model's, if it differs.
    """

    clusters: int
    size: str
    a: float
    b: float
    correlation: float = 0.0
    shared: float = 0.0
    whole: bool = False
    other_correlation: float | None = None
    credits: tuple[float, ...] = (1.0,)

    @property
    def row(self) -> list[str]:
        """The cells that name the setting."""
        correlations = [self.correlation, *([self.other_correlation] if self.other_correlation is not None else [])]
        kind = ["whole" if self.whole else "smooth"] if self.correlation else []
        kind += ["alike" if self.shared else "apart"] + ["partial credit"] * (len(self.credits) > 1)
        accuracies = f"{100 * self.a:g}", f"{100 * self.b:g}"
        return [f"{self.clusters:,} x {self.size}", *accuracies, "/".join(map(str, correlations)), ", ".join(kind)]


@dataclass(frozen=True)
class Simulated:
    """Shares of all replications; the mean width is in points.

    `excluded` is how often the interval excludes 0, `by_p` how often the headline p is below 0.05, `both` how often a
    comparison reports a difference, `by_t` and `by_mcnemar` how often these tests would.
    """

    setting: Setting
    runs: int
    coverage: float
    width: float
    excluded: float
    by_p: float
    both: float
    by_t: float
    by_mcnemar: float
    coverage_t: float
    coverage_bootstrap: float | None

    @property
    def row(self) -> list[str]:
        """All cells."""
        shares = self.excluded, self.by_p, self.both, self.by_t, self.by_mcnemar, self.coverage_t
        shown = [_percent(self.coverage), f"{self.width:.1f}", *map(_percent, shares)]
        return [*self.setting.row, f"{self.runs:,}", *shown, _percent(self.coverage_bootstrap)]


def settings(*, quick: bool) -> Iterator[Setting]:
    """All settings to simulate."""
    if quick:
        yield Setting(8, "5", 0.9, 0.8)
        yield Setting(40, "5", 0.97, 0.93)
        yield Setting(5, "1-10", 0.9, 0.9, correlation=0.6, shared=0.5)
        return
    for clusters, sizes in ((5, "1 5 10 1-10"), (8, "5 10"), (15, "1 2 5 10 1-10"), (40, "1 5 10 1-10"), (150, "1 5")):
        for size in sizes.split():
            yield from _settings(clusters, size)
    for a, b in ((0.5, 0.5), (0.97, 0.97), (0.97, 0.93)):
        yield Setting(1_000, "1", a, b)
        yield Setting(1_000, "5", a, b, correlation=0.3, shared=0.5)
        yield Setting(1_000, "5", a, b, correlation=0.6)
    for a, b in ACCURACIES:
        for clusters in (2, 3, 4, 6):
            yield Setting(clusters, "5", a, b, correlation=0.6, shared=0.5)
    for clusters in (5, 8, 15, 40):
        for a, b in ((0.9, 0.9), (0.9, 0.8)):
            yield Setting(clusters, "5", a, b, correlation=0.6, other_correlation=0.0)
            yield Setting(clusters, "3", a, b, correlation=0.3, shared=0.5, credits=(0.3, 0.6, 1.0))


def _settings(clusters: int, size: str) -> Iterator[Setting]:
    for a, b in ACCURACIES:
        for shared in (0.0, 0.5):
            yield Setting(clusters, size, a, b, shared=shared)
            for correlation in (0.3, 0.6) if size != "1" else ():
                for whole in (False, True):
                    yield Setting(clusters, size, a, b, correlation=correlation, shared=shared, whole=whole)


def simulate(setting: Setting, runs: int) -> Simulated:
    """Simulate `runs` comparisons, with a seed that depends on the setting."""
    draw = np.random.default_rng([crc32(repr(setting).encode()), runs])
    sizes = _sizes(setting, draw)
    at_once = max(1, DRAWN_AT_ONCE // (setting.clusters * max(sizes)))
    truth = (setting.b - setting.a) * sum(setting.credits) / len(setting.credits)
    bootstrapped = (setting.clusters, setting.size, setting.a, setting.b) == (8, "5", 0.97, 0.93)
    sums = np.zeros(8)
    covered: list[bool] = []
    for start in range(0, runs, at_once):
        gaps = _gaps(setting, draw, sizes, min(at_once, runs - start))
        higher, lower = ((sign * gaps > 0).sum((1, 2)).tolist() for sign in (1, -1))
        for number, totals in enumerate(gaps.sum(2).round(9).tolist()):
            clusters = tuple(sorted(zip(totals, sizes, strict=True)))
            low, high, p, t_low, t_high = _intervals(clusters)
            excluded, by_p = not low <= 0 <= high, p < 0.05
            by_mcnemar = mcnemar(higher[number], lower[number]) < 0.05
            sums += (
                *(low <= truth <= high, 100 * (high - low), excluded, by_p, excluded and by_p),
                *(not t_low <= 0 <= t_high, by_mcnemar, t_low <= truth <= t_high),
            )
            if bootstrapped and len(covered) < BOOTSTRAPPED_SHARE * runs:
                interval = bootstrap(clusters)
                covered.append(interval.low - 1e-9 <= truth <= interval.high + 1e-9)
    return Simulated(setting, runs, *(sums / runs).tolist(), sum(covered) / len(covered) if covered else None)


@lru_cache(maxsize=50_000)
def _intervals(clusters: tuple[Cluster, ...]) -> tuple[float, float, float, float, float]:
    """The interval, the headline p and the interval of the paired t, cached for repeated clusters."""
    centre, error, df = centre_and_error(clusters)
    half = t_quantile(0.95, df) * error
    p, _ = sign_flip(total for total, _ in clusters)
    mean = sum(total for total, _ in clusters) / sum(size for _, size in clusters)
    t = paired_t(clusters)
    t_half = t_quantile(0.95, t.df) * t.standard_error if t else 2.0
    return min(mean, centre - half), max(mean, centre + half), p, mean - t_half, mean + t_half


def _sizes(setting: Setting, draw: Any) -> list[int]:
    least, _, most = setting.size.partition("-")
    return [int(size) for size in draw.integers(int(least), int(most or least) + 1, setting.clusters)]


def _gaps(setting: Setting, draw: Any, sizes: Sequence[int], runs: int) -> Any:
    """The second model's scores less the first's: (runs, clusters, questions), 0 beyond a cluster's size."""
    shape = runs, setting.clusters, max(sizes)
    other = setting.correlation if setting.other_correlation is None else setting.other_correlation
    first, second = draw.random(shape), draw.random(shape)
    fates = draw.random((2, *shape[:2], 1))
    fates[1] = np.where(draw.random(fates[0].shape) < setting.shared, fates[0], fates[1])
    if setting.shared and not setting.correlation:
        second = np.where(draw.random(shape) < setting.shared, first, second)
    a = _right(setting, draw, setting.a, setting.correlation, first, fates[0])
    b = _right(setting, draw, setting.b, other, second, fates[1])
    credits = np.asarray(setting.credits)
    scores = (right * credits[draw.integers(0, len(credits), shape)] for right in (a, b))
    return np.subtract(*reversed(list(scores))) * (np.arange(shape[2]) < np.asarray(sizes)[:, None])


def _right(setting: Setting, draw: Any, accuracy: float, correlation: float, chance: Any, fate: Any) -> Any:
    """Which answers are right; two answers in a cluster have the given correlation, in both kinds of clusters."""
    if not correlation:
        return chance < accuracy
    if setting.whole:
        return np.where(draw.random(chance.shape) < correlation**0.5, fate, chance) < accuracy
    from scipy.stats import beta

    strength = (1 - correlation) / correlation
    quantiles = np.linspace(0, 1, 4_001)
    return chance < np.interp(fate, quantiles, beta.ppf(quantiles, accuracy * strength, (1 - accuracy) * strength))


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _runs(setting: Setting, replications: int) -> int:
    """The number of runs, smaller if a replication takes long."""
    return ceil(replications * min(1.0, max(0.2, 20 / setting.clusters)))


def _summary(found: Sequence[Simulated]) -> list[list[str]]:
    """For each number of clusters: the lowest and median coverage, and the highest error rates of the tests."""
    rows = [
        ["clusters", "settings", "coverage, lowest", "middle", "below 94", "false p", "false both", "false McNemar"]
    ]
    for clusters in sorted({each.setting.clusters for each in found}):
        own = [each for each in found if each.setting.clusters == clusters]
        equal = [each for each in own if each.setting.a == each.setting.b]
        covered = sorted(each.coverage for each in own)
        below = f"{sum(coverage < 0.94 for coverage in covered):,}"
        worst = [max((getattr(each, name) for each in equal), default=None) for name in FALSE]
        cells = _percent(covered[0]), _percent(covered[len(covered) // 2]), below, *map(_percent, worst)
        rows.append([f"{clusters:,}", f"{len(own):,}", *cells])
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate all settings and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.coverage", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three settings only")
    parser.add_argument("--replications", type=int, default=REPLICATIONS, help="fewer with more than 20 clusters")
    chosen = parser.parse_args(arguments)
    found = [simulate(setting, _runs(setting, chosen.replications)) for setting in settings(quick=chosen.quick)]
    print(aligned([HEADER, *(each.row for each in found)]), end="\n\n")
    print(aligned(_summary(found)), end="\n\n")
    if not chosen.quick:
        lowest = sorted(found, key=lambda each: each.coverage)[:WORST]
        equal = (each for each in found if each.setting.a == each.setting.b)
        falsest = sorted(equal, key=lambda each: -each.by_p)[:WORST]
        for title, worst in (("lowest coverage", lowest), ("most false p", falsest)):
            again = [simulate(each.setting, AGAIN * each.runs).row for each in worst]
            print(f"{title}, {AGAIN} times as many runs\n{aligned([HEADER, *again])}", end="\n\n")
    print(f"{time.process_time():.0f} s of CPU", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The bars for the client: floors that must be kept and aims to reach, compared with measured figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from tests.bench.cases import FEW_WORKERS, NAIVE, OURS, WORKERS
from tests.bench.figures import (
    ANSWERED,
    CONNECTIONS,
    CPU_MS,
    CPU_WHOLE_MS,
    NET_S,
    OF_IDEAL,
    RSS_OVER_MB,
    STALL_MS,
    Figure,
    Measured,
)

Key = tuple[str, str, int, int]
"""client, workload, latency in ms, workers"""
Results = Mapping[Key, Measured]
Measure = Callable[[Any], float | None]
"""Computes a figure from the results: those of this module, or those of the comparison with evaluators."""
SMALL = ("small", 0, WORKERS)
PHOTO_50 = ("photo", 50, WORKERS)
PHOTO_500 = ("photo", 500, WORKERS)
DOCUMENT = ("document", 1000, WORKERS)
DOCUMENT_FEW = ("document", 250, FEW_WORKERS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """A figure of our client and its limits; `measure` gives None if this run did not measure it.

    A bar without a floor is only shown, and can't be missed.
    """

    title: str
    measure: Measure
    better: Literal["more", "less"]
    floor: float | None
    aim: float | None = None
    decimals: int = 2

    def verdict(self, value: float | None) -> str:
        """One of "not measured", "shown", "MISS", "pass" and "pass, aim reached"."""
        if value is None:
            return "not measured"
        if self.floor is None:
            return "shown"
        if not self._reaches(value, self.floor):
            return "MISS"
        return "pass, aim reached" if self.aim is not None and self._reaches(value, self.aim) else "pass"

    def _reaches(self, value: float, bar: float) -> bool:
        return value >= bar if self.better == "more" else value <= bar


def keyed(results: Sequence[Measured]) -> Results:
    """The measured cases by client, workload, latency and workers."""
    return {(m.client, m.case.workload.name, m.case.latency_ms, m.case.workers): m for m in results}


def _own(results: Results, figure: Figure, case: tuple[str, int, int]) -> float | None:
    measured = results.get((OURS, *case))
    return figure.median(measured) if measured else None


def _ratio(results: Results, figure: Figure, case: tuple[str, int, int]) -> float | None:
    """The script's figure divided by ours."""
    ours, script = results.get((OURS, *case)), results.get((NAIVE, *case))
    if not ours or not script:
        return None
    below, above = figure.median(ours), figure.median(script)
    return above / below if above is not None and below is not None and below > 0 else None


def _growth(results: Results, figure: Figure) -> float | None:
    few, usual = _own(results, figure, DOCUMENT_FEW), _own(results, figure, DOCUMENT)
    return usual - few if few is not None and usual is not None else None


def _extra_connections(results: Results) -> float | None:
    extra = [
        max(CONNECTIONS.values(measured)) - measured.case.workers
        for measured in results.values()
        if measured.client == OURS
    ]
    return max(extra, default=None)


def _answered_share(results: Results) -> float | None:
    shares = [
        min(ANSWERED.values(measured)) / measured.case.asked for measured in results.values() if measured.client == OURS
    ]
    return min(shares, default=None)


# README.md in this folder explains the floors and aims.
BARS = (
    Bar(
        title="8 KB images: CPU per request, script / ours",
        measure=partial(_ratio, figure=CPU_MS, case=SMALL),
        better="more",
        floor=6,
        aim=15,
        decimals=1,
    ),
    Bar(
        title="   the same with start-up",
        measure=partial(_ratio, figure=CPU_WHOLE_MS, case=SMALL),
        better="more",
        floor=None,
        decimals=1,
    ),
    Bar(
        title="50 KB images at 50 ms: of ideal",
        measure=partial(_own, figure=OF_IDEAL, case=PHOTO_50),
        better="more",
        floor=0.70,
        aim=0.88,
        decimals=3,
    ),
    Bar(
        title="50 KB images at 500 ms: of ideal",
        measure=partial(_own, figure=OF_IDEAL, case=PHOTO_500),
        better="more",
        floor=0.95,
        aim=0.97,
        decimals=3,
    ),
    Bar(
        title="20 pages at 1 s: CPU per request, script / ours",
        measure=partial(_ratio, figure=CPU_MS, case=DOCUMENT),
        better="more",
        floor=8,
        decimals=1,
    ),
    Bar(
        title="   the same with start-up",
        measure=partial(_ratio, figure=CPU_WHOLE_MS, case=DOCUMENT),
        better="more",
        floor=None,
        decimals=1,
    ),
    Bar(
        title="20 pages at 1 s: of ideal",
        measure=partial(_own, figure=OF_IDEAL, case=DOCUMENT),
        better="more",
        floor=0.75,
        decimals=3,
    ),
    Bar(
        title="20 pages at 1 s: time less start-up, script / ours",
        measure=partial(_ratio, figure=NET_S, case=DOCUMENT),
        better="more",
        floor=3,
        decimals=1,
    ),
    Bar(
        title="20 pages at 1 s: RSS over the start, MB",
        measure=partial(_own, figure=RSS_OVER_MB, case=DOCUMENT),
        better="less",
        floor=64,
        aim=32,
        decimals=0,
    ),
    Bar(
        title="20 pages: RSS that 128 workers take more than 8, MB",
        measure=partial(_growth, figure=RSS_OVER_MB),
        better="less",
        floor=16,
        decimals=0,
    ),
    Bar(
        title="20 pages at 1 s: longest loop stall, ms",
        measure=partial(_own, figure=STALL_MS, case=DOCUMENT),
        better="less",
        floor=100,
        decimals=0,
    ),
    Bar(title="connections above workers, worst", measure=_extra_connections, better="less", floor=1, decimals=0),
    Bar(title="questions with an answer in the report, worst share", measure=_answered_share, better="more", floor=1),
)
EXACT = Bar(title="bodies that are byte-exact, worst share", measure=lambda _: None, better="more", floor=1)
"""Measured by the check, not by the runs."""

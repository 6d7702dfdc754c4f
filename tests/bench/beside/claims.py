"""The bars for our client beside the evaluators and on many records, with the measured figures."""

import statistics
from collections.abc import Callable
from functools import partial

from tests.bench.bars import Bar
from tests.bench.beside.many_records import AGAIN_MILLION, ASKED_FEW, ASKED_MANY, RESUMED
from tests.bench.beside.results import Results
from tests.bench.beside.suite import HELP
from tests.bench.cases import NAIVE, OURS
from tests.bench.figures import CPU_MS, OF_IDEAL, RATE, STALL_MS, Figure
from tests.bench.peers.registry import PEERS
from tests.bench.processes import MB, Usage

VERDICTS = {"not measured": "not measured", "MISS": "**missed**", "pass": "kept"}


def verdict(claim: Bar, results: Results) -> str:
    """The verdict on the page, from VERDICTS."""
    return VERDICTS[claim.verdict(claim.measure(results))]


def cells(claim: Bar, results: Results) -> list[str]:
    """A row of the table: title, bar, figure, verdict."""
    value = claim.measure(results)
    sign = "at least" if claim.better == "more" else "at most"
    shown = "-" if value is None else f"{value:,.{claim.decimals}f}"
    return [claim.title, f"{sign} {claim.floor:g}", shown, verdict(claim, results)]


def _medians(results: Results, figure: Figure, client: str) -> dict[tuple[str, int], float]:
    own = [measured for measured in results.measured() if measured.client == client]
    found = {(one.case.workload.name, one.case.latency_ms): figure.median(one) for one in own}
    return {case: median for case, median in found.items() if median is not None}


def least_lead(results: Results, latency_ms: int | None = None, figure: Figure = RATE) -> float | None:
    """Our pace divided by the quickest evaluator's, on the workload where that is lowest."""
    ours = _medians(results, figure, OURS)
    leads = [
        ours[case] / theirs
        for peer in PEERS
        for case, theirs in _medians(results, figure, peer).items()
        if case in ours and latency_ms in (None, case[1])
    ]
    return min(leads, default=None)


def _own(results: Results, figure: Figure, case: tuple[str, int]) -> float | None:
    return _medians(results, figure, OURS).get(case)


def _script_over_ours(results: Results, case: tuple[str, int]) -> float | None:
    ours, script = (_medians(results, CPU_MS, client).get(case) for client in (OURS, NAIVE))
    return script / ours if ours and script else None


def _alone(results: Results, what: str, value: Callable[[Usage], float]) -> float | None:
    found = results.named(what)
    return statistics.median(map(value, found.usages)) if found and found.usages else None


def _peak_mb(usage: Usage) -> float:
    return usage.peak_rss_bytes / MB


def _growth(results: Results) -> float | None:
    few, many = (_alone(results, what, _peak_mb) for what in (ASKED_FEW, ASKED_MANY))
    return many / few if few and many else None


def _worst_stall(results: Results) -> float | None:
    return max(_medians(results, STALL_MS, OURS).values(), default=None)


def _resumed_s(results: Results) -> float | None:
    found = results.named(RESUMED)
    return statistics.median(found.first_request_s) if found and found.first_request_s else None


CLAIMS = (
    Bar(
        title="pace at 0 ms, times the quickest evaluator's",
        measure=partial(least_lead, latency_ms=0),
        better="more",
        floor=2,
        decimals=1,
    ),
    Bar(title="pace on every workload, times the quickest evaluator's", measure=least_lead, better="more", floor=1),
    Bar(
        title="small images at 500 ms, of ideal",
        measure=partial(_own, figure=OF_IDEAL, case=("small", 500)),
        better="more",
        floor=0.92,
        decimals=3,
    ),
    Bar(
        title="20 pages at 1 s: CPU per request, script / ours",
        measure=partial(_script_over_ours, case=("document", 1000)),
        better="more",
        floor=8,
        decimals=1,
    ),
    Bar(title="peak memory, 200,000 questions / 1,000", measure=_growth, better="less", floor=1.3),
    Bar(title="longest loop stall, worst workload, ms", measure=_worst_stall, better="less", floor=50, decimals=0),
    Bar(
        title="killed run of 1,000,000 started again, s to the first request",
        measure=_resumed_s,
        better="less",
        floor=20,
        decimals=1,
    ),
    Bar(
        title="finished run of 1,000,000 started again, s to the end of the report",
        measure=partial(_alone, what=AGAIN_MILLION, value=lambda usage: usage.wall_s),
        better="less",
        floor=20,
        decimals=1,
    ),
    Bar(
        title="killed run of 1,000,000 started again, MB",
        measure=partial(_alone, what=RESUMED, value=_peak_mb),
        better="less",
        floor=600,
        decimals=0,
    ),
    Bar(
        title="--help, ms of CPU",
        measure=partial(_alone, what=HELP, value=lambda usage: 1000 * usage.cpu_s),
        better="less",
        floor=350,
        decimals=0,
    ),
)

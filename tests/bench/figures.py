"""Computes figures from runs: a number per round, shown as median and range."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.bench.cases import Case
from tests.bench.measure import Run
from tests.bench.processes import MB

Value = Callable[["Measured", Run], float | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """All rounds of one client on one case.

    Start-up is the median over the rounds, so that its noise is not taken for the noise of the work.
    """

    client: str
    case: Case
    runs: Sequence[Run]

    @property
    def start_cpu_s(self) -> float:
        """CPU of a process that asks the first record."""
        return statistics.median(run.start.cpu_s for run in self.runs)

    @property
    def start_rss_bytes(self) -> float:
        """Peak memory of a process that asks the first record."""
        return statistics.median(run.start.peak_rss_bytes for run in self.runs)

    @property
    def start_wall_s(self) -> float:
        """Wall time of a process that asks the first record, less the latency of its questions."""
        return statistics.median(run.start.wall_s for run in self.runs) - self.case.start_ideal_s


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A column of the table: its title, how it is computed for a run, and its decimals."""

    title: str
    value: Value
    decimals: int = 0

    def values(self, measured: Measured) -> list[float]:
        """The figure of each round, without rounds that lack it."""
        found = (self.value(measured, run) for run in measured.runs)
        return [value for value in found if value is not None]

    def median(self, measured: Measured) -> float | None:
        """The median, or None if no round has the figure."""
        values = self.values(measured)
        return statistics.median(values) if values else None

    def cell(self, measured: Measured) -> str:
        """The median and, if there are several rounds, the range."""
        values = sorted(self.values(measured))
        if not values:
            return "-"
        middle, low, high = map(self.text, (statistics.median(values), values[0], values[-1]))
        return middle if low == high else f"{middle} ({low}-{high})"

    def text(self, value: float) -> str:
        """The value as text; adding 0.0 turns a rounded -0.0 into 0.0."""
        return f"{round(value, self.decimals) + 0.0:,.{self.decimals}f}"


def _cpu_ms(measured: Measured, run: Run) -> float | None:
    more = run.asked - run.asked_at_start
    return 1000 * (run.full.cpu_s - measured.start_cpu_s) / more if more else None


def _of_ideal(measured: Measured, run: Run) -> float | None:
    span_s = float(run.server["span_s"])
    return measured.case.ideal_s / span_s if measured.case.latency_ms and span_s else None


def _in_flight(measured: Measured, run: Run) -> float | None:
    return float(run.server["in_flight_mean"]) if measured.case.latency_ms else None


def _rate(measured: Measured, run: Run) -> float | None:
    """Questions per second of net s, or of the span at the server if a noisy start-up makes net s shorter."""
    taken_s = max(run.full.wall_s - measured.start_wall_s, float(run.server["span_s"]))
    return run.asked / taken_s if taken_s else None


CPU_MS = Figure(title="CPU ms/req", value=_cpu_ms, decimals=3)
CPU_WHOLE_MS = Figure(title="CPU ms/req, whole", value=lambda _, run: 1000 * run.full.cpu_s / run.asked, decimals=3)
SPAN_S = Figure(title="span s", value=lambda _, run: run.server["span_s"], decimals=2)
OF_IDEAL = Figure(title="of ideal", value=_of_ideal, decimals=3)
NET_S = Figure(title="net s", value=lambda measured, run: run.full.wall_s - measured.start_wall_s, decimals=2)
PROCESS_S = Figure(title="process s", value=lambda _, run: run.full.wall_s, decimals=2)
RATE = Figure(title="asked/s", value=_rate)
RSS_OVER_MB = Figure(
    title="RSS over MB", value=lambda measured, run: (run.full.peak_rss_bytes - measured.start_rss_bytes) / MB
)
RSS_MB = Figure(title="RSS MB", value=lambda _, run: run.full.peak_rss_bytes / MB)
IN_FLIGHT = Figure(title="in flight", value=_in_flight, decimals=1)
IN_FLIGHT_PEAK = Figure(title="peak", value=lambda _, run: run.server["in_flight_peak"])
CONNECTIONS = Figure(title="conns", value=lambda _, run: run.server["connections"])
STALL_MS = Figure(
    title="stall ms",
    value=lambda _, run: None if run.loop_stall_max_s is None else 1000 * run.loop_stall_max_s,
)
REQUESTS = Figure(title="requests", value=lambda _, run: run.server["requests"])
ANSWERED = Figure(title="answered", value=lambda _, run: run.answered)

COLUMNS = (
    SPAN_S,
    OF_IDEAL,
    NET_S,
    RATE,
    PROCESS_S,
    CPU_MS,
    CPU_WHOLE_MS,
    RSS_OVER_MB,
    RSS_MB,
    IN_FLIGHT,
    IN_FLIGHT_PEAK,
    CONNECTIONS,
    STALL_MS,
    REQUESTS,
    ANSWERED,
)

"""Draws the results: CPU per request of every client, and requests in flight over time."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.beside.page import named
from tests.bench.beside.results import Results
from tests.bench.cases import MODULES, OURS
from tests.bench.figures import CPU_MS, IN_FLIGHT, Measured

INK = "#7d8590"
"""A grey that is legible on white and on near-black."""
ACCENT = "#e07b39"
BARS_ON = (("small", 0, "one image of 8 KB"), ("document", 1000, "20 pages of 300 KB"))
FLIGHT_ON = ("small", 500)
FLIGHT_TITLE = "requests in flight at the server over each run: one image of 8 KB, answered after 500 ms, 128 workers"
ACROSS = 5
INCHES = (10.5, 6.6)


def draw(results: Results, path: Path) -> None:
    """Write the SVG: text as text, no background, no date or random name inside."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure  # not pyplot, which keeps figures and settings for the whole process

    style = {"svg.fonttype": "none", "svg.hashsalt": "vqa-client", "font.size": 9, "font.family": "sans-serif"}
    ink = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK)
    with rc_context({**style, **ink}):
        figure = Figure(figsize=INCHES, layout="constrained")
        above, below = figure.subfigures(2, 1, height_ratios=(1.15, 1))
        for axes, (workload, latency_ms, title) in zip(above.subplots(1, 2), BARS_ON, strict=True):
            _cpu_bars(axes, _of(results, workload, latency_ms), f"CPU ms per request, {title}")
        _flights(below, _of(results, *FLIGHT_ON))
        for part in (figure, above, below):
            part.patch.set_alpha(0)
        figure.savefig(path, transparent=True, metadata={"Date": None})


def _of(results: Results, workload: str, latency_ms: int) -> list[Measured]:
    return [m for m in results.measured() if (m.case.workload.name, m.case.latency_ms) == (workload, latency_ms)]


def _cpu_bars(axes: Any, measured: Sequence[Measured], title: str) -> None:
    found = [(CPU_MS.median(one), one.client) for one in measured]
    values = sorted((value, client) for value, client in found if value)
    labels = [_label(client) for _, client in values]
    bars = axes.barh(labels, [value for value, _ in values], color=[_colour(client) for _, client in values])
    axes.bar_label(bars, [f"{value:,.2f}" if value < 10 else f"{value:,.0f}" for value, _ in values], padding=3)
    if values:
        axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.margins(x=0.18)
    axes.invert_yaxis()
    axes.set_title(title, loc="left", fontsize=10)
    _plain(axes)


def _flights(figure: Any, measured: Sequence[Measured]) -> None:
    """A small panel per client, with time from 0 to 1, since clients are asked different numbers of questions."""
    figure.suptitle(FLIGHT_TITLE, x=0.01, ha="left", fontsize=10)
    down = math.ceil(max(len(measured), 1) / ACROSS)
    panels = list(figure.subplots(down, ACROSS, sharex=True, sharey=True, squeeze=False).flat)
    for axes, one in zip(panels, measured, strict=False):
        _flight(axes, one)
    for axes in panels[len(measured) :]:
        axes.set_visible(False)


def _flight(axes: Any, one: Measured) -> None:
    """The round of median length."""
    run = sorted(one.runs, key=lambda run: run.server["span_s"])[len(one.runs) // 2]
    heights = run.timeline["in_flight"]
    places = [(at + 0.5) / len(heights) for at in range(len(heights))]
    axes.fill_between(places, heights, color=_colour(one.client), linewidth=0)
    axes.set_title(f"{_label(one.client)}, mean {IN_FLIGHT.median(one):.0f}", loc="left", fontsize=8)
    axes.set_ylim(0, one.case.workers)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 1], ["start", "end"])
    axes.set_yticks([0, one.case.workers // 2, one.case.workers])
    _plain(axes)


def _label(client: str) -> str:
    return named(client).strip("`").partition(",")[0]


def _colour(client: str) -> str:
    return ACCENT if MODULES.get(client) == MODULES[OURS] else INK


def _plain(axes: Any) -> None:
    axes.set_facecolor("none")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)

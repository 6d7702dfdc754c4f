"""Charts with a line for each run: slopes without and with images, and steps such as depths, one chart per length."""

from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.html.samples import record, write_run
from vqa_client.html.asked import PairedGap
from vqa_client.html.charts import VALUE, curves, histograms, scatter, slopes, steps
from vqa_client.html.figures import Figure, HeatMap
from vqa_client.reports.logged_run import read_run
from vqa_client.reports.overview import overview
from vqa_client.task import Breakdown, Description


def figure(share: float) -> Figure:
    return Figure(label="", n=4, share=share, interval=None)


MAP = HeatMap(
    down="depth",
    across="length",
    columns=("8k", "16k"),
    rows=(("0-50%", (figure(1.0), figure(0.5))), ("50-100%", (figure(0.25), None))),
)


@pytest.mark.parametrize(
    ("stepped", "charts"),
    [
        ("depth", {"length 8k": ["0-50% 100.0 %, n 4", "50-100% 25.0 %, n 4"], "length 16k": ["0-50% 50.0 %, n 4"]}),
        ("length", {"depth 0-50%": ["8k 100.0 %, n 4", "16k 50.0 %, n 4"], "depth 50-100%": ["8k 25.0 %, n 4"]}),
        ("neither", {}),
    ],
)
def test_there_is_a_chart_for_each_value_over_the_steps_of_the_other_field(
    stepped: str, charts: dict[str, list[str]]
) -> None:
    told = Description(headline="", breakdowns=(Breakdown(stepped, steps=True),))
    found = steps([("a", MAP), ("b", MAP)], told)
    assert {one.title: [said for _, _, said in one.lines[1].points] for one in found} == charts
    for one in found:
        assert [line.name for line in one.lines] == ["a", "b"]
        assert all(0 < x < one.width for x, _ in one.ticks)


@pytest.mark.parametrize("shares", [[0.5, 0.5, 0.49], [0.0, 0.0, 0.01], [1.0, 1.0, 1.0], [0.3, 0.9, 0.1]])
def test_the_numbers_of_a_slope_do_not_overlap(shares: list[float]) -> None:
    gaps = [PairedGap(label=f"run {at}", before=share, after=0.5, difference=None) for at, share in enumerate(shares)]
    [chart] = slopes([("all questions", gaps)], "without", "with")
    for end in (0, 1):
        heights = sorted(line.ends[end][1] for line in chart.lines)
        assert all(b - a >= VALUE - 1e-9 for a, b in pairwise(heights))
        assert 0 < heights[0] < heights[-1] < chart.height


def test_a_run_without_a_value_has_no_dot_there() -> None:
    gaps = [PairedGap(label="run", before=None, after=0.5, difference=None)]
    [chart] = slopes([("all questions", gaps)], "without", "with")
    assert [said for *_, said in chart.lines[0].points] == ["50.0 %"]
    assert chart.lines[0].words == "run 50.0 %"
    [chart] = slopes([("all questions", [replace(gap, label=str(n)) for gap in gaps for n in range(9)])], "a", "b")
    assert [line.style for line in chart.lines] == [*range(8), 0]


def test_charts_are_drawn_to_scale(tmp_path: Path) -> None:
    records = [
        record(
            n,
            groups={"needle_depth": str(n // 4)},
            score=float(n % 4 > n // 4),
            latency_s=1.0 + n,
            completion_tokens=5 + n % 3,
        )
        for n in range(12)
    ]
    found = overview(read_run(write_run(tmp_path, records)))
    [curve] = curves(found)
    assert (curve.level(0), curve.level(1), curve.small) == (176, 8, False)
    assert curve.line == "103.3,50.0 242.0,92.0 380.7,134.0"  # 75, 50 and 25 %
    assert curve.band == "103.3,15.7 242.0,33.2 380.7,58.5 380.7,168.3 242.0,150.8 103.3,125.5"
    latency, tokens = histograms(found)
    assert [(each.title, each.unit) for each in (latency, tokens)] == [("Latency", "s"), ("Tokens of a reply", "")]
    assert [(round(bar.x), round(bar.width), round(bar.y), round(bar.height), bar.n) for bar in tokens.bars] == [
        (x, 122, 8, 88, 4) for x in (10, 133, 257)
    ]
    assert [(bar.low, bar.high) for bar in tokens.bars] == [(4.5, 5.5), (5.5, 6.5), (6.5, 7.5)]
    assert [(round(bar.low, 2), bar.n) for bar in latency.bars][:3] == [(1.0, 1), (1.86, 1), (2.9, 1)]
    assert [(name, value, round(x)) for name, value, x in latency.marks] == [("median", 6, 277), ("95 %", 12, 380)]
    half = found.summary.overall
    dots = scatter(
        "tokens", [("a", 50, half), ("b", 100, replace(half, accuracy=0.51)), ("c", 25, replace(half, accuracy=1.0))]
    )
    assert [(dot.label, round(dot.x), round(dot.y, 1), round(label_y, 1)) for dot, _, label_y in dots.dots] == [
        ("c", 138, 8.0, 13.0),
        ("b", 450, 90.3, 90.3),
        ("a", 242, 92.0, 103.3),
    ]
    [slope] = slopes([("q", [PairedGap(label="run", before=1.0, after=0.5, difference=None)])], "without", "with")
    assert (slope.ticks, slope.lines[0].path) == (((40, "without"), (116, "with")), "40.0,8.0 116.0,67.0")
    assert slope.lines[0].ends == ((40, 8.0, "100.0"), (116, 67.0, "50.0"))
    assert curves(overview(read_run(write_run(tmp_path / "two", records[:8])))) == []
    unknown = [replace(each, references=(), score=0.0) for each in records]
    assert curves(overview(read_run(write_run(tmp_path / "unknown", unknown)))) == []
    lost = [PairedGap(label=str(n), before=0.0, after=0.0, difference=None) for n in range(3)]
    [slope] = slopes([("q", lost)], "without", "with")
    assert [line.ends[0][1] for line in slope.lines] == [108, 120, 132]  # above the names of the steps
    long, _ = steps([("a", MAP)], Description(headline="", breakdowns=(Breakdown("depth", steps=True),)))
    assert (long.width, long.ticks, long.lines[0].path) == (
        151,
        ((60.75, "0-50%"), (114.25, "50-100%")),
        "60.8,8.0 114.2,96.5",
    )


@pytest.mark.parametrize(
    ("tokens", "bounds"),
    [
        ([0, *range(1, 29)], [(n - 0.5, n + 0.5) for n in range(1, 29)]),
        ([*range(1, 30)], [(1.0, 1.128), (1.824, 2.058)]),
        ([0, 5, 5], None),
        ([0, 1, 1_000_000], [(1.0, 1.638), (610540.23, 1000000.0)]),
    ],
)
def test_few_whole_numbers_have_bars_of_their_own_and_zeros_none(
    tmp_path: Path, tokens: list[int], bounds: list[tuple[float, float]] | None
) -> None:
    seen = overview(read_run(write_run(tmp_path, [record(1)])))
    charts = histograms(replace(seen, completion_tokens=tokens, latencies_s=[]))
    if bounds is None:
        assert charts == []
    else:
        [chart] = charts
        drawn = [(round(bar.low, 3), round(bar.high, 3)) for bar in chart.bars]
        assert drawn[: len(bounds)] == bounds

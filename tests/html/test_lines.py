"""Charts with a line for each run: slopes without and with images, and steps such as depths for each length."""

from itertools import pairwise

import pytest

from vqa_client.html.asked import Gap
from vqa_client.html.charts import VALUE, slopes, steps
from vqa_client.html.figures import Figure, HeatMap
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
def test_the_numbers_of_a_slope_are_not_over_each_other(shares: list[float]) -> None:
    gaps = [Gap(label=f"run {at}", before=share, after=0.5, difference=None) for at, share in enumerate(shares)]
    [chart] = slopes([("all questions", gaps)], "without", "with")
    for end in (0, 1):
        heights = sorted(line.ends[end][1] for line in chart.lines)
        assert all(b - a >= VALUE - 1e-9 for a, b in pairwise(heights))
        assert 0 < heights[0] < heights[-1] < chart.height


def test_a_run_without_a_value_has_no_dot_there() -> None:
    gaps = [Gap(label="run", before=None, after=0.5, difference=None)]
    [chart] = slopes([("all questions", gaps)], "without", "with")
    assert [said for *_, said in chart.lines[0].points] == ["50.0 %"]
    assert chart.lines[0].words == "run 50.0 %"

"""Where the lines of several runs are in one chart, in pixels of its own plane; the template draws them."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.html.asked import Gap
from vqa_client.html.charts import BOTTOM, LEFT, RIGHT, TOP
from vqa_client.html.figures import HeatMap
from vqa_client.task import Description

STYLES = 8
"""Colours and dashes that distinguish lines; a further run has the first one's again."""
HEIGHT, STEP, CHARACTER = 150.0, 46.0, 6.5
SLOPE, SIDE = 156.0, 40.0
VALUE = 12.0
"""The least distance of the numbers beside a slope's ends."""
Share = tuple[float | None, str]
"""A value in [0, 1], and its description."""


class Line(Struct, frozen=True, kw_only=True):
    """One run: the place and the words of each value that there is; `ends` are numbers with their places."""

    name: str
    style: int
    points: tuple[tuple[float, float, str], ...]
    ends: tuple[tuple[float, float, str], ...] = ()

    @property
    def path(self) -> str:
        """The points of an SVG polyline."""
        return " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in self.points)

    @property
    def words(self) -> str:
        """The same for those who don't see it."""
        return f"{self.name} {', '.join(said for _, _, said in self.points)}"


class Lines(Struct, frozen=True, kw_only=True):
    """A chart with a line for each run over named steps."""

    title: str
    ticks: tuple[tuple[float, str], ...]
    lines: tuple[Line, ...]
    width: float
    height: float = HEIGHT
    is_slope: bool = False

    def level(self, share: float) -> float:
        """The height of a share in [0, 1]."""
        return TOP + (self.height - TOP - BOTTOM) * (1 - min(max(share, 0.0), 1.0))


def steps(maps: Sequence[tuple[str, HeatMap]], told: Description) -> list[Lines]:
    """A chart for each value of one crossed field, such as a length, over the steps of the other, such as a depth.

    `maps` are those of each run by its name. Fields without steps have no charts: a line between them means nothing.
    """
    ordered = {each.field for each in told.breakdowns if each.steps}
    found: list[Lines] = []
    for down, across in dict.fromkeys((map.down, map.across) for _, map in maps):
        if not ordered & {down, across}:
            continue
        pairs = [(name, map) for name, map in maps if (map.down, map.across) == (down, across)]
        turned = [(name, map if down in ordered else _turned(map)) for name, map in pairs]
        places = list(dict.fromkeys(label for _, map in turned for label, _ in map.rows))
        for panel in dict.fromkeys(value for _, map in turned for value in map.columns):
            values = {name: _column(map, panel, places) for name, map in turned}
            title = f"{turned[0][1].across.replace('_', ' ')} {panel}"
            found.append(_chart(title, places, values, step=max(STEP, CHARACTER * max(map(len, places)) + 8)))
    return found


def slopes(blind: Sequence[tuple[str, Sequence[Gap]]], before: str, after: str) -> list[Lines]:
    """Two dots and a line for each run, in each group: without images, and with them."""
    return [
        _with_ends(_chart(title, [before, after], {gap.label: [_said(gap.before), _said(gap.after)] for gap in gaps}))
        for title, gaps in blind
    ]


def _said(share: float | None) -> Share:
    return share, "-" if share is None else f"{100 * share:.1f} %"


def _turned(map: HeatMap) -> HeatMap:
    rows = [(label, tuple(cells[at] for _, cells in map.rows)) for at, label in enumerate(map.columns)]
    return HeatMap(down=map.across, across=map.down, columns=tuple(label for label, _ in map.rows), rows=tuple(rows))


def _column(map: HeatMap, panel: str, places: Sequence[str]) -> list[Share]:
    """A run's values of one chart; None where it has no questions."""
    cells = {label: row[map.columns.index(panel)] for label, row in map.rows} if panel in map.columns else {}
    found: list[Share] = []
    for place in places:
        cell = cells.get(place)
        share, words = _said(cell.share if cell else None)
        found.append((share, f"{place} {words}, n {cell.n:,}" if cell else ""))
    return found


def _chart(title: str, places: Sequence[str], values: Mapping[str, Sequence[Share]], step: float = 0.0) -> Lines:
    """The chart; without the width of a step that of a slope, which has room for numbers on both sides."""
    begins, width = (LEFT + step / 2, LEFT + RIGHT + step * len(places)) if step else (SIDE, SLOPE)
    chart = Lines(title=title, ticks=(), lines=(), width=width, is_slope=not step)
    xs = [begins + (step or SLOPE - 2 * SIDE) * at for at in range(len(places))]
    drawn = []
    for at, (name, shares) in enumerate(values.items()):
        there = [(x, share, said) for x, (share, said) in zip(xs, shares, strict=True) if share is not None]
        points = tuple((x, chart.level(share), said) for x, share, said in there)
        drawn.append(Line(name=name, style=at % STYLES, points=points))
    return replace(chart, ticks=tuple(zip(xs, places, strict=True)), lines=tuple(drawn))


def _with_ends(chart: Lines) -> Lines:
    """The same chart with a number beside both ends of each line, none over another."""
    heights: dict[tuple[str, float], float] = {}
    for x, _ in chart.ticks:
        there = sorted((y, line.name) for line in chart.lines for at, y, _ in line.points if at == x)
        last, most = -VALUE, chart.height - BOTTOM + VALUE / 2
        for y, name in there:
            heights[name, x] = last = max(y, last + VALUE)
        for _, name in reversed(there):
            heights[name, x] = min(heights[name, x], most)
            most = heights[name, x] - VALUE
    lines = (
        replace(line, ends=tuple((x, heights[line.name, x], said.removesuffix(" %")) for x, _, said in line.points))
        for line in chart.lines
    )
    return replace(chart, lines=tuple(lines))

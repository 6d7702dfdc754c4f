"""Where the lines and bars of a chart of one run or of several are, in pixels of its own plane; templates draw them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp, log

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.html.asked import Gap
from vqa_client.html.figures import HeatMap
from vqa_client.reports.logged_run import CLEAN
from vqa_client.reports.overview import LEVELS, Overview, in_order, quantile
from vqa_client.reports.summary import Tally
from vqa_client.task import Description

LEFT, RIGHT, TOP, BOTTOM = 34.0, 10.0, 8.0, 24.0
LINE = 13.0
BARS = 28
SMALL_BELOW = 300.0


class Point(Struct, frozen=True, kw_only=True):
    """One step of a curve: its place, its interval's ends, and the numbers that they stand for."""

    x: float
    y: float
    y_low: float
    y_high: float
    label: str
    tally: Tally


class Curve(Struct, frozen=True, kw_only=True):
    """Accuracy over the steps of a field; `width` and `height` are those of the plane."""

    title: str
    field: str
    points: tuple[Point, ...]
    width: float
    height: float

    @property
    def small(self) -> bool:
        """One of many that are looked at side by side."""
        return self.width < SMALL_BELOW

    @property
    def line(self) -> str:
        """The points of an SVG polyline."""
        return " ".join(f"{point.x:.1f},{point.y:.1f}" for point in self.points)

    @property
    def band(self) -> str:
        """The points of an SVG polygon over the intervals."""
        there = [f"{point.x:.1f},{point.y_high:.1f}" for point in self.points]
        back = [f"{point.x:.1f},{point.y_low:.1f}" for point in reversed(self.points)]
        return " ".join(there + back)

    def level(self, share: float) -> float:
        """The height of an accuracy in [0, 1]."""
        return _height(share, self.height)


class Scatter(Struct, frozen=True, kw_only=True):
    """Accuracies against a cost from 0 to `most`; each dot has its cost and the height of its label beside it."""

    unit: str
    dots: tuple[tuple[Point, float, float], ...]
    most: float
    width: float = 460.0
    height: float = 200.0

    def level(self, share: float) -> float:
        """The height of an accuracy in [0, 1]."""
        return _height(share, self.height)


class Bar(Struct, frozen=True, kw_only=True):
    """One bar of a histogram: from `low` up to `high`, `n` values."""

    x: float
    width: float
    y: float
    height: float
    low: float
    high: float
    n: int


class Histogram(Struct, frozen=True, kw_only=True):
    """How often values from `least` to `most` fall between bounds; `marks` are named values and their places."""

    title: str
    unit: str
    bars: tuple[Bar, ...]
    marks: tuple[tuple[str, float, float], ...]
    least: float
    most: float
    width: float = 390.0
    height: float = 120.0


def curves(overview: Overview) -> list[Curve]:
    """One curve a field whose values are steps."""
    drawn = []
    steps = [each.field for each in overview.description.breakdowns if each.steps]
    for field in steps:
        tallies = overview.summary.breakdowns.get(field, {})
        if len(tallies) > 2:
            drawn.append(_curve(overview, field.replace("_", " "), field, tallies, 460.0, 200.0))
    return drawn


def level_curves(overview: Overview) -> list[Curve]:
    """One curve a corruption over its levels, each step of which is a variant."""
    drawn = []
    crossed = overview.summary.crossings.get(LEVELS, {})
    clean = crossed.get(CLEAN, {})
    for corruption in in_order(name for name in crossed if name != CLEAN):
        title = corruption.replace("_", " ")
        drawn.append(_curve(overview, title, "level", {**clean, **crossed[corruption]}, 220.0, 130.0))
    return drawn


def scatter(unit: str, costs: Sequence[tuple[str, float, Tally]]) -> Scatter:
    """One dot for each name, cost and accuracy."""
    chart = Scatter(unit=unit, dots=(), most=max(cost for _, cost, _ in costs))
    room = chart.width - LEFT - RIGHT
    points = [(_point(name, of, LEFT + room * cost / chart.most, chart.height), cost) for name, cost, of in costs]
    dots, above = list[tuple[Point, float, float]](), 0.0
    for point, cost in sorted(points, key=lambda each: each[0].y):
        above = max(point.y, above + LINE)
        dots.append((point, cost, above))
    return replace(chart, dots=tuple(dots))


def histograms(overview: Overview) -> list[Histogram]:
    """Latencies, and tokens of replies where the server tells them."""
    drawn = [
        _histogram("Latency", "s", overview.latencies_s),
        _histogram("Tokens of a reply", "", overview.completion_tokens),
    ]
    return [histogram for histogram in drawn if histogram is not None]


def _curve(
    overview: Overview, title: str, field: str, tallies: Mapping[str, Tally], width: float, height: float
) -> Curve:
    ordered = in_order(tallies, overview.description.order(field))
    steps = [value for value in ordered if tallies[value].accuracy is not None]
    room = width - LEFT - RIGHT
    points = tuple(
        _point(value, tallies[value], LEFT + room * (at + 0.5) / len(steps), height) for at, value in enumerate(steps)
    )
    return Curve(title=title, field=field, points=points, width=width, height=height)


def _point(label: str, tally: Tally, x: float, height: float) -> Point:
    mean = tally.accuracy or 0.0
    low, high = (tally.interval.low, tally.interval.high) if tally.interval else (mean, mean)
    ys = {name: _height(share, height) for name, share in (("y", mean), ("y_low", low), ("y_high", high))}
    return Point(x=x, label=label, tally=tally, **ys)


def _height(share: float, height: float) -> float:
    return TOP + (height - TOP - BOTTOM) * (1 - min(max(share, 0.0), 1.0))


class _Scale(Struct, frozen=True, kw_only=True):
    """Bounds between bars: each whole number has a bar of its own where there are few, else bounds grow by a factor."""

    low: float
    high: float
    bars: int
    whole: bool

    def share(self, value: float) -> float:
        """Where a value stands, from 0 at the lowest bound to 1 at the highest."""
        if self.whole:
            return (value - self.low) / (self.high - self.low)
        return log(value / self.low) / log(self.high / self.low)

    def bound(self, at: int) -> float:
        """The lower bound of a bar."""
        if self.whole:
            return self.low + (self.high - self.low) * at / self.bars
        return self.low * exp(log(self.high / self.low) * at / self.bars)


def _scale(least: float, most: float) -> _Scale:
    if isinstance(least, int) and most - least < BARS:
        return _Scale(low=least - 0.5, high=most + 0.5, bars=int(most - least) + 1, whole=True)
    return _Scale(low=least, high=most, bars=BARS, whole=False)


def _histogram(title: str, unit: str, ordered: Sequence[float]) -> Histogram | None:
    positive = [value for value in ordered if value > 0]
    if not positive or positive[0] == positive[-1]:
        return None
    scale = _scale(positive[0], positive[-1])
    counts = Counter(min(scale.bars - 1, int(scale.share(value) * scale.bars)) for value in positive)
    empty = Histogram(title=title, unit=unit, bars=(), marks=(), least=positive[0], most=positive[-1])
    room, plane = empty.width - 20, empty.height - BOTTOM - TOP
    tallest = max(counts.values())
    bars = tuple(
        Bar(
            x=10 + room * at / scale.bars,
            width=room / scale.bars - 1,
            y=TOP + plane * (1 - n / tallest),
            height=plane * n / tallest,
            low=scale.bound(at),
            high=scale.bound(at + 1),
            n=n,
        )
        for at, n in sorted(counts.items())
    )
    named = (("median", quantile(positive, 0.5)), ("95 %", quantile(positive, 0.95)))
    marks = tuple((name, value, 10 + room * scale.share(value)) for name, value in named if value)
    return replace(empty, bars=bars, marks=marks)


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
        return f"{self.name} {', '.join(label for _, _, label in self.points)}"


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
        return _height(share, self.height)


def steps(maps: Sequence[tuple[str, HeatMap]], description: Description) -> list[Lines]:
    """A chart for each value of one crossed field, such as a length, over the steps of the other, such as a depth.

    `maps` are those of each run by its name. Fields without steps have no charts: a line between them means nothing.
    """
    ordered = {each.field for each in description.breakdowns if each.steps}
    charts: list[Lines] = []
    for down, across in dict.fromkeys((map.down, map.across) for _, map in maps):
        if not ordered & {down, across}:
            continue
        pairs = [(name, map) for name, map in maps if (map.down, map.across) == (down, across)]
        turned = [(name, map if down in ordered else _transposed(map)) for name, map in pairs]
        places = list(dict.fromkeys(label for _, map in turned for label, _ in map.rows))
        for panel in dict.fromkeys(value for _, map in turned for value in map.columns):
            values = {name: _column(map, panel, places) for name, map in turned}
            title = f"{turned[0][1].across.replace('_', ' ')} {panel}"
            charts.append(_chart(title, places, values, step=max(STEP, CHARACTER * max(map(len, places)) + 8)))
    return charts


def slopes(blind: Sequence[tuple[str, Sequence[Gap]]], before: str, after: str) -> list[Lines]:
    """Two dots and a line for each run, in each group: without images, and with them."""
    return [
        _with_ends(
            _chart(title, [before, after], {gap.label: [_described(gap.before), _described(gap.after)] for gap in gaps})
        )
        for title, gaps in blind
    ]


def _described(share: float | None) -> Share:
    return share, "-" if share is None else f"{100 * share:.1f} %"


def _transposed(map: HeatMap) -> HeatMap:
    rows = [(label, tuple(cells[at] for _, cells in map.rows)) for at, label in enumerate(map.columns)]
    return HeatMap(down=map.across, across=map.down, columns=tuple(label for label, _ in map.rows), rows=tuple(rows))


def _column(map: HeatMap, panel: str, places: Sequence[str]) -> list[Share]:
    """A run's values of one chart; None where it has no questions."""
    cells = {label: row[map.columns.index(panel)] for label, row in map.rows} if panel in map.columns else {}
    shares: list[Share] = []
    for place in places:
        cell = cells.get(place)
        share, words = _described(cell.share if cell else None)
        shares.append((share, f"{place} {words}, n {cell.n:,}" if cell else ""))
    return shares


def _chart(title: str, places: Sequence[str], values: Mapping[str, Sequence[Share]], step: float = 0.0) -> Lines:
    """The chart; without the width of a step that of a slope, which has room for numbers on both sides."""
    begins, width = (LEFT + step / 2, LEFT + RIGHT + step * len(places)) if step else (SIDE, SLOPE)
    chart = Lines(title=title, ticks=(), lines=(), width=width, is_slope=not step)
    xs = [begins + (step or SLOPE - 2 * SIDE) * at for at in range(len(places))]
    drawn = []
    for at, (name, shares) in enumerate(values.items()):
        there = [(x, share, words) for x, (share, words) in zip(xs, shares, strict=True) if share is not None]
        points = tuple((x, chart.level(share), words) for x, share, words in there)
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
        replace(line, ends=tuple((x, heights[line.name, x], words.removesuffix(" %")) for x, _, words in line.points))
        for line in chart.lines
    )
    return replace(chart, lines=tuple(lines))

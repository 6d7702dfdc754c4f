"""The coordinates of charts of one run or several, in pixels of each chart; templates draw them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import exp, log

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.html.asked import PairedGap
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
    """One step of a curve: the coordinates of its accuracy and interval, and its figures."""

    x: float
    y: float
    y_low: float
    y_high: float
    label: str
    tally: Tally


class Chart(Struct, frozen=True, kw_only=True):
    """A chart of accuracies, in SVG's units."""

    width: float
    height: float

    def level(self, share: float) -> float:
        """The y coordinate of an accuracy in [0, 1]."""
        return _height(share, self.height)


class Curve(Chart, frozen=True, kw_only=True):
    """Accuracy over the steps of a field; `width` and `height` are those of the chart."""

    title: str
    field: str
    points: tuple[Point, ...]

    @property
    def small(self) -> bool:
        """Whether it is one of many charts side by side."""
        return self.width < SMALL_BELOW

    @property
    def line(self) -> str:
        """The points of an SVG polyline."""
        return " ".join(f"{point.x:.1f},{point.y:.1f}" for point in self.points)

    @property
    def band(self) -> str:
        """The points of an SVG polygon over the intervals."""
        upper = [f"{point.x:.1f},{point.y_high:.1f}" for point in self.points]
        lower = [f"{point.x:.1f},{point.y_low:.1f}" for point in reversed(self.points)]
        return " ".join(upper + lower)


class Scatter(Chart, frozen=True, kw_only=True):
    """Accuracies against a cost from 0 to `most`; each dot has its cost and the y coordinate of its label."""

    unit: str
    dots: tuple[tuple[Point, float, float], ...]
    most: float
    width: float = 460.0
    height: float = 200.0


class Bar(Struct, frozen=True, kw_only=True):
    """One bar of a histogram: `n` values from `low` up to `high`."""

    x: float
    width: float
    y: float
    height: float
    low: float
    high: float
    n: int


class Histogram(Struct, frozen=True, kw_only=True):
    """A histogram of values from `least` to `most`; `marks` are named values and their x coordinates."""

    title: str
    unit: str
    bars: tuple[Bar, ...]
    marks: tuple[tuple[str, float, float], ...]
    least: float
    most: float
    width: float = 390.0
    height: float = 120.0


def curves(overview: Overview) -> list[Curve]:
    """A curve for each field with more than two steps, if their accuracies are known."""
    fields = [breakdown.field for breakdown in overview.description.breakdowns if breakdown.steps]
    tallies = {field: overview.summary.breakdowns.get(field, {}) for field in fields}
    charts = [_curve(overview, field.replace("_", " "), field, of, 460.0, 200.0) for field, of in tallies.items()]
    return [chart for chart in charts if len(chart.points) > 2]


def level_curves(overview: Overview) -> list[Curve]:
    """A curve for each corruption over its levels."""
    crossed = overview.summary.crossings.get(LEVELS, {})
    clean = crossed.get(CLEAN, {})
    return [
        _curve(overview, name.replace("_", " "), "level", clean | crossed[name], 220.0, 130.0)
        for name in in_order(crossed.keys() - {CLEAN})
    ]


def scatter(unit: str, costs: Sequence[tuple[str, float, Tally]]) -> Scatter:
    """A dot for each name, cost and accuracy."""
    chart = Scatter(unit=unit, dots=(), most=max(cost for _, cost, _ in costs))
    room = chart.width - LEFT - RIGHT
    points = [(_point(name, of, LEFT + room * cost / chart.most, chart.height), cost) for name, cost, of in costs]
    dots, above = list[tuple[Point, float, float]](), 0.0
    for point, cost in sorted(points, key=lambda pair: pair[0].y):
        above = max(point.y, above + LINE)
        dots.append((point, cost, above))
    return replace(chart, dots=tuple(dots))


def histograms(overview: Overview) -> list[Histogram]:
    """The histograms of latencies, and of reply tokens if the server reports them."""
    charts = [
        _histogram("Latency", "s", overview.latencies_s),
        _histogram("Tokens of a reply", "", overview.completion_tokens),
    ]
    return [histogram for histogram in charts if histogram is not None]


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


def _histogram(title: str, unit: str, ordered: Sequence[float]) -> Histogram | None:
    """The histogram of the positive values; None if they are all equal.

    With few whole numbers each has its own bar, else the bounds of bars grow by a factor.
    """
    positive = [value for value in ordered if value > 0]
    if not positive or positive[0] == positive[-1]:
        return None
    least, most, n_bars = positive[0], positive[-1], BARS
    scale: Callable[[float], float] = log
    unscaled: Callable[[float], float] = exp
    low, high = log(least), log(most)
    if isinstance(least, int) and most - least < BARS:
        scale = unscaled = float
        low, high, n_bars = least - 0.5, most + 0.5, int(most - least) + 1

    def position(value: float) -> float:
        """From 0 at the lowest bound to 1 at the highest."""
        return (scale(value) - low) / (high - low)

    def bound(at: int) -> float:
        return unscaled(low + (high - low) * at / n_bars)

    counts = Counter(min(n_bars - 1, int(position(value) * n_bars)) for value in positive)
    empty = Histogram(title=title, unit=unit, bars=(), marks=(), least=least, most=most)
    room, most_height = empty.width - 20, empty.height - BOTTOM - TOP
    tallest = max(counts.values())
    bars = tuple(
        Bar(
            x=10 + room * at / n_bars,
            width=room / n_bars - 1,
            y=TOP + most_height * (1 - n / tallest),
            height=most_height * n / tallest,
            low=bound(at),
            high=bound(at + 1),
            n=n,
        )
        for at, n in sorted(counts.items())
    )
    quantiles = (("median", quantile(positive, 0.5)), ("95 %", quantile(positive, 0.95)))
    marks = tuple((name, value, 10 + room * position(value)) for name, value in quantiles if value)
    return replace(empty, bars=bars, marks=marks)


STYLES = 8
"""How many styles of lines there are, by colour and dash; the next run has the first style again."""
HEIGHT, STEP, CHARACTER = 150.0, 46.0, 6.5
SLOPE, SIDE = 156.0, 40.0
VALUE = 12.0
"""The least distance between the numbers beside the ends of slopes."""
Share = tuple[float | None, str]
"""A value in [0, 1], and its text."""


class RunLine(Struct, frozen=True, kw_only=True):
    """One run: the coordinates and the text of each known value; `ends` are numbers with their coordinates."""

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
        """The line in words, for screen readers."""
        return f"{self.name} {', '.join(label for _, _, label in self.points)}"


class Lines(Chart, frozen=True, kw_only=True):
    """A chart with a line for each run over named steps."""

    title: str
    ticks: tuple[tuple[float, str], ...]
    lines: tuple[RunLine, ...]
    height: float = HEIGHT
    is_slope: bool = False


def steps(maps: Sequence[tuple[str, HeatMap]], description: Description) -> list[Lines]:
    """A chart for each value of one crossed field, such as a length, over the steps of the other, such as a depth.

    `maps` are pairs of a run's name and its map. Fields without steps have no chart: a line between values would have
    no meaning.
    """
    ordered = {breakdown.field for breakdown in description.breakdowns if breakdown.steps}
    charts: list[Lines] = []
    for down, across in dict.fromkeys((map.down, map.across) for _, map in maps):
        if not ordered & {down, across}:
            continue
        pairs = [(name, map) for name, map in maps if (map.down, map.across) == (down, across)]
        by_step = [(name, map if down in ordered else _transposed(map)) for name, map in pairs]
        places = list(dict.fromkeys(label for _, map in by_step for label, _ in map.rows))
        for panel in dict.fromkeys(value for _, map in by_step for value in map.columns):
            values = {name: _column(map, panel, places) for name, map in by_step}
            title = f"{by_step[0][1].across.replace('_', ' ')} {panel}"
            charts.append(_chart(title, places, values, step=max(STEP, CHARACTER * max(map(len, places)) + 8)))
    return charts


def slopes(blind: Sequence[tuple[str, Sequence[PairedGap]]], before: str, after: str) -> list[Lines]:
    """A chart for each group with two dots and a line for each run: its accuracies without images and with them."""
    return [
        _with_ends(
            _chart(title, [before, after], {gap.label: [_with_text(gap.before), _with_text(gap.after)] for gap in gaps})
        )
        for title, gaps in blind
    ]


def _with_text(share: float | None) -> Share:
    return share, "-" if share is None else f"{100 * share:.1f} %"


def _transposed(map: HeatMap) -> HeatMap:
    rows = [(label, tuple(cells[at] for _, cells in map.rows)) for at, label in enumerate(map.columns)]
    return HeatMap(down=map.across, across=map.down, columns=tuple(label for label, _ in map.rows), rows=tuple(rows))


def _column(map: HeatMap, panel: str, places: Sequence[str]) -> list[Share]:
    """A run's values in one chart; None if it has no questions there."""
    cells = {label: row[map.columns.index(panel)] for label, row in map.rows} if panel in map.columns else {}
    shares: list[Share] = []
    for place in places:
        cell = cells.get(place)
        share, words = _with_text(cell.share if cell else None)
        shares.append((share, f"{place} {words}, n {cell.n:,}" if cell else ""))
    return shares


def _chart(title: str, places: Sequence[str], values: Mapping[str, Sequence[Share]], step: float = 0.0) -> Lines:
    """A chart with steps of this width in pixels; with 0, a slope between two places, with numbers on both sides."""
    begins, width = (LEFT + step / 2, LEFT + RIGHT + step * len(places)) if step else (SIDE, SLOPE)
    chart = Lines(title=title, ticks=(), lines=(), width=width, is_slope=not step)
    xs = [begins + (step or SLOPE - 2 * SIDE) * at for at in range(len(places))]
    lines = []
    for at, (name, shares) in enumerate(values.items()):
        known = [(x, share, text) for x, (share, text) in zip(xs, shares, strict=True) if share is not None]
        points = tuple((x, chart.level(share), text) for x, share, text in known)
        lines.append(RunLine(name=name, style=at % STYLES, points=points))
    return replace(chart, ticks=tuple(zip(xs, places, strict=True)), lines=tuple(lines))


def _with_ends(chart: Lines) -> Lines:
    """The same chart with a number beside both ends of each line; numbers don't overlap."""
    heights: dict[tuple[str, float], float] = {}
    for x, _ in chart.ticks:
        points = sorted((y, line.name) for line in chart.lines for at, y, _ in line.points if at == x)
        last, most = -VALUE, chart.height - BOTTOM + VALUE / 2
        for y, name in points:
            heights[name, x] = last = max(y, last + VALUE)
        for _, name in reversed(points):
            heights[name, x] = min(heights[name, x], most)
            most = heights[name, x] - VALUE
    lines = (
        replace(line, ends=tuple((x, heights[line.name, x], words.removesuffix(" %")) for x, _, words in line.points))
        for line in chart.lines
    )
    return replace(chart, lines=tuple(lines))

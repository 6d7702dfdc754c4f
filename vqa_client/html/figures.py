"""The figures of a report, and of judges compared with the rule, as templates show them."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct

from vqa_client.aggregates import Estimate
from vqa_client.log_lines import Key
from vqa_client.reports.judged import Judges, Verdicts, agreement, coverage, kappas, name_of, read_judged, scored_by
from vqa_client.reports.logged_run import LoggedRun
from vqa_client.reports.overview import LEVELS, VARIANT, Overview, in_order
from vqa_client.reports.summary import Tally
from vqa_client.scoring.statistics import Interval, Mean
from vqa_client.types import ANSWERED, UNKNOWN, Status

MOST_ROWS = 40
HEAT_STEPS = 10
MEANINGS: Mapping[Status, str] = {
    "ok": "an answer was read",
    "unparsed": "the reply names no answer",
    "ambiguous": "the reply names several answers",
    "truncated": "the reply was cut before an answer",
    "refused": "the model would not answer",
    "empty": "the reply is empty",
    "bad_image": "an image can't be sent",
    "too_long": "too long for the model's context",
    "too_many_images": "more images than the server takes",
    "bad_response": "the server's reply can't be read",
    "rate_limited": "refused by the server's rate limit",
    "timeout": "no reply in time",
    "connection": "the connection failed",
    "server_error": "an error of the server",
    "rejected": "the server rejected the request",
}


class Figure(Struct, frozen=True, kw_only=True):
    """A share of `n` questions with its interval; `link` shows these questions."""

    label: str
    n: int
    share: float | None
    interval: Interval | None
    link: str = ""
    note: str = ""


class BreakdownFigures(Struct, frozen=True, kw_only=True):
    """The figures of a field's values; `left_out` is the number of values that are not shown."""

    field: str
    rows: tuple[Figure, ...]
    left_out: int


class HeatMap(Struct, frozen=True, kw_only=True):
    """Two crossed fields: a row for each value of `down`; a cell without questions is None."""

    down: str
    across: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Figure | None, ...]], ...]


def overall(overview: Overview) -> list[Figure]:
    """The leading total if one is declared, the accuracy over all questions, and that over the answered ones.

    The last is left out if all questions were answered.
    """
    tally = overview.summary.overall
    answered, over = tally.accuracy_answered, tally.interval_answered
    leading = overview.description.leading_total
    figure = overview.totals.get(leading, {}).get(overview.description.headline)
    some_failed = tally.answered != tally.total
    return [
        *([_total(overview, leading, leading, figure)] if figure else []),
        Figure(label="all questions", n=tally.total, share=tally.accuracy, interval=tally.interval),
        *([Figure(label="answered questions", n=tally.answered, share=answered, interval=over)] if some_failed else []),
    ]


def statuses(overview: Overview) -> list[Figure]:
    """How many questions have each status, without statuses that didn't occur."""
    total = overview.summary.overall.total
    return [
        Figure(
            label=status,
            n=n,
            share=n / total,
            interval=None,
            link=state_link(**only(overview), status=status),
            note=MEANINGS[status] + ("" if status in ANSWERED else "; counts as wrong"),
        )
        for status, n in overview.summary.status_counts.items()
        if n
    ]


def metrics(overview: Overview) -> list[tuple[Figure, Figure]]:
    """Each metric over all questions and over the answered ones, without counts (n_...), which are not shares."""
    parts = {name: part for name, part in overview.summary.parts.items() if not name.startswith("n_")}
    return [(of_mean(name, part.overall), of_mean(name, part.answered)) for name, part in parts.items()]


def totals(overview: Overview) -> list[tuple[str, str, list[Figure]]]:
    """Each total with its meaning and its figures, one for each metric."""
    meanings = overview.description.totals
    return [
        (name, meanings.get(name, ""), [_total(overview, name, metric, of) for metric, of in by_metric.items()])
        for name, by_metric in overview.totals.items()
    ]


def _total(overview: Overview, name: str, label: str, of: Estimate) -> Figure:
    """A total as a share; for a total in points, the label gives the points."""
    n, most = overview.summary.overall.total, overview.description.points.get(name, 1.0)
    interval = None
    if of.low is not None and of.high is not None:
        method = "delete-a-group jackknife"
        interval = Interval(low=of.low / most, high=of.high / most, method=method, n=n, clusters=of.pieces)
    if most > 1 and of.value is not None:
        label = f"{label}: {of.value:,.1f} of {most:,g} points"
    return Figure(label=label, n=n, share=None if of.value is None else of.value / most, interval=interval)


def breakdowns(overview: Overview) -> list[BreakdownFigures]:
    """The fields with several values; of very many values only the most frequent."""
    tallies = {field: overview.summary.breakdowns.get(field, {}) for field in overview.fields if field != VARIANT}
    return [_breakdown(overview, field, of) for field, of in tallies.items() if len(of) > 1]


def variants(overview: Overview) -> list[tuple[Figure, int]]:
    """Every variant, with the number of its questions without a reply."""
    return [
        (_figure({VARIANT: variant}, variant or "unchanged", tally), tally.failed)
        for variant, tally in overview.variants.items()
    ]


def only(overview: Overview) -> dict[str, str]:
    """The filter that limits the list of questions to the variant of the headline."""
    return {} if overview.run.headline is None else {f"by.{VARIANT}": overview.run.headline}


def constants(overview: Overview) -> dict[str, str]:
    """The fields with one known value, the same for all questions."""
    values_of = {field: list(overview.summary.breakdowns.get(field, {})) for field in overview.fields}
    return {field: values[0] for field, values in values_of.items() if len(values) == 1 and values != [UNKNOWN]}


def heat_maps(overview: Overview) -> list[HeatMap]:
    """The maps of crossed fields, both with several values, except corruption and level."""
    return _heat_maps(overview, [pair for pair in overview.summary.crossings if pair != LEVELS], only(overview))


def level_maps(overview: Overview) -> list[HeatMap]:
    """The map of all corruptions and levels, if a run has several of both."""
    return _heat_maps(overview, [pair for pair in overview.summary.crossings if pair == LEVELS], {})


def state_link(**state: str) -> str:
    """A link that filters the questions: by a status, or by the value of a field as `by.FIELD`."""
    return "#" + urlencode(state)


def heat(share: float | None) -> str:
    """The CSS class of a cell's colour."""
    return "heat-none" if share is None else f"heat-{round(min(max(share, 0.0), 1.0) * HEAT_STEPS)}"


def of_mean(label: str, mean: Mean, link: str = "") -> Figure:
    """The figure of a mean score or of a share of questions."""
    return Figure(label=label, n=mean.n, share=mean.value, interval=mean.interval, link=link)


def _breakdown(overview: Overview, field: str, tallies: Mapping[str, Tally]) -> BreakdownFigures:
    values = in_order(tallies, overview.description.order(field))
    if len(values) > MOST_ROWS:
        frequent = sorted(values, key=lambda value: -tallies[value].total)[:MOST_ROWS]
        values = [value for value in values if value in frequent]
    rows = tuple(_figure({field: value}, value, tallies[value], only(overview)) for value in values)
    return BreakdownFigures(field=field, rows=rows, left_out=len(tallies) - len(rows))


def _heat_maps(overview: Overview, pairs: Sequence[tuple[str, str]], within: Mapping[str, str]) -> list[HeatMap]:
    maps = [_heat_map(overview, *pair, within) for pair in pairs]
    return [heat_map for heat_map in maps if len(heat_map.columns) > 1 and len(heat_map.rows) > 1]


def _heat_map(overview: Overview, down: str, across: str, within: Mapping[str, str]) -> HeatMap:
    order, cells = overview.description.order, overview.summary.crossings[down, across]
    columns = in_order({value for row in cells.values() for value in row}, order(across))
    rows = []
    for outer in in_order(cells, order(down)):
        tallies = [(inner, cells[outer].get(inner)) for inner in columns]
        figures = [
            _figure({down: outer, across: inner}, f"{outer}, {inner}", tally, within) if tally else None
            for inner, tally in tallies
        ]
        rows.append((outer, tuple(figures)))
    return HeatMap(down=down, across=across, columns=tuple(columns), rows=tuple(rows))


def _figure(place: Mapping[str, str], label: str, tally: Tally, within: Mapping[str, str] = {}) -> Figure:
    link = state_link(**within, **{f"by.{field}": value for field, value in place.items()})
    return Figure(label=label, n=tally.total, share=tally.accuracy, interval=tally.interval, link=link)


SIDES = ("raised", "lowered")


class Judging(Struct, frozen=True, kw_only=True):
    """One judge compared with the rule; `cells` has each cell of the table with the link to its questions, or "".

    `forms` has the figures of each form by the judge, then by the rule, if a run asks its questions in several forms.
    """

    title: str
    of: Verdicts
    figures: tuple[Figure, ...]
    cells: tuple[tuple[str, tuple[tuple[int, str], ...]], ...]
    lines: tuple[str, ...]
    forms: tuple[tuple[Figure, ...], tuple[Figure, ...]]


def judgings(run: LoggedRun) -> tuple[list[Judging], list[str]]:
    """Every judge of a run, and notes on all of them."""
    judged, unreadable = read_judged(run.log)
    per_judge = [_judging(judges, of) for judges in judged for of in judges.verdicts]
    now = scored_by(run.facts.scoring, run.facts.described)
    notes = [
        f"{kind}: the rule's scores are from before the run was scored again; judge --kind {kind} has today's"
        for kind in (judges.kind for judges in judged if judges.scored and judges.scored != now)
    ]
    notes += [note for judges in judged for note in judges.notes]
    notes += [line for judges in judged for line in kappas(judges.pairs, judges.fleiss, "all judges")]
    return per_judge, [*notes, *(f"{name} can't be read: ask the judge again" for name in unreadable)]


def rows_of_judges(run: LoggedRun, keys: Sequence[Key]) -> list[dict[str, Any]]:
    """For every judge, the numbers of the rows that only the judge, or only the rule, calls right."""
    numbers = {key: number for number, key in enumerate(keys)}
    return [
        {"name": _title(result, of)}
        | {side: [numbers[key] for key in getattr(of, side) if key in numbers] for side in SIDES}
        for result in read_judged(run.log)[0]
        for of in result.verdicts
    ]


def _title(result: Judges, of: Verdicts) -> str:
    return f"{result.kind} by {of.judge.name}"


def _judging(result: Judges, of: Verdicts) -> Judging:
    right, wrong = of.table
    raised, lowered = (state_link(judge=f"{_title(result, of)}/{side}") for side in SIDES)
    return Judging(
        title=f"{result.kind} by {name_of(of)}",
        of=of,
        figures=(
            Figure(label="by the judge", n=of.judged, share=of.accuracy, interval=of.interval),
            Figure(label=f"by the rule ({result.headline})", n=of.judged, share=of.rule, interval=of.rule_interval),
        ),
        cells=(
            ("rule right", ((right[0], ""), (right[1], lowered))),
            ("rule wrong", ((wrong[0], raised), (wrong[1], ""))),
        ),
        lines=(*coverage(of), *(agreement(of) if of.judged else ())),
        forms=(
            tuple(of_mean(form.name, form.judge) for form in of.forms),
            tuple(of_mean(form.name, form.rule) for form in of.forms),
        ),
    )

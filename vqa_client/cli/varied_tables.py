"""Runs that ask every question in several forms, in a terminal."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from vqa_client.cli.tables import breakdown_fields, interval_text, new_console, new_table, printed, remarks
from vqa_client.cli.text import count, safe
from vqa_client.reports.blind import BlindSummary
from vqa_client.reports.choice_order import CircularSummary, ShuffledSummary
from vqa_client.reports.names import percent
from vqa_client.reports.page_forms import PagesSummary
from vqa_client.reports.repeats import RepeatSummary
from vqa_client.reports.report import Report
from vqa_client.reports.varied import tallies
from vqa_client.scoring.averages import Mean
from vqa_client.scoring.blindness import Pairing
from vqa_client.scoring.choices.position_bias import PositionBias

Body = Callable[[Report], Iterator[Any]]
"""Gives the lines and tables of one report."""


def as_varied_tables(reports: Sequence[Report], body: Body) -> str:
    """The text for a terminal: each report under its title, with what a reader should know and where it lies."""
    console = new_console()
    for report in reports:
        title = " · ".join(part for part in (report.task, report.variant, report.model) if part)
        console.print(safe(title) + (" (incomplete)" if report.incomplete else ""), style="bold", soft_wrap=True)
        for part in body(report):
            console.print(part, **({"soft_wrap": True} if isinstance(part, str) else {}))
        for line in remarks(report):
            console.print(line, soft_wrap=True)
        console.print(f"{safe(report.variant or report.model)}: {safe(str(report.path))}", soft_wrap=True)
    return printed(console)


def of_repeats(report: Report) -> Iterator[Any]:
    """What repeats say together, then each by itself."""
    summary = cast(RepeatSummary, report.summary)
    found = summary.figures
    yield (
        f"{count(found.questions, 'question')} asked {found.repeats} times each; in %, a failed one counts as wrong; "
        "right is a full score"
    )
    together = {f"pass@{k}": of for k, of in found.pass_at.items()} | {
        "majority": found.majority,
        "right in some repeats only": found.turning,
    }
    if found.changing:
        together["several answers"] = found.changing
    yield _averages("together", together)
    yield by_form("repeat", report)
    if summary.temperature == 0:
        yield "asked at temperature 0: what differs is the server's own doing"
    if found.unfinished:
        yield f"{count(found.unfinished, 'question')} without all repeats yet, left out above"


def of_blind(report: Report) -> Iterator[Any]:
    """Both accuracies and what images add, over all and by every group that the terminal shows."""
    found = cast(BlindSummary, report.summary).figures
    yield (
        f"{count(found.overall.questions, 'question')} with their images and without; in %, a failed one counts as "
        "wrong; the difference is paired, in points"
    )
    table = new_table("questions", "n", "with images", "without", "difference", "95 % interval")
    table.add_row("all", *_pairing(found.overall))
    for field in breakdown_fields(report):
        values = found.groups.get(field, {})
        for value, of in values.items() if len(values) > 1 else ():
            table.add_row(f"{field.replace('_', ' ')} {safe(value)}", *_pairing(of))
    yield table
    yield f"of the questions right with images, also right without: {percent(found.kept.value)} % of {found.kept.n:,}"
    if found.same:
        yield f"same answer with and without images: {percent(found.same.value)} % of {found.same.n:,}"
    if found.chance is not None:
        yield f"guessing among the choices is right in {percent(found.chance)} %"
    if found.unfinished:
        yield f"{count(found.unfinished, 'question')} only asked one way so far, not shown above"


def _pairing(of: Pairing) -> tuple[str, ...]:
    gain = of.gain
    points = (f"{100 * gain.value:+.1f}", f"{100 * gain.low:+.1f} to {100 * gain.high:+.1f}") if gain else ("-", "-")
    return f"{of.questions:,}", percent(of.seen.value), percent(of.blind.value), *points


def of_circular(report: Report) -> Iterator[Any]:
    """What all rotations say together, each by itself, and the places of the choices."""
    found = cast(CircularSummary, report.summary).figures
    yield (
        f"{count(found.questions, 'question')} in {found.rotations} rotations of their choices; in %, a failed one "
        "counts as wrong"
    )
    yield _averages(
        "together",
        {
            "right in all rotations": found.circular,
            "mean of all rotations": found.mean,
            "right in one at least": found.once,
            "majority of texts": found.majority,
            "always the same text": found.same_text,
            "always the same letter": found.same_letter,
        },
    )
    yield by_form("rotation", report)
    yield from _positions(found.bias)
    if found.unfinished:
        yield f"{count(found.unfinished, 'question')} without all rotations yet, left out of the first table"


def of_shuffled(report: Report) -> Iterator[Any]:
    """The accuracy, and the places of the choices."""
    overall = report.summary.overall
    yield (
        f"with shuffled choices: accuracy {percent(overall.accuracy)} % ({interval_text(overall.interval)}) of "
        f"{count(overall.total, 'question')}; a failed one counts as wrong"
    )
    yield from _positions(cast(ShuffledSummary, report.summary).figures)


def _positions(bias: PositionBias) -> Iterator[Any]:
    table = new_table("place", "right here", "found", "95 % interval", "of all right", "of all chosen")
    for label, of in bias.positions.items():
        table.add_row(
            safe(label),
            f"{of.right:,}",
            percent(of.recall.value),
            interval_text(of.recall.interval),
            percent(of.right_share),
            percent(of.chosen_share),
        )
    yield "position bias: how often the right answer is found in each place, and how often the place is chosen"
    yield table
    if bias.deviation is not None:
        yield f"standard deviation of what is found: {percent(bias.deviation)} points (0: no place is preferred)"


def by_form(title: str, report: Report) -> Any:
    """One row a form of the questions: its accuracy and what was answered."""
    table = new_table(title, "questions", "accuracy", "95 % interval", "answered")
    for variant, tally in tallies(report.summary).items():
        table.add_row(
            safe(variant),
            f"{tally.total:,}",
            percent(tally.accuracy),
            interval_text(tally.interval),
            f"{tally.answered:,}",
        )
    return table


def _averages(title: str, rows: Mapping[str, Mean]) -> Any:
    table = new_table(title, "%", "95 % interval")
    for name, of in rows.items():
        table.add_row(name, percent(of.value), interval_text(of.interval))
    return table


def of_pages(report: Report) -> Iterator[Any]:
    """Each form of the pages, and how neighbouring forms differ."""
    found = cast(PagesSummary, report.summary).figures
    yield by_form("pages", report)
    for name, of in found.items():
        p = f"p {of.p:.3f}" if of.p >= 0.001 else "p < 0.001"
        yield f"{name}: {100 * of.value:+.1f} points ({100 * of.low:+.1f} to {100 * of.high:+.1f}), {p}"


BODIES: dict[str, Body] = {
    "--pages": of_pages,
    "--repeat": of_repeats,
    "--blind": of_blind,
    "--shuffle_choices": of_shuffled,
    "--circular": of_circular,
}
"""How a report is shown, by the option that its run was given."""

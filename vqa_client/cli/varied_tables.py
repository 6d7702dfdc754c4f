"""Reports that are read one by one: of runs that ask every question in several forms, or about corrupted images."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from vqa_client.cli.robustness_tables import of_robustness
from vqa_client.reports.names import count, interval_text, percent
from vqa_client.reports.page_forms import CircularSummary, PagesSummary, ShuffledSummary
from vqa_client.reports.report import Report
from vqa_client.reports.robustness.report import RobustnessSummary
from vqa_client.reports.sections import Section, bounds, difference_text, p_text, points
from vqa_client.reports.summary import Summary
from vqa_client.reports.varied import BlindSummary, RepeatSummary, tallies
from vqa_client.scoring.choices.circular import PositionBias
from vqa_client.scoring.repeats import Pairing
from vqa_client.scoring.statistics import Mean


def of_repeats(report: Report, summary: RepeatSummary) -> Iterator[Section]:
    """What repeats say together, then each by itself."""
    found = summary.figures
    asked = f"{count(found.questions, 'question')} asked {found.repeats} times each; in %"
    yield Section(notes=[f"{asked}; a question is right at a full score, and wrong without a reply"])
    yield _averages("together", found.named)
    yield _by_form("repeat", report)
    same = ["the temperature was 0: what differs comes from the server itself"] if summary.temperature == 0 else []
    yield Section(notes=[*same, *_left(found.unfinished, "without all repeats yet, left out above")])


def of_blind(report: Report, summary: BlindSummary) -> Iterator[Section]:
    """Both accuracies and what images add, over all and by every group that the terminal shows."""
    found = summary.figures
    asked = f"{count(found.overall.questions, 'question')} with their images and without; in %"
    yield Section(notes=[f"{asked}, questions without a reply count as wrong; the difference is paired, in points"])
    rows = [["all", *_pairing(found.overall)]]
    for each in report.description.breakdowns:
        values = found.groups.get(each.field, {})
        named = each.field.replace("_", " ")
        rows += [[f"{named} {value}", *_pairing(of)] for value, of in values.items() if len(values) > 1]
    notes = [
        f"of the questions right with images, also right without: {percent(found.kept.value)} % of {found.kept.n:,}"
    ]
    if found.same:
        notes.append(f"same answer with and without images: {percent(found.same.value)} % of {found.same.n:,}")
    if found.chance is not None:
        notes.append(f"guessing would be right in {percent(found.chance)} %")
    notes += _left(found.unfinished, "only asked one way so far, not shown above")
    columns = ["questions", "n", "with images", "without", "difference", "95 % interval"]
    yield Section(columns=columns, rows=rows, notes=notes)


def _pairing(of: Pairing) -> list[str]:
    gain = [points(of.gain.value), bounds(of.gain)] if of.gain else ["-", "-"]
    return [f"{of.questions:,}", percent(of.seen.value), percent(of.blind.value), *gain]


def of_circular(report: Report, summary: CircularSummary) -> Iterator[Section]:
    """What all rotations say together, each by itself, and the places of the choices."""
    found = summary.figures
    asked = f"{count(found.questions, 'question')} in {found.rotations} rotations of their choices"
    yield Section(notes=[f"{asked}; in %; questions without a reply count as wrong"])
    yield _averages("together", found.named)
    yield _by_form("rotation", report)
    yield from _positions(found.bias)
    yield Section(notes=_left(found.unfinished, "without all rotations yet, left out of the first table"))


def of_shuffled(report: Report, summary: ShuffledSummary) -> Iterator[Section]:
    """The accuracy, and the places of the choices."""
    overall = summary.overall
    shuffled = f"with shuffled choices: accuracy {percent(overall.accuracy)} % ({interval_text(overall.interval)})"
    yield Section(notes=[f"{shuffled} of {count(overall.total, 'question')}; questions without a reply count as wrong"])
    yield from _positions(summary.figures)


def of_pages(report: Report, summary: PagesSummary) -> Iterator[Section]:
    """Each form of the pages, and how neighbouring forms differ."""
    yield _by_form("pages", report)
    said = [f"{name}: {difference_text(of)} points, {p_text(of.p)}" for name, of in summary.figures.items()]
    yield Section(notes=said)


def _positions(bias: PositionBias) -> Iterator[Section]:
    yield Section(
        notes=["position bias: how often the right answer is found in each place, and how often the place is chosen"]
    )
    rows = [
        [
            label,
            f"{of.right:,}",
            percent(of.recall.value),
            interval_text(of.recall.interval),
            percent(of.right_share),
            percent(of.chosen_share),
        ]
        for label, of in bias.positions.items()
    ]
    spread = f"standard deviation of what is found: {percent(bias.deviation)} points (0: no place is preferred)"
    columns = ["place", "right here", "found", "95 % interval", "of all right", "of all chosen"]
    yield Section(columns=columns, rows=rows, notes=[spread] if bias.deviation is not None else [])


def _left(unfinished: int, how: str) -> list[str]:
    return [f"{count(unfinished, 'question')} {how}"] if unfinished else []


def _by_form(title: str, report: Report) -> Section:
    """One row a form of the questions: its accuracy and what was answered."""
    rows = [
        [form, f"{of.total:,}", percent(of.accuracy), interval_text(of.interval), f"{of.answered:,}"]
        for form, of in tallies(report.summary).items()
    ]
    return Section(columns=[title, "questions", "accuracy", "95 % interval", "answered"], rows=rows)


def _averages(title: str, named: Mapping[str, Mean]) -> Section:
    rows = [[name, percent(of.value), interval_text(of.interval)] for name, of in named.items()]
    return Section(columns=[title, "%", "95 % interval"], rows=rows)


BODIES: dict[type[Summary], Callable[[Report, Any], Iterator[Section]]] = {
    BlindSummary: of_blind,
    CircularSummary: of_circular,
    PagesSummary: of_pages,
    RepeatSummary: of_repeats,
    RobustnessSummary: of_robustness,
    ShuffledSummary: of_shuffled,
}
"""How a report is shown, by its summary's kind."""

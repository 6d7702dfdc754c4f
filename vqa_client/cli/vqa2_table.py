"""The tables of vqa2: the published one, what kind of question a model can answer, and the models side by side."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from vqa_client.cli.score_tables import gap_text
from vqa_client.cli.tables import interval_text, new_console, new_table, printed, remarks
from vqa_client.cli.text import count, safe
from vqa_client.reports.names import cut, percent
from vqa_client.reports.report import Report
from vqa_client.scoring.vqa_accuracy import LONG_WORDS
from vqa_client.tasks.vqa2.benchmark import TEN_ANSWERS
from vqa_client.tasks.vqa2.figures import KindFigures, Vqa2Summary
from vqa_client.tasks.vqa2.report import submission_path

FRAMEWORK = "VQA accuracy (framework)"
"""The published framework's partial credit; VQA's own score has the same name."""
ANSWER_CHARACTERS = 48
COLUMN_GAP = 3
OFFICIAL_TYPES = 10
"""How many official question types a table shows, the most frequent; the report has all."""


def as_vqa2_tables(reports: Sequence[Report], *, verbose: bool = False) -> str:
    """The text for a terminal of reports whose summaries are of vqa2; `verbose` adds the single questions."""
    console = new_console()
    ranked = sorted(reports, key=lambda report: -(_summary(report).vqa_accuracy or 0.0))
    summaries = [_summary(report) for report in ranked]
    console.print(f"vqa2 · {summaries[0].overall.total:,} questions", style="bold")
    console.print(f"accuracy and {FRAMEWORK} in %: the published framework's scores, against the most frequent answer")
    console.print("questions without a reply count as wrong")
    console.print(_published(summaries))
    console.print("in % of the questions of a kind, by the published accuracy")
    for table in _by_kind(summaries):
        console.print(table)
    if any(len(summary.breakdowns.get("question_type", {})) > 1 for summary in summaries if summary.scored):
        console.print(f"by official question type, {TEN_ANSWERS} in %")
        for table in _by_official_type(summaries):
            console.print(table)
    console.print(f"{TEN_ANSWERS} in %, with its 95 % interval: against all answers of a question; times in s")
    console.print(_compared(summaries))
    for summary in summaries:
        for line in _why(summary):
            console.print(f"{safe(summary.name)}: {line}")
    if verbose:
        for line in _questions(summaries):
            console.print(line, soft_wrap=True)
    for report in ranked:
        for line in remarks(replace(report, variant=_summary(report).name)):
            console.print(line, soft_wrap=True)
    for report in ranked:
        for path in _written(report):
            console.print(f"{safe(_summary(report).name)}: {safe(str(path))}", soft_wrap=True)
    return printed(console)


def _summary(report: Report) -> Vqa2Summary:
    return cast(Vqa2Summary, report.summary)


def _written(report: Report) -> list[Path]:
    """The report, and the file to hand in where nobody knows the answers."""
    return [report.path] if _summary(report).scored else [report.path, submission_path(report.path)]


def _published(summaries: Sequence[Vqa2Summary]) -> Any:
    table = new_table("model", "correct", "accuracy", _two_lines(FRAMEWORK), "average time", "assessment")
    for summary in summaries:
        table.add_row(
            safe(summary.name),
            "-" if summary.correct is None else f"{summary.correct:,}/{summary.overall.total:,}",
            percent(summary.simple_accuracy),
            percent(summary.vqa_accuracy),
            _seconds(summary.times.mean, " s"),
            summary.assessment,
        )
    return table


def _by_kind(summaries: Sequence[Vqa2Summary]) -> list[Any]:
    kinds = dict.fromkeys(kind for summary in summaries for kind in summary.kinds)
    return _crossed("kind", summaries, list(kinds), lambda summary, kind: _share(summary, summary.kinds.get(kind)))


def _by_official_type(summaries: Sequence[Vqa2Summary]) -> list[Any]:
    totals: dict[str, int] = {}
    for summary in summaries:
        for name, tally in summary.breakdowns.get("question_type", {}).items():
            totals[name] = max(totals.get(name, 0), tally.total)
    frequent = sorted(totals, key=lambda name: (-totals[name], name))[:OFFICIAL_TYPES]

    def cell(summary: Vqa2Summary, name: str) -> str:
        tally = summary.breakdowns.get("question_type", {}).get(name)
        return f"{percent(tally.accuracy)} ({tally.total:,})" if tally else "-"

    return _crossed("question type", summaries, frequent, cell)


def _crossed(
    title: str, summaries: Sequence[Vqa2Summary], rows: Sequence[str], cell: Callable[[Vqa2Summary, str], str]
) -> list[Any]:
    """One table with a column a model, or several where the models need more room."""
    tables = []
    for across in _fitting(summaries, new_console().width - max(map(len, (title, *rows)), default=0)):
        tables.append(new_table(title, *(safe(summary.name) for summary in across)))
        for row in rows:
            tables[-1].add_row(safe(row), *(cell(summary, row) for summary in across))
    return tables


def _fitting(summaries: Sequence[Vqa2Summary], room: int) -> Iterator[list[Vqa2Summary]]:
    """The models in groups, each of which fits into so many columns of text."""
    across: list[Vqa2Summary] = []
    taken = 0
    for summary in summaries:
        widest = f"100.0 ({summary.overall.total:,}/{summary.overall.total:,})"
        wanted = max(len(summary.name), len(widest)) + COLUMN_GAP
        if across and taken + wanted > room:
            yield across
            across, taken = [], 0
        across.append(summary)
        taken += wanted
    yield across


def _share(summary: Vqa2Summary, kind: KindFigures | None) -> str:
    if kind is None or not kind.total:
        return "-"
    if not summary.scored:
        return f"- ({kind.total:,})"
    return f"{percent(kind.accuracy)} ({kind.correct:,}/{kind.total:,})"


def _compared(summaries: Sequence[Vqa2Summary]) -> Any:
    score = _two_lines(TEN_ANSWERS)
    table = new_table("model", score, "interval", "official", "whole words", "replied", "median", "p95")
    for summary in summaries:
        overall = summary.overall
        table.add_row(
            safe(summary.name),
            percent(overall.accuracy),
            interval_text(overall.interval),
            _part(summary, "official"),
            _part(summary, "simple_whole_word"),
            percent(summary.success_rate),
            _seconds(summary.times.median),
            _seconds(summary.times.p95),
        )
    return table


def _why(summary: Vqa2Summary) -> Iterator[str]:
    """What the official score takes amiss that a person would not."""
    if summary.gap:
        yield gap_text(summary.gap)
    if summary.sentences:
        yield (
            f"{count(summary.sentences, 'answer')} of more than {LONG_WORDS} words, where VQA accuracy wants a "
            "short answer: a config's prompt_template can ask for one"
        )


def _two_lines(score: str) -> str:
    """A column as narrow as its name allows: the tables have to fit into a terminal."""
    return score.replace(" (", "\n(")


def _part(summary: Vqa2Summary, name: str) -> str:
    part = summary.parts.get(name)
    return percent(part.overall.value if part and summary.scored else None)


def _seconds(value: float | None, unit: str = "") -> str:
    return "-" if value is None else f"{value:.2f}{unit}"


def _questions(summaries: Sequence[Vqa2Summary]) -> list[str]:
    """Each question with its kind and answer, and what each model says to it."""
    lines: list[str] = []
    said = [{shown.id: shown for shown in summary.shown} for summary in summaries]
    asked = {name: shown for of_model in said for name, shown in of_model.items()}
    for name, shown in asked.items():
        gold = "" if shown.gold is None else f" · {shown.gold}"
        lines.append(safe(f"{name} · {shown.kind} · {shown.question}{gold}"))
        lines += [
            f"    {_MARKS[reply.correct]} {safe(summary.name)}: {safe(cut(reply.answer, ANSWER_CHARACTERS))}"
            for summary, of_model in zip(summaries, said, strict=True)
            if (reply := of_model.get(name))
        ]
    return lines


_MARKS = {True: "right", False: "wrong", None: "-"}

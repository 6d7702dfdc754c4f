"""Reports as text for a terminal, and as JSON for machines."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vqa_client.aggregates import Estimate, Totals
from vqa_client.cli.tables import as_text
from vqa_client.reports.names import count, cut, figure_text, interval_text, percent
from vqa_client.reports.overview import crossing_tables, in_order, tally_text
from vqa_client.reports.report import Report
from vqa_client.reports.sections import Section
from vqa_client.reports.summary import gap_words
from vqa_client.tasks.report import DeclaredSummary
from vqa_client.types import FAILED, Status

if TYPE_CHECKING:
    from vqa_client.tasks.vqa2.figures import Vqa2Summary

EXAMPLE_CHARACTERS = 200
MASS_LOW = 0.5
"""If letters have less of the first token's probability on average, the model tends to begin with prose."""


def json_rows(reports: Sequence[Report]) -> list[dict[str, Any]]:
    """The reports for --json, accuracies in [0, 1]."""
    return [
        {
            "task": report.task,
            "variant": report.folder,
            "model": report.model,
            "report": str(report.path),
            "incomplete": report.incomplete,
            "expected": report.expected,
            "left_out": {reason: len(ids) for reason, ids in report.left_out.items()},
            **({"sample": report.sample} if report.sample else {}),
            **({"figures": report.summary.figures} if hasattr(report.summary, "figures") else {}),  # of several forms
            "overall": report.summary.overall,
            "scores": report.summary.parts,
            "status_counts": {status: n for status, n in report.summary.status_counts.items() if n},
            **report.summary.added(),
        }
        for report in reports
    ]


def as_tables(reports: Sequence[Report], *, verbose: bool = False) -> str:
    """The text for a terminal; `verbose` adds the single questions of vqa2."""
    kinds: dict[object, list[Report]] = {}
    for report in reports:
        kinds.setdefault((report.task, type(report.summary)), []).append(report)
    return "".join(as_text(_sections(of_kind, verbose=verbose)) for of_kind in kinds.values())


def _sections(reports: list[Report], *, verbose: bool) -> Iterator[Section]:
    """The sections of reports of one benchmark and one kind: in one table, or one by one if they are shown alone."""
    if reports[0].summary.shown_alone:
        yield from _sections_alone(reports)
        return
    reports.sort(key=lambda report: -(getattr(report.summary, "vqa_accuracy", None) or 0.0))
    if summaries := _of_vqa2(reports):
        from vqa_client.cli.vqa2_table import vqa2

        yield from vqa2(summaries, verbose=verbose)
    else:
        yield from _sections_together(reports)
    yield _closing(reports)
    for report in reports:
        if (judged := getattr(report.summary, "explanations", None)) is not None:
            from vqa_client.cli.score_tables import explanations  # only explain's own runs need it

            yield from explanations(report, judged)


def _sections_alone(reports: Sequence[Report]) -> Iterator[Section]:
    from vqa_client.cli.varied_tables import BODIES  # most runs ask in one form and corrupt no image

    for report in reports:
        title = " · ".join(filter(None, (report.task, report.folder, report.model)))
        yield Section(title=title + (" (incomplete)" if report.incomplete else ""))
        yield from BODIES[type(getattr(report.summary, "figures", report.summary))](report, report.summary)
        yield _closing([report], report.folder or report.model)


def _closing(reports: Sequence[Report], name: str = "") -> Section:
    """Remarks on the numbers, then the paths of the files."""
    names = [getattr(report.summary, "name", "") or name or report.folder or report.task for report in reports]
    notes = [f"{name}: {remark}" for name, report in zip(names, reports, strict=True) for remark in _remarks(report)]
    files = [f"{name}: {path}" for name, report in zip(names, reports, strict=True) for path in _files(report)]
    return Section(notes=[*notes, *files])


def _files(report: Report) -> list[Path]:
    """The report if the run has an answer, and the submission if the answers aren't public."""
    files = [report.path] if report.path.exists() else []
    if any(not summary.scored for summary in _of_vqa2([report])):
        from vqa_client.tasks.vqa2.report import submission_path

        return [*files, submission_path(report.path)]
    return files


def _of_vqa2(reports: Sequence[Report]) -> "list[Vqa2Summary]":
    """The summaries of vqa2's runs; other runs don't import its modules."""
    if reports[0].task != "vqa2":
        return []
    from vqa_client.tasks.vqa2.figures import Vqa2Summary

    return [report.summary for report in reports if isinstance(report.summary, Vqa2Summary)]


def _sections_together(reports: Sequence[Report]) -> Iterator[Section]:
    """One table over all reports, one for each breakdown with more than one group, and those of crossed fields."""
    first = reports[0]
    interval_methods = dict.fromkeys(
        interval.method for r in reports if (interval := r.summary.overall.interval) is not None
    )
    methods = f"; intervals: {', '.join(interval_methods)}" if interval_methods else ""
    what = f"{in_per_cent(first.description.measure)}; questions without a reply count as wrong{methods}"
    yield Section(title=f"{first.task} · {first.model}", notes=[what])
    yield _overview(reports)
    for report in reports:
        if totals := _totals_of(report):
            yield _totals(report, totals)
    for breakdown in first.description.breakdowns:
        if any(len(r.summary.breakdowns.get(breakdown.field, {})) > 1 for r in reports if r.summary.overall.answered):
            yield _breakdown(reports, breakdown.field, first.description.order(breakdown.field))
    for report in reports:
        if report.summary.overall.answered:
            yield from crossing_tables(
                report.summary, report.description.order, (report.folder or report.task) if reports[1:] else ""
            )


def in_per_cent(measure: str) -> str:
    """The measure of a table's figures, with its unit."""
    return measure.replace("accuracy", "accuracy in %", 1) if measure.startswith("accuracy") else f"{measure} in %"


def _overview(reports: Sequence[Report]) -> Section:
    metrics = list(dict.fromkeys(name for r in reports for name in r.summary.parts if not name.startswith("n_")))
    others = [name for name in metrics if name != reports[0].headline]
    leading = reports[0].description.leading_total
    some_failed = ["answered"] if any(report.failed for report in reports) else []
    rows = []
    for report in reports:
        overall, parts = report.summary.overall, report.summary.parts
        figure = _totals_of(report).get(leading, {}).get(report.headline)
        known = parts if overall.answered else {}
        rows.append(
            [
                (report.folder or report.task) + (" (incomplete)" if report.incomplete else ""),
                f"{overall.total:,}",
                *([_figure(report, leading, figure)] if leading else []),
                percent(overall.accuracy),
                interval_text(overall.interval),
                *(percent(known[name].overall.value if name in known else None) for name in others),
                *(f"{percent(overall.accuracy_answered)} ({overall.answered:,})" for _ in some_failed),
            ]
        )
    total = [leading.replace("_", " ")] if leading else []
    columns = ["folder", "questions", *total, "accuracy", "95 % interval", *others, *some_failed]
    return Section(columns=columns, rows=rows)


def _totals_of(report: Report) -> Totals:
    return report.summary.totals if isinstance(report.summary, DeclaredSummary) else {}


def _totals(report: Report, totals: Totals) -> Section:
    """The totals as rows, the metrics as columns."""
    metrics = list(dict.fromkeys(metric for figures in totals.values() for metric in figures))
    rows = [
        [name.replace("_", " "), *(_figure(report, name, figures.get(metric)) for metric in metrics)]
        for name, figures in totals.items()
    ]
    return Section(columns=[f"totals {report.folder}".rstrip(), *metrics], rows=rows)


def _figure(report: Report, total: str, figure: Estimate | None) -> str:
    """A total in per cent, or in points if its benchmark gives points."""
    return figure_text(figure, 1.0 if total in report.description.points else 100.0)


def _breakdown(reports: Sequence[Report], field: str, order: Sequence[str]) -> Section:
    tallies = [report.summary.breakdowns.get(field, {}) for report in reports]
    values = in_order({value for of in tallies for value in of}, order)
    rows = [[value, *(tally_text(of.get(value)) for of in tallies)] for value in values]
    folders = (report.folder or report.task for report in reports)
    return Section(columns=[f"by {field.replace('_', ' ')}", *folders], rows=rows)


def _remarks(report: Report) -> Iterator[str]:
    """Lines on questions that are neither right nor wrong, on those that were left out, and on how to read scores."""
    summary = report.summary
    for status, number in summary.status_counts.items():
        if number and status != "ok":
            words = status.replace("_", " ")
            words = f"failed ({words})" if status in FAILED else words
            way_out = " (raise --max_tokens)" if status == "truncated" else ""
            yield f"{count(number, 'question')} {words}{_example(report, status, number)}{way_out}"
    for reason, ids in report.left_out.items():
        yield f"{len(ids):,} left out, {reason.replace('_', ' ')}"
    if gap := gap_words(summary.parts, report.description.headline):
        yield gap
    if (mass := summary.parts.get("mass")) and (mean := mass.answered.value) is not None and mean < MASS_LOW:
        share = f"only {percent(mean)} % of the first token's probability falls on letters"
        yield f"{share}; the prompt should ask for only the letter"
    if report.cut_documents:
        yield f"{count(report.cut_documents, 'document')} shown in part (--max_pages)"
    if report.limit is not None:
        yield f"limited to the first {report.limit:,} of the data file (--limit)"
    if (drawn := report.sample) is not None:
        by = f" by {', '.join(drawn.by)}" if drawn.by else ""
        yield f"{drawn.size:,} of {drawn.of:,} questions, drawn{by} with seed {drawn.seed} (--sample)"
    if report.incomplete:
        yield f"{count(report.expected - summary.overall.total, 'question')} not yet answered"


def _example(report: Report, status: Status, number: int) -> str:
    """The first failure with this status, in words."""
    failure = report.failures.get(status)
    if failure is None:
        return ""
    message = cut(failure.message, EXAMPLE_CHARACTERS)
    return f"{': ' if number == 1 else ', e.g. '}{message}" + (f" ({failure.hint})" if failure.hint else "")

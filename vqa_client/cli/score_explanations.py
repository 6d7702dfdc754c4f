"""The score-explanations command: explanations in a file against those of people, without a server."""

from vqa_client.cli.exits import EXIT_FAILED_QUESTIONS, EXIT_OK
from vqa_client.cli.explain_table import explanation_text
from vqa_client.cli.streams import emit, emit_json
from vqa_client.cli.tables import interval_text, new_console, new_table, printed
from vqa_client.cli.text import count, safe
from vqa_client.reports.names import percent
from vqa_client.scorefiles.explanations.report import ExplanationReport, score_explanation_files
from vqa_client.settings.score_explanations import ScoreExplanationsSettings


def score_explanations(settings: ScoreExplanationsSettings) -> int:
    """Score and print; exit code 1 where the predictions have questions that failed, which count as wrong."""
    report = score_explanation_files(settings)
    if settings.json:
        emit_json(report.as_json())
    else:
        emit(as_text(report))
    return EXIT_FAILED_QUESTIONS if report.counts.n_failed else EXIT_OK


def as_text(report: ExplanationReport) -> str:
    """The accuracies with their intervals, the explanations' scores, and every note."""
    counts = report.counts
    console = new_console()
    console.print(f"score-explanations · {safe(report.predictions)}", style="bold", soft_wrap=True)
    console.print(
        f"{count(counts.n_scored, 'question')} scored of {counts.n_predictions:,} predicted and "
        f"{counts.n_references:,} in {safe(report.references)}",
        soft_wrap=True,
    )
    if report.accuracies:
        console.print(_accuracies(report))
    tail = new_console()
    for line in (*report.notes, *report.files):
        tail.print(safe(line), soft_wrap=True)
    return printed(console).rstrip("\n") + "\n\n" + explanation_text(report.explanations) + printed(tail).lstrip("\n")


def _accuracies(report: ExplanationReport) -> object:
    some_missing = report.counts.n_without_prediction > 0
    table = new_table("answers", "%", "95 % interval", *(["% if missing were wrong"] if some_missing else []))
    for name, accuracy in report.accuracies.items():
        missing = [percent(accuracy.if_missing_were_wrong)] if some_missing else []
        table.add_row(name, percent(accuracy.mean.value), interval_text(accuracy.mean.interval), *missing)
    return table

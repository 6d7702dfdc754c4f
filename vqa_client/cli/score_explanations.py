"""The score-explanations command: explanations in a file against those of people, without a server."""

from collections.abc import Iterator

from vqa_client.answers.explained import ExplanationReport, score_explanation_files
from vqa_client.cli.explain_table import of_judged
from vqa_client.cli.score_tables import accuracies
from vqa_client.cli.streams import EXIT_FAILED_QUESTIONS, EXIT_OK, emit, emit_json
from vqa_client.cli.tables import as_text
from vqa_client.reports.names import count
from vqa_client.reports.sections import Section
from vqa_client.settings.score import ScoreExplanationsSettings


def score_explanations(settings: ScoreExplanationsSettings) -> int:
    """Score and print; exit code 1 where the predictions have questions that failed, which count as wrong."""
    report = score_explanation_files(settings)
    if settings.json:
        emit_json(report.as_json())
    else:
        emit(as_text(_sections(report)))
    return EXIT_FAILED_QUESTIONS if report.counts["n_failed"] else EXIT_OK


def _sections(report: ExplanationReport) -> Iterator[Section]:
    """The accuracies with their intervals, the explanations' scores, and every note."""
    counts = report.counts
    scored = f"{count(counts['n_scored'])} scored of {counts['n_predictions']:,} predicted"
    yield Section(
        title=f"score-explanations · {report.predictions}",
        notes=[f"{scored} and {counts['n_references']:,} in {report.references}"],
    )
    if report.accuracies:
        means = {name: (each.mean, each.if_missing_were_wrong) for name, each in report.accuracies.items()}
        yield accuracies("answers", means, missing=counts["n_without_prediction"] > 0)
    yield from of_judged(report.explanations)
    yield Section(notes=[*report.notes, *report.files])

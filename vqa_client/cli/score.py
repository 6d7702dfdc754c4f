"""The score command: predictions in a file against annotations, printed and written, without a server."""

from vqa_client.cli.exits import EXIT_FAILED_QUESTIONS, EXIT_OK
from vqa_client.cli.score_tables import as_tables
from vqa_client.cli.streams import emit, emit_json
from vqa_client.scorefiles.report import score_files
from vqa_client.settings.score import ScoreSettings


def score(settings: ScoreSettings) -> int:
    """Score and print; exit code 1 where the record log has questions that failed, which count as wrong."""
    report = score_files(settings)
    if settings.json:
        emit_json(report)
    else:
        emit(as_tables(report))
    return EXIT_FAILED_QUESTIONS if report.counts.n_failed else EXIT_OK

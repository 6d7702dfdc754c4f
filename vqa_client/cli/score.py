"""`vqa-client score` and `score-explanations`: score answers and explanations from files, without a server."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from vqa_client.cli.app import HELP_FLAGS, OptionWords, app, example_of
from vqa_client.cli.benchmark import parse_options, settings_command
from vqa_client.cli.streams import EXIT_FAILED_QUESTIONS, EXIT_OK, emit, emit_json, say
from vqa_client.errors import UsageError
from vqa_client.settings.score import (
    DATA,
    AnswersSettings,
    ScoreExplanationsSettings,
    ScoreSettings,
    answers_and_data,
    answers_and_data_fields,
)


def score(
    *options: OptionWords,
    task: Annotated[
        str | None,
        DATA,
        Parameter(
            help="A benchmark that `vqa-client list` shows, or a file: scores answers to its questions. Takes its data "
            "options too: --task NAME --help shows them.",
        ),
    ] = None,
) -> int:
    """Score and print; exit code 1 if questions of the predictions failed, which count as wrong."""
    if shows_help := bool(HELP_FLAGS.intersection(options)):
        app.help_print(["score"])
    if task is not None:
        return _score_benchmark(task, options)
    if not shows_help and not any(word.startswith(("-a", "--annotations")) for word in options):  # -aFILE, too
        raise UsageError("--annotations or --task is missing", hint=example_of(["score"]))
    settings = parse_options(settings_command("vqa-client score", ScoreSettings), options)
    return EXIT_OK if settings is None else _score_annotated(settings)


def _score_annotated(settings: ScoreSettings) -> int:
    from vqa_client.answers.annotated import score_files
    from vqa_client.cli.score_tables import of_score
    from vqa_client.cli.tables import as_text

    report = score_files(settings)
    if settings.json:
        emit_json(report)
    else:
        emit(as_text(of_score(report)))
    return EXIT_FAILED_QUESTIONS if report.counts["n_failed"] else EXIT_OK


def _score_benchmark(task: str, options: Sequence[str]) -> int:
    from vqa_client.answers.of_benchmark import score_answers
    from vqa_client.cli.report_tables import as_json_text, as_tables
    from vqa_client.tasks import registry

    kind = registry.find(task).settings
    both = parse_options(settings_command(f"vqa-client score --task {task}", answers_and_data(kind)), options)
    if both is None:
        return EXIT_OK
    own, of_data = ({field.name: getattr(both, field.name) for field in part} for part in answers_and_data_fields(kind))
    settings = AnswersSettings(**own)
    reports = score_answers(kind(**of_data).named(task), settings, say)
    emit(as_json_text(reports) if settings.json else as_tables(reports))
    return EXIT_FAILED_QUESTIONS if any(report.failed for report in reports) else EXIT_OK


def score_explanations(settings: ScoreExplanationsSettings) -> int:
    """Score and print; exit code 1 if questions of the predictions failed, which count as wrong."""
    from vqa_client.answers.explained import score_explanation_files
    from vqa_client.cli.score_tables import of_explanations
    from vqa_client.cli.tables import as_text

    report = score_explanation_files(settings)
    if settings.json:
        emit_json(report.as_json())
    else:
        emit(as_text(of_explanations(report)))
    return EXIT_FAILED_QUESTIONS if report.counts["n_failed"] else EXIT_OK

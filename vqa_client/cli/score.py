"""`vqa-client score` and `score-explanations`: score answers and explanations from files, without a server."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from vqa_client.cli.app import CALL, HELP_FLAGS, OptionWords, example, example_of
from vqa_client.cli.benchmark import settings_command
from vqa_client.cli.commands import COMMANDS
from vqa_client.cli.streams import EXIT_FAILED_QUESTIONS, EXIT_OK, emit, emit_json, say
from vqa_client.errors import UsageError
from vqa_client.settings.score import (
    OF_PROMPTS,
    AnswersSettings,
    ScoreExplanationsSettings,
    ScoreOptions,
    ScoreSettings,
    answers_and_data,
    answers_and_data_fields,
)


def score(*options: OptionWords, task: Annotated[str | None, Parameter(show=False)] = None) -> int:
    """Score and print; exit code 1 if questions of the predictions failed, which count as wrong."""
    if HELP_FLAGS.intersection(options):
        _print_help(task)
        return EXIT_OK
    if task is not None:
        return _score_benchmark(task, options)
    if not any(word.startswith(("-a", "--annotations")) for word in options):  # -aFILE, too
        raise UsageError("--annotations or --task is missing", hint=example_of(["score"]))
    settings: ScoreSettings = settings_command("vqa-client score", ScoreSettings)([*options], **CALL)
    return _score_annotated(settings)


def _print_help(task: str | None) -> None:
    from vqa_client.cli.help_pages import print_page

    kind: type[ScoreOptions] = ScoreOptions
    command, words = "score", COMMANDS["score"].example
    if task is not None:
        from vqa_client.tasks.registry import find

        kind, command = answers_and_data(find(task).settings), f"score --task {task}"
        words = f"{command} --data FOLDER --predictions answers.jsonl"
    page = settings_command(f"vqa-client {command}", kind)
    page.help, page.help_epilogue = COMMANDS["score"].help, example(words)
    print_page(page, hidden=OF_PROMPTS)


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
    from vqa_client.cli.report_tables import as_tables, json_rows
    from vqa_client.tasks import registry

    kind = registry.find(task).settings
    both = settings_command(f"vqa-client score --task {task}", answers_and_data(kind))([*options], **CALL)
    own, of_data = ({field.name: getattr(both, field.name) for field in part} for part in answers_and_data_fields(kind))
    settings = AnswersSettings(**own)
    reports = score_answers(kind(**of_data).named(task), settings, say)
    if settings.json:
        emit_json(json_rows(reports))
    else:
        emit(as_tables(reports))
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

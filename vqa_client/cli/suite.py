"""`vqa-client suite`: several benchmarks in one command, and one table of them all."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from cyclopts import CycloptsError

from vqa_client.cli.app import usage_error
from vqa_client.cli.benchmark import settings_command, taken
from vqa_client.cli.compare import as_table, write_board
from vqa_client.cli.evaluate import asked, asks_nothing, code_of, judges_of, show
from vqa_client.cli.pages_beside import write_pages
from vqa_client.cli.progress import display
from vqa_client.cli.signals import Stopped, resume_command, until_signalled
from vqa_client.cli.streams import EXIT_FAILED_QUESTIONS, EXIT_OK, emit, say
from vqa_client.compare.leaderboard import leaderboard
from vqa_client.errors import UsageError
from vqa_client.evaluation import ModelsFailed
from vqa_client.reports.report import Report
from vqa_client.settings.declared import BenchmarkSettings
from vqa_client.settings.run import RunSettings
from vqa_client.settings.suite import Entry, SuiteSettings, read_suite, settings_of, words
from vqa_client.tasks.registry import find


def suite(name: str, /, settings: SuiteSettings) -> int:
    """Ask every benchmark of the suite; the table is of all runs that are there, also after an interruption."""
    path, entries = read_suite(name)
    root = settings.data or (path.parent if name.endswith(".toml") else Path())  # a shipped suite has no data beside it
    runs = settings_of(settings, entries, _parse_entry, root, sys.argv[1:])
    if (done := asks_nothing(runs)) is not None:
        return done
    judged = [run for run in runs if judges_of(run)]
    progress = display()
    try:
        reports = until_signalled(lambda stop: asked(runs, progress, stop), progress)
    except Stopped as stopped:
        _finish(settings, stopped.interrupted.reports, path.stem, html=False)
        say(f"stopped; to resume: {resume_command(sys.argv)}")
        return stopped.code
    except ModelsFailed as failed:
        _finish(settings, failed.reports, path.stem, html=settings.html, others=failed.begun)
        raise
    _finish(settings, reports, path.stem, html=settings.html)
    code = code_of(settings, reports)
    if not judged or code not in (EXIT_OK, EXIT_FAILED_QUESTIONS):
        return code
    from vqa_client.cli.judge import judge_after

    return max(code, *map(judge_after, cast(list[BenchmarkSettings], judged)))


def _finish(
    settings: SuiteSettings, reports: Sequence[Report], title: str, *, html: bool, others: Sequence[Path] = ()
) -> None:
    """Print and write the table of the runs that have begun, and of other logs; `html`: also the pages of reports."""
    if settings.part is not None:
        show(reports, settings, as_json=settings.json)
        return
    begun = [report for report in reports if report.log.exists()]
    if not begun and not others:
        return
    if html:
        write_pages(begun)
    board = leaderboard([*(report.log for report in begun), *others])
    if settings.json:
        show(begun, as_json=True)
    else:
        emit(as_table(board))
    write_board(settings.output, board, title, html=settings.html)


def _parse_entry(entry: Entry, root: Path) -> RunSettings:
    kind = find(entry.name).settings
    try:
        settings = taken(settings_command(entry.name, kind), words(entry, kind, root))
    except (UsageError, CycloptsError) as caught:
        error = usage_error(caught) if isinstance(caught, CycloptsError) else caught
        raise UsageError(f"suite, [{entry.name}]: {error}", hint=error.hint) from None
    assert isinstance(settings, RunSettings)  # None is help, which no entry asks for
    return settings.named(entry.name)

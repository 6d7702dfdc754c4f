"""`vqa-client suite`: several benchmarks in one command, and one table of them all."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from cyclopts import CycloptsError

from vqa_client.cli.app import usage_error
from vqa_client.cli.benchmark import parse_options, settings_command
from vqa_client.cli.compare import as_table, write_board
from vqa_client.cli.evaluate import evaluate_several, show
from vqa_client.cli.pages_beside import write_pages
from vqa_client.cli.streams import emit
from vqa_client.compare.leaderboard import leaderboard
from vqa_client.errors import UsageError
from vqa_client.reports.report import Report
from vqa_client.settings.run import RunSettings
from vqa_client.settings.suite import Entry, SuiteSettings, read_suite, settings_of, words
from vqa_client.tasks.registry import find


def suite(name: str, /, settings: SuiteSettings) -> int:
    """Run every benchmark of the suite; after an interruption too, the table has all runs that have begun."""
    path, entries = read_suite(name)
    beside = path.parent if name.endswith(".toml") else Path()  # a shipped suite has no data next to it
    root = settings.data or beside
    runs = settings_of(settings, entries, partial(_parse_entry, path), root, sys.argv)
    return evaluate_several(runs, partial(_finish, settings, path.stem))


def _finish(
    settings: SuiteSettings, title: str, reports: Sequence[Report], pages: bool, others: Sequence[Path]
) -> None:
    """Print and write the table of the runs that have begun; with `pages` also write their pages."""
    if settings.part is not None:
        show(reports, settings, as_json=settings.json)
        return
    begun = [report for report in reports if report.log.exists()]
    if not begun and not others:
        return
    if pages:
        write_pages(begun)
    board = leaderboard([*(report.log for report in begun), *others])
    if settings.json:
        show(begun, as_json=True)
    else:
        emit(as_table(board))
    write_board(settings.output, board, title, html=settings.html)


def _parse_entry(file: Path, entry: Entry, root: Path) -> RunSettings:
    try:
        kind = find(entry.name).settings
        settings = parse_options(settings_command(entry.name, kind), words(entry, kind, root))
    except (UsageError, CycloptsError) as caught:
        error = usage_error(caught) if isinstance(caught, CycloptsError) else caught
        raise UsageError(f"{file}, [{entry.table or entry.name}]: {error}", hint=error.hint) from None
    assert isinstance(settings, RunSettings)  # it would be None for --help
    return settings.named(entry.name)

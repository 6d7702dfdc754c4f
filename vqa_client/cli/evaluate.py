"""A benchmark command: run it with a progress display, print the reports, choose the exit code."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import cast

from vqa_client.cli.pages_beside import write_pages
from vqa_client.cli.progress import LiveCounts, PipedDisplay, display
from vqa_client.cli.report_tables import as_tables, json_rows
from vqa_client.cli.signals import until_signalled
from vqa_client.cli.streams import (
    EXIT_FAILED_QUESTIONS,
    EXIT_OK,
    EXIT_SERVER,
    Stopped,
    emit,
    emit_json,
    emit_lines,
    say,
)
from vqa_client.errors import UsageError
from vqa_client.evaluation import ModelsFailed, arun_several
from vqa_client.model_config import load_model, names_config
from vqa_client.reports.names import count
from vqa_client.reports.report import Report
from vqa_client.settings.declared import BenchmarkSettings
from vqa_client.settings.run import RunSettings

Finish = Callable[[Sequence[Report], bool, Sequence[Path]], None]
"""Prints reports and, if the bool is true, writes their pages; the paths are logs of other runs that have begun."""


def evaluate(settings: RunSettings) -> int:
    """Run and print; the exit code after a signal is 130 or 143."""
    return evaluate_several([settings], partial(_finish, settings))


mc = niah = vqa2 = explain = evaluate
"""The benchmarks with a command of their own."""


def _finish(settings: RunSettings, reports: Sequence[Report], pages: bool, others: Sequence[Path]) -> None:
    del others  # they have no reports
    show(reports, settings, as_json=settings.json)
    if pages and settings.part is None:
        write_pages([report for report in reports if report.log.exists()])


def evaluate_several(runs: Sequence[RunSettings], finish: Finish) -> int:
    """Run benchmarks one after the other, then their judges, whose configs are read first; returns the exit code."""
    judged = [run for run in runs if judges_of(run)]
    if (done := run_without_asking(runs)) is not None:
        return done
    progress = display()
    try:
        reports = until_signalled(lambda stop: ask_runs(runs, progress, stop), progress)
    except Stopped as stopped:
        finish(stopped.reports, False, ())
        raise
    except ModelsFailed as failed:
        finish(failed.reports, runs[0].html, failed.begun)
        raise
    finish(reports, runs[0].html, ())
    code = exit_code_for(runs[0], reports)
    if not judged or code not in (EXIT_OK, EXIT_FAILED_QUESTIONS):
        return code
    from vqa_client.cli.judge import judge_after

    return max(code, *map(judge_after, cast(list[BenchmarkSettings], judged)))


def run_without_asking(settings: Sequence[RunSettings]) -> int | None:
    """Do a dry run or one step of a batched run and return its exit code; for any other run return None."""
    if settings[0].dry_run:
        from vqa_client.cli.dry_run import show_dry_run

        show_dry_run(settings)
        return EXIT_OK
    if settings[0].batch_step in ("write", "status", "cancel"):
        from vqa_client.cli.batch_steps import run_step

        return run_step(settings)
    return None


def exit_code_for(settings: RunSettings, reports: Sequence[Report]) -> int:
    """The exit code of reports under their settings; prints why, if no question was answered."""
    code = exit_code(reports)
    if code == EXIT_FAILED_QUESTIONS and settings.ok_with_failures:
        return EXIT_OK
    if code == EXIT_SERVER and settings.no_wait and any(report.incomplete for report in reports):
        return EXIT_FAILED_QUESTIONS
    if code == EXIT_SERVER:
        reason = _status_text(reports) or "none was asked, or its result belongs to another run"
        say(f"error: no question got a reply: {reason}")
    return code


def judges_of(settings: RunSettings) -> tuple[str, ...]:
    """The judges of --judge, without any for a dry run; raises UsageError for a config that can't be used."""
    judges = settings.judge if isinstance(settings, BenchmarkSettings) and not settings.dry_run else ()
    for judge in judges:
        address = load_model(judge).base_url if names_config(judge) else settings.base_url or settings.endpoint
        if settings.batch_command and not address:
            raise UsageError(
                f"--judge {judge} has no server: --batch_command asks none, and no base_url is given",
                hint="vqa-client judge RESULTS --batch_command '...' judges the run later",
            )
    return judges


async def ask_runs(settings: Sequence[RunSettings], progress: LiveCounts, stop: asyncio.Event) -> list[Report]:
    """Run in this process, in several, on Ray or shard by shard, as the settings say."""
    if settings[0].process_count > 1:
        from vqa_client.cli.processes import in_processes

        return await in_processes(settings, progress, stop)
    if settings[0].ray:
        from vqa_client.cli.ray_driver import on_ray

        return await on_ray(settings, progress, stop)
    here, part = settings[0].max_workers, settings[0].part
    if not settings[0].turns and (part is None or isinstance(progress, PipedDisplay)):
        return await arun_several(settings, progress=progress, stop=stop)
    from vqa_client.cli.processes import locked_runs

    with locked_runs(settings, shared=True):
        if part is None:
            from vqa_client.cli.turns import in_turns

            return await in_turns(settings, progress, stop)
        if here != "auto":
            progress.note(
                f"shard {settings[0].shard}: {count(here, 'request')} in flight here, "
                f"{here * part.of:,} if all {part.of} run at once"
            )
        return await arun_several(settings, progress=progress, stop=stop)


def shard_lines(reports: Sequence[Report]) -> list[str]:
    """A line per shard, without its accuracy, which is not that of the whole run."""
    return [
        f"{report.log}: {report.summary.overall.total:,} of {count(report.expected)} asked, {report.failed:,} failed"
        for report in reports
    ]


def _status_text(reports: Sequence[Report]) -> str:
    counts: Counter[str] = Counter()
    for report in reports:
        counts.update(report.summary.status_counts)
    return ", ".join(f"{number:,} {status}" for status, number in counts.most_common() if number)


def show(reports: Sequence[Report], settings: RunSettings | None = None, *, as_json: bool = False) -> None:
    """Print the reports as tables or as JSON; `settings` are those of their run."""
    if as_json:
        emit_json(json_rows(reports))
    elif settings is not None and settings.part is not None:
        emit_lines(*shard_lines(reports))
    elif reports:
        emit(as_tables(reports, verbose=getattr(settings, "verbose", False)))


def exit_code(reports: Sequence[Report], *, partial: bool = False) -> int:
    """3 if no question was answered, 1 if some failed or were not asked, else 0.

    With `partial`, questions that were not asked don't count.
    """
    if any(report.failed or (report.incomplete and not partial) for report in reports):
        answered = sum(report.summary.overall.answered for report in reports)
        return EXIT_FAILED_QUESTIONS if answered else EXIT_SERVER
    return EXIT_OK

"""`vqa-client judge`: asks judges about a finished run, and prints what they make of it beside its rule."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from vqa_client.aggregates import Figure
from vqa_client.cli.attended import Stopped, attended
from vqa_client.cli.exits import EXIT_FAILED_QUESTIONS, EXIT_OK
from vqa_client.cli.pages_beside import write_again
from vqa_client.cli.progress import display
from vqa_client.cli.resume_command import resume_command
from vqa_client.cli.streams import emit, emit_json, say
from vqa_client.cli.tables import interval_text, new_console, new_table, printed
from vqa_client.cli.text import count, safe
from vqa_client.errors import UsageError
from vqa_client.evaluation import ModelsFailed, arun_several
from vqa_client.files import write_json
from vqa_client.judge.benchmark import kind_of
from vqa_client.judge.beside import beside, judges_beside, log_of, majority, read_judge
from vqa_client.judge.loading import JudgedRun, judged_logs
from vqa_client.judge.people import AgainstPeople, against_people, read_labels, write_sheet
from vqa_client.model_config import load_model
from vqa_client.reports.judged import Beside, Verdicts, agreement, coverage, judged_path, kappa_text, name_of
from vqa_client.reports.names import percent, safe_name
from vqa_client.settings.declared import BenchmarkSettings
from vqa_client.settings.judge import JudgeSettings
from vqa_client.tasks import registry

MOST_DIFFER = 10
"""Questions that one side alone calls right that a terminal shows; the report file has all."""


def judge_after(run: BenchmarkSettings) -> int:
    """Ask the judges of `run --judge` about the run that has just ended, each where its config says."""
    same = ("api_key", "max_workers", "max_retries", "check", "fresh", "json", "seed")
    given = {name: getattr(run, name) for name in same}
    benchmark = registry.find(run.benchmark).make(run).name
    return judge(JudgeSettings(results=run.output, judge=run.judge, **given), benchmark)


def judge(settings: JudgeSettings, benchmark: str = "") -> int:
    """Ask, unless people are what is asked about; 1 where judges gave no reply to some questions.

    With `benchmark` only its runs are judged, and --json leaves what comes to the report files.
    """
    runs = [replace(settings, results=log) for log in judged_logs(settings.results, benchmark)]
    runs = [replace(each, kind=kind_of(each)) for each in runs]
    if settings.for_people is not None or settings.labels is not None:
        if len(runs) > 1:
            raise UsageError(f"{settings.results} contains {len(runs)} runs", hint="name the one that people judge")
        return _by_people(runs[0])
    if settings.dry_run:
        from vqa_client.cli.dry_run import show_dry_run

        return max(show_dry_run(each) for each in runs)
    progress = display()
    try:
        attended(lambda stop: arun_several(runs, progress=progress, stop=stop), progress)
    except Stopped as stopped:
        say(f"stopped; to resume: {resume_command(sys.argv)}")
        return stopped.code
    except ModelsFailed:
        _show(runs)
        raise
    return _show(runs, emits=not (benchmark and settings.json))


def _show(runs: Sequence[JudgeSettings], *, emits: bool = True) -> int:
    """Print and write what all judges of this command come to, run by run."""
    found = []
    for each in runs:
        assert each.kind is not None
        logs = [log_of(each.results, each.kind, config) for config in each.configs]
        named = {safe_name(Path(config).stem): load_model(config).prices for config in each.configs if config}
        prices = {name: price for name, price in named.items() if price is not None}
        if there := [log for log in logs if log.exists()]:
            found.append(beside(JudgedRun(each, each.kind), there, prices))
            path = judged_path(each.results, each.kind)
            write_json(path, to_builtins(found[-1]))
            if not each.json:
                emit(as_text(found[-1], path))
            write_again(each.results)
    if runs[0].json and emits:
        emit_json(found)
    failed = any(verdicts.judge.failed for each in found for verdicts in each.verdicts)
    return EXIT_FAILED_QUESTIONS if failed else EXIT_OK


def _by_people(settings: JudgeSettings) -> int:
    """Write a sheet for people, or read one."""
    assert settings.kind is not None
    run = JudgedRun(settings, settings.kind)
    wanted = [log_of(run.log, settings.kind, each) for each in settings.configs if each]
    logs = wanted or judges_beside(run.log, settings.kind)
    judges = [read_judge(log, settings.kind) for log in logs if log.exists()]
    judges = sorted(judges, key=lambda each: each.name)
    if len(judges) > 1:
        judges.append(majority(judges))
    if settings.for_people is not None:
        number = write_sheet(settings.output, run, judges[-1] if judges else None, settings.for_people)
        emit(f"{count(number, 'reply').replace('replys', 'replies')} to label: {safe(str(settings.output))}\n")
        return EXIT_OK
    assert settings.labels is not None
    if not judges:
        raise UsageError(f"{run.log} has no judge's log of kind {settings.kind}", hint="ask a judge first")
    labels = read_labels(settings.labels, run)
    found = [against_people(run, each, labels) for each in judges]
    write_json(judged_path(run.log, settings.kind, "-people"), to_builtins(found))
    if settings.json:
        emit_json(found)
    else:
        emit(_people_text(found))
    return EXIT_OK


def as_text(found: Beside, report: Path) -> str:
    """Each judge beside the rule, then what several judges come to together."""
    console = new_console()
    console.print(safe(f"{found.task} · {found.model} · {found.kind} by another model"), style="bold")
    for verdicts in found.verdicts:
        for line in ("", name_of(verdicts), *coverage(verdicts)):
            console.print(safe(line), soft_wrap=True)
        if verdicts.judged:
            console.print(_accuracies(verdicts, found.headline))
            console.print(_table(verdicts))
            for name, figure in verdicts.totals.items():
                console.print(safe(f"{name.replace('_', ' ')} by the judge: {_figure(figure)} %"))
            for line in (*agreement(verdicts), *_differing(verdicts)):
                console.print(safe(line), soft_wrap=True)
    for name, kappa in found.pairs.items():
        console.print(safe(f"kappa of {name}: {kappa_text(kappa)}"), soft_wrap=True)
    if found.fleiss is not None:
        console.print(f"Fleiss' kappa of all judges: {kappa_text(found.fleiss)}", soft_wrap=True)
    for note in found.notes:
        console.print(safe(f"note: {note}"), soft_wrap=True)
    console.print(safe(str(report)), soft_wrap=True)
    return printed(console)


def _accuracies(of: Verdicts, headline: str) -> Any:
    table = new_table("in %", "score", "95 % interval", "of")
    bounds = f"{percent(of.low)}-{percent(of.high)}"
    table.add_row("by the judge", percent(of.accuracy), interval_text(of.interval), f"{of.judged:,} judged")
    table.add_row("  bounds: undecided all wrong, all right", bounds, "", f"{of.total:,}")
    table.add_row(safe(f"by the rule ({headline})"), percent(of.rule), interval_text(of.rule_interval), "the same")
    return table


def _table(of: Verdicts) -> Any:
    table = new_table("", "judge right", "judge wrong")
    for name, row in zip(("rule right", "rule wrong"), of.table, strict=True):
        table.add_row(name, *(f"{number:,}" for number in row))
    return table


def _differing(of: Verdicts) -> Iterator[str]:
    for side, keys in (("judge", of.raised), ("rule", of.lowered)):
        if keys:
            names = ", ".join(" ".join(filter(None, key)) for key in keys[:MOST_DIFFER])
            more = f" and {len(keys) - MOST_DIFFER:,} more (in the report)" if len(keys) > MOST_DIFFER else ""
            yield f"right by the {side} alone, {len(keys):,}: {names}{more}"


def _people_text(found: Sequence[AgainstPeople]) -> str:
    console = new_console()
    table = new_table("against people", "labelled", "sensitivity", "specificity", "kappa", "rule's kappa", "accuracy")
    for each in found:
        table.add_row(
            safe(each.name),
            f"{each.labelled:,}",
            *map(_figure, (each.sensitivity, each.specificity)),
            kappa_text(each.kappa),
            kappa_text(each.rule_kappa),
            _figure(each.accuracy),
        )
    console.print(table)
    console.print("accuracy: the judge's, corrected for its errors (Rogan and Gladen); - if it is unknown")
    if found[0].people is not None:
        console.print(f"kappa of two people: {kappa_text(found[0].people)}")
    return printed(console)


def _figure(figure: Figure) -> str:
    if figure.value is None:
        return "-"
    return percent(figure.value) + ("" if figure.low is None else f" ({percent(figure.low)}-{percent(figure.high)})")

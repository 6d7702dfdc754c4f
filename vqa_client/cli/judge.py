"""`vqa-client judge`: asks judges about a finished run, and prints their verdicts beside the rule's scores."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import to_builtins

from vqa_client.batch.parts import PartFolder
from vqa_client.cli.pages_beside import write_again
from vqa_client.cli.progress import display
from vqa_client.cli.signals import until_signalled
from vqa_client.cli.streams import EXIT_FAILED_QUESTIONS, EXIT_OK, emit, emit_json, emit_lines
from vqa_client.cli.tables import as_text
from vqa_client.errors import UsageError
from vqa_client.evaluation import ModelsFailed, arun_several
from vqa_client.files import write_json
from vqa_client.judge.benchmark import for_people, kind_of, log_of, only_run
from vqa_client.judge.benchmark import name_of as name_of_judge
from vqa_client.judge.beside import beside, judges_of
from vqa_client.judge.loading import JudgedRun, judged_logs
from vqa_client.judge.people import AgainstPeople, against_people, read_labels, write_sheet
from vqa_client.model_config import load_model, names_config
from vqa_client.reports.judged import (
    FormMeans,
    Judges,
    Verdicts,
    agreement,
    calibration_text,
    coverage,
    judged_path,
    kappa_text,
    kappas,
    name_of,
)
from vqa_client.reports.names import count, figure_text, first_and_more, interval_text, percent
from vqa_client.reports.sections import Section, difference_text
from vqa_client.scoring.statistics import Mean
from vqa_client.settings.declared import BenchmarkSettings
from vqa_client.settings.judge import JudgeSettings
from vqa_client.tasks import registry

MOST_DIFFER = 10
"""Questions shown that only the judge or only the rule calls right; the report file has all."""


def judge_after(run: BenchmarkSettings) -> int:
    """Ask the judges of `run --judge` about the run that has just ended, each at the address of its config."""
    same = ["api_key", "max_workers", "max_retries", "check", "fresh", "json", "seed"]
    if not any(map(names_config, run.judge)):  # names of served models have no address
        same += ["base_url", "endpoint"]
    options = {name: getattr(run, name) for name in same}
    benchmark = registry.find(run.benchmark).make(run).name
    return ask_judges(JudgeSettings(results=run.output, judge=run.judge, **options), benchmark)


def judge(results: Path, /, settings: JudgeSettings) -> int:
    """Ask judges about a finished run."""
    return ask_judges(replace(settings, results=results))


def ask_judges(settings: JudgeSettings, benchmark: str = "") -> int:
    """Ask the judges, or write or read a sheet for people; exit code 1 if judges haven't replied to some questions.

    With `benchmark` only its runs are judged, and --json writes only the report files.
    """
    if settings.for_people is not None or settings.labels is not None:
        return _use_sheet(for_people(only_run(settings), settings.labels))
    runs = [replace(settings, results=log) for log in judged_logs(settings.results, benchmark)]
    runs = [replace(run, kind=kind_of(run)) for run in runs]
    if settings.dry_run:
        from vqa_client.cli.dry_run import show_dry_run

        show_dry_run(runs)
        return EXIT_OK
    if settings.batch_step in ("status", "cancel"):
        from vqa_client.cli.batch_steps import run_step

        return run_step(runs)
    progress = display()
    try:
        reports = until_signalled(lambda stop: arun_several(runs, progress=progress, stop=stop), progress)
    except ModelsFailed:
        _show_results(runs)
        raise
    code = _show_results(runs, emits=not (benchmark and settings.json))
    logs = (log_of(run.results, kind, config) for run in runs if (kind := run.kind) for config in run.configs)
    is_open = any(report.incomplete for report in reports) or any(PartFolder(log).all() for log in logs)
    return EXIT_FAILED_QUESTIONS if is_open else code


def _show_results(runs: Sequence[JudgeSettings], *, emits: bool = True) -> int:
    """Print and write the results of all judges of this command, run by run."""
    results = []
    failed = False
    for run in runs:
        assert run.kind is not None
        logs = [log_of(run.results, run.kind, config) for config in run.configs]
        configs = [config for config in run.configs if config and names_config(config)]
        models = {name_of_judge(config): load_model(config) for config in configs}
        prices = {name: model.prices for name, model in models.items() if model.prices is not None}
        if existing := [log for log in logs if log.exists()]:
            results.append(beside(run, existing, prices))
            asked = {name_of_judge(config) for config in run.configs if config}
            judges = [verdicts.judge for verdicts in results[-1].verdicts]
            failed = failed or any(judge.failed for judge in judges if not asked or judge.name in asked)
            path = judged_path(run.results, run.kind)
            write_json(path, to_builtins(results[-1]))
            if not run.json:
                emit(as_text(_sections(results[-1], path)))
            write_again(run.results)
    if runs[0].json and emits:
        emit_json(results)
    return EXIT_FAILED_QUESTIONS if failed else EXIT_OK


def _use_sheet(settings: JudgeSettings) -> int:
    """Write a sheet for people, or compare the judges with a labelled one."""
    assert settings.kind is not None
    run = JudgedRun(settings, settings.kind)
    judges = judges_of(run, settings)
    if settings.for_people is not None:
        number = write_sheet(settings.output, run, judges[-1] if judges else None, settings.for_people)
        emit_lines(f"{count(number, 'reply', 'replies')} to label: {settings.output}")
        return EXIT_OK
    assert settings.labels is not None
    if not judges:
        raise UsageError(f"{run.log} has no verdicts of kind {settings.kind}", hint="ask a judge first")
    labels = read_labels(settings.labels, run)
    comparisons = [against_people(run, judge_log, labels) for judge_log in judges]
    write_json(judged_path(run.log, settings.kind, "-people"), to_builtins(comparisons))
    if settings.json:
        emit_json(comparisons)
    else:
        emit(as_text([_people_section(comparisons)]))
    return EXIT_OK


def _sections(result: Judges, report: Path) -> Iterator[Section]:
    """Each judge beside the rule, then the agreement of several judges."""
    yield Section(title=f"{result.task} · {result.model} · {result.kind} by another model")
    for verdicts in result.verdicts:
        yield Section(notes=["", name_of(verdicts), *coverage(verdicts)])
        if verdicts.judged:
            yield _accuracy_section(verdicts, result.headline)
            if verdicts.forms:
                yield _form_section(verdicts.forms)
            named = {name.replace("_", " "): figure_text(figure) for name, figure in verdicts.totals.items()}
            totals = [f"{name} by the judge: {percentage} %" for name, percentage in named.items()]
            right, wrong = verdicts.table
            table = {"rule right": right, "rule wrong": wrong, "all": tuple(map(sum, zip(right, wrong, strict=True)))}
            yield Section(
                columns=["", "judge right", "judge wrong", "all"],
                rows=[[name, *(f"{number:,}" for number in (*row, sum(row)))] for name, row in table.items()],
                notes=[*totals, *agreement(verdicts), *_differing_lines(verdicts)],
            )
    several = kappas(result.pairs, result.fleiss, "all judges")
    yield Section(notes=[*several, *(f"note: {note}" for note in result.notes), str(report)])


def _accuracy_section(of: Verdicts, headline: str) -> Section:
    wide = f"{percent(of.low)}-{percent(of.high)}"
    rows = [
        ["by the judge", percent(of.accuracy), interval_text(of.interval), f"{of.judged:,} judged"],
        ["  bounds: undecided all wrong, all right", wide, "", f"{of.total:,}"],
        [f"by the rule ({headline})", percent(of.rule), interval_text(of.rule_interval), "the same"],
    ]
    return Section(columns=["in %", "score", "95 % interval", "of"], rows=rows)


def _form_section(forms: Sequence[FormMeans]) -> Section:
    def cell(mean: Mean) -> str:
        bounds = f" ({interval_text(mean.interval)})" if mean.interval else ""
        return percent(mean.value) + bounds

    gaps = any(form.gap for form in forms)
    rows = [
        [
            form.name,
            cell(form.judge),
            cell(form.rule),
            f"{form.judge.n:,}",
            *([difference_text(form.gap) if form.gap else ""] if gaps else []),
        ]
        for form in forms
    ]
    notes = ["no reply counts as wrong, a question that was not judged counts by the rule, undecided ones are left out"]
    first = [f"judge - {forms[0].name}"] if gaps else []
    return Section(columns=["in %", "by the judge", "by the rule", "of", *first], rows=rows, notes=notes)


def _differing_lines(of: Verdicts) -> Iterator[str]:
    for side, keys in (("judge", of.raised), ("rule", of.lowered)):
        if keys:
            names = [" ".join(filter(None, key)) for key in keys]
            named = first_and_more(names, MOST_DIFFER, " (in the report)")
            yield f"right by the {side} alone, {len(keys):,}: {named}"


def _people_section(comparisons: Sequence[AgainstPeople]) -> Section:
    """Each judge in a column."""
    rows: list[tuple[str, Callable[[AgainstPeople], str]]] = [
        ("labelled", lambda comparison: f"{comparison.labelled:,}"),
        ("agreement, %", lambda comparison: figure_text(comparison.agreement)),
        ("  of the rule, %", lambda comparison: figure_text(comparison.rule_agreement)),
        ("kappa", lambda comparison: kappa_text(comparison.kappa)),
        ("  of the rule", lambda comparison: kappa_text(comparison.rule_kappa)),
        ("Spearman's rho", lambda comparison: "-" if comparison.rho is None else f"{comparison.rho:.3f}"),
        ("sensitivity, %", lambda comparison: figure_text(comparison.sensitivity)),
        ("specificity, %", lambda comparison: figure_text(comparison.specificity)),
        ("corrected accuracy, %", _corrected_text),
    ]
    graded = any(comparison.graded for comparison in comparisons)
    notes = ["corrected accuracy: of the judge, for its errors on what people have labelled (Rogan and Gladen)"]
    notes += ["kappas have quadratic weights; shares take grades from the middle of the scale on as correct"] * graded
    notes += [
        f"{comparison.name}: P(correct) beside people: {calibration_text(comparison.calibration)}"
        for comparison in comparisons
        if comparison.calibration is not None
    ]
    notes += kappas(comparisons[0].people, comparisons[0].fleiss, "all people")
    return Section(
        columns=["against people", *(comparison.name for comparison in comparisons)],
        rows=[[name, *map(of, comparisons)] for name, of in rows if graded or name != "Spearman's rho"],
        notes=notes,
    )


def _corrected_text(of: AgainstPeople) -> str:
    if of.accuracy.value is None and None not in (of.sensitivity.value, of.specificity.value):
        return "- (hardly better than chance)"
    return figure_text(of.accuracy)

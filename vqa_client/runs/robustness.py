"""Reads finished robustness runs from their logs or result files, for their evaluation."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vqa_client.errors import UNDECODABLE, DataError, IdentityError
from vqa_client.images.corruptions.table import milder_levels
from vqa_client.log_lines import check_run, records_in
from vqa_client.reports.log_reader import files_below
from vqa_client.reports.names import first_and_more
from vqa_client.reports.robustness.evaluation import FoundRun, variants_in
from vqa_client.reports.robustness.report import ScoredLine, add_to
from vqa_client.reports.summary import description_of
from vqa_client.runs.resume import RunPaths
from vqa_client.runs.run_file import RunFile, as_lines
from vqa_client.scoring.corrupted_scores import CorruptedScores


class _Row(Struct, rename="camel"):
    correct: bool
    question_id: Any = msgspec.field(name="questionID")
    image_id: Any = msgspec.field(name="imageID", default="")
    question_type: str | None = None
    predicted: Any = ""


class _Results(Struct):
    data: list[_Row]
    dataset: str = ""


_results = msgspec.json.Decoder(_Results)


def read_result_files(folder: Path) -> list[FoundRun]:
    """Read all models' files below a folder; empty if there are none. Raises DataError for a file of another form.

    A question that is missing from a file counts in no figure, because the published script leaves out failed ones.
    """
    scores: dict[str, CorruptedScores] = {}
    datasets: dict[str, str] = {}
    for path, model, corruption, level in variants_in(folder):
        results = _results_in(path)
        datasets[model] = results.dataset
        of_model = scores.setdefault(model, CorruptedScores())
        for row in results.data:
            of_model.add(
                str(row.question_id),
                corruption,
                level,
                score=float(row.correct),
                status="ok" if row.predicted is not None else "server_error",
                cluster=str(row.image_id),
                type_=row.question_type or "",
            )
    return [
        FoundRun(
            model=model,
            path=folder / model,
            facts={"dataset": datasets[model]},
            curves=of_model.curves(),
            questions=frozenset(of_model.questions),
            notes=(f"{model}: read from result files, which don't say by which profile and seed",),
        )
        for model, of_model in sorted(scores.items())
        if of_model.questions
    ]


def _results_in(path: Path) -> _Results:
    try:
        return _results.decode(path.read_bytes())
    except (OSError, *UNDECODABLE) as error:
        hint = "its form is {dataset, data: [{correct, imageID, questionID, ...}], accuracy, totalAnswered}"
        raise DataError(f"{path}: {error}", hint=hint) from None


WAY_OUT = "give a robustness run: its folder, its *_robustness.json, *.run.json or *.records.jsonl"
_DATE = re.compile(r"_[0-9]{8}_[0-9]{6}(?=_robustness\.json$)")
_ENDINGS = (".records.jsonl", ".run.json", ".json")


_line = msgspec.json.Decoder(ScoredLine)


def read_runs(places: Sequence[Path]) -> list[FoundRun]:
    """Read the runs in these files and folders, each once, and give each a different model name.

    A folder without a run is searched for result files in the documented form. Raises DataError for a place without
    runs, IdentityError if two runs can't be compared.
    """
    by_path: dict[Path, FoundRun] = {}
    for place in places:
        for run in _read(place):
            by_path.setdefault(run.path.resolve(), run)
    runs = list(by_path.values())
    for run in runs[1:]:
        _check_comparable(runs[0], run)
    return _with_distinct_names(runs)


def _read(place: Path) -> Iterator[FoundRun]:
    if not place.exists():
        raise DataError(f"{place} does not exist", hint=WAY_OUT)
    if not place.is_dir():
        stem = next((place.name.removesuffix(end) for end in _ENDINGS if place.name.endswith(end)), place.name)
        yield _run(_paths(place.with_name(f"{stem}.json")))
        return
    paths = [RunPaths.beside(path.with_name(f"{path.name.removesuffix('.run.json')}.json")) for path in _files(place)]
    if paths:
        yield from map(_run, paths)
    elif results := read_result_files(place):
        yield from results
    else:
        raise DataError(f"{place}: no robustness run in it or its folders", hint=WAY_OUT)


def _paths(report: Path) -> RunPaths:
    """The files of a report's run; their names lack the date that the report's name may have."""
    paths = RunPaths.beside(report)
    if paths.run.exists():
        return paths
    undated = RunPaths.beside(report.with_name(_DATE.sub("", report.name)))
    return RunPaths(report, undated.stem) if undated.run.exists() else paths


def _files(folder: Path) -> list[Path]:
    """The run files of robustness runs; the folder may contain other runs too."""
    paths = sorted(files_below(folder, ".run.json"))
    return [path for path in paths if (file := RunFile.read(path)) and _corrupted(file)]


def _corrupted(file: RunFile) -> bool:
    return "profile" in file.identity


def _run(paths: RunPaths) -> FoundRun:
    file = RunFile.read(paths.run)
    if file is None:
        raise DataError(f"{paths.run} is missing, which names the run's model", hint=WAY_OUT)
    if not _corrupted(file):
        raise DataError(f"{paths.run} is of a run without corruptions", hint=WAY_OUT)
    description = description_of(file.identity, file.scoring, file.described)
    scores, unreadable = _scores(paths.log, file.identity, description.question_type)
    notes = [f"{paths.log.name}: unreadable lines left out: {unreadable}"] if unreadable else []
    return FoundRun(
        model=file.model().model_name,
        path=paths.log,
        facts=_facts(file),
        curves=scores.curves(),
        questions=frozenset(scores.questions),
        notes=tuple(notes),
    )


def _facts(file: RunFile) -> dict[str, Any]:
    """What must be equal in two runs that are compared."""
    names = ("task", "variant", "profile", "corruption_seed")
    scoring = {f"scoring.{name}": value for name, value in file.scoring.items()}
    named = {name: file.identity.get(name) for name in names}
    return named | {"data_sha256": file.described.get("data_sha256")} | scoring


def _scores(log: Path, identity: dict[str, Any], question_type: str) -> tuple[CorruptedScores, int]:
    """The scores in a log, and the number of lines that can't be read; the last record of a question counts."""
    scores, unreadable = CorruptedScores(), list[bytes]()
    try:
        for _, text, head in records_in(log, lambda _, rest: unreadable.append(rest) if rest else None):
            check_run(log, head.run, identity)
            if not _added(text, scores, question_type):
                unreadable.append(text)
    except OSError as error:
        raise DataError(f"{log} can't be read: {error.strerror}", hint=WAY_OUT) from None
    if not scores.questions:
        raise DataError(f"{log} has no record of a corrupted image", hint=WAY_OUT)
    return scores, len(unreadable)


def _added(text: bytes, scores: CorruptedScores, question_type: str) -> bool:
    try:
        record = _line.decode(text)
        add_to(scores, record, question_type)
    except ValueError:  # msgspec's errors are ValueErrors, too
        return False
    return True


def _check_comparable(first: FoundRun, other: FoundRun) -> None:
    """A fact that one of them lacks isn't a difference."""
    facts = {name: (first.facts[name], other.facts[name]) for name in sorted(first.facts.keys() & other.facts.keys())}
    changed = {name: pair for name, pair in facts.items() if pair[0] != pair[1]}
    if changed:
        raise IdentityError(
            f"{first.path} and {other.path} can't be compared:\n"
            + as_lines(changed, first.path.name, f"in {other.path.name}"),
            hint="evaluate runs of one benchmark, data file, profile and seed at a time",
        )


def _with_distinct_names(runs: Sequence[FoundRun]) -> list[FoundRun]:
    """The names of the models; two runs of one model get their files' names added."""
    names = [run.model for run in runs]
    taken: set[str] = set()
    apart = []
    for run in runs:
        name = run.model if names.count(run.model) == 1 else f"{run.model} ({run.title})"
        number = 2
        while name in taken:
            name, number = f"{run.model} ({run.title}, {number})", number + 1
        taken.add(name)
        apart.append(msgspec.structs.replace(run, model=name))
    return apart


def notes_on(runs: Iterable[FoundRun]) -> list[str]:
    """Notes for the reader of the comparison."""
    runs = list(runs)
    every = frozenset().union(*(run.questions for run in runs))
    notes = [note for run in runs for note in run.notes]
    for run in runs:
        if len(run.questions) < len(every):
            notes.append(f"{run.model}: asked {len(run.questions):,} of the pool's {len(every):,} questions")
        notes += _gaps(run)
    asked = {name: levels for run in runs for name, levels in run.curves.levels.items()}
    return notes + milder_levels(asked, next((run.facts.get("profile") for run in runs), None))


def _gaps(run: FoundRun) -> Iterator[str]:
    curves, asked = run.curves, len(run.questions)
    if curves.clean is None:
        yield f"{run.model}: level 0, the clean images, was not run"
    if curves.n_failed:
        yield f"{run.model}: without a reply, and counted as wrong: {curves.n_failed:,}"
    fewer = [
        f"{corruption or 'clean'}{f'/{level}' if level else ''} {figures.total:,}"
        for corruption, level, figures in curves.variants
        if figures.total < asked
    ]
    if fewer:
        yield f"{run.model}: fewer than its {asked:,} questions in {first_and_more(fewer, 3)}"

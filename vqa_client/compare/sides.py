"""The records that a comparison needs of one run, or of several runs of one model, without prompts and replies."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from vqa_client.errors import DataError
from vqa_client.files import natural_key
from vqa_client.log_lines import Key
from vqa_client.reports.log_reader import find_logs, stem_of
from vqa_client.reports.logged_run import CLEAN, LoggedRun, headline_of, read_run
from vqa_client.reports.names import count, first_of
from vqa_client.task import Description
from vqa_client.types import ANSWERED, Group, Status


class Kept(Struct, frozen=True, gc=False):
    """A record without prompt and reply; `prompt` is the prompt's hash in this process, 0 without a prompt.

    `published` is its score by the published script, None if there is no such score beside the headline.
    """

    status: Status
    score: float
    answer: str | None
    references: tuple[str, ...]
    groups: dict[str, Group]
    cluster: str
    prompt: int
    published: float | None = None

    @property
    def answered(self) -> bool:
        return self.status in ANSWERED


class Side(Struct, kw_only=True):
    """One side of a comparison: `path` is as given, `label` is its name in texts."""

    path: Path
    runs: tuple[LoggedRun, ...]
    kept: dict[Key, Kept]
    label: str = ""
    notes: tuple[str, ...] = ()

    @property
    def task(self) -> str:
        """The benchmark, "" if no run file names it."""
        return next((run.task for run in self.runs if run.task), "")

    @property
    def variants(self) -> frozenset[str]:
        """The forms in which questions were asked."""
        return frozenset(variant for _, variant in self.kept)

    @property
    def only_variant(self) -> str | None:
        """The form in which all its questions were asked; None if there are several."""
        variants = self.variants
        return next(iter(variants)) if len(variants) == 1 else None

    @property
    def headline(self) -> str:
        """The variant of the headline figures, which is the only one if there are no others."""
        variants = sorted(self.variants, key=natural_key)
        return headline_of(variants) or variants[0]

    def of_headline(self) -> dict[Key, Kept]:
        """The records of the headline's variant."""
        variant = self.headline
        return {key: record for key, record in self.kept.items() if key[1] == variant}

    @property
    def digests(self) -> frozenset[str]:
        """The digests of the data files that run files name."""
        digests = (run.facts.described.get("data_sha256") for run in self.runs)
        return frozenset(str(digest) for digest in digests if digest)

    def facts(self, name: str) -> list[dict[str, Any]]:
        """The identity or the scoring of each run."""
        return [getattr(run.facts, name) for run in self.runs]

    @property
    def description(self) -> Description:
        """What the figures mean: that of the first run, since all runs are of one benchmark."""
        return self.runs[0].facts.description


def side_of(path: Path, runs: Sequence[LoggedRun]) -> Side:
    """A side of runs that share no question; raises DataError if nothing in them can be compared."""
    kept: dict[Key, Kept] = {}
    notes = [note for run in runs for note in _add_records(run, kept)]
    if not kept:
        raise DataError(f"{path}: no record in it can be compared", hint="; ".join(notes) or "ask the questions first")
    return Side(path=path, runs=tuple(runs), kept=kept, notes=tuple(notes))


def read_sides(place: Path, *, apart: bool = False) -> list[Side]:
    """Read all runs of a file or folder: a side per model, or per run if a model's runs share questions.

    With `apart` the runs of a single model are sides of their own. Nothing is locked, repaired or written. Raises
    DataError if there is no run, or if the runs are of several benchmarks.
    """
    runs = list(map(read_run, find_logs(place)))
    tasks = sorted({run.task for run in runs if run.task})
    if len(tasks) > 1:
        logs = first_of([str(run.log) for run in runs], 5)
        raise DataError(f"{place} contains runs of {', '.join(tasks)}", hint=f"name one of them: {logs}")
    by_model: dict[str, list[LoggedRun]] = {}
    for run in runs:
        by_model.setdefault(run.facts.model, []).append(run)
    apart = apart and len(by_model) == 1
    groups = [group for runs_of_model in by_model.values() for group in _part(runs_of_model, apart=apart)]
    groups.sort(key=lambda group: group[0].folder != CLEAN)  # the others are compared with the first
    return [side_of(place if len(groups) == 1 else group[0].log, group) for group in groups]


def _part(runs: list[LoggedRun], *, apart: bool) -> list[list[LoggedRun]]:
    keys = [run.records.keys() for run in runs]
    if apart or sum(map(len, keys)) > len(frozenset[Key]().union(*keys)):
        return [[run] for run in runs]
    return [runs]


def _add_records(run: LoggedRun, kept: dict[Key, Kept]) -> list[str]:
    """Add the records of a run, and give notes on what is left out."""
    odd = 0
    all_references: dict[tuple[str, ...], tuple[str, ...]] = {}  # equal ones are kept once: many records share theirs
    all_groups: dict[tuple[tuple[str, Group], ...], dict[str, Group]] = {}
    for record in run.records:
        if not 0 <= record.score <= 1:
            odd += 1
            continue
        prompt = "\n".join(filter(None, (record.prompt, record.system or "", *(record.shots or ()))))
        kept[record.key] = Kept(
            record.status,
            record.score,
            record.answer,
            all_references.setdefault(record.references, record.references),
            all_groups.setdefault(tuple(record.groups.items()), record.groups),
            record.cluster,
            hash(prompt),  # 0 for "": answers from a file have no prompt
            record.parts.get("published"),
        )
    name, unreadable = run.log.name, run.records.unreadable
    notes = [f"{name}: {unreadable:,} unreadable lines left out"] if unreadable else []
    return notes + ([f"{name}: {count(odd, 'record')} left out whose scores aren't between 0 and 1"] if odd else [])


def label_sides(sides: Sequence[Side]) -> None:
    """Give the sides distinct labels: the model, else the variant, else the model and the path."""
    ways: tuple[Callable[[Side], str], ...] = (
        _model,
        lambda side: side.only_variant or "",
        lambda side: " ".join(filter(None, (_model(side), f"({stem_of(side.path)})"))),
        lambda side: str(side.path),
    )
    for way in ways:
        labels = [way(side) for side in sides]
        if all(labels) and len(set(labels)) == len(labels):
            break
    else:
        labels = [f"{side.path} ({number})" for number, side in enumerate(sides, 1)]
    for side, label in zip(sides, labels, strict=True):
        side.label = label


def _model(side: Side) -> str:
    return " and ".join(dict.fromkeys(run.facts.model for run in side.runs if run.facts.model))

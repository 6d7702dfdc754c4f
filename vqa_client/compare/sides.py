"""What a comparison knows of a run, or of several that one model made: all but the replies, which stay in the logs."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from vqa_client.errors import DataError
from vqa_client.reports.log_reader import LOG_ENDING, find_logs
from vqa_client.reports.logged_run import CLEAN, LoggedRun, read_run
from vqa_client.reports.names import first_of
from vqa_client.task import Description
from vqa_client.types import ANSWERED, Group, Status

Key = tuple[str, str]
"""Question id and form, as `Record.key`."""
_ENDINGS = (LOG_ENDING, ".run.json", ".json", ".csv")


class Kept(Struct, frozen=True, gc=False):
    """A record without prompt and reply; `prompt` is the prompt's hash in this process, 0 where there is none.

    `published` is what the published script scores it, None where that is no score beside the headline.
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
    """One of the things compared: `path` is as given, `label` what texts call it."""

    path: Path
    runs: tuple[LoggedRun, ...]
    kept: dict[Key, Kept]
    label: str = ""
    notes: tuple[str, ...] = ()

    @property
    def task(self) -> str:
        """The benchmark, "" where no run file names it."""
        return next((run.task for run in self.runs if run.task), "")

    @property
    def variants(self) -> frozenset[str]:
        """The forms in which questions were asked."""
        return frozenset(variant for _, variant in self.kept)

    @property
    def only_variant(self) -> str | None:
        """The one form in which all its questions were asked; None where there are several."""
        variants = self.variants
        return next(iter(variants)) if len(variants) == 1 else None

    @property
    def digests(self) -> frozenset[str]:
        """The digests of the data files, as far as run files name them."""
        digests = (run.facts.described.get("data_sha256") for run in self.runs)
        return frozenset(str(digest) for digest in digests if digest)

    def facts(self, name: str) -> list[dict[str, Any]]:
        """The identity or the scoring of each run."""
        return [getattr(run.facts, name) for run in self.runs]

    @property
    def description(self) -> Description:
        """What the figures of the first run mean; of several runs, all are of one benchmark."""
        return self.runs[0].facts.description if self.runs else Description(headline="")


def side_of(path: Path, runs: Sequence[LoggedRun]) -> Side:
    """What is compared of some runs that ask no question twice; raises DataError where that is nothing."""
    side = Side(path=path, runs=tuple(runs), kept={})
    notes = [note for run in side.runs for note in _add(run, side)]
    if not side.kept:
        raise DataError(f"{path}: no record in it can be compared", hint="; ".join(notes) or "ask the questions first")
    side.notes = tuple(notes)
    return side


def read_sides(place: Path, *, apart: bool = False) -> list[Side]:
    """Read all that a file or folder holds: a side a model, or a run where one model's runs ask a question twice.

    With `apart` the runs of a single model are sides too. Nothing is locked, mended or written. Raises DataError where
    there is no run, or where the runs are of several benchmarks.
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
    groups.sort(key=lambda group: group[0].folder != CLEAN)  # what the others are compared with
    return [side_of(place if len(groups) == 1 else group[0].log, group) for group in groups]


def _part(runs: list[LoggedRun], *, apart: bool) -> list[list[LoggedRun]]:
    keys = [run.records.keys() for run in runs]
    if apart or sum(map(len, keys)) > len(frozenset[Key]().union(*keys)):
        return [[run] for run in runs]
    return [runs]


def _add(run: LoggedRun, side: Side) -> list[str]:
    odd, shared = 0, _Shared()
    for record in run.records:
        key = record.key
        if not 0 <= record.score <= 1:
            odd += 1
            continue
        side.kept[key] = Kept(
            record.status,
            record.score,
            record.answer,
            shared.references(record.references),
            shared.groups(record.groups),
            record.cluster,
            hash(
                "\n".join(filter(None, (record.prompt, record.system or "", *(record.shots or ()))))
            ),  # of "", which answers from a file have, it is 0
            record.parts.get("published"),
        )
    name, unreadable = run.log.name, run.records.unreadable
    return [f"{name}: {unreadable:,} unreadable lines left out"] * (unreadable > 0) + [
        f"{name}: {odd:,} records left out whose scores aren't between 0 and 1"
    ] * (odd > 0)


class _Shared:
    """Equal references and groups kept once: most records of a run have those of many others."""

    def __init__(self) -> None:
        self._references: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._groups: dict[tuple[tuple[str, Group], ...], dict[str, Group]] = {}

    def references(self, references: tuple[str, ...]) -> tuple[str, ...]:
        return self._references.setdefault(references, references)

    def groups(self, groups: dict[str, Group]) -> dict[str, Group]:
        return self._groups.setdefault(tuple(groups.items()), groups)


def tell_apart(sides: Sequence[Side]) -> None:
    """Give each side a label of its own: the model, else the variant, else the model and the path."""
    ways: tuple[Callable[[Side], str], ...] = (
        _model,
        lambda side: side.only_variant or "",
        lambda side: " ".join(filter(None, (_model(side), f"({_name(side.path)})"))),
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


def _name(path: Path) -> str:
    return next((path.name.removesuffix(ending) for ending in _ENDINGS if path.name.endswith(ending)), path.name)

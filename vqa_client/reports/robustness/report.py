"""The report of one robustness run: every corruption and level of one model in one JSON.

Accuracies, intervals and differences are in per cent, as in this program's other reports; the five metrics and their
reasons are of error rates in [0, 1], as published.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from vqa_client.files import write_json
from vqa_client.images.corruptions.table import milder_levels
from vqa_client.reports.overview import LEVELS, VARIANT
from vqa_client.reports.robustness.evaluation import write_results
from vqa_client.reports.run import Pairs, Run, in_percent
from vqa_client.reports.summary import Summary, summarise
from vqa_client.reports.varied import head, in_points, rest, scored
from vqa_client.scoring.corrupted_scores import CorruptedScores, Curves, Figures
from vqa_client.scoring.robustness import class_of, metrics_of
from vqa_client.types import Group, Question, Record, Status, group_text


class ScoredLine(Struct):
    """The fields of a record that are counted; faster to read from a log than whole records."""

    question_id: str
    status: Status
    variant: str = ""
    score: float = 0.0
    groups: dict[str, Group] = {}
    cluster: str = ""


class RobustnessSummary(Summary, frozen=True, kw_only=True):
    """A summary over all variants, the `curves` of each corruption, and `notes` on these."""

    curves: Curves
    notes: list[str]
    shown_alone: ClassVar = True


def write(
    path: Path,
    run: Run,
    pairs: Pairs,
    *,
    profile: str | None = None,
    corruption_seed: int | None = None,
    published_files: bool = False,
) -> RobustnessSummary:
    """Write the report, and with `published_files` a file per variant into `{report}_results/`; raises OutputError."""
    scores = CorruptedScores()
    fields = _fields(pairs())
    summary = summarise(_scored(pairs(), scores), crossings=[LEVELS, *((VARIANT, field) for field in fields)])
    curves = scores.curves()
    notes = milder_levels(curves.levels, profile)
    figures = _accuracies(curves) | ({"notes": notes} if notes else {}) | {"by_variant": _by_group(summary, fields)}
    write_json(path, head(run, profile=profile, corruption_seed=corruption_seed) | figures | rest(run, summary))
    if published_files:
        write_results(path.with_name(f"{path.stem}_results"), run, pairs)
    return RobustnessSummary(**asdict(summary), curves=curves, notes=notes)


def place_of(variant: str) -> tuple[str, int]:
    """Read a variant's name: "snow/3" is ("snow", 3), "clean" is ("", 0); raises ValueError for another form."""
    if variant == "clean":
        return "", 0
    corruption, slash, level = variant.rpartition("/")
    if not slash or not corruption:
        raise ValueError(f"{variant!r} is not a corruption and level")
    return corruption, int(level)


def add_to(scores: CorruptedScores, record: Record | ScoredLine, question_type: str = "") -> None:
    """Count a record; its type is its value of the group `question_type`, "" if the benchmark has none.

    Raises ValueError for a variant that is not a corruption and level.
    """
    corruption, level = place_of(record.variant)
    scores.add(
        record.question_id,
        corruption,
        level,
        score=record.score,
        status=record.status,
        cluster=record.cluster,
        type_=group_text(record.groups.get(question_type, "")),
    )


def _fields(pairs: Iterable[tuple[Question, Record]]) -> list[str]:
    """The breakdown fields of the benchmark, which all its questions have."""
    first = next(iter(pairs), None)
    return sorted(set(first[1].groups) - set(LEVELS)) if first else []


def _scored(pairs: Iterable[tuple[Question, Record]], scores: CorruptedScores) -> Iterator[Record]:
    for _, record in pairs:
        add_to(scores, record)
        yield replace(record, groups={**record.groups, VARIANT: record.variant})


def _accuracies(curves: Curves) -> dict[str, Any]:
    return {
        "clean": _level(curves.clean) if curves.clean else None,
        "corruptions": {name: _corruption(curves, name) for name in curves.levels},
    }


def _corruption(curves: Curves, name: str) -> dict[str, Any]:
    values, reasons = metrics_of(curves.errors(name))
    return {
        "class": class_of(name),
        "relative_drop": in_percent(curves.relative_drop(name)),
        "metrics": values,
        "reasons": reasons,
        "levels": {str(level): _level(figures) for level, figures in curves.levels[name].items()},
    }


def _level(figures: Figures) -> dict[str, Any]:
    less = {"difference": in_points(figures.difference)} if figures.difference else {}
    return scored(figures) | {"answered": figures.answered} | less | {"status_counts": figures.statuses}


def _by_group(summary: Summary, fields: Iterable[str]) -> dict[str, Any]:
    return {
        field: {
            variant: {value: scored(tally) for value, tally in tallies.items()}
            for variant, tallies in summary.crossings[VARIANT, field].items()
        }
        for field in fields
    }

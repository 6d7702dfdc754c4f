"""Reads what is to be compared, compares it, and writes the four files.

The page is for people; the JSON has everything, and the two CSV files questions and groups for spreadsheets.
"""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from vqa_client.compare.figures import Compared, compare
from vqa_client.compare.matching import Pair
from vqa_client.compare.page import page, write_page
from vqa_client.compare.sections import sentence
from vqa_client.compare.sides import Kept, Key, Side, read_sides, tell_apart
from vqa_client.errors import UsageError
from vqa_client.files import write_json
from vqa_client.html.shown_images import Show
from vqa_client.reports.csv_rows import write_rows
from vqa_client.types import group_text
from vqa_client.version import __version__

JSON_NAME, CSV_NAME, GROUPS_NAME, PAGE_NAME = "compare.json", "compare.csv", "compare_groups.csv", "compare.html"
UNIT = "accuracies, scores, differences and intervals are shares in [0, 1]; a difference is b less a"
_GROUP_HEAD = (
    *("a", "b", "field", "value", "n", "clusters", "accuracy_a", "accuracy_b", "difference", "low", "high"),
    *("p", "p_holm"),
)


def compare_runs(places: Sequence[Path]) -> tuple[list[Side], Compared]:
    """Read and compare; a run that is named twice counts once, and a folder as all runs in it.

    Raises DataError for what can't be read, IdentityError for runs of other data, UsageError for a single run.
    """
    sides: dict[frozenset[Path], Side] = {}
    for place in places:
        for side in read_sides(place, apart=len(places) == 1):
            sides.setdefault(frozenset(run.log.resolve() for run in side.runs), side)
    if len(places) == 1 and len(sides) == 1:
        raise UsageError(f"there is 1 run to compare in {places[0]}", hint="name another run over the same questions")
    if len(sides) < 2:
        raise UsageError(f"{' and '.join(map(str, places))} are one run", hint="name two runs over the same questions")
    named = list(sides.values())
    tell_apart(named)
    return named, compare(named)


def comparison_page(logs: Sequence[Path], show: Show) -> bytes:
    """Compare and give the page alone; raises as `compare_runs` does."""
    return page(*compare_runs(logs), show, served=True)


def write_comparison(
    folder: Path, sides: Sequence[Side], compared: Compared, *, html_images: int, csv_safe: bool
) -> tuple[Path, ...]:
    """Write everything and name the files, the page where Jinja is installed; raises UsageError for a full disk."""
    write_json(folder / JSON_NAME, content(sides, compared), rb'\{\n  "vqa_client": ')
    write_rows(folder / CSV_NAME, _questions(sides, compared), rb"question_id,variant,", csv_safe=csv_safe)
    write_rows(folder / GROUPS_NAME, _groups(compared), rb"a,b,field,value,", csv_safe=csv_safe)
    names = [JSON_NAME, CSV_NAME, GROUPS_NAME]
    if find_spec("jinja2") is not None:
        write_page(folder / PAGE_NAME, sides, compared, most_images=html_images)
        names.append(PAGE_NAME)
    return tuple(folder / name for name in names)


def content(sides: Sequence[Side], compared: Compared) -> dict[str, Any]:
    """Give all that the JSON holds."""
    return {
        "vqa_client": __version__,
        "unit": UNIT,
        "sides": [_side(side) for side in sides],
        "comparisons": [
            {
                "sentence": sentence(of),
                "difference_shown": of.shown,
                **msgspec.to_builtins(of),
                "only_a": [list(key) for key in matched.only_a],
                "only_b": [list(key) for key in matched.only_b],
                "flips": [_flip(pair) for pair in matched.pairs if pair.changed],
            }
            for of, matched in compared
        ],
    }


def _side(side: Side) -> dict[str, Any]:
    runs = [
        {
            "log": str(run.log),
            "task": run.task,
            "variant": run.variant,
            "model": run.facts.model,
            "scoring": run.facts.scoring,
            "data_sha256": run.facts.described.get("data_sha256"),
        }
        for run in side.runs
    ]
    return {"label": side.label, "path": str(side.path), "questions": len(side.kept), "runs": runs}


def _flip(pair: Pair) -> dict[str, Any]:
    return {
        "question_id": pair.key[0],
        "variant": pair.key[1],
        "references": list(dict.fromkeys(pair.a.references)),
        "a": _reply(pair.a),
        "b": _reply(pair.b),
    }


def _reply(kept: Kept) -> dict[str, Any]:
    return {"status": kept.status, "answer": kept.answer, "score": kept.score}


def _questions(sides: Sequence[Side], compared: Compared) -> Iterator[list[Any]]:
    """A row for each question of any side; cells of a side that wasn't asked are empty."""
    columns = [sides[0].kept]
    for side, (_, matched) in zip(sides[1:], compared, strict=True):
        columns.append({pair.key: pair.b for pair in matched.pairs})
        columns[-1] |= {key: side.kept[_own(key, side)] for key in matched.only_b}
    keys = dict.fromkeys(key for column in columns for key in column)
    first = {key: next(column[key] for column in columns if key in column) for key in keys}
    fields = list(dict.fromkeys(field for kept in first.values() for field in kept.groups))
    told = [f"{name} ({side.label})" for side in sides for name in ("status", "answer", "score")]
    yield ["question_id", "variant", "cluster", "references", *told, *fields]
    for key, kept in first.items():
        replies = [_cells(column.get(key)) for column in columns]
        yield [
            *key,
            kept.cluster,
            " | ".join(dict.fromkeys(kept.references)),
            *(cell for reply in replies for cell in reply),
            *(group_text(kept.groups.get(field, "")) for field in fields),
        ]


def _own(key: Key, side: Side) -> Key:
    """The key under which a side has a question that may have been matched by its id alone."""
    return key if key in side.kept else (key[0], next(iter(side.variants)))


def _cells(kept: Kept | None) -> tuple[Any, ...]:
    return ("", "", "") if kept is None else (kept.status, kept.answer or "", kept.score)


def _groups(compared: Compared) -> Iterator[list[Any]]:
    """A row for each comparison, its field empty, and one for each group."""
    yield list(_GROUP_HEAD)
    for of, _ in compared:
        less = of.difference
        accuracies = of.accuracy_a.value, of.accuracy_b.value
        yield [of.a, of.b, "", "", of.n, of.clusters, *accuracies, less.value, less.low, less.high, of.p, of.p_holm]
        for group in (*of.variants, *of.groups):
            less, scores = group.difference, (group.a, group.b)
            named = [of.a, of.b, group.field, group.value, less.n, less.clusters]
            yield [*named, *scores, less.value, less.low, less.high, group.p, group.p_holm]

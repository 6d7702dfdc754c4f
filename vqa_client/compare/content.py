"""A comparison as files for programs and spreadsheets: everything as JSON, questions and groups as CSV."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from vqa_client.compare.figures import Compared
from vqa_client.compare.matching import Pair
from vqa_client.compare.sections import sentence
from vqa_client.compare.sides import Kept, Key, Side
from vqa_client.reports.csv_rows import harmless, write_rows
from vqa_client.types import group_text
from vqa_client.version import __version__

UNIT = "accuracies, scores, differences and intervals are shares in [0, 1]; a difference is b less a"
_GROUP_HEAD = (
    *("a", "b", "field", "value", "n", "clusters", "accuracy_a", "accuracy_b", "difference", "low", "high"),
    *("p", "p_holm"),
)


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


def write_questions(path: Path, sides: Sequence[Side], compared: Compared, *, csv_safe: bool) -> None:
    """Write one row a question of any side; cells of a side that wasn't asked are empty."""
    write_rows(path, _safe(_question_rows(sides, compared), csv_safe=csv_safe), rb"question_id,variant,")


def write_groups(path: Path, compared: Compared, *, csv_safe: bool) -> None:
    """Write one row a comparison, its field empty, and one a group."""
    write_rows(path, _safe(_group_rows(compared), csv_safe=csv_safe), rb"a,b,field,value,")


def _question_rows(sides: Sequence[Side], compared: Compared) -> Iterator[list[Any]]:
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


def _group_rows(compared: Compared) -> Iterator[list[Any]]:
    yield list(_GROUP_HEAD)
    for of, _ in compared:
        less = of.difference
        accuracies = of.accuracy_a.value, of.accuracy_b.value
        yield [of.a, of.b, "", "", of.n, of.clusters, *accuracies, less.value, less.low, less.high, of.p, of.p_holm]
        for group in (*of.variants, *of.groups):
            less, scores = group.difference, (group.a, group.b)
            named = [of.a, of.b, group.field, group.value, less.n, less.clusters]
            yield [*named, *scores, less.value, less.low, less.high, group.p, group.p_holm]


def _safe(rows: Iterable[list[Any]], *, csv_safe: bool) -> Iterator[list[Any]]:
    for row in rows:
        yield harmless(row) if csv_safe else row

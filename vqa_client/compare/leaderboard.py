"""Many finished runs as one table, models by benchmarks: each cell a headline, its interval, and how sure its rank is.

A rank is an interval: a model is surely below those that are significantly better, and surely above those that are
significantly worse, by paired sign-flip tests over the questions of both, adjusted (Holm) for all pairs of a column.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import fsum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.compare.matching import match, warnings
from vqa_client.compare.sides import Side, read_side, tell_apart
from vqa_client.errors import DataError, IdentityError
from vqa_client.files import natural_key, replacing
from vqa_client.html.page import OURS, environment, frame
from vqa_client.reports.log_reader import find_logs
from vqa_client.reports.logged_run import LoggedRun, headline_of, read_run
from vqa_client.scoring.paired import by_cluster, difference
from vqa_client.scoring.paired_tests import holm
from vqa_client.scoring.statistics import interval

SURE = 0.05
"""Below this adjusted p, one of two models is better."""


class Cell(Struct, frozen=True, kw_only=True):
    """One run: its headline (a share in [0, 1], or points of `most`), and its rank in the column, 1 the best.

    `best` and `worst` bound the rank. `failed` of the `n` questions have no reply and count as wrong; of `expected`
    questions `n` are asked. `apart` says why it isn't compared with the column's first run; it has no rank then.
    """

    log: Path
    value: float | None
    low: float | None = None
    high: float | None = None
    most: float = 1.0
    n: int = 0
    failed: int = 0
    expected: int | None = None
    best: int | None = None
    worst: int | None = None
    apart: str = ""

    @property
    def incomplete(self) -> bool:
        """Whether questions are still to be asked."""
        return self.expected is not None and self.n < self.expected


class Column(Struct, frozen=True, kw_only=True):
    """One benchmark, or one part of its data: what its figures are, its cells by model, and what differs among them."""

    title: str
    measure: str
    cells: dict[str, Cell]
    notes: tuple[str, ...] = ()


class Leaderboard(Struct, frozen=True, kw_only=True):
    """All columns, and the models in the order of their mean over the columns that all of them have."""

    models: tuple[str, ...]
    columns: tuple[Column, ...]
    means: dict[str, float] = {}
    """The mean of each model over `in_mean` columns of shares, where there are at least two."""
    in_mean: int = 0


def leaderboard(places: Sequence[Path]) -> Leaderboard:
    """Read every run that the files and folders hold; raises DataError where there is none."""
    logs = dict.fromkeys(log.resolve() for place in places for log in find_logs(place))
    groups: dict[tuple[str, str], list[LoggedRun]] = {}
    for log in logs:
        run = read_run(log)
        groups.setdefault((run.task or run.stem, run.variant), []).append(run)
    ordered = sorted(groups.items(), key=lambda item: tuple(map(natural_key, item[0])))
    columns = tuple(_column(" ".join(filter(None, key)), runs) for key, runs in ordered)
    return _ordered(columns)


def _ordered(columns: tuple[Column, ...]) -> Leaderboard:
    models = list(dict.fromkeys(model for column in columns for model in column.cells))
    shared = [
        column for column in columns if all(model in column.cells and _counts(column.cells[model]) for model in models)
    ]
    means = {model: _mean(model, shared or columns) for model in models}
    models.sort(key=lambda model: (-means[model], natural_key(model)))
    return Leaderboard(
        models=tuple(models),
        columns=columns,
        means=means if len(shared) > 1 else {},
        in_mean=len(shared),
    )


def _mean(model: str, columns: Sequence[Column]) -> float:
    values = [cell.value or 0.0 for column in columns if (cell := column.cells.get(model)) and _counts(cell)]
    return fsum(values) / len(values) if values else 0.0


def _counts(cell: Cell) -> bool:
    """Whether a cell may enter a mean over columns."""
    return cell.value is not None and cell.most == 1 and not cell.apart


def _column(title: str, runs: Sequence[LoggedRun]) -> Column:
    sides, notes = [], []
    for run in runs:
        try:
            sides.append(read_side(run.log))
        except DataError as error:
            notes.append(str(error))
    tell_apart(sides)
    cells = {side.label: _cell(side) for side in sides}
    order = sorted(cells, key=lambda label: -(cells[label].value or 0.0))
    cells, differing = _ranked({label: cells[label] for label in order}, {side.label: side for side in sides})
    description = runs[0].facts.description
    leading = description.leading_total.replace("_", " ")
    return Column(title=title, measure=leading or description.measure, cells=cells, notes=(*notes, *differing))


def _cell(side: Side) -> Cell:
    run = side.runs[0]
    variant = headline_of(sorted(side.variants, key=natural_key))
    kept = [(key, one) for key, one in side.kept.items() if variant is None or key[1] == variant]
    scored = any(one.references for _, one in kept)
    value = fsum(one.score for _, one in kept) / len(kept) if scored else None
    spread = interval(by_cluster((one.score, one.cluster or key[0]) for key, one in kept)) if scored else None
    cell = Cell(
        log=run.log,
        value=value,
        low=spread.low if spread else None,
        high=spread.high if spread else None,
        n=len(kept),
        failed=sum(not one.answered for _, one in kept),
        expected=run.facts.expected if variant is None else None,
    )
    description = run.facts.description
    total = run.facts.totals.get(description.leading_total, {}).get(description.headline)
    if total is None:
        return cell
    most = description.points.get(description.leading_total, 1.0)
    return replace(cell, value=total.value, low=total.low, high=total.high, most=most)


def _ranked(cells: dict[str, Cell], sides: Mapping[str, Side]) -> tuple[dict[str, Cell], list[str]]:
    """The cells with their ranks, and what a reader should know of differences in how runs were made."""
    labels = [label for label, cell in cells.items() if cell.value is not None]
    if not labels:
        return cells, []
    first, notes, apart = labels[0], list[str](), dict[str, str]()
    for label in labels[1:]:
        try:
            matched = match(sides[first], sides[label])
        except (IdentityError, DataError) as error:
            apart[label] = str(error).splitlines()[-1].strip()
            notes.append(f"{label} is not comparable with {first}: {' '.join(str(error).split())}")
            continue
        notes += [
            f"{label} and {first}: {note}"
            for note in warnings(sides[first], sides[label], matched)
            if "without a reply" not in note
        ]
    ranked = [label for label in labels if label not in apart]
    better = _surely_better(ranked, sides)
    for label in ranked:
        above = sum(label in worse for worse in better.values())
        cells[label] = replace(cells[label], best=1 + above, worst=len(ranked) - len(better[label]))
    for label, reason in apart.items():
        cells[label] = replace(cells[label], apart=reason)
    return cells, list(dict.fromkeys(notes))


def _surely_better(labels: Sequence[str], sides: Mapping[str, Side]) -> dict[str, set[str]]:
    """Those that each one is significantly better than."""
    pairs, found = list(combinations(labels, 2)), {label: set[str]() for label in labels}
    differences = [difference(_paired(sides[a], sides[b])) for a, b in pairs]
    adjusted = holm([1.0 if one is None else one.p for one in differences])
    for (a, b), between, p in zip(pairs, differences, adjusted, strict=True):
        if between is not None and p < SURE:
            winner, loser = (a, b) if between.value > 0 else (b, a)
            found[winner].add(loser)
    return found


def _paired(a: Side, b: Side) -> Iterable[tuple[float, float, str]]:
    matched = match(a, b)
    variant = headline_of(sorted({pair.key[1] for pair in matched.pairs}, key=natural_key))
    return (
        (pair.a.score, pair.b.score, pair.cluster)
        for pair in matched.pairs
        if variant is None or pair.key[1] == variant
    )


def write_board_page(path: Path, board: Leaderboard, title: str) -> None:
    """Replace the page; raises OutputError where it can't be written, or where Jinja isn't installed."""
    pages = {
        cell.log: os.path.relpath(page, path.parent)
        for column in board.columns
        for cell in column.cells.values()
        if (page := cell.log.with_name(cell.log.name.replace(".records.jsonl", ".html"))).exists()
    }
    text = environment().get_template("leaderboard.html.j2").render(board=board, pages=pages, title=title, **frame())
    with replacing(path, OURS) as file:
        file.write(text.encode("utf-8", "replace"))

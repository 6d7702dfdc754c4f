"""Many finished runs as one table, models by benchmarks: each cell has a headline, its interval and its rank.

A rank is a range: a model ranks below the models that are significantly better and above those that are significantly
worse, by paired sign-flip tests over common questions, adjusted (Holm) for all pairs of a column. A run that asks in
several forms (corruptions, repeats, with and without images) is compared by one of them.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import fsum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.compare.figures import accuracy_of
from vqa_client.compare.matching import match, warnings
from vqa_client.compare.sides import Side, side_of
from vqa_client.errors import DataError, IdentityError
from vqa_client.files import natural_key, replacing
from vqa_client.html.page import OURS, rendered
from vqa_client.reports.log_reader import WAY_OUT, file_beside, find_logs
from vqa_client.reports.logged_run import SEEN, LoggedRun, read_run, variant_words
from vqa_client.reports.names import one_line
from vqa_client.scoring.paired import Difference, difference, holm
from vqa_client.settings.run import entry_title

SIGNIFICANT = 0.05
"""Below this adjusted p, one of two models is better."""


class Cell(Struct, frozen=True, kw_only=True):
    """One run: its headline (a share in [0, 1], or points of `most`), and its rank in the column, 1 the best.

    `best` and `worst` bound the rank, None without another run to compare with. `failed` of the `n` questions have no
    reply and count as wrong; `expected` includes those that are still to be asked, in any form. `of` names the form of
    the figures if a run has several. `apart` says why a run isn't compared with the others.
    """

    log: Path
    value: float | None
    low: float | None = None
    high: float | None = None
    most: float = 1.0
    n: int
    failed: int
    expected: int | None
    best: int | None = None
    worst: int | None = None
    of: str
    apart: str = ""

    @property
    def incomplete(self) -> bool:
        """Whether questions are still to be asked."""
        return self.expected is not None and self.n < self.expected

    @property
    def counts(self) -> str:
        """The number of questions, their form, and how many have no reply or are still to be asked."""
        failed = f"{self.failed:,} failed" if self.failed else ""
        left = f"{(self.expected or 0) - self.n:,} not asked" if self.incomplete else ""
        return ", ".join(filter(None, (f"n {self.n:,}", self.of, failed, left)))

    @property
    def rank(self) -> str:
        """The rank as a range, or that the run isn't comparable; "" if no other run is ranked."""
        if self.best is None:
            return "not comparable" if self.apart else ""
        return f"rank {self.best}" if self.best == self.worst else f"rank {self.best}-{self.worst}"


class BoardColumn(Struct, frozen=True, kw_only=True):
    """One benchmark, or one part of its data: its measure, its cells by model, and how their runs differ."""

    title: str
    measure: str
    cells: dict[str, Cell]
    notes: tuple[str, ...] = ()


class Leaderboard(Struct, frozen=True, kw_only=True):
    """All columns, and the models in the order of their mean over the columns that most models have finished."""

    models: tuple[str, ...]
    columns: tuple[BoardColumn, ...]
    means: dict[str, float] = {}
    """The mean of each model over `in_mean` columns of shares, if there are at least two."""
    in_mean: int = 0
    left_out: tuple[str, ...] = ()
    """Why some runs are in no column."""


def leaderboard(places: Sequence[Path]) -> Leaderboard:
    """Read every run in files and folders; raises DataError if none can be read."""
    runs, left_out = list[LoggedRun](), list[str]()
    for log in dict.fromkeys(log.resolve() for place in places for log in find_logs(place)):
        try:
            runs.append(read_run(log))
        except (DataError, IdentityError) as error:
            left_out.append(str(error))
    titles = {run.log: _title(run) for run in runs}
    labels = _labels(runs, titles) if runs else {}
    groups: dict[str, list[LoggedRun]] = {}
    for run in runs:
        groups.setdefault(titles[run.log], []).append(run)
    columns = tuple(_column(title, groups[title], labels) for title in sorted(groups, key=natural_key))
    if not any(column.cells for column in columns):
        raise DataError("\n".join((*left_out, *(note for column in columns for note in column.notes))), hint=WAY_OUT)
    return _in_order(columns, tuple(left_out))


def _title(run: LoggedRun) -> str:
    """The benchmark, with its part of the data and its name in a suite, if any."""
    return entry_title(run.task or run.stem, str(run.facts.settings.get("entry", "")), run.folder)


def _labels(runs: Sequence[LoggedRun], titles: Mapping[Path, str]) -> dict[Path, str]:
    """The label of each run: its model, with its folder or path if runs of one model share a column."""
    root = os.path.commonpath([run.log.parent for run in runs])

    def with_path(run: LoggedRun, path: Path) -> str:
        place = os.path.relpath(path, root)
        return f"{run.facts.model} ({place})".strip() if place != os.curdir else run.facts.model

    ways: tuple[Callable[[LoggedRun], str], ...] = (
        lambda run: run.facts.model,
        lambda run: with_path(run, run.log.parent),
        lambda run: with_path(run, run.log.with_name(run.stem)),
    )
    by_model: dict[str, list[LoggedRun]] = {}
    for run in runs:
        by_model.setdefault(run.facts.model, []).append(run)
    all_labels: dict[Path, str] = {}
    for own in by_model.values():
        for way in ways:
            labels = {run.log: way(run) for run in own}
            if all(labels.values()) and len({(titles[run.log], labels[run.log]) for run in own}) == len(own):
                break
        all_labels |= labels
    return all_labels


def _in_order(columns: tuple[BoardColumn, ...], left_out: tuple[str, ...]) -> Leaderboard:
    models = list(dict.fromkeys(model for column in columns for model in column.cells))
    counts = [sum(map(_is_averaged, column.cells.values())) for column in columns]
    common = [column for column, count in zip(columns, counts, strict=True) if count == max(counts)]
    means = {model: _mean(model, common) for model in models}
    models.sort(key=lambda model: (-means[model], natural_key(model)))
    has_means = len(common) > 1 and max(counts) == len(models)
    return Leaderboard(
        models=tuple(models),
        columns=columns,
        means=means if has_means else {},
        in_mean=len(common) if has_means else 0,
        left_out=left_out,
    )


def _mean(model: str, columns: Sequence[BoardColumn]) -> float:
    values = [cell.value or 0.0 for column in columns if (cell := column.cells.get(model)) and _is_averaged(cell)]
    return fsum(values) / len(values) if values else 0.0


def _is_averaged(cell: Cell) -> bool:
    """Whether a cell counts in a mean over columns; a run of --blind repeats the figure of a plain run."""
    is_blind = cell.of == variant_words(SEEN)
    return cell.value is not None and cell.most == 1 and not (cell.apart or cell.incomplete or is_blind)


def _column(title: str, runs: Sequence[LoggedRun], labels: Mapping[Path, str]) -> BoardColumn:
    sides, notes = dict[str, Side](), list[str]()
    for run in runs:
        try:
            side = side_of(run.log, [run])
        except DataError as error:
            notes.append(str(error))
            continue
        side.label = labels[run.log]
        sides[side.label] = side
    cells = {label: _cell(side) for label, side in sides.items()}
    order = sorted(cells, key=lambda label: -(cells[label].value or 0.0))
    cells, rank_notes = _rank({label: cells[label] for label in order}, sides)
    description = runs[0].facts.description
    leading = description.leading_total.replace("_", " ")
    if leading and any(cell.best is not None for cell in cells.values()):
        rank_notes.append(f"figures are {leading}; ranks compare questions, by their mean {description.measure}")
    return BoardColumn(title=title, measure=leading or description.measure, cells=cells, notes=(*notes, *rank_notes))


def _cell(side: Side) -> Cell:
    """The side's cell; the side keeps only the records of the form that figures are of."""
    run = side.runs[0]
    side.kept = side.of_headline()
    kept, expected = side.kept.values(), run.facts.expected
    accuracy = accuracy_of([(record, record.cluster) for record in kept])
    scored = any(record.references for record in kept)
    spread = accuracy.interval if scored else None
    cell = Cell(
        log=run.log,
        value=accuracy.value if scored else None,
        low=spread.low if spread else None,
        high=spread.high if spread else None,
        n=len(kept),
        failed=len(kept) - accuracy.answered,
        expected=None if expected is None else len(kept) + max(0, expected - len(run.records)),
        of=run.of_words,
    )
    description = run.facts.description
    if not description.leading_total:
        return cell
    total = run.facts.totals.get(description.leading_total, {}).get(description.headline)
    if total is None:  # the run's report isn't written yet
        return replace(cell, value=None, low=None, high=None)
    most = description.points.get(description.leading_total, 1.0)
    return replace(cell, value=total.value, low=total.low, high=total.high, most=most)


def _rank(cells: dict[str, Cell], sides: Mapping[str, Side]) -> tuple[dict[str, Cell], list[str]]:
    """The cells with their ranks, and notes on how the runs differ."""
    labels = [label for label, cell in cells.items() if cell.value is not None]
    if len(labels) < 2:
        return cells, []
    usual, notes, apart = _usual_run(labels, sides), list[str](), dict[str, str]()
    differing: dict[str, list[str]] = {}
    for label in labels:
        if label == usual:
            continue
        try:
            matched = match(sides[usual], sides[label])
        except (IdentityError, DataError) as error:
            apart[label] = one_line(str(error))
            notes.append(f"{label} is not comparable with {usual}: {apart[label]}")
            continue
        for note in warnings(sides[usual], sides[label], matched):
            if "without a reply" not in note:
                differing.setdefault(note, []).append(label)
    notes += [f"{usual} and {', '.join(of)}: {note}" for note, of in differing.items()]
    ranked = [label for label in labels if label not in apart]
    beaten = _beaten_by(ranked, sides, notes)
    for label in ranked if len(ranked) > 1 else ():
        above = sum(label in worse for worse in beaten.values())
        cells[label] = replace(cells[label], best=1 + above, worst=len(ranked) - len(beaten[label]))
    for label, reason in apart.items():
        cells[label] = replace(cells[label], apart=reason)
    return cells, notes


def _usual_run(labels: Sequence[str], sides: Mapping[str, Side]) -> str:
    """The run that the others are matched with.

    It has the data that most runs have; among these it has the most questions, then a single form, then the best score.
    """
    shared = Counter(sides[label].digests for label in labels)
    ranks = {label: (shared[side.digests], len(side.kept), side.variants == {""}) for label, side in sides.items()}
    return max(labels, key=ranks.__getitem__)


def _beaten_by(labels: Sequence[str], sides: Mapping[str, Side], notes: list[str]) -> dict[str, set[str]]:
    """The models that each model is significantly better than; adds notes on pairs that can't be compared."""
    pairs, beaten = list(combinations(labels, 2)), {label: set[str]() for label in labels}
    differences = list[Difference | None]()
    for a, b in pairs:
        try:
            matched = match(sides[a], sides[b]).pairs
            differences.append(difference((pair.a.score, pair.b.score, pair.cluster) for pair in matched))
        except (IdentityError, DataError):
            differences.append(None)
            notes.append(f"{a} and {b} can't be compared with each other, only with others")
    adjusted = holm([1.0 if gap is None else gap.p for gap in differences])
    for (a, b), between, p in zip(pairs, differences, adjusted, strict=True):
        if between is not None and p < SIGNIFICANT:
            winner, loser = (a, b) if between.value > 0 else (b, a)
            beaten[winner].add(loser)
    return beaten


def write_board_page(path: Path, board: Leaderboard, title: str) -> None:
    """Replace the page; raises OutputError if it can't be written, UsageError without Jinja."""
    pages = {
        cell.log: os.path.relpath(page, path.parent.resolve())
        for column in board.columns
        for cell in column.cells.values()
        if (page := file_beside(cell.log, ".html")).exists()
    }
    with replacing(path, OURS) as file:
        file.write(rendered("leaderboard.html.j2", board=board, pages=pages, title=title))

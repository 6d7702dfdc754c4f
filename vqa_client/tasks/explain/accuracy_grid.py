"""The grid of best accuracies over all runs, `accuracy_grid.csv`, and the history of every run beside it.

A benchmark has a row, a model and split a column. The cell `0.735 (100)` is the accuracy over the answered questions
and their number n. The published rule keeps the best accuracy, so that a lucky run of ten samples beats a run of a
thousand. Here the larger n wins, and of equal n the better accuracy, also where a run is reported again on fewer of its
questions. A run under conditions that aren't published (prompt mode, parsing, model settings, recoded images) has its
own column. Other rows and columns stay unchanged.
"""

import csv
import fcntl
import hashlib
import io
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from vqa_client.errors import OutputError, UsageError
from vqa_client.files import ROOM
from vqa_client.tables.delimited import write_rows
from vqa_client.reports.run import Run, Sample
from vqa_client.reports.summary import Summary


class GridTable:
    """A CSV file with a header and a column "task"; its unknown columns and rows are kept."""

    def __init__(self, columns: list[str], rows: list[list[str]]) -> None:
        self.columns = columns
        self.rows = rows

    @classmethod
    def read(cls, path: Path, columns: Sequence[str]) -> "GridTable":
        """Read a table, and add the missing ones of `columns`; a missing file is an empty table."""
        try:
            text = path.read_bytes().decode("utf-8-sig") if path.exists() else ""
            header, *rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row] or [[*columns]]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise UsageError(f"can't read {path}: {error}", hint="move it away or mend it") from None
        if "task" not in header:
            raise UsageError(f"{path} has no column 'task'", hint="move it away or mend it")
        header += [""] * (max(map(len, rows), default=0) - len(header))
        return cls([*header, *(column for column in columns if column not in header)], rows)

    def get(self, row: Sequence[str], column: str) -> str:
        """A row's cell in a column, "" where the row is shorter."""
        place = self.columns.index(column)
        return row[place] if place < len(row) else ""

    def put(self, row: list[str], column: str, cell: str) -> None:
        place = self.columns.index(column)
        row += [""] * (place + 1 - len(row))
        row[place] = cell

    def has(self, row: Sequence[str], **cells: str) -> bool:
        """Whether the row has these cells; spaces around them don't count."""
        return all(self.get(row, column).strip() == cell for column, cell in cells.items())

    def add(self, **cells: str) -> list[str]:
        row: list[str] = []
        for column, cell in cells.items():
            self.put(row, column, cell)
        self.rows.append(row)
        return row

    def write(self, path: Path) -> None:
        width = len(self.columns)
        write_rows(path, [self.columns, *(row + [""] * (width - len(row)) for row in self.rows)])


GRID: Final = "accuracy_grid.csv"
HISTORY: Final = "accuracy_grid_history.csv"
_LOCK: Final = ".accuracy_grid.lock"
ROWS: Final = ("VQA-X", "ACT-X", "ESNLI-VE", "VCR")
_MODELS: Final = ("llava", "qwen")
_SPLITS: Final = ("train", "test", "val")
COLUMNS: Final = ("task", *(f"{model}_{split}" for model in _MODELS for split in _SPLITS))
HISTORY_COLUMNS: Final = (
    *("started", "task", "column", "accuracy", "n", "failed", "kept", "model", "split", "conditions"),
    *("model_name", "settings_sha256", "data_path", "sample"),
)
_CELL = re.compile(r"\s*(?P<accuracy>\d+(?:\.\d+)?)(?![\w.])[^(]*(?:\((?P<n>\d+)\))?")

_PATIENCE_S: Final = 30.0
"""An update takes milliseconds: a process that keeps the lock for longer is stopped, or died on another machine."""
_POLL_S: Final = 0.05


class GridRun(Struct, frozen=True, kw_only=True):
    """One complete run: `title` is the benchmark's row, `model` the model's name in the results.

    `conditions` are those that differ from the published ones, such as ("3shot",). `settings` are all settings that
    change what is asked, `n` is the number of answered questions, `failed` of the others. `started` distinguishes
    runs. `sample` describes the drawn questions, "" for the first questions or all.
    """

    title: str
    model: str
    split: str
    accuracy: float
    n: int
    failed: int = 0
    conditions: tuple[str, ...] = ()
    settings: Mapping[str, Any] = {}
    model_name: str = ""
    data_path: str = ""
    started: str = ""
    sample: str = ""

    @property
    def digest(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self.settings, order="deterministic")).hexdigest()

    @property
    def cell(self) -> str:
        return _cell(self.accuracy, self.n)


def entry_of(
    run: Run,
    summary: Summary,
    *,
    title: str,
    model: str,
    split: str,
    conditions: Sequence[str] = (),
    images: Mapping[str, Any] | None = None,
) -> GridRun | None:
    """The entry of a run; None where no question was answered. `images` says how images were recoded."""
    overall = summary.overall
    if overall.accuracy_answered is None:
        return None
    return GridRun(
        title=title,
        model=model,
        split=split,
        accuracy=overall.accuracy_answered,
        n=overall.answered,
        failed=overall.failed,
        conditions=tuple(conditions),
        settings={
            "model": _without(run.model_settings, "timeout"),
            "scoring": _without(run.scoring, "version"),
            **({"images": images} if images else {}),
        },
        model_name=run.model,
        data_path=run.data_path,
        started=run.started,
        sample=_sample_words(run.sample) if run.sample else "",
    )


def _sample_words(sample: Sample) -> str:
    by = f", by {', '.join(sample.by)}" if sample.by else ""
    return f"{sample.size} of {sample.of}{by}, seed {sample.seed}"


def _cell(accuracy: float, n: int) -> str:
    return f"{accuracy:.3f} ({n})"


def _without(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key != name}


def read_tables(results_dir: Path) -> tuple[GridTable, GridTable]:
    """Read the grid and the history; raises UsageError where one can't be read or isn't such a table."""
    return GridTable.read(results_dir / GRID, COLUMNS), GridTable.read(results_dir / HISTORY, HISTORY_COLUMNS)


def update(results_dir: Path, entry: GridRun) -> Path:
    """Add a run to the history, and to the grid where it is the best of its cell; return the grid's path.

    A run that is in the history already, by its start, its settings and its questions, replaces itself there and in
    the grid. Raises UsageError where a file can't be read or written or isn't such a table, or where another process
    keeps the folder's lock.
    """
    with _hold_lock(results_dir):
        grid, history = read_tables(results_dir)
        column = _column(entry, history)
        row = _row(grid, entry, column)
        of_cell = [run for run in history.rows if history.has(run, task=entry.title, column=column)]
        own = next((run for run in of_cell if _is_same_run(history, run, entry)), None)
        current = grid.get(row, column)
        kept = _beats(entry, current) or (own is not None and _is_shown(history, own, current))
        if kept:
            grid.put(row, column, entry.cell)
            for run in of_cell:
                history.put(run, "kept", "0")
        own = own if own is not None else history.add()
        for name, cell in _history_cells(entry, column, kept=kept).items():
            history.put(own, name, cell)
        history.write(results_dir / HISTORY)
        grid.write(results_dir / GRID)
    return results_dir / GRID


def _column(entry: GridRun, history: GridTable) -> str:
    """The column of the model and split, with the settings' digest where other settings have that name already."""
    name = "_".join((entry.model, entry.split, *entry.conditions))
    runs = (run for run in history.rows if history.has(run, task=entry.title, column=name))
    first = next(runs, None)
    is_own = first is None or history.has(first, settings_sha256=entry.digest)
    return name if is_own else f"{name}_{entry.digest[:6]}"


def _row(grid: GridTable, entry: GridRun, column: str) -> list[str]:
    """The benchmark's row; missing rows and columns are added."""
    by_split = () if entry.conditions else tuple(f"{entry.model}_{split}" for split in _SPLITS)
    grid.columns += [title for title in dict.fromkeys((*by_split, column)) if title not in grid.columns]
    for title in (*ROWS, entry.title):
        if not any(grid.has(row, task=title) for row in grid.rows):
            grid.add(task=title)
    return next(row for row in grid.rows if grid.has(row, task=entry.title))


def _beats(entry: GridRun, cell: str) -> bool:
    """Whether a run replaces a cell: by a larger n, or by a better accuracy where n is equal or unknown."""
    match = _CELL.match(cell)
    if not match:
        return True
    n = int(match["n"]) if match["n"] else entry.n
    return entry.n > n or (entry.n == n and entry.accuracy > float(match["accuracy"]))


def _is_same_run(history: GridTable, run: Sequence[str], entry: GridRun) -> bool:
    """Whether a row is this run on the same questions: a log can be reported on a part of its questions."""
    same = {"started": entry.started, "settings_sha256": entry.digest, "sample": entry.sample}
    if not entry.started or not history.has(run, **same):
        return False
    n, failed = (history.get(run, column).strip() for column in ("n", "failed"))
    return n.isdecimal() and failed.isdecimal() and int(n) + int(failed) == entry.n + entry.failed


def _is_shown(history: GridTable, run: Sequence[str], cell: str) -> bool:
    """Whether the grid's cell is the unchanged cell of this run."""
    try:
        own = _cell(float(history.get(run, "accuracy")), int(history.get(run, "n")))
    except ValueError:
        return False
    return history.has(run, kept="1") and cell == own


def _history_cells(entry: GridRun, column: str, *, kept: bool) -> dict[str, str]:
    same = ("started", "n", "failed", "model", "split", "model_name", "data_path", "sample")
    return {name: str(getattr(entry, name)) for name in same} | {
        "task": entry.title,
        "column": column,
        "accuracy": repr(entry.accuracy),
        "kept": str(int(kept)),
        "conditions": " ".join(entry.conditions),
        "settings_sha256": entry.digest,
    }


@contextmanager
def _hold_lock(results_dir: Path) -> Iterator[None]:
    """Keep the folder's lock, so that one run updates at a time."""
    try:
        results_dir.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(results_dir / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise OutputError(f"can't write in {results_dir}: {error.strerror}", hint=ROOM) from None
    try:
        _wait_for(descriptor, results_dir / _LOCK)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, path: Path) -> None:
    """Wait for the lock in short steps: no signal would end a call that blocks."""
    give_up = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= give_up:
                raise UsageError(
                    f"another process has locked {path} for {_PATIENCE_S:g} s; the grid is not updated",
                    hint="end it; the same command then fills the grid and asks nothing again",
                ) from None
            time.sleep(_POLL_S)
        except OSError as error:
            raise UsageError(
                f"can't lock {path}: {error.strerror}", hint="choose an --output on a local disk"
            ) from None

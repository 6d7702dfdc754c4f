import csv
import errno
import fcntl
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.reports.explained_records import asked, lost, replied, run_of
from vqa_client.errors import OutputError, UsageError
from vqa_client.reports.run import Sample
from vqa_client.reports.summary import summarise
from vqa_client.tasks.explain import accuracy_grid
from vqa_client.tasks.explain.accuracy_grid import GridRun, entry_of, update

HEADER = "task,llava_train,llava_test,llava_val,qwen_train,qwen_test,qwen_val"


def entry(accuracy: float, n: int, **changes: Any) -> GridRun:
    fields: dict[str, Any] = {
        "title": "VQA-X",
        "model": "llava",
        "split": "val",
        "accuracy": accuracy,
        "n": n,
        "settings": {"max_tokens": 64},
        "model_name": "org/llava",
        "started": f"{accuracy}/{n}",
    }
    return GridRun(**(fields | changes))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cell(folder: Path, column: str = "llava_val", task: str = "VQA-X") -> str:
    return next(row[column] for row in rows(folder / "accuracy_grid.csv") if row["task"] == task)


def history(folder: Path) -> list[dict[str, str]]:
    return rows(folder / "accuracy_grid_history.csv")


def after(folder: Path, *entries: GridRun) -> str:
    for each in entries:
        update(folder, each)
    return cell(folder)


def test_a_new_grid_has_the_published_rows_and_columns(tmp_path: Path) -> None:
    path = update(tmp_path / "results", entry(0.7352, 100))
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines == [HEADER, "VQA-X,,,0.735 (100),,,", "ACT-X,,,,,,", "ESNLI-VE,,,,,,", "VCR,,,,,,"]


@pytest.mark.parametrize(
    ("runs", "kept"),
    [
        ([(0.735, 1000), (1.0, 10), (0.731, 1000)], "0.735 (1000)"),
        ([(1.0, 10), (0.735, 1000)], "0.735 (1000)"),
        ([(0.5, 100), (0.6, 100)], "0.600 (100)"),
        ([(0.6, 100), (0.5, 100)], "0.600 (100)"),
        ([(0.6, 100), (0.7, 99)], "0.600 (100)"),
        ([(0.0, 5)], "0.000 (5)"),
    ],
)
def test_the_larger_n_wins_and_at_equal_n_the_better_accuracy(
    tmp_path: Path, runs: list[tuple[float, int]], kept: str
) -> None:
    assert after(tmp_path, *(entry(*run) for run in runs)) == kept
    assert [(float(run["accuracy"]), int(run["n"])) for run in history(tmp_path)] == runs
    assert sum(run["kept"] == "1" for run in history(tmp_path)) == 1


@pytest.mark.parametrize(
    ("before", "new", "kept"),
    [
        ("0.812, soft:0.873 (100)", (0.9, 100), "0.900 (100)"),
        ("0.812, soft:0.873 (100)", (0.8, 100), "0.812, soft:0.873 (100)"),
        ("0.735 (100)", (0.9, 50), "0.735 (100)"),
        ("0.735", (0.9, 10), "0.900 (10)"),
        ("0.735", (0.7, 10), "0.735"),
        ("n/a", (0.1, 10), "0.100 (10)"),
        ("0.5.1 (9)", (0.1, 10), "0.100 (10)"),
        ("", (0.1, 10), "0.100 (10)"),
    ],
)
def test_a_cell_of_another_program_is_compared_too(
    tmp_path: Path, before: str, new: tuple[float, int], kept: str
) -> None:
    with (tmp_path / "accuracy_grid.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEADER.split(","), ["VQA-X", "", "", before, "", "", ""]])
    assert after(tmp_path, entry(*new)) == kept


def test_columns_and_rows_of_others_keep_their_places(tmp_path: Path) -> None:
    before = 'note,task,llava_val,mine_val\n"a, ""b""",OK-VQA,0.1 (2),x\n,VQA-X,0.500 (10),\n'
    (tmp_path / "accuracy_grid.csv").write_text("\ufeff" + before, encoding="utf-8")
    update(tmp_path, entry(0.25, 20))
    first, *others = rows(tmp_path / "accuracy_grid.csv")
    assert list(first)[:4] == ["note", "task", "llava_val", "mine_val"]
    assert (first["note"], first["task"], first["llava_val"], first["mine_val"]) == ('a, "b"', "OK-VQA", "0.1 (2)", "x")
    assert [row["task"] for row in others] == ["VQA-X", "ACT-X", "ESNLI-VE", "VCR"]
    assert others[0]["llava_val"] == "0.250 (20)"


def test_spaces_around_a_task_written_by_hand_make_no_second_row(tmp_path: Path) -> None:
    (tmp_path / "accuracy_grid.csv").write_text("task,llava_val\n VQA-X ,0.100 (2)\n", encoding="utf-8")
    update(tmp_path, entry(0.25, 20))
    assert [row["task"] for row in rows(tmp_path / "accuracy_grid.csv")] == [" VQA-X ", "ACT-X", "ESNLI-VE", "VCR"]
    assert cell(tmp_path, task=" VQA-X ") == "0.250 (20)"


def test_cells_beyond_the_header_and_columns_without_a_name_survive(tmp_path: Path) -> None:
    (tmp_path / "accuracy_grid.csv").write_text('task,,llava_val,\nVQA-X,x,,y,"z\r"\n', encoding="utf-8", newline="")
    update(tmp_path, entry(0.25, 20))
    with (tmp_path / "accuracy_grid.csv").open(encoding="utf-8", newline="") as file:
        header, first, *_ = csv.reader(file)
    assert header[:6] == ["task", "", "llava_val", "", "", "llava_train"]
    assert first[:5] == ["VQA-X", "x", "0.250 (20)", "y", "z\r"]


def test_another_model_gets_columns_of_its_own(tmp_path: Path) -> None:
    update(tmp_path, entry(0.5, 10, model="glm", split="test"))
    header = (tmp_path / "accuracy_grid.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header == f"{HEADER},glm_train,glm_test,glm_val"
    assert cell(tmp_path, "glm_test") == "0.500 (10)"


def test_runs_under_other_conditions_never_share_a_cell(tmp_path: Path) -> None:
    update(tmp_path, entry(0.5, 10))
    update(tmp_path, entry(0.9, 99, conditions=("3shot",), settings={"parsing": "robust", "shots": 3}))
    other = entry(0.8, 999, settings={"max_tokens": 4})
    update(tmp_path, other)
    assert cell(tmp_path) == "0.500 (10)"
    assert cell(tmp_path, "llava_val_3shot") == "0.900 (99)"
    assert cell(tmp_path, f"llava_val_{other.digest[:6]}") == "0.800 (999)"
    assert len(history(tmp_path)) == 3


def test_a_run_that_is_reported_again_replaces_its_cell(tmp_path: Path) -> None:
    first = entry(0.9, 100, started="t1")
    assert after(tmp_path, first, first) == "0.900 (100)"
    assert len(history(tmp_path)) == 1
    assert after(tmp_path, entry(0.8, 100, started="t1")) == "0.800 (100)"
    assert after(tmp_path, entry(0.7, 100, started="t2"), entry(0.6, 100, started="t2")) == "0.800 (100)"
    assert [(run["started"], run["accuracy"], run["kept"]) for run in history(tmp_path)] == [
        ("t1", "0.8", "1"),
        ("t2", "0.6", "0"),
    ]


def test_a_run_reported_on_fewer_questions_never_replaces_its_cell(tmp_path: Path) -> None:
    whole, lucky = entry(0.735, 1000, started="t"), entry(1.0, 10, started="t")
    assert after(tmp_path, whole, lucky) == "0.735 (1000)"
    assert after(tmp_path, whole) == "0.735 (1000)"
    assert [(run["n"], run["kept"]) for run in history(tmp_path)] == [("1000", "1"), ("10", "0")]
    assert after(tmp_path, entry(0.7, 2000, started="t")) == "0.700 (2000)"
    assert [run["kept"] for run in history(tmp_path)] == ["0", "0", "1"]


def test_a_run_with_fewer_failures_replaces_its_cell(tmp_path: Path) -> None:
    assert after(tmp_path, entry(0.9, 7, failed=5, started="t"), entry(0.6, 12, started="t")) == "0.600 (12)"
    assert [(run["n"], run["failed"]) for run in history(tmp_path)] == [("12", "0")]


@pytest.mark.parametrize("cell_by_hand", ["0.990 (5000)", "0.9 (100)"])
def test_a_cell_changed_by_hand_no_longer_belongs_to_the_run(tmp_path: Path, cell_by_hand: str) -> None:
    run = entry(0.5, 100, started="t")
    path = update(tmp_path, run)
    path.write_text(path.read_text(encoding="utf-8").replace(run.cell, cell_by_hand), encoding="utf-8")
    assert after(tmp_path, run) == cell_by_hand
    assert [each["kept"] for each in history(tmp_path)] == ["0"]


def test_another_sample_from_the_same_log_is_another_run(tmp_path: Path) -> None:
    runs = [run_of(sample=Sample(size=1, of=9, by=("kind",), seed=seed)) for seed in (1, 2)]
    for run in (*runs, run_of()):
        made = entry_of(run, summarise([replied("1")]), title="VQA-X", model="llava", split="val")
        assert made is not None
        update(tmp_path, made)
    assert [run["sample"] for run in history(tmp_path)] == ["1 of 9, by kind, seed 1", "1 of 9, by kind, seed 2", ""]


def test_a_history_changed_by_hand_is_read_as_far_as_possible(tmp_path: Path) -> None:
    run = entry(0.5, 100, started="t")
    update(tmp_path, run)
    path = tmp_path / "accuracy_grid_history.csv"
    path.write_text(path.read_text(encoding="utf-8").replace(",0.5,", ",about half,"), encoding="utf-8")
    assert after(tmp_path, run) == "0.500 (100)"
    assert len(history(tmp_path)) == 1


def test_n_counts_answered_questions_and_failed_ones_are_reported(tmp_path: Path) -> None:
    records = [replied("1"), lost("2"), replied("3", right=False)]
    made = entry_of(run_of(), summarise(records), title="VQA-X", model="llava", split="val")
    assert made is not None
    assert (made.cell, made.failed, made.model_name) == ("0.500 (2)", 1, "org/llava")
    update(tmp_path, made)
    assert (history(tmp_path)[0]["failed"], history(tmp_path)[0]["started"]) == ("1", "2026-11-28T01:00:00Z")


def test_the_timeout_and_the_scorer_version_are_not_settings_of_the_grid() -> None:
    one = entry_of(run_of(), summarise([replied("1")]), title="VQA-X", model="llava", split="val")
    changed = run_of(
        model_settings={"model_name": "org/llava", "max_tokens": 64, "timeout": 1},
        scoring={"benchmark": "vqax", "parsing": "robust", "version": "2"},
    )
    other = entry_of(changed, summarise([replied("1")]), title="VQA-X", model="llava", split="val")
    seed = entry_of(
        run_of(scoring={"benchmark": "vqax", "parsing": "seed", "version": "1"}),
        summarise([replied("1")]),
        title="VQA-X",
        model="llava",
        split="val",
    )
    assert one is not None
    assert other is not None
    assert seed is not None
    assert one.digest == other.digest != seed.digest


def test_encoding_images_again_is_a_setting_of_the_grid_and_sending_them_unchanged_is_not() -> None:
    summary = summarise([replied("1")])
    plain, untouched, shrunk = (
        entry_of(run_of(), summary, title="VQA-X", model="llava", split="val", images=images)
        for images in (None, {}, {"max_pixels": 1000})
    )
    assert plain is not None
    assert untouched is not None
    assert shrunk is not None
    assert plain.digest == untouched.digest != shrunk.digest


def test_a_run_without_a_reply_has_no_entry() -> None:
    assert asked("1").id == "1"
    assert entry_of(run_of(), summarise([lost("1")]), title="VQA-X", model="llava", split="val") is None
    assert entry_of(run_of(), summarise([]), title="VQA-X", model="llava", split="val") is None


def test_runs_that_end_together_are_all_kept(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4) as pool:
        entries = [entry(at / 10, 10, model=f"m{at}") for at in range(8)]
        list(pool.map(partial(update, tmp_path), entries))
    assert [cell(tmp_path, f"m{at}_val") for at in range(8)] == [f"0.{at}00 (10)" for at in range(8)]
    assert len(history(tmp_path)) == 8
    assert {path.name for path in tmp_path.iterdir()} == {
        "accuracy_grid.csv",
        "accuracy_grid_history.csv",
        ".accuracy_grid.lock",
    }


def held(folder: Path, seconds: float) -> None:
    """Hold the folder's lock in another process."""
    with (folder / ".accuracy_grid.lock").open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        (folder / "held").touch()
        time.sleep(seconds)


def test_a_lock_of_another_process_is_waited_for(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1) as pool:
        holding = pool.submit(held, tmp_path, 0.3)
        while not (tmp_path / "held").exists():
            time.sleep(0.01)
        assert after(tmp_path, entry(0.5, 10)) == "0.500 (10)"
        assert holding.done() or holding.result() is None


def test_a_lock_that_is_never_released_ends_in_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy_grid, "_PATIENCE_S", 0.1)
    with (tmp_path / ".accuracy_grid.lock").open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(UsageError) as caught:
            update(tmp_path, entry(0.5, 10))
    path = tmp_path / ".accuracy_grid.lock"
    assert str(caught.value) == f"another process has locked {path} for 0.1 s; the grid is not updated"
    assert caught.value.hint == "end it; the same command then fills the grid and asks nothing again"
    assert not (tmp_path / "accuracy_grid.csv").exists()
    assert after(tmp_path, entry(0.5, 10)) == "0.500 (10)"


def test_a_disk_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", fails)
    with pytest.raises(UsageError) as caught:
        update(tmp_path, entry(0.5, 10))
    assert str(caught.value) == f"can't lock {tmp_path}/.accuracy_grid.lock: No locks available"
    assert caught.value.hint == "choose an --output on a local disk"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,b\n1,2\n", "{path} has no column 'task'"),
        (b"\xff", "can't read {path}: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
    ],
)
def test_a_file_that_is_not_a_grid_stays_unchanged(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "accuracy_grid.csv"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        update(tmp_path, entry(0.5, 10))
    assert (str(caught.value), caught.value.hint) == (said.format(path=path), "move it away or mend it")
    assert path.read_bytes() == content


def test_a_cell_too_long_for_a_csv_reader_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "accuracy_grid.csv").write_text("task,note\nVQA-X," + "x" * 2000, encoding="utf-8")
    before = csv.field_size_limit(1000)  # of the whole process
    try:
        with pytest.raises(UsageError, match="field larger than field limit"):
            update(tmp_path, entry(0.5, 10))
    finally:
        csv.field_size_limit(before)


def test_an_empty_file_is_an_empty_grid(tmp_path: Path) -> None:
    (tmp_path / "accuracy_grid.csv").touch()
    assert after(tmp_path, entry(0.5, 10)) == "0.500 (10)"


def test_a_folder_that_cant_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="file"):
        update(tmp_path / "file", entry(0.5, 10))

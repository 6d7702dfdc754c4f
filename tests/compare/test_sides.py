"""What can be compared: any file of a run, folders of runs, logs without run files; and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from tests.compare.logged import failed, many, put, record
from vqa_client.compare.leaderboard import leaderboard, write_board_page
from vqa_client.compare.sides import Side, label_sides, read_sides, side_of
from vqa_client.errors import DataError


def read_side(place: Path) -> Side:
    [side] = read_sides(place)
    return side


@pytest.mark.parametrize("name", ["", "vqa2_results.records.jsonl", "vqa2_results.run.json", "vqa2_results.json"])
def test_a_folder_or_any_file_of_a_run_names_it(name: str, tmp_path: Path) -> None:
    put(tmp_path, [record("1"), failed("2")])
    (tmp_path / "vqa2_results.json").write_text("{}")
    side = read_side(tmp_path / name)
    assert set(side.kept) == {("1", ""), ("2", "")}
    assert (side.task, side.digests) == ("vqa2", frozenset({"ab" * 32}))
    assert [kept.answered for kept in side.kept.values()] == [True, False]


def test_the_last_record_of_a_question_counts(tmp_path: Path) -> None:
    put(tmp_path, [failed("1"), record("1")])
    assert read_side(tmp_path).kept["1", ""].score == 1.0


def test_a_folder_of_runs_over_several_variants_is_one_side(tmp_path: Path) -> None:
    for variant in ("clean", "dpi_56"):
        put(tmp_path, [record("1", variant=variant)], stem=variant, variant=variant)
    assert read_side(tmp_path).variants == {"clean", "dpi_56"}


def test_a_folder_of_runs_of_several_benchmarks_is_refused(tmp_path: Path) -> None:
    put(tmp_path, [record("1")], stem="a")
    put(tmp_path, [record("1")], stem="b", task="mc")
    with pytest.raises(DataError, match="contains runs of mc, vqa2") as raised:
        read_sides(tmp_path)
    assert str(tmp_path / "a.records.jsonl") in raised.value.hint


@pytest.mark.parametrize("other", [{"model": "org/two"}, {"model": "org/one"}])
def test_runs_of_the_same_questions_in_a_folder_are_sides_of_their_own(other: dict[str, Any], tmp_path: Path) -> None:
    put(tmp_path, [record("1")], stem="a")
    put(tmp_path, [record("1")], stem="b", **other)
    assert [side.path for side in read_sides(tmp_path)] == [tmp_path / f"{stem}.records.jsonl" for stem in "ab"]


def test_invalid_lines_and_scores_are_left_out_and_reported(tmp_path: Path) -> None:
    log = put(tmp_path, [record("1"), record("2", score=7.0), record("3", score=-1.0), record("4", score=1e300)])
    with log.open("ab") as file:
        file.write(b'{"question_id": 5}\n\xff\xfe\n[]\n{"question_id":"6","status":"odd"}\n')
    side = read_side(tmp_path)
    assert set(side.kept) == {("1", "")}
    assert [note.split(": ")[1] for note in side.notes] == [
        "4 unreadable lines left out",
        "3 records left out whose scores aren't between 0 and 1",
    ]


def test_a_single_invalid_line_or_score_is_reported_and_none_is_not(tmp_path: Path) -> None:
    log = put(tmp_path, [record("1"), record("2", score=7.0)])
    assert read_side(tmp_path).notes == (f"{log.name}: 1 record left out whose scores aren't between 0 and 1",)
    log = put(tmp_path, [record("1"), record("2", score=1.0), record("3", score=0.0)])
    assert read_side(tmp_path).notes == ()
    with log.open("ab") as file:
        file.write(b"[]\n")
    assert read_side(tmp_path).notes == (f"{log.name}: 1 unreadable lines left out",)


def test_a_path_with_nothing_to_compare_is_named(tmp_path: Path) -> None:
    log = put(tmp_path, [record("1", score=2.0)])
    with pytest.raises(DataError, match="no record in it can be compared") as raised:
        read_side(tmp_path)
    assert raised.value.hint == f"{log.name}: 1 record left out whose scores aren't between 0 and 1"
    log.write_bytes(b"")
    with pytest.raises(DataError, match="no record in it can be compared") as raised:
        read_side(tmp_path)
    assert raised.value.hint == "ask the questions first"
    with pytest.raises(DataError, match="does not exist"):
        read_side(tmp_path / "absent")


def test_labels_are_the_shortest_distinct_ones(tmp_path: Path) -> None:
    def labels(*runs: dict[str, str]) -> list[str]:
        places = []
        for number, run in enumerate(runs):
            variant = run.get("variant", "")
            folder = tmp_path / str(len(list(tmp_path.iterdir())))
            put(
                folder, [record("1", variant=variant)], stem=run.get("stem", "run"), model=run["model"], variant=variant
            )
            places.append(folder if number else folder / f"{run.get('stem', 'run')}.json")
        sides = [read_side(place) for place in places]
        label_sides(sides)
        return [side.label for side in sides]

    assert labels({"model": "a"}, {"model": "b"}) == ["a", "b"]
    assert labels({"model": "a", "variant": "clean"}, {"model": "a", "variant": "jpeg"}) == ["clean", "jpeg"]
    assert labels({"model": "a"}, {"model": "a"}) == ["a (run)", "a (5)"]
    twins = [read_side(tmp_path / "0"), read_side(tmp_path / "0")]
    label_sides(twins)
    assert [side.label for side in twins] == [f"{tmp_path / '0'} (1)", f"{tmp_path / '0'} (2)"]
    both = side_of(tmp_path, [twins[0].runs[0], read_side(tmp_path / "3").runs[0]])
    label_sides([both])
    assert both.label == "a"
    both = side_of(tmp_path, [twins[0].runs[0], read_side(tmp_path / "1").runs[0]])
    label_sides([both])
    assert both.label == "a and b"


def test_reading_changes_nothing(tmp_path: Path) -> None:
    put(tmp_path, many(1, 0.5, count=9))
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()}
    read_side(tmp_path)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()} == before


def test_the_other_variants_of_a_folder_are_compared_with_the_clean_images(tmp_path: Path) -> None:
    for variant in ("adv_dpi_56", "clean", "zoom"):
        put(tmp_path, [record("1", variant=variant)], stem=f"{variant}_eval", variant=variant)
    sides = read_sides(tmp_path, apart=True)
    assert [side.runs[0].folder for side in sides] == ["clean", "adv_dpi_56", "zoom"]


def test_runs_of_several_benchmarks_are_named_five_of_them(tmp_path: Path) -> None:
    logs = [put(tmp_path / str(n), [record("1")], task=("mc", "vqa2")[n % 2]) for n in range(6)]
    with pytest.raises(DataError, match=r"contains runs of mc, vqa2$") as raised:
        read_sides(tmp_path)
    assert raised.value.hint == f"name one of them: {', '.join(map(str, logs[:5]))}, ..."


def test_an_interval_of_the_leaderboard_is_by_cluster(tmp_path: Path) -> None:
    for name, per_image in (("alone", 1), ("shared", 3)):
        put(tmp_path / name, many(1, 0.5, per_image=per_image), model=name)
    [column] = leaderboard([tmp_path]).columns
    cells = {name: (cell.value, cell.low, cell.high) for name, cell in column.cells.items()}
    assert cells == {
        "alone": pytest.approx((148 / 300, 0.43720, 0.54963), abs=1e-5),
        "shared": pytest.approx((148 / 300, 0.43388, 0.55297), abs=1e-5),
    }


def test_a_run_without_a_record_is_named_below_its_column_of_the_leaderboard(tmp_path: Path) -> None:
    put(tmp_path / "a", [record("1")])
    empty = put(tmp_path / "b", [], model="org/two")
    [column] = leaderboard([tmp_path]).columns
    assert (list(column.cells), column.notes) == (["org/one"], (f"{empty}: no record in it can be compared",))


def test_equally_good_models_are_in_natural_order_and_have_no_mean_unless_a_column_has_all(tmp_path: Path) -> None:
    for task, model in (("vqa2", "org/10"), ("vqa2", "org/9"), ("mc", "org/9"), ("mc", "org/8")):
        put(tmp_path / task / model, [record("1"), failed("2")], task=task, model=model)
    board = leaderboard([tmp_path])
    assert (board.models, board.means, board.in_mean) == (("org/8", "org/9", "org/10"), {}, 0)
    assert [(column.title, column.notes) for column in board.columns] == [("mc", ()), ("vqa2", ())]


@pytest.mark.parametrize(
    "others",
    [
        {"a": {"described": {"data_sha256": "cd" * 32}}, "c": {}},
        {"a": {"names": "12"}},
        {"a": {"variant": "seen"}},
        {"a": {"score": 0.5}},
    ],
    ids=["most frequent data", "most questions", "a single form", "best score"],
)
def test_the_runs_of_a_leaderboard_are_matched_with_the_most_usual_one(
    tmp_path: Path, others: dict[str, dict[str, Any]]
) -> None:
    for model, changes in {"b": {}, **others}.items():
        form = {name: changes.pop(name) for name in ("score", "variant") if name in changes}
        records = [record(name, **form) for name in changes.pop("names", "123")]
        put(tmp_path / model, records, model=model, identity={"max_pages": model}, **changes)
    board = leaderboard([tmp_path])
    [column] = board.columns
    assert {note.split()[0] for note in column.notes if "max_pages" in note} == {"b"}
    assert board.means == {}
    differs = "are of other data: data_sha256: abababababab... and cdcdcdcdcdcd..." if "c" in others else ""
    assert differs in column.cells["a"].apart
    assert bool(column.cells["a"].apart) == ("c" in others)


def test_a_leaderboard_labels_nameless_runs_and_links_to_pages_that_exist(tmp_path: Path) -> None:
    log = put(tmp_path, [record("1"), record("2")], model="", described={"expected": 1})
    board = leaderboard([tmp_path])
    [cell] = board.columns[0].cells.values()
    assert (board.models, cell.expected, cell.incomplete) == (("(vqa2_results)",), 2, False)
    for exists in (False, True):
        write_board_page(tmp_path / "board.html", board, "Board")
        assert ('href="vqa2_results.html"' in (tmp_path / "board.html").read_text()) is exists
        log.with_name("vqa2_results.html").touch()

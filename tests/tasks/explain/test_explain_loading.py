import errno
import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.tasks.explain.samples import actx, esnlive, only, put, vqax, vqax_root
from vqa_client.errors import DataError, UsageError
from vqa_client.settings.score import ScoreExplanationsSettings
from vqa_client.tasks import explain
from vqa_client.tasks.explain.dataset import find_file, load, read_questions

IMAGE = "val2014/COCO_val2014_{:012d}.jpg"


def test_a_vqax_record_becomes_a_question_with_its_ten_answers(tmp_path: Path) -> None:
    loaded = load(explain.dataset_of("vqax"), "val", vqax_root(tmp_path))
    question = only(loaded.questions)
    assert (question.id, question.text) == ("42", "What stands on the stove?")
    assert question.images == (str(tmp_path / "images" / IMAGE.format(7)),)
    assert question.references == ("kettle",) * 6 + ("pot",) * 3 + ("Kettle.",)
    assert question.rationales == ("it has a spout and steam comes out", "there is a lid with a knob")
    assert question.groups == {"answer_kind": "other", "majority": "clear"}
    assert question.cluster == "COCO_val2014_000000000007.jpg"
    assert question.extra["gold"] == "kettle"
    assert question.extra["columns"] == {"image_id": "7", "gt_answer": "kettle"}
    file = tmp_path / "nle_data/VQA-X/vqaX_val.json"
    assert loaded.data_sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (loaded.count, loaded.left_out) == (1, {})


def test_an_activity_and_a_hypothesis_are_loaded_with_their_columns(tmp_path: Path) -> None:
    put(tmp_path, "actx", "test", {"5": actx()}, images=("mpi/015601864.jpg",))
    put(tmp_path, "esnlive", "test", {"0": esnlive()}, images=("flickr30k/3416050.jpg",))
    activity = only(load(explain.dataset_of("actx"), "test", tmp_path).questions)
    hypothesis = only(load(explain.dataset_of("esnlive"), "test", tmp_path).questions)
    assert (activity.id, activity.references, len(activity.rationales)) == ("5", ("playing guitar",), 3)
    assert activity.extra["columns"] == {"image_id": "015601864", "gt_label": "playing guitar"}
    assert (hypothesis.text, hypothesis.references) == ("The man waits for his brother.", ("neutral",))
    assert hypothesis.groups == {"label": "neutral"}
    assert hypothesis.extra["columns"] == {
        "image_name": "3416050.jpg",
        "image_numeric_id": "3416050",
        "hypothesis": "The man waits for his brother.",
        "gt_label": "neutral",
    }
    put(tmp_path, "esnlive", "test", {"0": esnlive(image_name="men.jpg")}, images=("flickr30k/men.jpg",))
    hypothesis = only(load(explain.dataset_of("esnlive"), "test", tmp_path).questions)
    assert (hypothesis.cluster, hypothesis.extra["columns"]["image_numeric_id"]) == ("men.jpg", "")


@pytest.mark.parametrize(("task", "record"), [("actx", actx()), ("esnlive", esnlive())])
def test_the_test_split_replaces_a_missing_val_split(tmp_path: Path, task: str, record: Any) -> None:
    folder = {"actx": "mpi", "esnlive": "flickr30k"}[task]
    put(tmp_path, task, "test", {"0": record}, images=(f"{folder}/{record['image_name']}",))
    assert explain.dataset_of(task).split_read("val") == "test"
    assert load(explain.dataset_of(task), "val", tmp_path).count == 1
    assert find_file(explain.dataset_of(task), "val", tmp_path).name.endswith("_test.json")
    assert explain.dataset_of("vqax").split_read("val") == "val"


@pytest.mark.parametrize(
    ("records", "ids"),
    [
        ({"9": vqax(), "8": vqax()}, ["9", "8"]),
        ([vqax(question_id=3), vqax(id="x"), vqax()], ["3", "x", "2"]),
        ([vqax(question_id=3), vqax(question_id=3), vqax(question_id=3)], ["3", "3#2", "3#3"]),
    ],
)
def test_two_questions_on_one_image_stay_two_and_have_ids_of_their_own(
    tmp_path: Path, records: Any, ids: list[str]
) -> None:
    loaded = load(explain.dataset_of("vqax"), "val", put(tmp_path, "vqax", "val", records, images=(IMAGE.format(7),)))
    assert [question.id for question in loaded.questions] == ids
    assert loaded.count == len(ids)


@pytest.mark.parametrize("name", ["explanation", "explanations", "rationale", "nle", "exp"])
def test_explanations_are_found_under_each_of_their_names(tmp_path: Path, name: str) -> None:
    record = vqax()
    del record["explanation"]
    put(tmp_path, "vqax", "val", {"1": record | {name: "it has a spout"}}, images=(IMAGE.format(7),))
    assert only(load(explain.dataset_of("vqax"), "val", tmp_path).questions).rationales == ("it has a spout",)


@pytest.mark.parametrize(
    ("changes", "split", "place"),
    [
        ({}, "train", IMAGE.format(7)),
        ({"image_name": "COCO_train2014_000000000007.jpg"}, "val", "train2014/COCO_train2014_000000000007.jpg"),
        ({"image_name": "seven.jpg"}, "train", "train2014/seven.jpg"),
        ({"image_name": "a/b/seven.jpg"}, "test", "val2014/seven.jpg"),
        ({"image_name": None}, "val", IMAGE.format(7)),
        ({"image_name": None, "filename": "seven.jpg"}, "val", "val2014/seven.jpg"),
        ({"image_name": "gone.jpg"}, "train", "train2014/COCO_train2014_000000000007.jpg"),
        ({}, "val", "somewhere/else/COCO_val2014_000000000007.jpg"),
    ],
)
def test_an_image_is_found_by_name_by_number_and_last_anywhere(
    tmp_path: Path, changes: dict[str, Any], split: str, place: str
) -> None:
    put(tmp_path, "vqax", split, {"1": vqax(**changes)}, images=(place,))
    question = only(load(explain.dataset_of("vqax"), split, tmp_path).questions)
    assert question.images == (str(tmp_path / "images" / place),)


def test_the_file_in_the_benchmarks_folder_is_preferred_among_several_of_a_name(tmp_path: Path) -> None:
    put(tmp_path, "actx", "test", {"1": actx()}, images=("a/015601864.jpg", "mpi/deep/015601864.jpg"))
    question = only(load(explain.dataset_of("actx"), "test", tmp_path).questions)
    assert question.images == (str(tmp_path / "images/mpi/deep/015601864.jpg"),)


def test_missing_images_are_named_and_the_first_samples_with_one_are_asked(tmp_path: Path) -> None:
    records = {str(number): vqax(number=number) for number in range(6)}
    put(tmp_path, "vqax", "val", records, images=tuple(IMAGE.format(number) for number in (1, 2, 4)))
    loaded = load(explain.dataset_of("vqax"), "val", tmp_path, n_samples=2)
    assert [question.id for question in loaded.questions] == ["1", "2"]
    assert loaded.left_out == {"no_image": ("0",)}
    whole = load(explain.dataset_of("vqax"), "val", tmp_path)
    assert (whole.count, whole.left_out) == (3, {"no_image": ("0", "3", "5")})
    assert load(explain.dataset_of("vqax"), "val", tmp_path, n_samples=0).count == 0


def test_a_missing_image_stops_a_run_that_requires_them(tmp_path: Path) -> None:
    records = {str(number): vqax(number=number) for number in range(3)}
    put(tmp_path, "vqax", "val", records, images=(IMAGE.format(0), IMAGE.format(1)))
    with pytest.raises(DataError, match=r"1 of 3 images are missing .*000000000002\.jpg"):
        load(explain.dataset_of("vqax"), "val", tmp_path, require_images=True)
    assert load(explain.dataset_of("vqax"), "val", tmp_path, n_samples=2, require_images=True).count == 2


def test_without_any_image_there_is_no_run(tmp_path: Path) -> None:
    put(tmp_path, "vqax", "val", {"1": vqax()})
    with pytest.raises(DataError, match="1 of 1 images are missing"):
        load(explain.dataset_of("vqax"), "val", tmp_path)
    put(tmp_path, "actx", "test", {"1": actx(image_name="")})
    with pytest.raises(DataError) as caught:
        load(explain.dataset_of("actx"), "test", tmp_path)
    missing = f"1 of 1 images are missing in {tmp_path / 'images'}, the first is not named in its record"
    assert str(caught.value) == f"ACT-X: {missing}"
    assert caught.value.hint.startswith("--data is a folder with images/ and nle_data/")


def test_records_without_a_gold_answer_are_left_out_and_named(tmp_path: Path) -> None:
    put(tmp_path, "vqax", "val", {"1": vqax(), "2": vqax(answers=[]), "3": vqax("")}, images=(IMAGE.format(7),))
    put(tmp_path, "esnlive", "test", [esnlive(), esnlive("-")], images=("flickr30k/3416050.jpg",))
    assert load(explain.dataset_of("vqax"), "val", tmp_path).left_out == {"no_answer": ("2", "3")}
    assert load(explain.dataset_of("esnlive"), "test", tmp_path).left_out == {"no_label": ("1",)}
    put(tmp_path, "actx", "test", [actx(answers=" ", label=" ", activity=" "), actx()], images=("mpi/015601864.jpg",))
    assert load(explain.dataset_of("actx"), "test", tmp_path).left_out == {"no_answer": ("0",)}
    put(tmp_path, "esnlive", "test", [esnlive(hypothesis=" "), esnlive()], images=("flickr30k/3416050.jpg",))
    assert load(explain.dataset_of("esnlive"), "test", tmp_path).left_out == {"no_hypothesis": ("0",)}


def test_questions_are_read_without_their_images(tmp_path: Path) -> None:
    path = put(tmp_path, "vqax", "val", {"1": vqax(), "2": vqax(answers=[])}) / "nle_data/VQA-X/vqaX_val.json"
    questions, left_out = read_questions(explain.dataset_of("vqax"), path)
    assert ([question.id for question in questions], left_out) == (["1"], {"no_answer": ["2"]})
    assert questions[0].cluster == "COCO_val2014_000000000007.jpg"
    with pytest.raises(DataError, match="letters"):
        read_questions(explain.dataset_of("vcr", "q2a"), path)


@pytest.mark.parametrize(
    ("task", "split", "said"),
    [
        ("actx", "val", "ACT-X has no val split; test is used"),
        ("esnlive", "val", "ESNLI-VE has no val split; test is used"),
        ("esnlive", "test", ""),
        ("vqax", "val", ""),
        ("vcr", "val", ""),
    ],
)
def test_another_split_in_place_of_a_missing_one_is_noted(task: str, split: str, said: str) -> None:
    assert explain.dataset_of(task).split_notice(split) == said


def test_a_tied_majority_is_the_same_in_any_order_and_flagged(tmp_path: Path) -> None:
    tied = ["yes"] * 5 + ["no"] * 5
    put(tmp_path, "vqax", "val", {"1": vqax(*tied), "2": vqax(*reversed(tied))}, images=(IMAGE.format(7),))
    first, second = load(explain.dataset_of("vqax"), "val", tmp_path).questions
    assert first.extra["gold"] == second.extra["gold"] == "no"
    assert first.groups == second.groups == {"answer_kind": "yes/no", "majority": "tied"}


@pytest.mark.parametrize("answers", ["kettle", ["kettle", "kettle", "pot"]])
def test_answers_may_be_plain_texts(tmp_path: Path, answers: Any) -> None:
    put(tmp_path, "vqax", "val", {"1": vqax(answers=answers)}, images=(IMAGE.format(7),))
    assert only(load(explain.dataset_of("vqax"), "val", tmp_path).questions).extra["gold"] == "kettle"


def test_a_byte_order_mark_is_not_a_fault(tmp_path: Path) -> None:
    path = vqax_root(tmp_path) / "nle_data/VQA-X/vqaX_val.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load(explain.dataset_of("vqax"), "val", tmp_path).count == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "vqaX_val.json"),
        (b"{", "vqaX_val.json"),
        (b"3", "vqaX_val.json"),
        (b"{}", "contains no record"),
        (b"[]", "contains no record"),
        (b'{"12": {"question": 5}}', r"record '12': .*question"),
        (b'[{"answers": 5}]', r"record 1: .*answers"),
        (b'{"12": {"question": "\xff"}}', "vqaX_val.json"),
    ],
)
def test_a_broken_file_is_named_with_its_record(tmp_path: Path, content: bytes, message: str) -> None:
    path = vqax_root(tmp_path) / "nle_data/VQA-X/vqaX_val.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        load(explain.dataset_of("vqax"), "val", tmp_path)
    form = "an NLE file is a JSON object of records by id, or a list of them; a .jsonl file has one per line"
    assert caught.value.hint == form


def test_a_file_that_can_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = vqax_root(tmp_path)

    def fails(path: Path) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "read_bytes", fails)
    with pytest.raises(DataError, match=r"can't read .*vqaX_val\.json: Input/output error"):
        load(explain.dataset_of("vqax"), "val", root)


def test_a_missing_file_is_named_with_the_layout(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nle_data/ACT-X/actX_test\.json does not exist$") as caught:
        load(explain.dataset_of("actx"), "val", tmp_path)
    assert "nle_data/" in caught.value.hint


def test_another_benchmark_has_no_mode_of_vcr() -> None:
    with pytest.raises(UsageError):
        explain.dataset_of("vqax", "q2a")


@pytest.mark.parametrize("options", [{"task": "vqa2"}, {"task": "vcr", "vcr_mode": "qa"}])
def test_unknown_tasks_and_modes_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        ScoreExplanationsSettings(predictions=Path("vqax_val_eval.csv"), **options)

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.tasks.vqa2_files import OFFICIAL, SHORT, annotation, answers, question, write_split
from vqa_client.errors import DataError
from vqa_client.task import Loaded
from vqa_client.tasks.vqa2 import benchmark as vqa2
from vqa_client.tasks.vqa2.data import ImageFolders, find_files
from vqa_client.types import Question

RECORDS = "a question has question_id, image_id and question; an annotation question_id and answers: [{answer: ...}]"
OFFICIAL_QUESTIONS = 214_354
PUBLISHED = Path(__file__).parents[3] / "shared/data/seed000_vqa2coco/results/vqa2_results_coco_20250729_131258.json"
TABLE_BITS = 17
"""The official list is ordered by image id modulo 2^17, except for collisions: it is from a hash table of that size."""


def load(folder: Path, notes: list[str] | None = None, **options: Any) -> Loaded:
    said = [] if notes is None else notes
    return vqa2.load(find_files(folder), note=said.append, **({"num_questions": None} | options))


def ids(loaded: Loaded) -> list[str]:
    return [asked.id for asked in loaded.questions]


def published_ids() -> list[tuple[int, int]]:
    if not PUBLISHED.is_file():
        pytest.skip("the published results are not here")
    results = json.loads(PUBLISHED.read_text())["results"]["moondream2"]["question_results"]
    return [(result["question_id"], result["image_id"]) for result in results]


def test_a_question_carries_what_its_score_and_report_need(tmp_path: Path) -> None:
    given = ("maroon",) * 6 + ("red",) * 4
    write_split(tmp_path, [question(42_001)], [annotation(42_001, *given, multiple_choice_answer="red")])
    (asked,) = load(tmp_path).questions
    assert asked == Question(
        id="42001",
        text="What color is the boat?",
        images=(str(tmp_path / "images/val2014/COCO_val2014_000000000043.jpg"),),
        references=given,
        groups={"kind": "color", "answer_type": "other", "question_type": "what color is the"},
        cluster="43",
        extra={
            "question_id": 42_001,
            "image_id": 43,
            "image_filename": "COCO_val2014_000000000043.jpg",
            "multiple_choice_answer": "red",
            "answers": list(given),
        },
    )


def test_the_draw_is_the_published_one_on_the_official_list(tmp_path: Path) -> None:
    expected = published_ids()
    random.seed(42)
    places = random.sample(range(OFFICIAL_QUESTIONS), len(expected))
    other = question(1, image_id=1)
    questions = [other | {"question_id": 10**9 + number} for number in range(OFFICIAL_QUESTIONS)]
    for place, (question_id, image_id) in zip(places, expected, strict=True):
        questions[place] = question(question_id, image_id=image_id)
    red = annotation(1, "red")
    annotations = [red | {"question_id": asked["question_id"]} for asked in questions]
    write_split(tmp_path, questions, annotations)
    assert [int(name) for name in ids(load(tmp_path, num_questions=20))] == [name for name, _ in expected]


def test_the_draw_from_the_official_order_has_the_published_ids() -> None:
    expected = published_ids()
    places = random.Random(42).sample(range(OFFICIAL_QUESTIONS), len(expected))
    size = 1 << TABLE_BITS
    apart = [
        abs(place / OFFICIAL_QUESTIONS - image_id % size / size)
        for place, (_, image_id) in zip(places, expected, strict=True)
    ]
    assert sum(distance < 0.05 for distance in apart) == len(expected) - 1  # one of them has collided


def test_drawn_questions_are_in_the_order_of_the_draw_and_all_questions_in_that_of_the_file(tmp_path: Path) -> None:
    numbers = random.Random(7).sample(range(1, 500), 60)
    write_split(tmp_path, [question(n) for n in numbers], [annotation(n) for n in sorted(numbers)])
    drawn = random.Random(42).sample(numbers, 20)
    assert ids(load(tmp_path, num_questions=20)) == [str(n) for n in drawn]
    assert ids(load(tmp_path, num_questions=20, limit=3)) == [str(n) for n in drawn[:3]]
    assert ids(load(tmp_path, num_questions=20, seed=1)) != [str(n) for n in drawn]
    for everything in (None, 0, 60, 1_000):
        assert ids(load(tmp_path, num_questions=everything)) == [str(n) for n in numbers]


def test_only_annotated_questions_are_drawn_from(tmp_path: Path) -> None:
    write_split(tmp_path, [question(n) for n in range(1, 101)], [annotation(n) for n in range(2, 101, 2)])
    loaded = load(tmp_path, num_questions=10)
    assert ids(loaded) == [str(n) for n in random.Random(42).sample(range(2, 101, 2), 10)]
    assert len(loaded.left_out["no_annotation"]) == 50


def test_whatever_is_missing_on_any_side_is_counted_by_id(tmp_path: Path) -> None:
    questions = [question(1_000 * n) for n in range(100)]
    annotations = [annotation(1_000 * n) for n in range(2, 100)] + [annotation(777)]
    write_split(tmp_path, questions, annotations, images=[1 + n for n in range(95)])
    loaded = load(tmp_path)
    assert loaded.count == len(ids(loaded)) == 93
    assert loaded.left_out == {
        "no_annotation": ("0", "1000"),
        "no_question": ("777",),
        "no_image": tuple(str(1_000 * n) for n in range(95, 100)),
    }


def test_without_any_image_the_error_says_what_was_looked_for_and_where(tmp_path: Path) -> None:
    write_split(tmp_path, [question(n) for n in (10, 20, 30)], None, names=SHORT, images=[])
    (tmp_path / "images/photo_01.jpg").touch()
    files = find_files(tmp_path, tmp_path / SHORT[0])
    with pytest.raises(DataError, match="no image of 2 drawn questions is there; question 10 has the image_id 1:") as c:
        vqa2.load(files, num_questions=None, limit=2)
    for name in ("COCO_val2014_000000000001.jpg", "000000000001.jpg", "1.jpg", str(tmp_path / "images")):
        assert f" {name}" in str(c.value)
    assert "val2014_sample" not in str(c.value)  # a folder that is not there
    named = 'in the questions, "image_id": "photo_01.jpg" or "photo_01"'
    assert c.value.hint == f"name the files so, or name them {named}; --images FOLDER says where they are"


@pytest.mark.parametrize("image_id", ["photo_01.jpg", "photo_01"])
def test_an_image_may_be_named_instead_of_numbered(tmp_path: Path, image_id: str) -> None:
    write_split(tmp_path, [question(1, image_id=image_id)], None, names=SHORT, images=[])
    (tmp_path / "images/photo_01.jpg").touch()
    (asked,) = vqa2.load(find_files(tmp_path, tmp_path / SHORT[0]), num_questions=None).questions
    assert asked.images == (str(tmp_path / "images/photo_01.jpg"),)


def test_some_missing_images_are_a_note(tmp_path: Path) -> None:
    notes: list[str] = []
    write_split(tmp_path, [question(1_000), question(2_000)], [annotation(1_000), annotation(2_000)], images=[2])
    assert load(tmp_path, notes).left_out == {"no_image": ("2000",)}
    assert [note.split(" looked ")[0] for note in notes] == ["no image: question 2000 has the image_id 3:"]


def test_the_first_of_several_records_with_one_id_counts(tmp_path: Path) -> None:
    write_split(
        tmp_path,
        [question(1, "Is it red?"), question(1, "Is it blue?"), question(2)],
        [annotation(1, *["yes"] * 10), annotation(2), annotation(1, *["no"] * 10)],
    )
    loaded = load(tmp_path)
    first, second = loaded.questions
    assert (first.id, first.text, first.references[0], second.id) == ("1", "Is it red?", "yes", "2")
    assert loaded.left_out == {"duplicate_annotation": ("1",), "duplicate_question": ("1",)}


def test_ids_are_the_same_as_text_and_as_number(tmp_path: Path) -> None:
    write_split(tmp_path, [question(1) | {"question_id": "1"}], [annotation(1)], images=[1])
    assert ids(load(tmp_path)) == ["1"]


def test_answers_without_ids_and_unusual_numbers_of_answers_are_noted(tmp_path: Path) -> None:
    notes: list[str] = []
    annotations = [
        annotation(1),
        annotation(2, *["red"] * 10, ids=False),
        annotation(3, *["red"] * 12),
        annotation(4, "red", "red", "blue"),
        annotation(5, *["red"] * 4),
    ]
    write_split(tmp_path, [question(n) for n in (1, 2, 3, 4, 5)], annotations)
    loaded = load(tmp_path, notes)
    assert loaded.count == 5
    assert notes == [
        "1 of 5 questions have answers without answer_id: the official score takes equal ones for one person's",
        "3 of 5 questions have more or fewer than 10 answers",
        "1 of 5 questions have fewer than 4 answers, so that no reply to them has a VQA accuracy of 1",
    ]


def test_usual_annotations_have_no_note(tmp_path: Path) -> None:
    notes: list[str] = []
    load(write_split(tmp_path, [question(1)], [annotation(1)]), notes)
    assert notes == []


def test_a_question_without_answers_is_left_out(tmp_path: Path) -> None:
    silent = annotation(2) | {"answers": [], "multiple_choice_answer": None}
    write_split(tmp_path, [question(1), question(2)], [annotation(1), silent])
    assert load(tmp_path).left_out == {"no_answer": ("2",)}


def test_answers_may_be_texts_or_a_single_answer(tmp_path: Path) -> None:
    plain = annotation(1) | {"answers": ["red", "red", "blue"], "multiple_choice_answer": None}
    single = {"question_id": 2, "multiple_choice_answer": "boat"}
    write_split(tmp_path, [question(1), question(2)], [plain, single])
    first, second = load(tmp_path).questions
    assert (first.references, first.extra["multiple_choice_answer"]) == (("red", "red", "blue"), "red")
    assert (second.references, second.groups["answer_type"]) == (("boat",), "unknown")


def test_the_order_of_equally_frequent_answers_changes_nothing(tmp_path: Path) -> None:
    given = ["yes"] * 5 + ["no"] * 5
    both = [
        annotation(n) | {"answers": answers(*order), "multiple_choice_answer": None}
        for n, order in enumerate((given, given[::-1]))
    ]
    write_split(tmp_path, [question(0), question(1)], both)
    assert {asked.extra["multiple_choice_answer"] for asked in load(tmp_path).questions} == {"no"}


def test_an_unlabelled_split_is_asked_completely_with_a_note(tmp_path: Path) -> None:
    notes: list[str] = []
    write_split(tmp_path, [question(1, "Is it day?"), question(2), question(2)], None, names=SHORT)
    files = find_files(tmp_path, tmp_path / SHORT[0])
    loaded = vqa2.load(files, num_questions=None, note=notes.append)
    first, second = loaded.questions
    assert (first.references, first.groups["kind"], second.groups["kind"]) == ((), "yes/no", "color")
    assert loaded.left_out == {"duplicate_question": ("2",)}
    assert notes[0] == f"there are no annotations for {files.questions}: replies are saved and not scored"


def test_the_digest_is_of_both_files(tmp_path: Path) -> None:
    write_split(tmp_path / "a", [question(1)], [annotation(1)])
    write_split(tmp_path / "b", [question(1)], [annotation(1, *["blue"] * 10)])
    assert load(tmp_path / "a").data_sha256 != load(tmp_path / "b").data_sha256


@pytest.mark.parametrize(
    ("broken", "field"),
    [
        ({"question_id": None}, "question_id"),
        ({"image_id": [1]}, "image_id"),
        ({"question": None}, "question"),
        ({"question": 7}, "question"),
    ],
)
def test_a_wrong_field_is_named_with_its_record(tmp_path: Path, broken: dict[str, Any], field: str) -> None:
    write_split(tmp_path, [question(1), question(2) | broken], [annotation(1)], images=[1])
    with pytest.raises(DataError, match=rf"record 2.*{field}") as caught:
        load(tmp_path)
    assert caught.value.hint == RECORDS


def test_an_answer_that_is_no_text_is_named_before_anything_is_asked(tmp_path: Path) -> None:
    broken = annotation(2) | {"answers": [{"answer": 7, "answer_id": 1}]}
    write_split(tmp_path, [question(1), question(2)], [annotation(1), broken])
    with pytest.raises(DataError, match=r"record 2.*answer") as caught:
        load(tmp_path)
    assert caught.value.hint == RECORDS


@pytest.mark.parametrize(
    ("text", "gold", "kind"),
    [
        ("Is it daytime?", "no", "yes/no"),
        ("Is the skier going up or down?", "up", "other"),
        ("What color jacket is it?", "green", "color"),
        ("What colour is it?", "green", "color"),
        ("How many shrubs are there?", "0", "count"),
        ("What is discolored?", "wall", "other"),
        ("Is the light on?", None, "yes/no"),
        ("Isn't it late?", None, "yes/no"),
        ("How many are there?", None, "count"),
        ("Island or coast?", None, "other"),
    ],
)
def test_the_kinds_are_those_of_the_published_analysis(text: str, gold: str | None, kind: str) -> None:
    from vqa_client.tasks.vqa2.data import kind_of

    assert kind_of(text, gold) == kind


@pytest.mark.parametrize("names", [OFFICIAL, SHORT])
def test_both_layouts_are_found(tmp_path: Path, names: tuple[str, str]) -> None:
    files = find_files(write_split(tmp_path, [question(1)], [annotation(1)], names=names))
    assert (files.questions, files.annotations) == (tmp_path / names[0], tmp_path / names[1])


def test_the_official_layout_goes_first(tmp_path: Path) -> None:
    write_split(tmp_path, [question(1)], [annotation(1)], names=SHORT)
    write_split(tmp_path, [question(1)], [annotation(1)])
    assert find_files(tmp_path).questions.name == OFFICIAL[0]


def test_files_given_by_hand_need_no_folder(tmp_path: Path) -> None:
    write_split(tmp_path, [question(1)], [annotation(1)])
    files = find_files(
        tmp_path / "absent", tmp_path / OFFICIAL[0], tmp_path / OFFICIAL[1], images=tmp_path / "elsewhere"
    )
    assert files.annotations == tmp_path / OFFICIAL[1]
    assert files.image_roots == (tmp_path / "elsewhere",)


def test_the_annotations_beside_given_questions_are_taken(tmp_path: Path) -> None:
    write_split(tmp_path, [question(1)], [annotation(1)])
    assert find_files(Path("absent"), tmp_path / OFFICIAL[0]).annotations == tmp_path / OFFICIAL[1]


def test_a_test_split_has_no_annotations(tmp_path: Path) -> None:
    names = ("v2_OpenEnded_mscoco_test2015_questions.json", "")
    files = find_files(write_split(tmp_path, [question(1)], None, names=names, subtype="test2015"))
    assert (files.questions.name, files.annotations) == (names[0], None)


def test_missing_annotations_are_an_error(tmp_path: Path) -> None:
    write_split(tmp_path, [question(1)], None)
    with pytest.raises(DataError, match="no annotations") as caught:
        find_files(tmp_path)
    assert "--annotations_file" in caught.value.hint
    assert find_files(tmp_path, tmp_path / OFFICIAL[0]).annotations is None


def test_the_splits_that_are_there_are_listed(tmp_path: Path) -> None:
    for split in ("train2014", "test2015"):
        (tmp_path / f"v2_OpenEnded_mscoco_{split}_questions.json").touch()
    with pytest.raises(DataError, match="of test2015, train2014") as caught:
        find_files(tmp_path)
    assert "--questions_file" in caught.value.hint


def test_the_error_of_an_empty_folder_lists_the_expected_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no questions of VQA 2\.0") as caught:
        find_files(tmp_path)
    assert OFFICIAL[0] in caught.value.hint


@pytest.mark.parametrize(
    "name",
    [
        "images/val2014_sample/COCO_val2014_000000000139.jpg",
        "images/val2014/COCO_val2014_000000000139.jpg",
        "images/val2014_sample/COCO_val2014_000139.jpg",
        "images/COCO_val2014_000000000139.jpg",
        "images/000000000139.jpg",
        "images/139.png",
        "val2014/COCO_val2014_000000000139.jpg",
    ],
)
def test_every_name_of_an_image_is_found(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.touch()
    (tmp_path / "questions.json").touch()
    roots = find_files(tmp_path, tmp_path / "questions.json").image_roots
    folders = ImageFolders(roots, "val2014")
    assert (folders.path(139), folders.path("139"), folders.path(140)) == (str(path), str(path), "")


def test_the_published_order_of_names_holds(tmp_path: Path) -> None:
    names = ("val2014_sample/COCO_val2014_000000000139.jpg", "val2014/COCO_val2014_000000000139.jpg")
    for name in (*names, "val2014_sample/COCO_val2014_000139.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert ImageFolders((tmp_path,), "val2014").path(139) == str(tmp_path / names[0])
    (tmp_path / names[0]).unlink()
    assert ImageFolders((tmp_path,), "val2014").path(139) == str(tmp_path / names[1])


def test_an_id_that_is_not_a_number_is_a_file_name(tmp_path: Path) -> None:
    (tmp_path / "boat.jpg").touch()
    assert ImageFolders((tmp_path,), "val2014").path("boat") == str(tmp_path / "boat.jpg")
    assert ImageFolders((tmp_path,), "val2014").path("boat.jpg") == str(tmp_path / "boat.jpg")

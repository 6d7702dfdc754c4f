import json
from pathlib import Path

import pytest

from tests.answers.sample import annotation, ten_answers, write_annotations
from vqa_client.answers.annotated import read_annotations
from vqa_client.errors import DataError
from vqa_client.scoring.vqa_accuracy import texts

ROWS = [annotation(1001, "yes"), annotation(1002, "red", "blue")]


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"info": {}, "annotations": ROWS}),
        "\ufeff" + json.dumps({"annotations": ROWS}),
        json.dumps(ROWS),
        "\n".join(map(json.dumps, ROWS)),
        json.dumps(ROWS[0]) + "\n" + json.dumps(ROWS[1], indent=None) + "\n",
        json.dumps({row["question_id"]: {k: v for k, v in row.items() if k != "question_id"} for row in ROWS}),
    ],
)
def test_every_form_has_the_same_annotations(content: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(content)
    found = read_annotations(tmp_path / "a.json")
    assert {key: texts(found.answers(row)) for key, row in found.by_id.items()} == {
        "1001": ["yes"] * 10,
        "1002": ["red", "blue"] * 5,
    }


@pytest.mark.parametrize(
    ("answers", "expected"),
    [(["a", "b"], ["a", "b"]), ("a", ["a"]), ([], []), ([{"answer": "a"}], ["a"]), (ten_answers("a"), ["a"] * 10)],
)
def test_answers_may_be_texts_or_objects_with_and_without_ids(
    answers: object, expected: list[str], tmp_path: Path
) -> None:
    found = read_annotations(write_annotations(tmp_path / "a.json", {"question_id": 1, "answers": answers}))
    assert texts(found.answers(found.by_id["1"])) == expected


def test_a_question_file_has_questions_and_no_answers(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text(json.dumps({"questions": [{"question_id": 7, "image_id": 1, "question": "?"}]}))
    found = read_annotations(tmp_path / "q.json")
    assert found.answers(found.by_id["7"]) == []


def test_several_annotations_of_one_question_are_counted_and_the_last_counts(tmp_path: Path) -> None:
    path = write_annotations(tmp_path / "a.json", annotation(1, "yes"), annotation("1", "no"), annotation(2, "x"))
    found = read_annotations(path)
    assert (found.by_id["1"].multiple_choice_answer, found.repeated) == ("no", {"1": 2})
    assert found.id_kinds == {int, str}


NEEDED = 'expected {"annotations": [{"question_id", "answers": [{"answer", "answer_id"}], ...}]} or a record by id'
FORMS = "a file is a JSON list, one JSON object per line, or CSV or TSV by its name, all in UTF-8"


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        ("", "is empty", FORMS),
        ('{"annotations": []}', "contains no question", NEEDED),
        ("{}", "contains no question", NEEDED),
        ('{"annotations": [{"answers": []}]}', "item 1 has no question_id", NEEDED),
        ('{"annotations": [{"question_id": 1}', "a.json", NEEDED),
        ('{"question_id": 1, "answers": []}\n{"question_id"', "line 2", FORMS),
        ('{"model": "x"}', "a.json", ""),
        ("question_id", "JSON is malformed", NEEDED),
    ],
)
def test_a_malformed_file_is_refused_with_the_reason(content: str, message: str, hint: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        read_annotations(tmp_path / "a.json")
    assert caught.value.hint == hint


def test_an_error_of_malformed_answers_names_their_question(tmp_path: Path) -> None:
    found = read_annotations(write_annotations(tmp_path / "a.json", {"question_id": 5, "answers": [{"answer": 3}]}))
    with pytest.raises(DataError, match="question 5, answers"):
        found.answers(found.by_id["5"])

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vqa_client.errors import DataError
from vqa_client.tasks.explain.report import export_captions
from vqa_client.types import Question, Record

Asked = tuple[Question, Record]


def asked(id: str, answer: str, explanation: str, right_answer: str, references: list[str]) -> Asked:
    question = Question(id=id, text="", rationales=tuple(references), extra={"gold": right_answer})
    return question, Record(question_id=id, status="ok", answer=answer, rationale=explanation)


QUESTIONS = [
    asked("7", "yes", "it is\nwet", "yes", ["wet", "it rains"]),
    asked("12", "", "", "two", ['a "pair"']),
]


def _written(folder: Path, questions: list[Asked]) -> dict[str, Any]:
    paths = export_captions(folder / "run", questions)
    return {path.name: json.loads(path.read_bytes()) for path in paths}


def test_references_and_predictions_are_written_in_both_forms(tmp_path: Path) -> None:
    written = _written(tmp_path, QUESTIONS)
    assert sorted(written) == [
        "run_annot_exp.json",
        "run_annot_full.json",
        "run_pred_exp.json",
        "run_pred_full.json",
    ]
    assert written["run_pred_exp.json"] == [{"image_id": 7, "caption": "it is wet"}, {"image_id": 12, "caption": ""}]
    assert written["run_pred_full.json"][0] == {"image_id": 7, "caption": "yes because it is wet"}
    references = written["run_annot_full.json"]
    assert {name: references[name] for name in references if name != "annotations"} == {
        "info": {"description": "run: full", "version": "1.0"},
        "images": [{"id": 7}, {"id": 12}],
        "licenses": [],
        "type": "captions",
    }
    assert references["annotations"][2] == {"image_id": 12, "caption": 'two because a "pair"', "id": 2}


def test_a_name_with_dots_is_kept_whole(tmp_path: Path) -> None:
    paths = export_captions(tmp_path / "qwen2.5-vl_1.0", QUESTIONS)
    assert paths[0].name == "qwen2.5-vl_1.0_annot_exp.json"


def test_ids_stay_texts_where_one_is_not_a_number(tmp_path: Path) -> None:
    odd = [*QUESTIONS, asked("007", "", "", "", ["x"])]
    assert [row["image_id"] for row in _written(tmp_path, odd)["run_pred_exp.json"]] == ["7", "12", "007"]


def test_a_question_that_is_there_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^the question '7' is there twice$") as caught:
        export_captions(tmp_path / "run", [QUESTIONS[0], QUESTIONS[0]])
    assert caught.value.hint == "export one run of one data file"


@settings(max_examples=40)  # four files each, all synced
@given(
    questions=st.lists(
        st.builds(
            asked,
            id=st.text(max_size=4),
            answer=st.text(max_size=8),
            explanation=st.text(max_size=8),
            right_answer=st.text(max_size=8),
            references=st.lists(st.text(max_size=8), min_size=1, max_size=3),
        ),
        unique_by=lambda pair: pair[0].id,
        max_size=4,
    )
)
def test_every_question_has_one_prediction_and_every_reference_an_id(
    tmp_path_factory: pytest.TempPathFactory, questions: list[Asked]
) -> None:
    written = _written(tmp_path_factory.mktemp("coco"), questions)
    for form in ("exp", "full"):
        references, predictions = written[f"run_annot_{form}.json"], written[f"run_pred_{form}.json"]
        ids = [image["id"] for image in references["images"]]
        assert [row["image_id"] for row in predictions] == ids
        assert len(set(ids)) == len(questions)
        assert [row["id"] for row in references["annotations"]] == list(range(len(references["annotations"])))
        assert not any("\n" in row["caption"] for row in predictions)

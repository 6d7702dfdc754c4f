"""The real files, if they are beside the repository, with empty files as their images."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.tasks.declared import task_of
from tests.tasks.explain.samples import said
from vqa_client.tasks import explain
from vqa_client.tasks.explain.dataset import load
from vqa_client.types import Question

DATA = Path(__file__).parents[4] / "shared/data/seed001_nle"


def real(tmp_path: Path, name: str, split: str, folder: str) -> list[Question]:
    path = DATA / name
    if not path.is_file():
        pytest.skip("the real file is not here")
    place = tmp_path / "nle_data" / name
    place.parent.mkdir(parents=True)
    place.symlink_to(path)
    images = tmp_path / "images" / folder
    images.mkdir(parents=True)
    for image in {record["image_name"] for record in json.loads(path.read_bytes()).values()}:
        (images / image).touch()
    loaded = load(explain.dataset_of("vqax" if "VQA-X" in name else "esnlive"), split, tmp_path)
    questions = list(loaded.questions)
    assert loaded.left_out == {}
    assert loaded.count == len(questions) == len({question.id for question in questions})
    return questions


def test_all_of_vqax_test_is_loaded_and_answers_itself(tmp_path: Path) -> None:
    questions = real(tmp_path, "VQA-X/vqaX_test.json", "test", "val2014")
    assert len(questions) == 1968
    records = json.loads((DATA / "VQA-X/vqaX_test.json").read_bytes())
    assert [question.id for question in questions] == list(records)
    assert {len(question.references) for question in questions} == {10}
    assert {len(question.rationales) for question in questions} == {3}
    task = task_of("vqax")
    for question in questions:
        reply = said(f"{question.extra['gold']} because {question.rationales[0]}")
        answer = task.parse(reply, question)
        assert answer.rationale == question.rationales[0].strip()
        assert task.score(answer, reply, question).value == 1.0


def test_all_of_esnlive_test_is_loaded_and_answers_itself(tmp_path: Path) -> None:
    questions = real(tmp_path, "eSNLI-VE/esnlive_test.json", "val", "flickr30k")
    assert len(questions) == 14_740
    assert Counter(question.extra["gold"] for question in questions) == {
        "contradiction": 5721,
        "entailment": 5218,
        "neutral": 3801,
    }
    assert len({question.cluster for question in questions}) == 1000
    task = task_of("esnlive")
    for question in questions:
        reply = said(f"{question.extra['gold']} because {question.rationales[0]}")
        assert task.parse(reply, question).text == question.extra["gold"]

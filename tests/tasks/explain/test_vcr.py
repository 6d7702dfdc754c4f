from pathlib import Path
from typing import Any

import pytest

from tests.tasks.declared import task_of
from tests.tasks.explain.samples import only, put, said, vcr_evil, vcr_nlx, vcr_own
from vqa_client.errors import UsageError
from vqa_client.tasks import explain
from vqa_client.tasks.explain.dataset import find_file, load
from vqa_client.types import Question

IMAGES = ("vcr1images/lsmdc_1/x@0.jpg",)
EVIL = "VCR/vcr_dev_split.json"
OWN = "VCR/val.jsonl"


def question_of(root: Path, mode: str = "free") -> Question:
    return only(load(explain.dataset_of("vcr", mode), "val", root).questions)


def scored(question: Question, mode: str, reply: str, parser: str = "robust") -> tuple[float, dict[str, float]]:
    task = task_of("vcr", vcr_mode=mode, parser=parser)
    completion = said(reply)
    score = task.score(task.parse(completion, question), completion, question)
    return score.value, score.parts


def test_nlx_gpts_form_is_asked_in_words(tmp_path: Path) -> None:
    question = question_of(put(tmp_path, "vcr", "val", {"0": vcr_nlx()}, images=IMAGES))
    assert (question.id, question.text) == ("0", "why is person0 pointing at person1")
    assert question.references == ("he shows person2 who asked for the soup",)
    assert question.images == (str(tmp_path / "images" / IMAGES[0]),)
    assert question.cluster == "lsmdc_1/x@0.jpg"
    assert question.extra["columns"]["image_name"] == "x@0.jpg"
    value, parts = scored(question, "free", "He shows person2 who asked for the soup, because of the bowl")
    assert (value, parts) == (1.0, {"robust": 1.0, "published": 1.0, "published_latest": 0.0, "explained": 1.0})


def test_evils_form_is_asked_in_words_or_by_letter(tmp_path: Path) -> None:
    root = put(tmp_path, "vcr", "val", [vcr_evil()], file=EVIL, images=IMAGES)
    free, lettered = question_of(root), question_of(root, "q2a")
    assert free.id == lettered.id == "val-3"
    assert free.references == ("He shows <det2> who asked.",)
    assert (lettered.references, list(lettered.choices)) == (("B",), ["A", "B", "C", "D"])
    assert lettered.extra["columns"]["gt_answer"] == "He shows <det2> who asked."
    assert lettered.extra["columns"]["options"].count(" || ") == 3
    assert "B. He shows <det2> who asked." in task_of("vcr", vcr_mode="q2a").prompt(lettered)
    assert "He is angry" not in task_of("vcr").prompt(free)


@pytest.mark.parametrize(
    ("reply", "robust", "published", "published_latest"),
    [
        ("B because of the bowl", 1.0, 0.0, 1.0),
        ("(B) because of the bowl", 1.0, 0.0, 0.0),
        ("He shows <det2> who asked because of the bowl", 1.0, 1.0, 0.0),
        ("A because of the bowl", 0.0, 0.0, 0.0),
    ],
)
def test_letters_are_scored_beside_the_published_readings(
    tmp_path: Path, reply: str, robust: float, published: float, published_latest: float
) -> None:
    question = question_of(put(tmp_path, "vcr", "val", [vcr_evil()], file=EVIL, images=IMAGES), "q2a")
    value, parts = scored(question, "q2a", reply)
    assert value == robust
    assert parts == {"robust": robust, "published": published, "published_latest": published_latest, "explained": 1.0}
    assert scored(question, "q2a", reply, "published_latest")[0] == published_latest


def test_the_benchmarks_own_annotation_has_rationales_to_choose_from(tmp_path: Path) -> None:
    root = put(tmp_path, "vcr", "val", [vcr_own()], file=OWN, images=IMAGES)
    question = question_of(root, "qa2r")
    assert question.text == "Why is person0 pointing at person1 and bowl2 ?"
    assert (question.references, question.choices["D"]) == (("D",), "person1 carries a bowl .")
    assert question.rationales == ("person1 carries a bowl .",)
    prompt = task_of("vcr", vcr_mode="qa2r").prompt(question)
    assert "The right answer: person0 shows who asked ." in prompt
    assert "He is angry" not in prompt
    assert scored(question, "qa2r", "D") == (1.0, {"robust": 1.0, "explained": 1.0})
    assert scored(question, "qa2r", "A")[0] == 0.0
    task = task_of("vcr", vcr_mode="qa2r")
    assert task.parse(said("D"), question).rationale == "person1 carries a bowl ."


@pytest.mark.parametrize(
    ("reply", "value", "q2a", "qa2r"),
    [
        ("B because H", 1.0, 1.0, 1.0),
        ("(B) because (H)", 1.0, 1.0, 1.0),
        ("B because E", 0.0, 1.0, 0.0),
        ("A because H", 0.0, 0.0, 1.0),
        ("H", 0.0, 0.0, 0.0),
    ],
)
def test_answer_and_rationale_are_asked_in_one_reply_and_both_must_be_right(
    tmp_path: Path, reply: str, value: float, q2a: float, qa2r: float
) -> None:
    question = question_of(put(tmp_path, "vcr", "val", [vcr_own()], file=OWN, images=IMAGES), "q2ar")
    assert question.references == ("B because H",)
    got, parts = scored(question, "q2ar", reply)
    assert (got, parts["q2a"], parts["qa2r"]) == (value, q2a, qa2r)
    prompt = task_of("vcr", vcr_mode="q2ar").prompt(question)
    assert "B. person0 shows who asked ." in prompt
    assert "H. person1 carries a bowl ." in prompt


NO_ANSWERS = (
    "has no answer_choices, so there are no letters to ask for",
    "files of the e-ViL form (vcr_dev_split.json) have them; or --vcr_mode free",
)
NO_REASONS = (
    "has no rationale_choices and rationale_label: it contains right explanations and no wrong ones to choose from",
    "put the benchmark's own train.jsonl or val.jsonl into nle_data/VCR; or --vcr_mode q2a or free",
)


@pytest.mark.parametrize(
    ("record", "file", "mode", "lacking"),
    [
        (vcr_nlx(), "", "q2a", NO_ANSWERS),
        (vcr_nlx(), "", "qa2r", NO_REASONS),
        (vcr_evil(), EVIL, "qa2r", NO_REASONS),
        (vcr_evil(), EVIL, "q2ar", NO_REASONS),
    ],
)
def test_choices_that_a_file_lacks_are_not_invented(
    tmp_path: Path, record: Any, file: str, mode: str, lacking: tuple[str, str]
) -> None:
    root = put(tmp_path, "vcr", "val", [record], file=file, images=IMAGES)
    with pytest.raises(UsageError) as caught:
        load(explain.dataset_of("vcr", mode), "val", root)
    assert (str(caught.value).partition(".json ")[2], caught.value.hint) == lacking


def test_a_few_records_without_choices_are_left_out_and_named(tmp_path: Path) -> None:
    records = [vcr_evil(), vcr_evil(question_id="b", answer_choices=None), vcr_evil(question_id="c", label=9)]
    loaded = load(
        explain.dataset_of("vcr", "q2a"), "val", put(tmp_path, "vcr", "val", records, file=EVIL, images=IMAGES)
    )
    assert loaded.count == 1
    assert loaded.left_out == {"no_choices": ("b",), "no_answer": ("c",)}


def test_spaces_around_a_spoken_text_are_not_part_of_it(tmp_path: Path) -> None:
    record = vcr_evil(sent=" Why? ", answer_choices=["A dog", " A cat\n"])
    question = question_of(put(tmp_path, "vcr", "val", [record], file=EVIL, images=IMAGES), "q2a")
    assert (question.text, question.choices) == ("Why?", {"A": "A dog", "B": "A cat"})


def test_each_mode_takes_the_file_that_has_what_it_needs(tmp_path: Path) -> None:
    put(tmp_path, "vcr", "val", {"0": vcr_nlx()}, images=IMAGES)
    put(tmp_path, "vcr", "val", [vcr_evil()], file="VCR_original/vcr_dev_split.json")
    put(tmp_path, "vcr", "val", [vcr_own()], file=OWN)
    files = {mode: find_file(explain.dataset_of("vcr", mode), "val", tmp_path).name for mode in ("free", "q2ar")}
    assert files == {"free": "vcr_val.json", "q2ar": "val.jsonl"}
    (tmp_path / "nle_data/VCR/val.jsonl").unlink()
    assert find_file(explain.dataset_of("vcr", "q2a"), "val", tmp_path).name == "vcr_dev_split.json"


@pytest.mark.parametrize(
    "changes", [{"raw_img_id": None, "img_id": "lsmdc_1/x@0.npz"}, {"raw_img_id": "/lsmdc_1/x@0.jpg"}]
)
def test_an_image_is_named_in_several_ways(tmp_path: Path, changes: dict[str, Any]) -> None:
    root = put(tmp_path, "vcr", "val", [vcr_evil(**changes)], file=EVIL, images=IMAGES)
    assert question_of(root).images == (str(tmp_path / "images" / IMAGES[0]),)


@pytest.mark.parametrize("mode", ["qa2r", "q2ar"])
def test_letters_of_rationales_have_no_published_reading(mode: str) -> None:
    with pytest.raises(UsageError, match="no reading"):
        task_of("vcr", vcr_mode=mode, parser="published")

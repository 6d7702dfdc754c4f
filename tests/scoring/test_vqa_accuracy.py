import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vqa_client
from vqa_client.scoring.vqa_accuracy import (
    MODES,
    Gap,
    HumanAnswer,
    Mode,
    contains_answer,
    gap_between,
    majority,
    question_accuracy,
    unanimous,
    vqa_accuracy,
)

GOLDEN = Path(__file__).parents[3] / "shared" / "data" / "seed004_vqaeval"
IN_GOLDEN: dict[Mode, str] = {
    "normalised": "hf_kamichanw_always",
    "official": "official_2021_head_a013f00",
    "official-2017": "official_2017_a4f1afd",
    "raw": "no_processing",
}
ANSWER = st.sampled_from(["yes", "Yes", "yes.", "no", "two", "2", " 2", "a", "red-blue", "red blue"])
ANSWERS = st.lists(ANSWER, min_size=1, max_size=12)


def ten(*given: tuple[str, int]) -> list[str]:
    return [answer for answer, number in given for _ in range(number)]


@pytest.mark.parametrize(("k", "accuracy"), [(0, 0.0), (1, 0.3), (2, 0.6), (3, 0.9), (4, 1.0), (10, 1.0)])
def test_the_mean_is_over_all_sets_of_nine_annotators(k: int, accuracy: float) -> None:
    others = [f"other {n}" for n in range(10 - k)]
    assert question_accuracy("x", ["x"] * k + others) == pytest.approx(accuracy)


@pytest.mark.parametrize(
    ("prediction", "answers", "normalised", "official", "official_2017", "raw"),
    [
        ("Green.", ten(("green", 10)), 1, 0, 1, 0),
        ("yes\n", ten(("yes", 10)), 1, 1, 1, 0),
        ("Yes", ten(("yes", 9), ("no", 1)), 1, 1, 1, 0),
        ("two", ten(("two", 9), ("2", 1)), 1, 1, 0.3, 1),
        ("t-shirt", ten(("t-shirt", 10)), 1, 1, 0, 1),
        ("The label reads north harbor.", ten(("north harbor", 9), ("x", 1)), 0, 0, 0, 0),
        ("yes", ["yes", "yeah", "yep"], 2 / 9, 2 / 9, 2 / 9, 2 / 9),
        ("blue", ["blue", "bluish"], 1 / 6, 1 / 6, 1 / 6, 1 / 6),
        ("x", ["x"], 0, 0, 0, 0),
        ("Yes。", ten(("yes", 9), ("no", 1)), 1, 0, 0, 0),
        ("２", ten(("2", 9), ("3", 1)), 1, 0, 0, 0),
        ("٢", ten(("2", 9), ("3", 1)), 1, 0, 0, 0),
        ("да！", ten(("да", 9), ("нет", 1)), 1, 0, 0, 0),
    ],
)
def test_the_modes_differ_where_the_evaluators_do(
    prediction: str, answers: list[str], normalised: float, official: float, official_2017: float, raw: float
) -> None:
    found = [question_accuracy(prediction, answers, mode) for mode in MODES]
    assert found == pytest.approx([normalised, official, official_2017, raw])


def test_officially_equal_answers_without_ids_leave_each_other_out() -> None:
    nameless = [HumanAnswer(answer="red", answer_confidence="yes")] * 10
    named = [HumanAnswer(answer="red", answer_confidence="yes", answer_id=n) for n in range(10)]
    assert [question_accuracy("red", nameless, mode) for mode in MODES] == [1, 0, 0, 1]
    assert [question_accuracy("red", named, mode) for mode in MODES] == [1, 1, 1, 1]
    unlike = [HumanAnswer(answer="red", answer_confidence=c) for c in ("yes", "maybe", "no", "no")]
    assert question_accuracy("red", unlike, "official") == pytest.approx((3 + 3 + 2 + 2) / 12)


def test_without_answers_there_is_no_accuracy() -> None:
    with pytest.raises(ValueError, match="without answers"):
        question_accuracy("yes", [])


@given(ANSWER, ANSWERS, st.sampled_from(MODES), st.randoms())
def test_the_accuracy_is_in_0_to_1_and_does_not_depend_on_the_order(
    prediction: str, answers: list[str], mode: Mode, random: Any
) -> None:
    accuracy = question_accuracy(prediction, answers, mode)
    assert 0 <= accuracy <= 1
    random.shuffle(answers)
    assert question_accuracy(prediction, answers, mode) == accuracy


@given(ANSWER, st.lists(ANSWER, min_size=2, max_size=12))
def test_where_annotators_differ_official_is_normalised(prediction: str, answers: list[str]) -> None:
    if not unanimous(answers):
        assert question_accuracy(prediction, answers, "official") == question_accuracy(prediction, answers)


def test_the_example_of_the_metric_on_the_hub() -> None:
    predictions, references = ["yes", "2", "blue"], [["yes", "yeah", "yep"], ["2", "two"], ["blue", "bluish"]]
    assert vqa_client.vqa_accuracy(predictions, references) == {"overall": 24.07}
    assert vqa_accuracy(predictions, references, ["yes/no", "number", "other"], ["is", None, "is"]) == {
        "overall": 24.07,
        "perAnswerType": {"yes/no": 22.22, "number": 33.33, "other": 16.67},
        "perQuestionType": {"is": 19.44},
    }
    assert vqa_accuracy(predictions, references, mode="raw")["overall"] == 18.52
    assert vqa_accuracy(predictions, references, precision=None)["overall"] == pytest.approx(24.0740740740)


def test_a_single_reference_gives_a_warning() -> None:
    with pytest.warns(UserWarning, match="1 of 2 questions have a single reference") as warned:
        assert vqa_accuracy(["x", "x"], [["x"], ["x"] * 10])["overall"] == 50.0
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vqa_accuracy(["x"], [["x", "y"]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["x"], []), "1 predictions and 0 references"),
        ((["x"], [["x", "y"]], ["a", "b"]), "1 predictions and 2 answer_types"),
        (([], []), "without predictions"),
        ((["x"], [["x", "y"]], None, None, "strict"), "it must be one of normalised, official"),
    ],
)
def test_predictions_that_can_not_be_scored_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        vqa_accuracy(*arguments)


def test_an_answer_is_contained_as_whole_words() -> None:
    assert contains_answer("The label reads North Harbor.", ["north harbor", "x"])
    assert not contains_answer("There are 10.", ["1", "0"])
    assert not contains_answer("nothing", ["the", "?"])


def test_the_majority_does_not_depend_on_the_order() -> None:
    assert majority(["red", "Blue", "blue.", "red"]) == majority(["blue", "red", "Red", "blue"]) == "blue"
    assert majority(["the", "red", "red"]) == "red"
    assert majority([]) == ""


@pytest.mark.parametrize("name", ["golden_157_real_predictions.json", "golden_3427_leave_one_in.json"])
@pytest.mark.parametrize("mode", MODES)
def test_every_question_scores_as_the_evaluators_do(name: str, mode: Mode) -> None:
    if not (GOLDEN / name).exists():
        pytest.skip(f"{name} is not here")
    golden = json.loads((GOLDEN / name).read_text())
    records, key = golden["records"], IN_GOLDEN[mode]
    differing = [
        record["question_id"]
        for record in records
        if round(100 * question_accuracy(record["prediction"], record["answers"], mode), 2) != record["expected"][key]
    ]
    assert differing == []
    found = vqa_accuracy(
        [record["prediction"] for record in records],
        [record["answers"] for record in records],
        [record["answer_type_derived"] for record in records],
        [record["question_type_derived"] for record in records],
        mode=mode,
    )
    assert found["overall"] == golden["overall"][key]
    if mode == "official":
        assert found["perAnswerType"] == golden["official_2021_perAnswerType(derived types)"]
        assert found["perQuestionType"] == golden["official_2021_perQuestionType(derived types)"]


def test_the_gap_has_the_part_of_unanimous_questions() -> None:
    gap = gap_between([1.0, 1.0, 0.9, 0.0], [0.0, 1.0, 0.6, 0.0], [1, 1, 0, 0])
    assert gap == Gap(value=(1.0 + (0.9 - 0.6)) / 4, by_unanimous=0.25, unanimous=2, unanimous_share=0.5, differing=1)


def test_without_questions_there_is_no_gap() -> None:
    assert gap_between([], [], []) is None


def test_both_scores_are_of_the_same_questions() -> None:
    with pytest.raises(ValueError, match="shorter"):
        gap_between([1.0], [], [1])

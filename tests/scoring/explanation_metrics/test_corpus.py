import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.linear_time import RATIO, growth_of
from tests.scoring.explanation_metrics.samples import PREDICTIONS, REFERENCES, score_explanations
from vqa_client.scoring.explanation_metrics.evil import METRICS
from vqa_client.scoring.explanation_metrics.outside import tools_named_in


def test_both_scopes_have_their_number_of_questions() -> None:
    scores = score_explanations(PREDICTIONS, REFERENCES, right={"1", "3", "a question without references"})
    assert scores.filtered is not None
    assert (scores.unfiltered.n, scores.filtered.n) == (4, 2)
    assert scores.filtered.metrics["CIDEr"].n == 2
    assert scores.filtered.metrics["ROUGE_L"].value != scores.unfiltered.metrics["ROUGE_L"].value


def test_the_filtered_scope_is_scored_without_the_other_questions() -> None:
    right = ["1", "3"]
    alone = score_explanations({id: PREDICTIONS[id] for id in right}, {id: REFERENCES[id] for id in right})
    assert score_explanations(PREDICTIONS, REFERENCES, right=right).filtered == alone.unfiltered


def test_without_right_answers_the_filtered_scope_is_null_with_a_reason() -> None:
    filtered = score_explanations(PREDICTIONS, REFERENCES, right=[]).filtered
    assert filtered is not None
    assert filtered.n == 0
    assert {metric.value for metric in filtered.metrics.values()} == {None}
    assert all(metric.reason for metric in filtered.metrics.values())


def test_if_right_answers_are_unknown_there_is_no_filtered_scope() -> None:
    assert score_explanations(PREDICTIONS, REFERENCES).filtered is None


@pytest.mark.parametrize("silence", [{}, {"2": ""}, {"2": " \n"}, {"2": "..."}])
def test_a_missing_explanation_is_scored_as_an_empty_one(silence: dict[str, str]) -> None:
    said = {id: text for id, text in PREDICTIONS.items() if id != "2"} | silence
    unfiltered = score_explanations(said, REFERENCES).unfiltered
    assert (unfiltered.n, unfiltered.n_empty) == (4, 1)
    for metric in unfiltered.metrics.values():
        assert metric.n == 4
        assert metric.each[1] == 0


@pytest.mark.parametrize("nothing", [[], [""], [" ", "."]])
def test_a_question_without_references_is_counted_and_not_scored(nothing: list[str]) -> None:
    scores = score_explanations(PREDICTIONS | {"5": "x"}, REFERENCES | {"5": nothing})
    assert (scores.unfiltered.n, scores.n_without_references) == (4, 1)
    assert scores.unfiltered == score_explanations(PREDICTIONS, REFERENCES).unfiltered


def test_a_reference_without_words_does_not_count() -> None:
    more = {id: ["", *references, " "] for id, references in REFERENCES.items()}
    assert score_explanations(PREDICTIONS, more) == score_explanations(PREDICTIONS, REFERENCES)


def test_missing_programs_are_named_and_the_other_metrics_scored() -> None:
    metrics = score_explanations(PREDICTIONS, REFERENCES, metrics=METRICS, tools=tools_named_in({})).unfiltered.metrics
    for name, variable in [("METEOR", "METEOR_JAR"), ("SPICE", "SPICE_JAR"), ("BERTScore", "BERTSCORE_MODEL")]:
        assert metrics[name].value is None
        assert name in metrics[name].reason
        assert f"VQA_CLIENT_{variable}" in metrics[name].reason
    assert metrics["Bleu_4"].value is not None


def test_a_path_that_does_not_exist_is_named() -> None:
    environment = {f"VQA_CLIENT_{name}": f"/nowhere/{name}" for name in ("METEOR_JAR", "SPICE_JAR", "BERTSCORE_MODEL")}
    tools = tools_named_in(environment)
    metrics = score_explanations(PREDICTIONS, REFERENCES, metrics=METRICS, tools=tools).unfiltered.metrics
    for name, path in [("METEOR", "METEOR_JAR"), ("SPICE", "SPICE_JAR"), ("BERTScore", "BERTSCORE_MODEL")]:
        assert f"/nowhere/{path}" in metrics[name].reason


@given(order=st.permutations(sorted(REFERENCES)), right=st.sets(st.sampled_from(sorted(REFERENCES))))
def test_the_order_of_the_records_is_irrelevant(order: list[str], right: set[str]) -> None:
    shuffled = {id: PREDICTIONS[id] for id in order}, {id: REFERENCES[id] for id in reversed(order)}
    assert score_explanations(*shuffled, right=sorted(right, reverse=True)) == score_explanations(
        PREDICTIONS, REFERENCES, right=right
    )


@given(said=st.dictionaries(st.sampled_from(sorted(REFERENCES)), st.text(max_size=40)))
def test_any_text_has_a_score_within_its_range(said: dict[str, str]) -> None:
    for name, metric in score_explanations(said, REFERENCES).unfiltered.metrics.items():
        assert metric.value is not None
        assert 0 <= metric.value <= (10 if name == "CIDEr" else 1) + 1e-9


def test_1_000_explanations_with_3_references_each_take_a_second_or_two() -> None:
    rng = random.Random(5)
    words = [f"word{number}" for number in range(300)]
    text = [" ".join(rng.choices(words, k=11)) for _ in range(4_000)]
    references = {str(number): text[1_000 + 3 * number : 1_003 + 3 * number] for number in range(1_000)}
    took = growth_of(
        lambda said: score_explanations(said, references),
        lambda size: {str(number): text[number] for number in range(size)},
        1_000,
        limit=2_000,
    )
    assert took.ratio < RATIO
    assert took.whole < 2_000


@pytest.mark.parametrize(
    ("references", "reason"),
    [
        ({"1": ["it is red"]}, "there is one question"),
        ({"1": ["it is red"], "2": ["it is red", "it is red"]}, "all questions have them all"),
        ({"1": ["it is red"], "2": ["it is red today"]}, ""),
    ],
)
def test_a_cider_that_is_always_0_has_a_reason(references: dict[str, list[str]], reason: str) -> None:
    scores = score_explanations({id: texts[0] for id, texts in references.items()}, references, right=["1"])
    assert reason in scores.unfiltered.metrics["CIDEr"].reason
    assert (scores.unfiltered.metrics["CIDEr"].value == 0) == bool(reason)
    assert bool(scores.unfiltered.metrics["CIDEr"].reason) == bool(reason)
    assert scores.filtered is not None
    assert "there is one question" in scores.filtered.metrics["CIDEr"].reason
    assert scores.unfiltered.metrics["Bleu_1"].reason == ""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from vqa_client.scoring.explanation_metrics.coco import ExplanationMetric
from vqa_client.scoring.explanation_metrics.evil import ExplanationScores, Scope, evil, harmonic_mean

PARTS = {"METEOR": 0.2, "ROUGE_L": 0.4, "CIDEr": 1.6, "SPICE": 0.1, "BERTScore": 0.8}


def _scores(parts: dict[str, float | None], n_right: int = 3) -> ExplanationScores:
    metrics = {name: ExplanationMetric(value=value, reason="" if value else "no jar") for name, value in parts.items()}
    return ExplanationScores(
        n_without_references=0,
        unfiltered=Scope(n=4, n_empty=0, metrics={}),
        filtered=Scope(n=n_right, n_empty=0, metrics=metrics),
    )


def test_the_scores_are_harmonic_means_and_the_share_of_right_answers() -> None:
    scored = evil(_scores(dict(PARTS)), task_score=0.7)
    ngram_score = 4 / (1 / 0.2 + 1 / 0.4 + 1 / 1.6 + 1 / 0.1)
    s_e = 2 / (1 / ngram_score + 1 / 0.8)
    assert scored.ngram_score.value == pytest.approx(ngram_score)
    assert scored.s_e.value == pytest.approx(s_e)
    assert scored.s_o.value == pytest.approx(s_e * 3 / 4)
    assert scored.s_t.value == 0.7
    assert (scored.n_right, scored.n) == (3, 4)


def test_half_right_answers_count_as_right_if_there_are_any() -> None:
    half_right = _scores(dict.fromkeys(PARTS, 0.5), n_right=4).filtered
    scored = evil(replace(_scores(dict(PARTS), n_right=3), half_right=half_right))
    assert scored.s_e.value == scored.s_o.value == pytest.approx(0.5)
    assert (scored.n_right, scored.n) == (4, 4)


@pytest.mark.parametrize("missing", PARTS)
def test_scores_that_need_a_missing_part_are_null_and_name_it(missing: str) -> None:
    scored = evil(_scores(dict(PARTS) | {missing: None}))
    for value in (scored.s_e, scored.s_o):
        assert value.value is None
        assert f"{missing} is missing: no jar" in value.reason
    assert (scored.ngram_score.value is None) == (missing != "BERTScore")


def test_the_mean_over_the_available_parts_names_them() -> None:
    partial = evil(_scores(dict(PARTS) | {"SPICE": None, "BERTScore": None})).harmonic_mean_of_parts
    assert list(partial.parts) == ["METEOR", "ROUGE_L", "CIDEr"]
    assert partial.value == pytest.approx(harmonic_mean([0.2, 0.4, 1.6]))


def test_without_a_filtered_scope_only_the_task_score_is_left() -> None:
    unfiltered = Scope(n=4, n_empty=0, metrics={})
    scored = evil(ExplanationScores(n_without_references=0, unfiltered=unfiltered, filtered=None), task_score=0.5)
    assert scored.s_t.value == 0.5
    assert scored.s_e.value is None
    assert scored.harmonic_mean_of_parts.value is None
    assert "right" in scored.s_o.reason


def test_no_task_score_is_null_with_a_reason() -> None:
    assert evil(_scores(dict(PARTS))).s_t.reason


@given(values=st.lists(st.floats(0.001, 10), min_size=1, max_size=5))
def test_a_harmonic_mean_is_no_more_than_the_mean_and_within_the_values(values: list[float]) -> None:
    mean = harmonic_mean(values)
    assert min(values) - 1e-9 <= mean <= sum(values) / len(values) + 1e-9
    assert harmonic_mean([*values, 0.0]) == 0

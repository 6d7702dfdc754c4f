"""e-ViL counts half-right answers as right; the published scopes don't."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.scoring.explanation_metrics.evil import Explanation, described, judge
from vqa_client.scoring.explanation_metrics.outside import Tools


def explained(name: str, right: bool | None, task_score: float | None, text: str = "it rains") -> Explanation:
    return Explanation(id=name, text=text, references=("it rains",), right=right, task_score=task_score)


def test_half_right_answers_are_in_evils_scope_and_not_in_the_filtered_one() -> None:
    judged = judge([explained("1", True, 1.0), explained("2", False, 0.3), explained("3", False, 0.0, "no")], Tools())
    assert judged.scores.filtered is not None
    assert judged.scores.half_right is not None
    assert (judged.scores.unfiltered.n, judged.scores.filtered.n, judged.scores.half_right.n) == (3, 1, 2)
    assert (judged.evil.n, judged.evil.n_right) == (3, 2)
    assert judged.evil.s_t.value == pytest.approx(1.3 / 3)


def test_a_right_answer_with_task_score_0_is_in_evils_scope() -> None:
    judged = judge([explained("1", True, 0.0), explained("2", False, 0.0)], Tools())
    assert judged.evil.n_right == 1


def test_without_half_right_answers_the_scopes_are_one() -> None:
    judged = judge([explained("1", True, 1.0), explained("2", False, 0.0)], Tools())
    assert judged.scores.half_right is None
    assert (judged.evil.n_right, judged.evil.s_t.value) == (1, 0.5)


def test_without_known_right_answers_there_is_one_scope_and_no_score_of_evil() -> None:
    judged = judge([explained("1", None, None)], Tools())
    assert judged.scores.filtered is judged.scores.half_right is None
    assert (judged.evil.s_t.value, judged.evil.s_e.value, judged.evil.s_o.value) == (None, None, None)


def test_without_right_answers_the_filtered_scope_is_empty() -> None:
    judged = judge([explained("1", False, 0.0)], Tools())
    assert judged.scores.filtered is not None
    assert judged.scores.filtered.n == 0
    assert judged.evil.s_t.value == 0.0


def test_no_explanation_at_all_is_described() -> None:
    assert described(judge([], Tools()))["unfiltered"]["n"] == 0


@given(
    rows=st.lists(
        st.tuples(st.booleans(), st.floats(0, 1), st.sampled_from(["it rains", "", "a dog barks"])),
        min_size=1,
        max_size=6,
    )
)
def test_larger_scopes_contain_smaller_ones_and_the_order_does_not_matter(rows: list[tuple[bool, float, str]]) -> None:
    explanations = [explained(str(at), *row) for at, row in enumerate(rows)]
    judged = judge(explanations, Tools())
    held = judged.scores.filtered
    assert held is not None
    assert held.n <= judged.evil.n_right <= judged.scores.unfiltered.n == len(rows)
    backwards = described(judge(reversed(explanations), Tools()))
    backwards["evil"].pop("s_t")
    forwards = described(judged)
    assert forwards["evil"].pop("s_t")["value"] == pytest.approx(sum(row[1] for row in rows) / len(rows))
    assert json.dumps(forwards) == json.dumps(backwards)

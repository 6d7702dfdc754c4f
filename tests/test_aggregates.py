"""Figures of whole runs: against published goldens, sums by hand, and the intervals' coverage."""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.tasks.declared import compute
from vqa_client.aggregates import (
    ALL_RIGHT,
    MEAN,
    Combined,
    Estimate,
    Over,
    Running,
    Scored,
    Sums,
    mean_over,
    only,
)
from vqa_client.types import Question, Record

GOLDENS = Path("../shared/data/benchmarks/hallusionbench.jsonl")


BOTH = Combined((MEAN, mean_over("image", ALL_RIGHT)), lambda mean, whole: mean + whole)
POINTS = Over("task", BOTH, lambda each: sum(each.values()))
"""MME's: accuracy and the share of images that are right as a whole, added up over tasks."""


def scored(
    score: float, *, id: str = "", cluster: str = "", answer: str | None = "yes", reference: str = "yes", **groups: str
) -> Scored:
    question = Question(id=id or f"{groups}", text="?", references=(reference,), groups=groups, cluster=cluster)
    record = Record(question_id=question.id, status="ok", score=score, cluster=cluster)
    return Scored(question=question, record=record, answer=answer, score=score)


def value(aggregate: Any, questions: Iterable[Scored]) -> float | None:
    return compute(aggregate, questions, 4.0).value


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        (MEAN, 3 / 5),
        (mean_over("task"), (2 / 3 + 1 / 2) / 2),
        (mean_over("image", ALL_RIGHT), 1 / 3),
        (only(lambda scored: scored.question.groups["task"] == "a"), 2 / 3),
        (Over("task", MEAN, lambda values: max(values.values())), 2 / 3),
        (BOTH, 3 / 5 + 1 / 3),
        (POINTS, 2 / 3 + 1 / 2 + 1 / 2 + 1 / 2),
    ],
    ids=["mean", "macro average", "whole groups", "a part", "the best task", "two figures", "points of all tasks"],
)
def test_figures_equal_the_sums_by_hand(aggregate: Any, expected: float) -> None:
    rows = [("a", "1", 1), ("a", "1", 1), ("a", "2", 0), ("b", "2", 1), ("b", "3", 0)]
    questions = [
        scored(score, id=str(n), cluster=image, task=task, image=image) for n, (task, image, score) in enumerate(rows)
    ]
    assert value(aggregate, questions) == pytest.approx(expected)


def test_a_failed_question_has_no_answer_and_counts_in_every_total() -> None:
    counts = Sums(
        lambda s: (s.answer in s.question.references, "yes" in s.question.references),
        lambda hits, there: hits / there,
    )
    said = [scored(1, id="1"), scored(0, id="2", answer=None)]
    assert value(counts, said) == 0.5
    assert value(MEAN, said) == 0.5


def test_a_share_of_nothing_is_not_a_figure() -> None:
    precision = Sums(lambda s: (0, s.answer == "yes"), lambda hits, said: hits / said)
    assert compute(precision, [scored(0, answer="no")]) == Estimate(value=None)
    assert compute(precision, []) == Estimate(value=None)


def test_a_question_without_a_key_is_left_out() -> None:
    by = mean_over(lambda s: s.question.groups.get("figure") or None)
    assert value(by, [scored(1, id="1", figure="a"), scored(0, id="2", figure="")]) == 1.0


def test_the_interval_of_a_mean_is_the_t_interval_of_its_clusters() -> None:
    rng = random.Random(3)
    questions = [scored(rng.random(), id=str(n), cluster=f"c{n}") for n in range(400)]
    found = compute(MEAN, questions)
    scores = [each.score for each in questions]
    mean = sum(scores) / 400
    error = (sum((each - mean) ** 2 for each in scores) / 399 / 400) ** 0.5
    assert found.value == pytest.approx(mean)
    assert found.low is not None
    assert (mean - found.low) / (1.984 * error) == pytest.approx(1, abs=0.15)


def test_intervals_cover_a_known_f1() -> None:
    rng = random.Random(16)
    f1 = Sums(lambda s: (s.score, s.answer == "yes", 1), lambda hits, said, there: 2 * hits / (said + there))
    covered = 0
    for _ in range(300):
        questions = []
        for n in range(200):
            said = rng.random() < 0.6
            questions.append(scored(float(said), id=str(n), cluster=f"i{n // 2}", answer="yes" if said else "no"))
        found = compute(f1, questions)
        covered += found.low is not None and found.low <= 2 * 0.6 / 1.6 <= (found.high or 0)
    assert covered / 300 > 0.91


def test_the_macro_average_of_one_group_has_the_interval_of_its_mean() -> None:
    questions = [scored(float(n % 3 == 0), id=str(n), cluster=f"c{n // 4}", task="a") for n in range(80)]
    found = compute(mean_over("task"), questions)
    assert found == compute(MEAN, questions)
    assert found.low is not None


def test_without_spread_there_is_no_interval() -> None:
    assert compute(MEAN, [scored(1, id=str(n)) for n in range(50)]) == Estimate(value=1.0)


def test_a_figure_is_the_same_in_any_order_of_pieces() -> None:
    questions = [scored(float(n % 3 == 0), id=str(n), cluster=f"c{n // 4}", image=f"c{n // 4}") for n in range(200)]
    whole = mean_over("image", ALL_RIGHT)
    running = Running(whole, 1.0)
    for at, question in enumerate(questions):
        running.add(question)
        if at == 99:
            running.figure()  # a live page may look in between
    assert running.figure() == compute(whole, questions)


@pytest.mark.skipif(not GOLDENS.exists(), reason="../shared/data has the goldens")
def test_groups_that_count_as_a_whole_equal_hallusionbenchs_script() -> None:
    def key(scored: Scored, *names: str) -> tuple[str, ...]:
        return tuple(scored.question.groups[name] for name in ("category", "subcategory", "set_id", *names))

    def figure(scored: Scored) -> tuple[str, ...] | None:
        groups = scored.question.groups
        return None if groups["category"] == "VS" and groups["figure_id"] == "0" else key(scored, "figure_id")

    cases = [json.loads(line) for line in GOLDENS.read_text(encoding="utf-8").splitlines()]
    cases = [case for case in cases if case["kind"] == "aggregate"]
    assert cases
    for case in cases:
        flags, expected = case["expected"]["correct"], case["expected"]
        questions = [
            scored(float(flag), id=str(n), **{name: str(text) for name, text in sample.items()})
            for n, (sample, flag) in enumerate(zip(case["samples"], flags, strict=True))
        ]
        found = {
            "aAcc": value(MEAN, questions),
            "qAcc": value(mean_over(lambda s: key(s, "question_id"), ALL_RIGHT), questions),
            "fAcc": value(mean_over(figure, ALL_RIGHT), questions),
        }
        assert {name: round(100 * (share or 0), 4) for name, share in found.items()} == {
            name: expected[name] for name in found
        }

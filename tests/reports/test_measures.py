"""The words for what an accuracy is by."""

import pytest
from msgspec.structs import replace

from tests.reports.sample_records import needle
from vqa_client.reports.measures import MEANINGS, gap_words, measure_of
from vqa_client.reports.summary import summarise
from vqa_client.tasks.vqa2.task import METRICS


@pytest.mark.parametrize(
    ("task", "scoring", "words"),
    [
        ("vqa2", {"version": "1"}, "VQA accuracy (ten answers)"),
        ("mc", {"parser": "longbench"}, "accuracy by the longbench parser"),
        ("mc", {"choice_mode": "logprob"}, "accuracy by --choice_mode logprob"),
        ("vqax", {"parsing": "seed"}, "accuracy by the seed parser"),
        ("niah", {"case_sensitive": "false"}, "accuracy by containment"),
        ("niah", {"case_sensitive": "false", "version": "1"}, "accuracy by containment"),
        ("niah", {"case_sensitive": "false", "version": "2"}, "accuracy by containment in the answer"),
        ("", {}, "accuracy"),
    ],
)
def test_an_accuracy_says_what_it_is_by(task: str, scoring: dict[str, str], words: str) -> None:
    assert measure_of(task, scoring) == words


def test_every_metric_of_vqa2_has_its_words() -> None:
    assert set(METRICS) <= set(MEANINGS)


@pytest.mark.parametrize(
    ("containment", "published", "words"),
    [(0.0, 1.0, "+100.00 points: references that are only in thoughts"), (1.0, 0.0, "-100.00 points"), (1.0, 1.0, "")],
)
def test_a_published_count_that_differs_is_named(containment: float, published: float, words: str) -> None:
    record = needle("d", 0, right=True, depth="0-20%")
    parts = {"containment": containment, "published": published}
    found = gap_words(summarise([replace(record, parts=parts)]).parts)
    assert words in found
    assert bool(words) == bool(found)
    assert gap_words(summarise([record]).parts) == ""

"""The words for what an accuracy is by."""

import pytest

from vqa_client.reports.measures import MEANINGS, measure_of
from vqa_client.tasks.vqa2.benchmark import METRICS


@pytest.mark.parametrize(
    ("task", "scoring", "words"),
    [
        ("vqa2", {"version": "1"}, "VQA accuracy (ten answers)"),
        ("mc", {"parser": "longbench"}, "accuracy by the longbench parser"),
        ("mc", {"choice_mode": "logprob"}, "accuracy by --choice_mode logprob"),
        ("vqax", {"parsing": "seed"}, "accuracy by the seed parser"),
        ("niah", {"case_sensitive": "false"}, "accuracy by containment"),
        ("", {}, "accuracy"),
    ],
)
def test_an_accuracy_says_what_it_is_by(task: str, scoring: dict[str, str], words: str) -> None:
    assert measure_of(task, scoring) == words


def test_every_metric_of_vqa2_has_its_words() -> None:
    assert set(METRICS) <= set(MEANINGS)

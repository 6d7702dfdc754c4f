import pytest

from vqa_client.scoring.vqa_accuracy import Gap, gap_between


def test_the_gap_has_the_part_of_unanimous_questions() -> None:
    gap = gap_between([1.0, 1.0, 0.9, 0.0], [0.0, 1.0, 0.6, 0.0], [1, 1, 0, 0])
    assert gap == Gap(value=(1.0 + (0.9 - 0.6)) / 4, by_unanimous=0.25, unanimous=2, unanimous_share=0.5, differing=1)


def test_without_questions_there_is_no_gap() -> None:
    assert gap_between([], [], []) is None


def test_both_scores_are_of_the_same_questions() -> None:
    with pytest.raises(ValueError, match="shorter"):
        gap_between([1.0], [], [1])

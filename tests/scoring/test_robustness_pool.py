"""A pool of models: the scores of each, clean and corrupted, and the evaluation of the pool."""

import json
from pathlib import Path

import pytest

from vqa_client.scoring.corrupted_scores import (
    WEIGHTINGS,
    CorruptedScores,
    Curves,
    Figures,
    classes_of,
    evaluate,
    in_order,
)
from vqa_client.scoring.robustness import METRICS

GOLDEN = Path(__file__).resolve().parents[3] / "shared/data/seed003_robustness/vre_golden.json"


def scores(**rows: list[list[int]]) -> CorruptedScores:
    """Right or wrong by corruption, level from 0 on, and question; two questions per image."""
    found = CorruptedScores()
    for corruption, levels in rows.items():
        for level, answers in enumerate(levels):
            for number, right in enumerate(answers):
                variant = (corruption, level) if level else ("", 0)
                kind = "how many" if number % 2 else "is it"
                found.add(str(number), *variant, score=right, status="ok", cluster=str(number // 2), type_=kind)
    return found


def figures(accuracy: float) -> Figures:
    return Figures(total=1, answered=1, accuracy=accuracy, interval=None, statuses={"ok": 1})


def curves(**rows: list[float]) -> Curves:
    return Curves(
        clean=figures(next(iter(rows.values()))[0]),
        levels={name: {at: figures(value) for at, value in enumerate(row) if at} for name, row in rows.items()},
        types={},
    )


def test_each_level_is_compared_with_the_clean_images_question_by_question() -> None:
    found = scores(snow=[[1, 1, 1, 0], [1, 0, 0, 1]]).curves()
    assert found.clean is not None
    assert (found.clean.accuracy, found.clean.difference) == (0.75, None)
    less = found.levels["snow"][1].difference
    assert less is not None
    assert (less.value, less.n, less.clusters, less.higher, less.lower) == (-0.25, 4, 2, 1, 2)
    assert less.low < -0.25 < less.high


def test_only_questions_that_both_have_are_compared_and_all_are_counted() -> None:
    found = scores(snow=[[1, 1], [0, 1, 1, 1]]).curves()
    level = found.levels["snow"][1]
    assert (level.total, level.accuracy) == (4, 0.75)
    assert level.difference is not None
    assert (level.difference.n, level.difference.value) == (2, -0.5)


def test_the_record_added_last_counts_and_a_failed_one_is_wrong() -> None:
    found = scores(snow=[[1, 1], [1, 1]])
    found.add("1", "snow", 1, score=0.0, status="timeout", cluster="0", type_="")
    level = found.curves().levels["snow"][1]
    assert (level.total, level.answered, level.accuracy, level.statuses) == (2, 1, 0.5, {"ok": 1, "timeout": 1})
    assert found.curves().n_failed == 1


def test_a_question_type_loses_the_mean_over_all_corrupted_images() -> None:
    types = scores(snow=[[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 1, 1]]).curves().types
    assert (types["is it"].clean, types["is it"].corrupted, types["is it"].questions) == (1.0, 0.75, 2)
    assert types["how many"].difference.value == -0.75


def test_without_clean_images_there_are_accuracies_and_no_differences() -> None:
    found = CorruptedScores()
    found.add("1", "snow", 2, score=1, status="ok", cluster="", type_="")
    assert found.curves().clean is None
    assert found.curves().accuracies("snow") == [None, None, 1.0]
    assert found.curves().levels["snow"][2].difference is None
    assert found.curves().relative_drop("snow") is None
    assert evaluate({"m": found.curves()}).vre.per_model == {"m": None}


def test_the_mean_over_a_class_leaves_out_missing_values() -> None:
    row = curves(shot_noise=[0.5, 0.4, 0.3], gaussian_noise=[0.5, 0.5, 0.5], snow=[0.5, 0.2])
    found = evaluate({"m": row})
    assert found.by_class["m"]["Noise"]["first_drop"] == pytest.approx(0.1)
    assert found.by_class["m"]["Weather"]["first_drop"] == pytest.approx(0.6)
    assert found.by_class["m"]["Weather"]["error_rate"] is None
    assert found.scaled_by_class["m"]["Noise"]["first_drop"] == pytest.approx(0.2 / 0.6 / 2)
    assert found.scaled_by_class["m"]["Weather"]["first_drop"] == 1.0
    assert (found.n_levels, found.corruptions) == (3, ["shot_noise", "gaussian_noise", "snow"])


def test_corruptions_and_classes_come_in_the_published_order_with_unknown_ones_last() -> None:
    assert in_order(["fog", "snow", "jpeg_compression", "shot_noise"]) == [
        *("shot_noise", "snow", "jpeg_compression", "fog")
    ]
    assert classes_of(["fog", "snow", "pixelate"]) == ["Weather", "Digital", "Other"]


def test_each_weighting_prefers_one_metric_and_adds_up_to_one() -> None:
    assert [sum(weights.values()) for weights in WEIGHTINGS.values()] == pytest.approx([1.0] * 6)
    assert all(WEIGHTINGS[metric][metric] == 0.6 for metric in METRICS)


def test_the_published_relative_drops_are_reproduced() -> None:
    if not GOLDEN.exists():
        pytest.skip("the published figures are not beside the repository")
    golden = json.loads(GOLDEN.read_text())
    found = evaluate(
        {
            model: curves(**{name: [value / 100 for value in row] for name, row in rows.items()})
            for model, rows in golden["accuracy_percent"].items()
        }
    )
    by_model = [round(100 * (found.drop_of_model(model) or 0), 2) for model in golden["models"]]
    assert by_model == [7.76, 9.29, 10.17, 31.19]
    published = next(value for key, value in golden.items() if key.startswith("published_table"))["A_c_rel_percent"]
    rotated = {"Splatter": 11.59, "Pixelate": 9.80, "JPEG": 10.16}
    by_corruption = {name: round(100 * (found.drop_of_corruption(name) or 0), 2) for name in golden["corruptions"]}
    assert by_corruption == published | rotated
    assert found.vre.per_corruption["Shot"] == pytest.approx(0.692, abs=5e-4)
    assert found.weightings["equal"] == pytest.approx(found.vre.per_model)

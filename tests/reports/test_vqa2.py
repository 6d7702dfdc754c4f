import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.reports.vqa2_records import BOAT, DAY, GULLS, SETUP, THREE, Pair, asked, lost, replied, run_of
from vqa_client.reports.run import Run
from vqa_client.tasks.vqa2.figures import Vqa2Summary
from vqa_client.tasks.vqa2.report import AS_THEY_ARE, Setup, submission_path
from vqa_client.tasks.vqa2.report import write as write_report
from vqa_client.types import STATUSES

METADATA = [
    "test_date",
    "test_mode",
    "num_questions",
    "framework_version",
    "evaluation_method",
    "dataset",
    "generation_params",
]
HARDWARE = ["device", "memory", "mps_available", "torch_version", "python_version"]
CONFIGURATION = ["models_tested", "model_loader", "unified_parameters", "image_preprocessing"]
MODEL = [
    "model_id",
    "test_time",
    "total_questions",
    "correct_answers",
    "accuracy",
    "vqa_accuracy",
    "avg_inference_time",
    "performance_grade",
    "question_results",
]
RESULT = [
    "question_id",
    "image_id",
    "image_filename",
    "question",
    "model_answer",
    "ground_truth",
    "is_correct",
    "vqa_accuracy",
    "inference_time",
    "debug_info",
]
OURS = ["vqa_client", "num_questions_asked_for", "seed", "questions_file", "annotations_file", "images"]
OF_MODEL = [
    *("success_rate", "inference_time_s", "memory", "question_type_analysis", "error_summary", "server"),
    *("normalised_accuracy", "normalised_above_official", "replies_of_more_than_5_words", "incomplete"),
    *("expected_questions", "limit", "scoring", "status_counts", "interval", "answered", "accuracy_answered"),
    *("interval_answered", "n_truncated", "without_truncated", "scores", "breakdowns", "prompt_tokens"),
    *("completion_tokens", "left_out"),
]
OF_RESULT = [
    *("status", "answers", "scores", "groups", "rule", "source", "finish_reason", "prompt_tokens"),
    *("completion_tokens", "images"),
]
DEBUG = ["model_answer_lower", "gt_answer_lower", "is_yes_no_question"]
GOLDEN = Path(__file__).parents[3] / "shared/data/seed000_vqa2coco/results/vqa2_results_coco_20250801_194855.json"


def write(path: Path, pairs: Sequence[Pair], *, run: Run | None = None, setup: Setup = SETUP) -> Vqa2Summary:
    return write_report(path, run or run_of(expected=len(pairs)), lambda: pairs, setup)


def report(path: Path, pairs: Sequence[Pair], **options: Any) -> dict[str, Any]:
    write(path, pairs, **options)
    content: dict[str, Any] = json.loads(path.read_bytes(), parse_constant=pytest.fail)
    return content


def result_of(path: Path, pairs: Sequence[Pair], **options: Any) -> dict[str, Any]:
    (result,) = report(path, pairs, **options)["results"].values()
    return dict(result)


def test_the_published_keys_come_in_their_order_with_ours_behind(tmp_path: Path) -> None:
    content = report(tmp_path / "r.json", THREE)
    assert list(content) == ["experiment_metadata", "hardware_configuration", "model_configuration", "results"]
    assert list(content["experiment_metadata"]) == METADATA + OURS
    assert list(content["hardware_configuration"]) == HARDWARE
    assert list(content["model_configuration"]) == [*CONFIGURATION, "models"]
    metadata, configuration = content["experiment_metadata"], content["model_configuration"]
    assert {name: metadata[name] for name in ("test_mode", "framework_version", "evaluation_method", "dataset")} == {
        "test_mode": "coco",
        "framework_version": "vqa2_enhanced_v1.2",
        "evaluation_method": "VQA 2.0 Standard",
        "dataset": "COCO val2014",
    }
    assert configuration["unified_parameters"] is True
    assert configuration["image_preprocessing"] == "Resize to max 1024px, LANCZOS"
    (name, result), *_ = content["results"].items()
    assert (name, list(result)) == ("moondream2", MODEL + OF_MODEL)
    for one in result["question_results"]:
        assert [name for name in one if name != "error"] == RESULT + OF_RESULT
        assert list(one["debug_info"]) == DEBUG


def test_the_key_lists_are_those_of_the_published_file() -> None:
    if not GOLDEN.is_file():
        pytest.skip("the published results are not here")
    published = json.loads(GOLDEN.read_text())
    assert list(published["experiment_metadata"]) == METADATA
    assert list(published["hardware_configuration"]) == HARDWARE
    assert list(published["model_configuration"]) == CONFIGURATION
    for result in published["results"].values():
        assert list(result) == MODEL
        assert all(list(one) == RESULT and list(one["debug_info"]) == DEBUG for one in result["question_results"])


def test_the_published_numbers_are_shares_of_all_questions(tmp_path: Path) -> None:
    result = result_of(tmp_path / "r.json", THREE)
    assert {key: result[key] for key in MODEL[:-1]} == {
        "model_id": "org/moondream2",
        "test_time": 4.0,
        "total_questions": 3,
        "correct_answers": 2,
        "accuracy": 2 / 3,
        "vqa_accuracy": 2 / 3,
        "avg_inference_time": 2.0,
        "performance_grade": "excellent",
    }
    assert result["success_rate"] == 2 / 3
    assert result["inference_time_s"] == {"n": 2, "mean": 2.0, "median": 2.0, "p95": 2.9}


def test_both_accuracies_and_every_score_have_their_interval(tmp_path: Path) -> None:
    result = result_of(tmp_path / "r.json", THREE)
    assert result["normalised_accuracy"] == pytest.approx(1 / 3)
    assert (result["answered"], result["accuracy_answered"]) == (2, 0.5)
    assert 0 < result["interval"]["low"] < 1 / 3 < result["interval"]["high"] < 1
    assert list(result["scores"]) == sorted(THREE[0][1].parts)
    assert result["scores"]["simple"]["answered"] | {"interval": None} == {"n": 2, "accuracy": 1.0, "interval": None}
    assert list(result["status_counts"]) == list(STATUSES)
    assert result["status_counts"]["timeout"] == 1


def test_every_kind_of_question_is_analysed_asked_or_not(tmp_path: Path) -> None:
    result = result_of(tmp_path / "r.json", THREE)
    analysis = result["question_type_analysis"]
    assert list(analysis) == ["yes/no", "color", "count", "other"]
    assert analysis["color"] == {"total": 1, "correct": 1, "accuracy": 1.0, "vqa_accuracy": 1.0, "normalised": 1.0}
    assert analysis["yes/no"]["normalised"] == 0.0  # "Yes, it is." is a sentence
    assert analysis["count"]["accuracy"] == 0.0
    assert (analysis["other"]["total"], analysis["other"]["accuracy"]) == (0, None)
    assert list(result["breakdowns"]["question_type"]) == ["how many", "is it", "what color is the"]


def test_a_question_without_a_reply_counts_as_one_without_an_answer(tmp_path: Path) -> None:
    *_, failed = result_of(tmp_path / "r.json", THREE)["question_results"]
    assert (failed["question_id"], failed["model_answer"], failed["inference_time"]) == (2_001, None, None)
    assert (failed["is_correct"], failed["vqa_accuracy"], failed["status"]) == (False, 0.0, "timeout")
    assert failed["error"] == "no reply within 60 s"


def test_a_question_has_the_reply_the_right_answer_and_the_comparison(tmp_path: Path) -> None:
    first = result_of(tmp_path / "r.json", [replied(DAY, "<think>Sun.</think>Yes, it's ONE.")])["question_results"][0]
    assert (first["model_answer"], first["model_output"]) == ("Yes, it's ONE.", "<think>Sun.</think>Yes, it's ONE.")
    assert (first["question_id"], first["image_id"]) == (1_000, 1)
    assert first["image_filename"] == "COCO_val2014_000000000001.jpg"
    assert first["debug_info"] == {
        "model_answer_lower": "yes it s 1",
        "gt_answer_lower": "yes",
        "is_yes_no_question": True,
    }
    assert first["answers"] == ["yes"] * 10


def test_questions_that_could_not_be_asked_are_summed_as_published(tmp_path: Path) -> None:
    pairs = [*THREE, lost(asked(3_000, "Who?", *["me"] * 10), "bad_image")]
    left = {"no_image": ("9",), "no_annotation": ("7", "8"), "duplicate_question": ("1",)}
    result = result_of(tmp_path / "r.json", pairs, run=run_of(expected=5, left_out=left))
    assert result["error_summary"] == {
        "image_load_errors": 2,
        "inference_errors": 1,
        "annotation_errors": 2,
        "other_errors": 1,
    }
    assert result["left_out"]["no_annotation"] == ["7", "8"]
    assert (result["incomplete"], result["expected_questions"]) == (True, 5)


def test_memory_is_the_clients_and_the_servers_if_it_reports_it(tmp_path: Path) -> None:
    memory = result_of(tmp_path / "r.json", THREE)["memory"]
    assert memory["client_peak_rss_bytes"] > 10 << 20
    assert memory["server_bytes"] == 5_000
    assert result_of(tmp_path / "r.json", THREE, run=run_of(server={}))["memory"]["server_bytes"] is None


def test_the_torch_version_is_null_in_a_client(tmp_path: Path) -> None:
    hardware = report(tmp_path / "r.json", THREE)["hardware_configuration"]
    assert (hardware["torch_version"], hardware["mps_available"]) == (None, None)
    assert hardware["memory"].endswith("GB")


def test_the_preprocessing_is_reported(tmp_path: Path) -> None:
    raw = Setup(mode="sample", num_questions=0, seed=1, raw_images=True)
    content = report(tmp_path / "r.json", THREE, setup=raw)
    assert content["model_configuration"]["image_preprocessing"] == AS_THEY_ARE
    shrunk = report(tmp_path / "r.json", THREE)["model_configuration"]["image_preprocessing"]
    assert shrunk == "Resize to max 1024px, LANCZOS"


def test_a_model_without_a_config_has_its_own_name(tmp_path: Path) -> None:
    content = report(tmp_path / "r.json", THREE, run=run_of(config=None))
    assert list(content["results"]) == content["model_configuration"]["models_tested"] == ["org/moondream2"]


@pytest.mark.parametrize(
    ("config", "name"),
    [("my/tiny.json", "tiny"), ("llava-1.5-7b", "llava-1.5-7b"), ("my/llava-1.5-7b.json", "llava-1.5-7b")],
)
def test_a_model_has_the_whole_name_of_its_config(tmp_path: Path, config: str, name: str) -> None:
    assert list(report(tmp_path / "r.json", THREE, run=run_of(config=config))["results"]) == [name]


@pytest.mark.parametrize(("temperature", "sampled"), [(0.0, False), (0.7, True), (None, None)])
def test_known_sampling_settings_are_reported(tmp_path: Path, temperature: float | None, sampled: bool | None) -> None:
    run = run_of(model_settings={"max_tokens": 64, "temperature": temperature})
    params = report(tmp_path / "r.json", THREE, run=run)["experiment_metadata"]["generation_params"]
    assert params == {"max_new_tokens": 64, "do_sample": sampled}


def test_replies_to_an_unlabelled_split_have_no_accuracy_and_a_submission(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    pairs = [replied(asked(1, "Is it day?"), "Yes, two."), lost(asked(2, "What color is it?"))]
    summary = write(path, pairs)
    result = json.loads(path.read_bytes())["results"]["moondream2"]
    assert (summary.overall.accuracy, summary.correct, summary.assessment) == (None, None, "N/A")
    assert [result[key] for key in ("correct_answers", "accuracy", "vqa_accuracy", "normalised_accuracy")] == [None] * 4
    assert result["breakdowns"]["kind"]["color"]["accuracy"] is None
    assert [one["is_correct"] for one in result["question_results"]] == [None, None]
    submission = json.loads(submission_path(path).read_bytes())
    assert submission == [{"question_id": 1, "answer": "yes 2"}, {"question_id": 2, "answer": ""}]


def test_a_scored_run_has_no_submission(tmp_path: Path) -> None:
    write(tmp_path / "r.json", THREE)
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_a_run_without_an_answer_has_no_accuracy(tmp_path: Path) -> None:
    summary = write(tmp_path / "r.json", [lost(DAY), lost(BOAT)])
    assert (summary.overall.accuracy, summary.times.mean, summary.success_rate) == (None, None, 0.0)
    assert (summary.correct, summary.vqa_accuracy) == (0, 0.0)


def test_a_run_without_questions_is_a_report_too(tmp_path: Path) -> None:
    result = result_of(tmp_path / "r.json", [])
    assert (result["total_questions"], result["accuracy"], result["vqa_accuracy"]) == (0, None, None)
    assert (result["success_rate"], result["question_results"]) == (None, [])


@pytest.mark.parametrize(("score", "word"), [(0.6, "excellent"), (0.4, "average"), (0.3, "needs improvement")])
def test_the_assessment_uses_the_published_vqa_accuracy(tmp_path: Path, score: float, word: str) -> None:
    _, record = replied(BOAT, "Red")
    enhanced = [{"enhanced": float(number < score * 10)} for number in range(10)]
    records = [replied(BOAT, "Red", parts=record.parts | part) for part in enhanced]
    assert write(tmp_path / "r.json", records).assessment == word


def test_a_hundred_questions_are_kept_for_the_terminal(tmp_path: Path) -> None:
    pairs = [replied(asked(1_000 * n, "Is it day?", *["yes"] * 10), "yes") for n in range(105)]
    assert len(write(tmp_path / "r.json", pairs).shown) == 100


def test_foreign_text_survives(tmp_path: Path) -> None:
    for text in ("a\u2028b\x85c\x0bd", 'line1\nline2 "q"\x00', "\0question_results\0", "答案 ✓"):
        (one,) = result_of(tmp_path / "r.json", [replied(GULLS, text)])["question_results"]
        assert (one["model_answer"], one["question_id"]) == (text, 2_001)


def test_the_gap_to_the_official_score_is_in_the_report(tmp_path: Path) -> None:
    pairs = [replied(DAY, "Yes."), replied(BOAT, "red"), lost(GULLS)]
    path = tmp_path / "r.json"
    write_report(path, run_of(), lambda: pairs, SETUP)
    (result,) = json.loads(path.read_text())["results"].values()
    assert result["normalised_above_official"] == {
        "value": pytest.approx(1 / 3),
        "by_unanimous": pytest.approx(1 / 3),
        "unanimous": 3,
        "unanimous_share": 1.0,
        "differing": 1,
    }


def test_the_json_for_machines_has_the_gap_kinds_and_times_of_the_report(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    summary = write_report(path, run_of(config="small"), lambda: THREE, SETUP)
    result = json.loads(path.read_text())["results"]["small"]
    added = summary.added()
    assert set(added) == {"inference_time_s", "question_type_analysis", "normalised_above_official"}
    assert added == {key: result[key] for key in added}
    assert json.loads(json.dumps(added)) == added

"""The report of one robustness run, its result files, and its table in a terminal."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.reports.robustness_records import Pair, curves, lost, pair, pairs_of, run_of
from vqa_client.cli.report_tables import as_tables
from vqa_client.reports.report import Report
from vqa_client.reports.robustness.evaluation import result_path, variants_in, write_results
from vqa_client.reports.robustness.report import RobustnessSummary, place_of, write

TWO = ("snow", "contrast")
SMALL = [
    pair(0),
    pair(1),
    pair(2, right=False),
    pair(3),
    *(pair(0, "snow", 1), pair(1, "snow", 1, right=False), pair(2, "snow", 1, right=False), lost(3, "snow", 1)),
]


def written(path: Path, pairs: list[Pair], **options: Any) -> dict[str, Any]:
    write(path, run_of(expected=len(pairs)), lambda: pairs, **options)
    content: dict[str, Any] = json.loads(path.read_bytes(), parse_constant=pytest.fail)
    return content


def report(path: Path, pairs: list[Pair], expected: int = 0) -> Report:
    return Report(
        task="vqa2",
        folder="",
        model="org/small",
        path=path,
        expected=expected or len(pairs),
        left_out={},
        summary=write(path, run_of(), lambda: pairs),
        failures={record.status: record.error for _, record in pairs if record.error},
    )


def test_every_level_has_its_denominator_interval_and_difference_to_clean_in_per_cent(tmp_path: Path) -> None:
    content = written(tmp_path / "r.json", SMALL)
    level = content["corruptions"]["snow"]["levels"]["1"]
    assert (level["total"], level["answered"], level["accuracy"]) == (4, 3, 25.0)
    assert level["status_counts"] == {"ok": 3, "timeout": 1}
    less = level["difference"]
    assert (less["value"], less["n"], less["clusters"], less["lower"]) == (-50.0, 4, 2, 2)
    assert -100 <= less["low"] < -50 < less["high"] <= 100
    assert 0 < level["interval"]["low"] < 25 < level["interval"]["high"] < 100
    assert (content["clean"]["accuracy"], "difference" in content["clean"]) == (75.0, False)


def test_metrics_are_of_error_rates_and_missing_ones_have_a_reason(tmp_path: Path) -> None:
    snow = written(tmp_path / "r.json", SMALL)["corruptions"]["snow"]
    assert (snow["class"], snow["relative_drop"]) == ("Weather", pytest.approx(100 / 3))
    assert snow["metrics"]["first_drop"] == pytest.approx(2.0)
    assert snow["metrics"]["average_error"] == pytest.approx(0.5)
    faultless = [pair(0), pair(0, "snow", 1), pair(0, "snow", 3)]
    snow = written(tmp_path / "r.json", faultless)["corruptions"]["snow"]
    assert snow["metrics"]["first_drop"] is None
    assert snow["reasons"]["first_drop"] == "no error at level 0"
    assert snow["reasons"]["average_error"] == "level 2 was not run"
    assert snow["relative_drop"] is None


def test_groups_are_broken_down_for_each_variant(tmp_path: Path) -> None:
    content = written(tmp_path / "r.json", SMALL)
    by_type = content["by_variant"]["question_type"]
    assert list(by_type) == ["clean", "snow/1"]
    assert by_type["snow/1"]["is this a"]["total"] == 1
    assert by_type["snow/1"]["is this a"]["accuracy"] == 0.0
    assert set(content["by_variant"]) == {"question_type", "answer_type"}
    assert set(content["all_variants"]["breakdowns"]) == {"question_type", "answer_type", "corruption", "level"}


def test_the_report_names_the_profile_and_the_seed_of_the_corruptions(tmp_path: Path) -> None:
    content = written(tmp_path / "r.json", SMALL, profile="imagenet-c", corruption_seed=7)
    assert (content["model"], content["profile"], content["corruption_seed"]) == ("org/small", "imagenet-c", 7)
    assert " ".join(content) == (
        "model config variant data_path images_dir profile corruption_seed model_settings clean corruptions by_variant "
        "all_variants"
    )
    assert content["all_variants"]["status_counts"]["timeout"] == 1
    assert content["all_variants"]["incomplete"] is False
    assert " ".join(content["all_variants"]) == (
        "total accuracy incomplete expected_questions limit scoring status_counts interval answered accuracy_answered "
        "interval_answered n_truncated without_truncated scores breakdowns prompt_tokens completion_tokens left_out"
    )
    assert list(content["all_variants"]["breakdowns"]["level"]["1"]) == [
        *("total", "correct", "accuracy", "interval", "answered", "accuracy_answered", "interval_answered")
    ]
    assert list(content["all_variants"]["without_truncated"]) == ["n", "accuracy", "interval"]
    assert list(content["all_variants"]["interval"]) == ["low", "high", "method", "clusters"]


def test_an_interrupted_run_before_its_first_answer_is_a_report_without_figures(tmp_path: Path) -> None:
    content = written(tmp_path / "r.json", [])
    assert (content["clean"], content["corruptions"]) == (None, {})


def test_the_summary_crosses_corruption_and_level(tmp_path: Path) -> None:
    summary = write(tmp_path / "r.json", run_of(), lambda: pairs_of(curves(0.8, corruptions=TWO)))
    assert isinstance(summary, RobustnessSummary)
    crossed = summary.crossings["corruption", "level"]
    assert {name: list(levels) for name, levels in crossed.items()} == {
        "clean": ["0"],
        "contrast": list("12345"),
        "snow": list("12345"),
    }
    for name in TWO:
        for level in range(1, 6):
            assert crossed[name][str(level)].accuracy == summary.curves.levels[name][level].accuracy
    assert summary.curves.types == {}, "the evaluation compares types of questions"


@pytest.mark.parametrize("name", ["snow", "snow/x", "/3", ""])
def test_a_variant_of_another_kind_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"snow|x|''|/3"):
        place_of(name)


def test_result_files_have_the_documented_form(tmp_path: Path) -> None:
    paths = write_results(tmp_path, run_of(), lambda: SMALL)
    assert [str(path.relative_to(tmp_path)) for path in paths] == [
        "Original/small_Original.json",
        "Snow_L1/small_Snow_L1.json",
    ]
    content = json.loads(paths[1].read_text())
    assert list(content) == ["dataset", "data", "accuracy", "totalAnswered"]
    assert (content["dataset"], content["accuracy"], content["totalAnswered"]) == ("VQA2.0", 0.25, 3)
    assert content["data"][0] == {
        "correct": True,
        "imageID": 0,
        "questionID": 0,
        "question": "What is at 0?",
        "questionType": "what color is the",
        "answer": "red",
        "predicted": "red",
    }
    assert (content["data"][3]["correct"], content["data"][3]["predicted"]) == (False, None)


@pytest.mark.parametrize(
    ("changes", "predicted"),
    [
        ({"answer": "red", "output": "Red."}, "red"),
        ({"answer": None, "output": "I can't see it.", "status": "unparsed"}, "I can't see it."),
        ({"answer": None, "output": None, "status": "empty"}, ""),
        ({"answer": None, "output": None, "status": "timeout"}, None),
    ],
)
def test_a_reply_without_an_answer_is_the_prediction_in_result_files(
    changes: dict[str, Any], predicted: str | None, tmp_path: Path
) -> None:
    (path,) = write_results(tmp_path, run_of(), lambda: [pair(0, right=False, **changes)])
    assert json.loads(path.read_text())["data"][0]["predicted"] == predicted


def test_the_accuracy_in_result_files_is_rounded_to_five_places(tmp_path: Path) -> None:
    paths = write_results(tmp_path, run_of(), lambda: SMALL[:3])
    assert json.loads(paths[0].read_text())["accuracy"] == 0.66667


def test_result_files_are_written_beside_the_report_on_request(tmp_path: Path) -> None:
    written(tmp_path / "r.json", SMALL, published_files=True)
    found = {path.name: (model, name, level) for path, model, name, level in variants_in(tmp_path / "r_results")}
    assert found == {"small_Original.json": ("small", "", 0), "small_Snow_L1.json": ("small", "snow", 1)}


def test_a_half_written_set_of_result_files_leaves_none(tmp_path: Path) -> None:
    def broken() -> Any:
        yield from SMALL
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_results(tmp_path, run_of(), broken)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("variant", "folder"),
    [("jpeg_compression/2", "JPEG-compression_L2"), ("zoom_blur/5", "Zoom-Blur_L5"), ("grayscale/1", "Grayscale")],
)
def test_folders_have_the_published_names(variant: str, folder: str, tmp_path: Path) -> None:
    path = result_path(tmp_path, "org/a model", variant)
    assert path == tmp_path / folder / f"a model_{folder}.json"
    path.parent.mkdir()
    path.write_text("{}")
    name, level = place_of(variant)
    assert list(variants_in(tmp_path)) == [(path, "a model", name, level)]


@pytest.mark.parametrize(
    ("folder", "place"),
    [
        ("Original", ("", 0)),
        ("CLEAN", ("", 0)),
        ("Snow_L0", ("", 0)),
        ("Splatter_L2", ("spatter", 2)),
        ("snow", ("snow", 1)),
        *((folder, None) for folder in ("Fog_Lx", "Mist_L2", "notes", "Snow_L")),
    ],
)
def test_folders_are_read_in_any_usual_spelling_and_others_are_left_out(
    folder: str, place: tuple[str, int] | None, tmp_path: Path
) -> None:
    (tmp_path / folder).mkdir()
    for name in (f"m_{folder}.json", "m.json"):
        (tmp_path / folder / name).write_text("{}")
    assert [found[2:] for found in variants_in(tmp_path)] == ([] if place is None else [place])


def test_the_terminal_shows_corruption_by_level_and_marks_what_differs(tmp_path: Path) -> None:
    pairs = pairs_of({"snow": [0.8, 0.8, 0.7, 0.6, 0.4, 0.2]}, questions=120)
    text = as_tables([report(tmp_path / "r.json", pairs)])
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert lines["corruption"] == ["corruption", *"12345", "worst", "drop", "at", "95", "%", "interval"]
    assert lines["snow"][5].endswith("*")
    assert not lines["snow"][1].endswith("*")
    assert lines["snow"][7] == "5"
    assert lines["clean:"][1].replace(".", "").isdigit()
    assert str(tmp_path / "r.json") in text


def test_the_terminal_shows_failed_questions_missing_levels_and_what_is_not_asked_yet(tmp_path: Path) -> None:
    pairs = [*SMALL, pair(0, "snow", 3), pair(0, "contrast", 2), pair(0, "contrast", 5)]
    text = as_tables([report(tmp_path / "r.json", pairs, expected=100)])
    assert " (incomplete)\n" in text
    assert "small: 1 question failed (timeout): no reply within 60 s" in text
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert rows["corruption"][1:5] == ["1", "2", "3", "5"]  # level 4 was not run
    assert (rows["snow"][2], rows["snow"][4], rows["contrast"][3]) == ("-", "-", "-")
    only_snow = as_tables([report(tmp_path / "r.json", [pair(0, "snow", level) for level in (1, 5)])])
    clean = "clean: not run, so no drop can be measured; the same command with --levels 0,1,5 asks the clean images too"
    assert clean in only_snow
    assert "differs from clean" in text
    assert "differs from clean" not in only_snow


def test_levels_that_are_published_out_of_order_are_named_in_the_report_and_its_table(tmp_path: Path) -> None:
    pairs = pairs_of(curves(0.8, corruptions=("saturation", "contrast")))
    note = "published levels that are not in order of severity: saturation 3 is milder than 2"
    assert written(tmp_path / "r.json", pairs)["notes"] == [note]
    assert note in as_tables([report(tmp_path / "r.json", pairs)])
    assert "notes" not in written(tmp_path / "other.json", pairs_of(curves(0.8, corruptions=TWO)))

"""`vqa-client robustness evaluate` on runs on disk."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.reports.robustness_records import curves, lost, on_disk, pair, pairs_of, run_of
from vqa_client.cli.main import run_command
from vqa_client.log_lines import line_of
from vqa_client.reports.robustness.evaluation import write_results
from vqa_client.types import Record

THREE = ("gaussian_noise", "snow", "contrast")


def evaluate(*words: object) -> int:
    return run_command(["robustness", "evaluate", *map(str, words)])


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    for number, (model, clean, frailty) in enumerate([("org/firm", 0.8, 0.5), ("org/frail", 0.7, 1.6)]):
        on_disk(folder, model, pairs_of(curves(clean, frailty, THREE), questions=60, seed=number))
    return folder


def as_json(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> dict[str, Any]:
    assert evaluate(*words, "--json") == code
    content: dict[str, Any] = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    return content


def test_a_folder_of_runs_is_evaluated_together(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = as_json(capsys, runs)
    vre = content["vre"]["per_model"]
    assert 0 <= vre["org/firm"] < vre["org/frail"] <= 1
    assert content["pool"]["corruptions"] == list(THREE)
    assert content["pool"]["metrics"]["first_drop"]["n"] == 6
    assert content["weights"] == pytest.approx(dict.fromkeys(content["weights"], 0.2))
    snow = content["models"]["org/frail"]["corruptions"]["snow"]
    assert list(snow["levels"]) == list("12345")
    assert snow["levels"]["5"]["difference"]["high"] < 0
    assert content["models"]["org/frail"]["classes"]["Weather"]["metrics"] == snow["metrics"]
    assert set(content["vre"]["per_model_by_weighting"]["equal"]) == {"org/firm", "org/frail"}


def test_the_vre_of_a_model_depends_on_the_pool(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = as_json(capsys, runs / "org_firm_robustness.run.json")
    assert alone["pool"]["models"] == ["org/firm"]
    together = as_json(capsys, runs)
    assert alone["models"]["org/firm"]["corruptions"]["snow"] == together["models"]["org/firm"]["corruptions"]["snow"]
    assert alone["vre"]["per_model"]["org/firm"] != together["vre"]["per_model"]["org/firm"]


def test_any_file_of_a_run_names_it_and_a_run_named_twice_counts_once(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stem = runs / "org_firm_robustness"
    Path(f"{stem}.json").write_text("{}")
    words = [f"{stem}{ending}" for ending in (".json", ".run.json", ".records.jsonl")]
    content = as_json(capsys, *words)
    assert [run["model"] for run in content["runs"]] == ["org/firm"]
    assert content["runs"][0]["profile"] == "vqa-vrb"


def test_reading_changes_nothing_and_takes_no_lock(runs: Path) -> None:
    log = runs / "org_firm_robustness.records.jsonl"
    with log.open("ab") as file:
        file.write(b'{"question_id":"9')  # as a killed run leaves it
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in runs.iterdir()}
    assert evaluate(runs) == 0
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in runs.iterdir()} == before


def test_the_text_has_tables_notes_and_paths(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (runs / "org_firm_robustness.records.jsonl").open("ab") as file:
        file.write(b"{\n")
        file.write(line_of(Record(question_id="9", status="ok", variant="blind")))  # not a corruption
    assert evaluate(runs, "--output", tmp_path / "out") == 0
    told = capsys.readouterr().out
    assert "robustness · 2 models · 3 corruptions" in told
    lines = [" ".join(line.split()) for line in told.splitlines()]
    for words in (
        "VRE: 0 is the pool's best, 1 its worst; "
        "weights: first drop 0.2, range 0.2, slope 0.2, mean error 0.2, difference 0.2",
        "model questions clean 95 % interval relative drop % VRE",
        "corruption class relative drop % VRE VRE of its class",
        "org/firm: the five metrics of its error rates",
        "corruption first drop range slope mean error difference relative drop %",
        "corruption level 1 level 2 level 3 level 4 level 5",
    ):
        assert words in lines
    assert "points of accuracy less clean, 95 % intervals of the paired difference" in told
    assert "org_firm_robustness.records.jsonl: unreadable lines left out: 2" in told
    assert str(tmp_path / "out" / "robustness_evaluation.json") in told


def test_the_json_and_csv_files_have_the_same_figures(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = as_json(capsys, runs, "-o", tmp_path)
    assert json.loads((tmp_path / "robustness_evaluation.json").read_text()) == content
    assert content["pool"]["levels"] == [0, 1, 2, 3, 4, 5]
    model = content["models"]["org/firm"]
    parts = content, *(content[name] for name in ("pool", "vre", "relative_drop")), model, model["corruptions"]["snow"]
    assert [" ".join(part) for part in (*parts, model["clean"], next(iter(model["classes"].values())))] == [
        "vqa_client unit sort_levels weights runs pool vre relative_drop models reasons notes",
        "models corruptions levels metrics",
        "per_model per_corruption per_class per_model_by_weighting used_weights",
        "per_model per_corruption",
        "clean corruptions classes question_types",
        "class metrics relative_drop levels",
        "total answered accuracy interval statuses difference",
        "metrics scaled",
    ]
    cells = list(csv.DictReader((tmp_path / "robustness_evaluation.csv").read_text().splitlines()))
    assert len(cells) == 6
    assert (
        float(cells[0]["first_drop"])
        == content["models"]["org/firm"]["corruptions"]["gaussian_noise"]["metrics"]["first_drop"]
    )
    levels = list(csv.DictReader((tmp_path / "robustness_levels.csv").read_text().splitlines()))
    assert len(levels) == 2 * (1 + 15)
    assert (levels[0]["corruption"], levels[0]["difference"]) == ("clean", "")
    assert float(levels[1]["difference_low"]) < float(levels[1]["difference"]) < float(levels[1]["difference_high"])


def test_weights_may_be_several_words_or_one_with_commas(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    apart = as_json(capsys, runs, "--weights", "0.6", "0.1", "0.1", "0.1", "0.1")
    assert apart["weights"]["first_drop"] == pytest.approx(0.6)
    assert as_json(capsys, runs, "--weights", "6,1,1,1,1")["vre"]["per_model"] == pytest.approx(
        apart["vre"]["per_model"]
    )
    assert apart["vre"]["per_model"] == pytest.approx(apart["vre"]["per_model_by_weighting"]["first_drop"])


def test_sorted_levels_are_ranks_as_in_the_published_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {"saturation": [0.8, 0.5, 0.7], "snow": [0.8, 0.7, 0.6]}
    on_disk(tmp_path, "org/m", pairs_of(rows, questions=200))
    drops = [
        as_json(capsys, tmp_path, *words)["models"]["org/m"]["corruptions"]["saturation"]["metrics"]["first_drop"]
        for words in ([], ["--sort-levels"])
    ]
    assert drops[0] > drops[1] >= 0


def test_missing_levels_and_faultless_models_are_null_with_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    on_disk(tmp_path, "org/gap", pairs_of({"snow": [0.8, 0.7, None, 0.5], "contrast": [0.8, 0.6, 0.5, 0.4]}))
    faultless = [pair(n, name, level) for n in range(9) for name, level in [("", 0), ("snow", 1), ("contrast", 1)]]
    on_disk(tmp_path, "org/best", faultless)
    content = as_json(capsys, tmp_path)
    assert content["models"]["org/gap"]["corruptions"]["snow"]["metrics"]["average_error"] is None
    assert content["reasons"]["org/gap/snow/average_error"] == "level 2 was not run"
    assert content["reasons"]["org/best/snow/first_drop"] == "no error at level 0"
    assert content["vre"]["used_weights"]
    for weights in content["vre"]["used_weights"].values():
        assert sum(weights.values()) == pytest.approx(1.0)
    assert content["notes"] == ["org/best: asked 9 of the pool's 30 questions"]
    assert evaluate(tmp_path, "--sort_levels", "-o", tmp_path / "out") == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines() if line.strip(" ─")]
    assert lines == [*GAPS, *(str(tmp_path / f"out/robustness_{name}") for name in WRITTEN)]


WRITTEN = ("evaluation.json", "evaluation.csv", "levels.csv")
METRICS = "corruption first drop range slope mean error difference relative drop %"
PAIRED = "points of accuracy less clean, 95 % intervals of the paired difference"
GAPS = [
    "robustness · 2 models · 2 corruptions",
    "VRE: 0 is the pool's best, 1 its worst; "
    "weights: first drop 0.2, range 0.2, slope 0.2, mean error 0.2, difference 0.2",
    "levels are sorted by error, as in the published figures",
    "model questions clean 95 % interval relative drop % VRE",
    "org/best 9 100.0 43.9-100.0 0.0 -",
    "org/gap 30 70.0 43.8-87.5 34.5 0.500",
    "corruption class relative drop % VRE VRE of its class",
    "snow Weather 0.0 0.000 0.000",
    "contrast Image Attribute 14.2 1.000 1.000",
    "org/best: the five metrics of its error rates",
    METRICS,
    "snow - - - - - 0.0",
    "contrast - - - - - 0.0",
    "class Weather - - - - -",
    "class Image Attribute - - - - -",
    PAIRED,
    "corruption level 1 level 2 level 3",
    "snow -62.1 to +62.1 - -",
    "contrast -62.1 to +62.1 - -",
    "org/gap: the five metrics of its error rates",
    METRICS,
    "snow 0.444 - - - - -",
    "contrast 0.778 1.556 0.143 0.542 0.322 34.5",
    "class Weather 0.444 - - - -",
    "class Image Attribute 0.778 1.556 0.143 0.542 0.322",
    PAIRED,
    "corruption level 1 level 2 level 3",
    "snow -32.4 to +7.9 - -57.1 to -3.7",
    "contrast -45.9 to +3.4 -52.3 to +4.6 -73.0 to -10.4",
    "no value, no error at level 0: org/best/snow/first_drop, org/best/contrast/first_drop",
    "no value, levels 2, 3 were not run: org/best/snow/range_of_error, org/best/snow/error_rate, "
    "org/best/snow/average_error and 5 more",
    "no value, level 2 was not run: org/gap/snow/range_of_error, org/gap/snow/error_rate, "
    "org/gap/snow/average_error and 1 more",
    "no value, the pool contains no two different values: range_of_error, error_rate, average_error and 1 more",
    "no value, no metric with a weight has a value that differs in the pool: per_model/org/best",
    "weights made 1 in all without the missing metrics: per_corruption/snow, per_corruption/contrast, "
    "per_class/Weather and 2 more",
    "org/best: asked 9 of the pool's 30 questions",
]


def test_a_pool_of_one_cell_has_metrics_and_no_vre(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    on_disk(tmp_path, "org/m", pairs_of({"snow": [0.8, 0.6, 0.5]}))
    content = as_json(capsys, tmp_path)
    assert content["vre"]["per_model"] == {"org/m": None}
    assert content["reasons"]["per_model/org/m"]
    assert content["unit"] == (
        "accuracies, errors, intervals and differences are shares in [0, 1]; a difference is less clean"
    )
    few = [*pairs_of({"snow": [0.8, 0.6, 0.5]}), pair(90), pair(91, "snow", 1), pair(92), pair(93)]
    on_disk(tmp_path, "org/m", few)
    assert as_json(capsys, tmp_path)["notes"] == [
        "org/m: fewer than its 34 questions in clean 33, snow/1 31, snow/2 30"
    ]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"profile": "imagenet-c"}, "profile: 'vqa-vrb' in"),
        ({"corruption_seed": 3}, "corruption_seed: 0 in"),
        ({"task": "mc"}, "task: 'vqa2' in"),
    ],
)
def test_runs_of_other_images_or_questions_are_refused_with_the_difference(
    changed: dict[str, Any], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = pairs_of({"snow": [0.8, 0.6]})
    on_disk(tmp_path, "org/a", pairs)
    on_disk(tmp_path, "org/b", pairs, **changed)
    assert evaluate(tmp_path) == 2
    assert told in capsys.readouterr().err


def test_runs_of_another_data_file_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = pairs_of({"snow": [0.8, 0.6]})
    on_disk(tmp_path, "org/a", pairs)
    other = on_disk(tmp_path, "org/b", pairs)
    other.run.write_text(other.run.read_text().replace("d1d1", "e2e2"))
    assert evaluate(tmp_path) == 2
    told = capsys.readouterr().err
    assert "data_sha256" in told
    assert told.endswith("hint: evaluate runs of one benchmark, data file, profile and seed at a time\n")


def test_two_runs_of_one_model_go_by_their_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("warm", "cold"):
        on_disk(tmp_path, "org/m", pairs_of({"snow": [0.8, 0.6]}), name=name)
    assert list(as_json(capsys, tmp_path)["models"]) == ["org/m (cold_robustness)", "org/m (warm_robustness)"]


def test_failed_questions_are_reported_and_give_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    on_disk(tmp_path, "org/m", [*pairs_of({"snow": [0.8, 0.6]}), lost(0, "snow", 1)])
    content = as_json(capsys, tmp_path, code=1)
    assert content["notes"] == ["org/m: without a reply, and counted as wrong: 1"]
    assert content["models"]["org/m"]["corruptions"]["snow"]["levels"]["1"]["total"] == 30


def test_other_runs_in_the_folder_are_skipped_and_refused_if_named(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = runs / "plain.run.json"
    plain.write_text('{"identity": {"task": "vqa2", "model": {"model_name": "x", "max_tokens": 1}}, "scoring": {}}')
    assert len(as_json(capsys, runs)["models"]) == 2
    assert evaluate(plain) == 2
    assert "plain.run.json is of a run without corruptions" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere"], "nowhere does not exist"),
        (["."], "no robustness run in it"),
        (["lonely_robustness.json"], "lonely_robustness.run.json is missing"),
        ([".", "--weights", "much"], "--weights: could not convert"),
        ([".", "--weights", "1,2"], "no robustness run in it"),
    ],
)
def test_runs_that_cannot_be_evaluated_are_one_clear_error(
    words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lonely_robustness.json").write_text("{}")
    assert evaluate(*words) == 2
    streams = capsys.readouterr()
    assert told in streams.err
    assert streams.out == ""


def test_wrong_numbers_of_weights_are_refused(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate(runs, "--weights", "1,2") == 2
    assert "2 weights are given; 5 are needed" in capsys.readouterr().err


def test_result_files_in_the_documented_form_give_the_same_evaluation(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, (model, clean, frailty) in enumerate([("org/firm", 0.8, 0.5), ("org/frail", 0.7, 1.6)]):
        pairs = pairs_of(curves(clean, frailty, THREE), questions=60, seed=number)
        write_results(tmp_path / "published", run_of(model), lambda pairs=pairs: pairs)  # type: ignore[misc]
    ours, theirs = as_json(capsys, runs), as_json(capsys, tmp_path / "published")
    assert theirs["vre"]["per_model"] == {
        name.removeprefix("org/"): value for name, value in ours["vre"]["per_model"].items()
    }
    assert theirs["models"]["firm"]["clean"] == ours["models"]["org/firm"]["clean"]
    by = "read from result files, which don't say by which profile and seed"
    assert theirs["notes"] == [f"firm: {by}", f"frail: {by}"]


def test_a_damaged_result_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "Splatter_L2"
    folder.mkdir()
    (folder / "ViLT_Splatter_L2.json").write_text('{"data": [{"questionID": 1}]}')
    assert evaluate(tmp_path) == 2
    assert "ViLT_Splatter_L2.json" in capsys.readouterr().err


def test_the_terminal_shows_the_whole_evaluation_of_a_pool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right = {
        "a/firm": {"": 3, "snow": (3, 2, 1), "contrast": (3, 3, 3)},
        "b/frail": {"": 2, "snow": (1, 1, 0), "contrast": (2, 1, 1)},
        "c/bare": {"snow": (3, 1, 0)},
    }
    for model, of in right.items():
        numbers = {(name, level): n for name, row in of.items() if name for level, n in enumerate(row, 1)}
        numbers |= {("", 0): of[""]} if "" in of else {}
        on_disk(
            tmp_path,
            model,
            [pair(n, *at, right=n < most, an_image=1) for at, most in sorted(numbers.items()) for n in range(4)],
        )
    assert evaluate(tmp_path) == 0
    shown = (" ".join(line.split()) for line in capsys.readouterr().out.splitlines() if line.strip(" ─"))
    assert list(shown) == POOL.splitlines()


POOL = """\
robustness · 3 models · 2 corruptions
VRE: 0 is the pool's best, 1 its worst; weights: first drop 0.2, range 0.2, slope 0.2, mean error 0.2, difference 0.2
model questions clean 95 % interval relative drop % VRE
a/firm 4 75.0 30.1-95.4 12.5 0.312
b/frail 4 50.0 15.0-85.0 37.5 0.643
c/bare - - - - -
corruption class relative drop % VRE VRE of its class
snow Weather 35.0 0.748 0.748
contrast Image Attribute 10.0 0.207 0.207
a/firm: the five metrics of its error rates
corruption first drop range slope mean error difference relative drop %
snow 0.000 2.000 0.175 0.438 0.250 25.0
contrast 0.000 0.000 0.000 0.250 0.000 0.0
class Weather 0.000 2.000 0.175 0.438 0.250
class Image Attribute 0.000 0.000 0.000 0.250 0.000
points of accuracy less clean, 95 % intervals of the paired difference
corruption level 1 level 2 level 3
snow -46.9 to +46.9 -80.2 to +46.9 -100.0 to +38.4
contrast -46.9 to +46.9 -46.9 to +46.9 -46.9 to +46.9
b/frail: the five metrics of its error rates
corruption first drop range slope mean error difference relative drop %
snow 0.500 1.000 0.150 0.750 0.333 50.0
contrast 0.000 0.500 0.100 0.625 0.167 25.0
class Weather 0.500 1.000 0.150 0.750 0.333
class Image Attribute 0.000 0.500 0.100 0.625 0.167
points of accuracy less clean, 95 % intervals of the paired difference
corruption level 1 level 2 level 3
snow -80.2 to +46.9 -80.2 to +46.9 -100.0 to +38.4
contrast -46.9 to +46.9 -80.2 to +46.9 -80.2 to +46.9
c/bare: the five metrics of its error rates
corruption first drop range slope mean error difference relative drop %
snow - - - - - -
class Weather - - - - -
no value, level 0 was not run: c/bare/snow/first_drop, c/bare/snow/range_of_error, c/bare/snow/error_rate and 2 more
no value, no metric with a weight has a value that differs in the pool: per_model/c/bare
c/bare: level 0, the clean images, was not run
"""

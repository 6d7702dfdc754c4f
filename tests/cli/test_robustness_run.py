"""`vqa-client robustness run`: which options it takes, and where its reports are."""

import sys
from pathlib import Path

import pytest

from tests.cli.test_worded import SUMMARY, lines, report
from tests.contract.samples import write_sample
from tests.fakes.fixtures import StartsServers
from tests.runs.explain_sample import own
from tests.runs.sample import Sample
from tests.runs.vqa2_split import Split
from tests.tasks.explain.samples import actx
from vqa_client.cli.main import run_command
from vqa_client.cli.varied_tables import of_robustness
from vqa_client.reports.robustness.report import RobustnessSummary
from vqa_client.scoring.corrupted_scores import CorruptedScores

ASKED = [("snow", 1, 35), ("snow", 3, 10), ("contrast", 3, 36)]
"""Corruption, level, and how many of 40 questions are right."""
TABLE = "accuracy in % by corruption and level; questions without a reply count as wrong"
HEADS = "corruption 1 3 worst drop at 95 % interval"


@pytest.mark.parametrize(
    ("clean", "expected"),
    [
        (
            [("", 0, 36)],
            [
                *(TABLE, "clean: 90.0 (76.9-96.0) of 40 questions", HEADS),
                *("snow 87.5 25.0* -65.0 3 -78.0 to -45.8", "contrast - 90.0 0.0 3 -4.9 to +4.9"),
                *("* differs from clean: the 95 % interval of the paired difference leaves out 0", "a note"),
            ],
        ),
        (
            [],
            [
                TABLE,
                "clean: not run, so no drop can be measured; the same command with --levels 0,1,3 asks the "
                "clean images too",
                *(HEADS, "snow 87.5 25.0 - - -", "contrast - 90.0 - - -", "a note"),
            ],
        ),
    ],
)
def test_each_corruption_is_a_row_with_its_worst_drop(clean: list[tuple[str, int, int]], expected: list[str]) -> None:
    scores = CorruptedScores()
    for name, level, right in (*clean, *ASKED):
        for n in range(40):
            scores.add(str(n), name, level, score=float(n < right), status="ok", cluster="", type_="")
    summary = RobustnessSummary(**SUMMARY, curves=scores.curves(), notes=["a note"])
    assert lines(of_robustness(report(summary), summary)) == expected


NO_SERVER = "http://127.0.0.1:9/v1"


def run(*words: object) -> int:
    return run_command(["robustness", "run", *map(str, words)])


@pytest.mark.parametrize(
    ("task", "option"),
    [("vqa2", "--num_questions"), ("mc", "--data"), ("niah", "--blacklist"), ("actx", "--n_samples")],
)
def test_help_shows_the_options_of_the_benchmark_too(
    task: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--task", task, "--help") == 0
    shown = capsys.readouterr().out
    assert "--corruption_seed" in shown
    assert option in shown
    assert "--base_url" in shown


def test_help_without_a_benchmark_shows_only_the_corruptions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-h") == 0
    shown = capsys.readouterr().out
    assert "Usage: vqa-client robustness run" in shown
    assert "--base_url" not in shown


def test_a_run_without_a_benchmark_is_refused_with_the_way_to_list_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--levels", "1") == 2
    told = capsys.readouterr().err
    assert "--task is missing" in told
    assert "`vqa-client list` shows all" in told


def test_an_unknown_corruption_is_refused_even_where_only_clean_images_are_asked_and_before_a_missing_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    words = Split(tmp_path).arguments(NO_SERVER)[1:]
    assert run("--task", "vqa2", *words, "--levels", "0", "--corruptions", "snwo") == 2
    assert "did you mean snow?" in capsys.readouterr().err
    made = ["robustness", "generate", "-i", str(tmp_path), "-o", str(tmp_path / "made"), "--corruptions", "snwo"]
    assert run_command(made) == 2
    assert "did you mean snow?" in capsys.readouterr().err


def test_an_option_of_a_report_that_is_not_written_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = own(tmp_path, "actx", "test", {"1": actx(number="000000001")}, "mpi/000000001.jpg").root
    words = ("--data_root", root, "--split", "test", "--base_url", NO_SERVER, "-o", tmp_path / "out")
    of_vqa2 = Split(tmp_path / "split").arguments(NO_SERVER)[1:]
    for option in ("coco_captions", "csv_safe", "verbose"):
        asked = ("--task", "vqa2", *of_vqa2) if option == "verbose" else ("--task", "actx", *words)
        assert run(*asked, f"--{option}") == 2
        assert capsys.readouterr().err == (
            f"error: --{option} can't be combined with corruptions\n"
            "hint: it belongs to a report that this run doesn't write\n"
        )


@pytest.mark.usefixtures("in_threads")
def test_a_benchmark_with_explanations_is_named_by_its_own_name(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    root = own(tmp_path, "actx", "test", {"1": actx(number="000000001")}, "mpi/000000001.jpg").root
    server = fault_server("playing guitar because he holds one")
    words = ("--data_root", root, "--split", "test", "--base_url", server.base_url, "-o", tmp_path / "out")
    assert run("--task", "actx", *words, "--corruptions", "contrast", "--levels", "0-1") == 0
    told = capsys.readouterr()
    assert "actx test · contrast, levels 0, 1: 2/2" in told.err
    assert [path.name for path in (tmp_path / "out").rglob("*_robustness.json")] == ["actx_test_eval_robustness.json"]


@pytest.mark.usefixtures("in_threads")
def test_a_dated_report_names_its_run_and_its_result_files_have_its_name(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    split = Split(tmp_path, 3)
    server = fault_server("yes")
    words = split.arguments(server.base_url)[1:]
    assert run("--task", "vqa2", *words, "--corruptions", "contrast", "--levels", "0-1", "--published_files") == 0
    [report] = split.results.glob("vqa2_results_coco_*_robustness.json")
    results = report.with_name(f"{report.stem}_results")
    assert sorted(path.name for path in results.iterdir()) == ["Contrast_L1", "Original"]
    beside = split.results / "vqa2_results_coco_robustness"
    capsys.readouterr()
    said = set()
    for place in (report, split.results, f"{beside}.run.json", f"{beside}.records.jsonl"):
        assert run_command(["robustness", "evaluate", str(place)]) == 0
        said.add(capsys.readouterr().out)
    assert len(said) == 1


@pytest.mark.usefixtures("in_threads")
@pytest.mark.parametrize("task", ["mc", "pope"])
def test_the_report_has_the_name_that_output_gives(task: str, tmp_path: Path, fault_server: StartsServers) -> None:
    words = ["--limit", 1, "--base_url", fault_server("yes").base_url, "-o", tmp_path / "my.json"]
    if task == "pope":
        write_sample("pope", tmp_path)
        words += ["--data", tmp_path]
    else:
        of = Sample(tmp_path, 1)
        words += ["--data", of.data_json, "--images", of.pages_dir]
    assert run("--task", task, *words, "--corruptions", "contrast", "--levels", "0") == 0
    assert run_command(["run", task, *map(str, words), "--no-html"]) == 0
    names = {path.name for path in tmp_path.glob("my*.json")}
    assert names == {"my.json", "my.run.json", "my_robustness.json", "my_robustness.run.json"}


def test_several_reports_want_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explained = own(tmp_path / "x", "actx", "test", {"1": actx(number="000000001")}, "mpi/000000001.jpg").root
    two = Sample(tmp_path, 1, folders=("a", "b"))
    of = {
        "mc": ["--data", two.data_json, "--images", two.pages_dir],
        "vqa2": ["--data_dir", Split(tmp_path).folder],
        "actx": ["--data_root", explained, "--split", "test"],
    }
    for task, words in of.items():
        asked = ["run", task, *words, "--base_url", NO_SERVER, "-o", tmp_path / "my.json"]
        assert run_command(list(map(str, asked))) == 2
        error = capsys.readouterr().err
        assert "my.json is a file's name, and a folder is needed" in error
        assert ("--output results, or one folder of images as --images" in error) == (task == "mc")

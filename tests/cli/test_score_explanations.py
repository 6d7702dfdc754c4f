"""The score-explanations command as people type it."""

import json
from pathlib import Path

import pytest

from tests.answers.explained_sample import SAID, data_root, write_log
from vqa_client.cli.main import run_command
from vqa_client.types import Record


@pytest.fixture(autouse=True)
def _no_outside_scorers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("METEOR_JAR", "SPICE_JAR", "BERTSCORE_MODEL"):
        monkeypatch.delenv(f"VQA_CLIENT_{name}", raising=False)


def words(root: Path, *more: object) -> list[str]:
    return [
        "score-explanations",
        "-p",
        str(root / "vqax_val_eval.records.jsonl"),
        "--data_root",
        str(root),
        *map(str, more),
    ]


def test_the_text_has_accuracies_every_scope_and_every_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = {key: SAID[key] for key in ("11", "12", "13")} | {"\x1b[31m": ("x", "y")}
    write_log(data_root(tmp_path) / "vqax_val_eval.records.jsonl", said)
    assert run_command(words(tmp_path)) == 0
    out, err = capsys.readouterr()
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "3 questions scored of 4 predicted and 4 in" in out
    assert any(line.startswith("accuracy 33.3 ") and line.endswith(" 25.0") for line in lines)
    assert any(line.startswith("half right too 2 0 ") for line in lines)
    assert "1 question (14) without a prediction, not scored" in lines
    assert "not scored: METEOR needs its Java program" in out
    assert "\x1b" not in out
    assert err == ""


def test_json_is_alone_on_standard_output_and_failed_questions_give_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = Record(question_id="14", status="timeout")
    write_log(data_root(tmp_path) / "vqax_val_eval.records.jsonl", {"12": SAID["12"]}, failed)
    assert run_command(words(tmp_path, "--json", "-o", tmp_path / "out")) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["accuracies"]["accuracy"]["mean"]["value"] == 0.5
    assert found["explanations"]["unfiltered"]["metrics"]["Bleu_1"]["n"] == 2
    assert [Path(path).is_file() for path in found["files"]] == [True]


def test_files_that_cannot_be_scored_are_a_line_a_hint_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_log(tmp_path / "m.records.jsonl", SAID)
    assert run_command(["score-explanations", "-p", str(tmp_path / "m.records.jsonl")]) == 2
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[0].startswith("error: nothing says"), len(err.splitlines())) == ("", True, 2)


def test_the_score_command_names_this_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_log(tmp_path / "m.records.jsonl", SAID)
    assert run_command(["score", "-p", str(path), "-a", str(path), "--metrics", "cider"]) == 2
    assert "hint: vqa-client score-explanations" in capsys.readouterr().err


def test_the_cider_of_a_single_explanation_says_why_it_is_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_log(data_root(tmp_path) / "vqax_val_eval.records.jsonl", {"12": SAID["12"]})
    assert run_command(words(tmp_path)) == 0
    assert "all: CIDEr is always 0" in capsys.readouterr().out

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
    assert run_command(words(tmp_path, "-o", tmp_path / "out")) == 0
    out, err = capsys.readouterr()
    java = "needs its Java program, and no path to it is given"
    assert [" ".join(line.split()) for line in out.splitlines() if line.strip(" ─")] == [
        f"score-explanations · {tmp_path / 'vqax_val_eval.records.jsonl'}",
        f"3 questions scored of 4 predicted and 4 in {tmp_path / 'nle_data/VQA-X/vqaX_val.json'}",
        "answers % 95 % interval % if missing were wrong",
        "accuracy 33.3 4.2-85.2 25.0",
        "soft_vqa 63.3 13.5-95.0 47.5",
        "any_of_ten 66.7 14.8-95.8 50.0",
        "explanations against their references, CIDEr as it is, the others in %",
        "scope explanations empty Bleu_1 Bleu_2 Bleu_3 Bleu_4 ROUGE_L CIDEr",
        "all 3 0 94.1 89.8 83.7 79.1 95.8 5.356",
        "answered right 1 0 100.0 100.0 1.0 0.1 100.0 0.000",
        "half right too 2 0 100.0 100.0 100.0 100.0 100.0 5.078",
        "e-ViL: S_T 63.3 S_E - S_O -",
        f"not scored: METEOR {java} (set VQA_CLIENT_METEOR_JAR)",
        f"not scored: SPICE {java} (set VQA_CLIENT_SPICE_JAR)",
        "not scored: BERTScore needs a model, and no path to one is given (set VQA_CLIENT_BERTSCORE_MODEL to the "
        "folder of distilbert-base-uncased)",
        "answered right: CIDEr is always 0: it weighs words by how few questions have them, and there is one question",
        "1 prediction (\\x1b[31m) without reference, not scored",
        "1 question (14) without a prediction, not scored",
        str(tmp_path / "out/vqax_val_eval_explanation_scores.json"),
    ]
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

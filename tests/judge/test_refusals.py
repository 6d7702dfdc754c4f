"""What a judge is not asked, and the notes on judges."""

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.words import answer, error
from tests.judge.judged import Run, honest
from vqa_client.cli.main import run_command
from vqa_client.html.figures import judgings
from vqa_client.judge.loading import JudgedRun
from vqa_client.reports.logged_run import read_run
from vqa_client.settings.judge import JudgeSettings


def test_half_a_run_is_not_judged(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    run, server = Run(tmp_path, ["city 0", "It is city 1", "x" * 20_001]), fault_server(answer(honest))
    whole = run.log.read_bytes()
    run.log.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    assert run.judged(server.base_url) == 2
    assert (
        "has 2 of 3 replies: a run is judged once it is complete\n"
        "hint: run its command again to complete it; --no_check judges what is there\n"
    ) in capsys.readouterr().err
    assert run.judged(server.base_url, check=False) == 0
    run.log.write_bytes(whole)
    assert run.judged(server.base_url) == 0
    assert "1 reply of more than 20,000 characters: judged by their two ends" in run.found("correct")["notes"]


@pytest.mark.parametrize(
    ("name", "is_undated"),
    [("gpt-4o", True), ("openai/gpt-4o-2024-08-06", False), ("x-latest", True), ("org/SECRET-9", False)],
)
def test_a_name_that_a_provider_may_reuse_for_another_model_is_noted(
    tmp_path: Path, fault_server: StartsServers, name: str, is_undated: bool
) -> None:
    run = Run(tmp_path, ["city 0"])
    assert run.judged(fault_server(answer(honest, extra={"model": name})).base_url, check=False) == 0
    undated = f"{name} has no date in its name: another model may answer by it later"
    assert (undated in run.found("correct")["notes"]) is is_undated
    related = "tiny-vlm is of the judged model's family: judges prefer their own"
    assert (related in run.found("correct")["notes"]) is (name == "org/SECRET-9")


@pytest.mark.parametrize(
    ("kind", "judge", "example"),
    [
        ("correct", "No idea.", "q0 (control/right): no verdict, expected correct"),
        ("correct", "VERDICT: maybe", "q0 (control/right): verdict not offered, expected correct"),
        ("correct", error(400, "No"), "q0 (control/right): rejected, expected correct"),
        ("correct", "VERDICT: incorrect", "q0 (control/right): incorrect, expected correct"),
        ("extract", "VERDICT: city 9", "q0 (control/right): answer not in the reply, expected city 0"),
        ("match", "VERDICT: none", "q0 (control/right): none, expected A; q0 (control/wrong): none, expected B"),
        ("grade", "VERDICT: 7", "q0 (control/right): 7, expected 8 or 9 or 10"),
    ],
)
def test_a_failed_control_is_shown_with_the_verdicts_that_would_pass(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str], kind: str, judge: Any, example: str
) -> None:
    run = Run(tmp_path, ["So A" if kind == "match" else "It is city 0"], choices=kind == "match")
    assert run.judged(fault_server(judge).base_url, "--kind", kind) == 3
    assert f"such as {example}: nothing is judged" in capsys.readouterr().err


def test_replies_that_no_judge_sees_are_counted_by_reason(tmp_path: Path) -> None:
    run = Run(tmp_path, ["city 0", "It is city 1", "", "no"])
    for which, left_out in (("all", {}), ("wrong", {"not_asked_for": ("q0",)})):
        asked = JudgedRun(JudgeSettings(results=run.log, kind="correct", which=which), "correct")
        assert asked.survey()[:2] == (3 - len(left_out), left_out | {"no_reply": ("q2",)})


@pytest.mark.parametrize("scores", [1.0, 0.5, 0.0])
def test_a_judge_without_controls_that_are_wrong_is_noted(
    tmp_path: Path, fault_server: StartsServers, scores: float
) -> None:
    run = Run(tmp_path, ["city 0", "city 1"])
    path = tmp_path / "capitals.py"
    path.write_text(
        path.read_text().replace("float(said in question.references)", f"max(said in question.references, {scores})")
    )
    assert run.judged(fault_server("VERDICT: correct").base_url) == (0 if scores else 3)
    if scores:
        note = "tiny-vlm had no controls with a wrong answer, since the rule calls none wrong: "
        assert f"{note}a judge that calls everything right would pass" in run.found("correct")["notes"]


def test_judges_with_other_settings_and_older_scores_of_the_rule_are_named(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    run, server = Run(tmp_path, ["It is city 0", "It is city 2"]), fault_server(answer(honest))
    one, two = (run.config(name, server.base_url) for name in ("one", "two"))
    (tmp_path / "rubric.txt").write_text("Only capitals count.")
    assert run.judged(server.base_url, "--judge", one, check=False) == 0
    assert run.judged(server.base_url, "--judge", two, "--rubric", str(tmp_path / "rubric.txt"), check=False) == 0
    assert "one was asked otherwise, or about another run: it is left out" in run.found("correct")["notes"]
    assert not any("scored again" in note for note in judgings(read_run(run.log))[1])
    rows = (tmp_path / "rows.jsonl").read_text()
    (tmp_path / "rows.jsonl").write_text(rows.replace('"city 1"', '"It is city 2"'))
    assert run_command(["rescore", str(run.log), "--write"]) == 0
    assert any("scored again; judge --kind correct" in note for note in judgings(read_run(run.log))[1])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = Run(tmp_path_factory.mktemp("refused"), ["city 0"])
    (run.root / "labels.csv").write_text("question_id,label\nq0,correct\n")
    (run.root / "latin").write_bytes(b"\xff")
    return run


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--which", "unread"], "--which names 'unread'"),
        (["--kind", "pair"], "--kind pair compares two runs"),
        (["--blind"], "judge doesn't take --blind: a judge sees the reply"),
        (["--shard", "1/2"], "judge doesn't take --shard: its log must be one"),
        (["--processes", "2"], "judge doesn't take --processes: its log has one writer"),
        (["--ray", "local", "--shards", "2"], "judge doesn't take --ray: its log has one writer"),
        (["--choice_mode", "logprob", "--kind", "extract"], "--choice_mode logprob takes verdicts of one character"),
        (["--choice_mode", "logprob", "--kind", "grade"], "--choice_mode logprob takes verdicts of one character"),
        (
            ["--choice_mode", "logprob", "--kind", "match"],
            "capitals has no labels that all choices share\nhint: leave it out\n",
        ),
        (["--rubric", "nowhere.txt"], "nowhere.txt does not exist\n"),
        (
            ["--rubric", "{root}/latin"],
            "latin: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte\n",
        ),
        (["--rubric", "{root}/latin"], "\nhint: give a text file in UTF-8\n"),
        (["--rubric", "/dev/null"], "is empty\nhint: write into it when a reply is right, or how good\n"),
        *(
            ([f"--scale={scale}"], f"--scale is {scale}")
            for scale in ("1000", "0", "5-5", "10-0", "-1", "0.5", "0-101")
        ),
        (["--labels", "nowhere.csv"], "nowhere.csv does not exist"),
        (["--labels", "{root}/labels.csv"], "has no verdicts of kind correct"),
    ],
)
def test_impossible_requests_are_refused(
    run: Run, capsys: pytest.CaptureFixture[str], given: list[str], told: str
) -> None:
    assert run.judged("http://127.0.0.1:1/v1", *(word.replace("{root}", str(run.root)) for word in given)) == 2
    assert told in capsys.readouterr().err

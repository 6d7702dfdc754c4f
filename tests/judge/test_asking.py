"""Other ways to ask a judge: several times, with labels of one character, and on other scales."""

import json
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.contract.samples import write_sample
from tests.fakes.batches import Batches
from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.script import Script
from tests.fakes.words import answer, likeliest_token
from tests.judge.judged import Run, counts, honest, material, on_judgements
from tests.judge.test_forms import run_of, verdicts
from vqa_client.cli.main import run_command
from vqa_client.judge.beside import judges_of
from vqa_client.judge.loading import JudgedRun
from vqa_client.settings.judge import JudgeSettings

RIGHT_AND_WRONG = [f"It is city {n if n % 3 else n + 1}" for n in range(30)]


def test_the_verdict_is_that_of_more_than_half_of_the_repeats(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path, RIGHT_AND_WRONG[:4])
    asked: Counter[str] = Counter()

    def play(received: Received) -> Script:
        """Of three times: land 0 is right twice, land 1 once, land 2 twice without a verdict."""
        land = material(received.prompt)["question"][-2]
        asked[land] += 1
        says = {
            "0": ("correct", "incorrect", "correct"),
            "1": ("incorrect", "unclear", "correct"),
            "2": ("correct", "", ""),
        }
        return answer(f"VERDICT: {says.get(land, ('incorrect',) * 3)[asked[land] - 1]}")

    server = fault_server(on_judgements(play))
    given = ["--max_workers", "1"]
    assert run.judged(server.base_url, *given) == 0
    asked_once = len(server.chats)
    assert asked == Counter("0123")
    assert run.judged(server.base_url, *given, "--repeat", "3") == 0
    assert len(server.chats) - asked_once == 8  # those of the first time are kept
    found = run.found("correct")
    assert counts(found) == (2, 2, 0)
    assert found["verdicts"][0]["accuracy"] == 0.5
    judge = found["verdicts"][0]["judge"]
    assert (judge["repeats"], judge["unsteady"], judge["undecided"]) == (3, 0.75, {"no majority": 2})
    assert "repeats: 75.0 % of verdicts differ (3 each)" in capsys.readouterr().out


def test_the_grade_of_a_reply_is_the_median_of_its_repeats(tmp_path: Path, fault_server: StartsServers) -> None:
    run, grades = Run(tmp_path, ["It is city 1"]), iter("718")
    server = fault_server(on_judgements(lambda received: f"VERDICT: {next(grades)}"))
    assert run.judged(server.base_url, "--kind", "grade", "--repeat", "3") == 0
    assert run.found("grade")["verdicts"][0]["accuracy"] == pytest.approx(0.7)


def test_judgements_are_in_batches_only_after_the_controls_and_beside_a_control_that_is_asked_again(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("openai")
    run, batches = Run(tmp_path, RIGHT_AND_WRONG[:4]), Batches(looks=10_000)
    first = iter(["I can't say."])
    server = fault_server(batches.rule(answer(lambda received: next(first, "") or honest(received))))
    given = ["--batch", "--poll", "0.01"]
    assert run.judged(server.base_url, *given, "--no_wait", check=False) == 1
    controls = len(batches.asked)
    command = ["judge", str(run.log), "--base_url", server.base_url]
    capsys.readouterr()
    assert run_command(["batch", "status", *command]) == 0
    assert f"controls: 0 of {controls} answered, {controls} in 1 batch (batch_1)" in capsys.readouterr().out
    batches._end(batches.batches["batch_1"])
    for words in ((), (), ("--retry", "unparsed")):
        assert run.judged(server.base_url, *given, "--no_wait", *words, check=False) == 1
    assert capsys.readouterr().err.count("judge capitals: 0 of 4 answers saved in") == 3
    assert run_command(["batch", "status", *command]) == 0
    shown = capsys.readouterr().out
    assert f"controls: {controls} of {controls} answered, 1 in 1 batch (batch_3)" in shown
    assert "capitals: 0 of 4 answered, 4 in 1 batch (batch_2)" in shown
    for ended, code in (("batch_2", 1), ("batch_3", 0)):
        batches._end(batches.batches[ended])
        assert run.judged(server.base_url, *given, "--no_wait", check=False) == code
    assert (len(batches.asked), len(server.chats), counts(run.found("correct"))[0]) == (controls + 5, 0, 4)


def test_a_judge_with_other_settings_is_refused_with_its_own_way_out(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path, RIGHT_AND_WRONG[:2])
    server = fault_server(on_judgements("VERDICT: correct"))
    assert run.judged(server.base_url) == 0
    assert run.judged(server.base_url, "--temperature", "0.5") == 2
    shown = " ".join(capsys.readouterr().err.split())
    assert "model.temperature: 0.0 in capitals.judge-correct.run.json, 0.5 now" in shown
    assert "--fresh moves the earlier verdicts of this judge aside" in shown


def test_repeated_verdicts_on_rotated_choices_are_read_again_by_their_rotation(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    out = run_of(tmp_path, fault_server(answer("Well, so it is A")).base_url, "--circular", choices=True)
    server = fault_server(answer(honest))
    assert run_command(["judge", str(out), "--base_url", server.base_url, "--repeat", "2"]) == 0
    assert verdicts(out, "match")["accuracy"] == 0.25
    [log] = out.glob("*judge-match.records.jsonl")
    scores = [json.loads(line)["parts"] for line in log.read_text().splitlines()]
    assert len(scores) == 48 + 32
    assert run_command(["rescore", str(log), "--write"]) == 0
    assert [json.loads(line)["parts"] for line in log.read_text().splitlines()] == scores


def test_repeated_pairs_are_asked_in_both_orders_each_time(tmp_path: Path, fault_server: StartsServers) -> None:
    run, server = Run(tmp_path, RIGHT_AND_WRONG[:3]), fault_server(on_judgements("VERDICT: first"))
    assert run.judged(server.base_url, "--kind", "pair", "--with", str(run.log), "--repeat", "2") == 0
    found = run.found("pair")["verdicts"][0]
    assert sum("The answer is " not in chat.prompt for chat in server.chats) == 12
    assert (found["judged"], found["accuracy"], found["judge"]["order_decided"]) == (3, 0.5, 3)
    assert (found["judge"]["unsteady"], found["judge"]["undecided"]) == (0.0, {})


def by_letter(received: Received) -> dict[str, float]:
    """An honest judge that gives its verdict's character a probability of 0.8."""
    if "<<<" not in received.prompt:
        return {"red": 1.0}
    ends = received.prompt.rpartition("nothing else: ")[2]
    named = dict(reversed(each.split(" for ")) if " for " in each else (each, each) for each in ends.split(" | "))
    said = honest(received).rpartition("VERDICT: ")[2].replace("10", "9")
    return {named[said]: 0.8} | {key: 0.2 / len(named) for label, key in named.items() if label != said}


@pytest.mark.parametrize("mode", ["structured", "logprob"])
@pytest.mark.parametrize(
    ("kind", "more", "score"),
    [("correct", [], 0.5), ("match", [], 0.25), ("grade", ["--scale", "0-9"], 0.5), ("pair", ["--with"], 0.5)],
)
def test_a_server_chooses_among_verdicts_of_one_character(
    tmp_path: Path, fault_server: StartsServers, kind: str, more: list[str], score: float, mode: str
) -> None:
    replies = ["So it is A"] * 4 if kind == "match" else [f"It is city {n + n % 2}" for n in range(4)]
    run, server = Run(tmp_path, replies, choices=kind == "match"), fault_server(likeliest_token(by_letter))
    given = ["--kind", kind, "--choice_mode", mode, *more, *([str(run.log)] if more == ["--with"] else [])]
    assert run.judged(server.base_url, *given) == 0
    found = run.found(kind)["verdicts"][0]
    assert (found["judged"], found["accuracy"]) == (4, score)
    assert all(passed == n for passed, n in found["judge"]["controls"].values())
    records = run.records(kind)
    asked = [one for (_, variant), one in records.items() if not variant.startswith("control")]
    assert all("probabilities" in one for one in asked) is (mode == "logprob")
    if mode == "logprob" and kind == "correct":
        assert {round(one["probabilities"]["correct"], 6) for one in asked} == {0.8, round(0.2 / 3, 6)}
        calibration = found["calibration"]
        assert (calibration["n"], round(calibration["expected_error"], 6)) == (4, 0.464286)
    log = run.log.parent / f"capitals.judge-{kind}.records.jsonl"
    assert run_command(["rescore", str(log), "--write"]) == 0
    assert {key: one["parts"] for key, one in run.records(kind).items()} == {
        key: one["parts"] for key, one in records.items()
    }


@pytest.mark.parametrize(
    ("scale", "grade", "score"), [("0-10", "7", 0.7), ("1-5", "2", 0.25), ("4", "3", 0.75), (5, "1", 0.2)]
)
def test_a_grade_is_worth_its_place_on_the_scale(
    tmp_path: Path, fault_server: StartsServers, scale: Any, grade: str, score: float
) -> None:
    run = Run(tmp_path, RIGHT_AND_WRONG[:2])
    server = fault_server(answer(f"VERDICT: {grade}"))
    assert run.judged(server.base_url, "--kind", "grade", "--scale", str(scale), check=False) == 0
    assert run.found("grade")["verdicts"][0]["accuracy"] == pytest.approx(score)
    grades = JudgeSettings(scale=scale).grades
    assert f"from {grades[0]} (as a wrong one) to {grades[-1]} (as" in server.chats[0].prompt
    assert run.judged(server.base_url, "--kind", "grade", "--scale", "0-3") == 2  # another scale is another run


def test_the_identity_of_judgements_has_their_criteria(tmp_path: Path, fault_server: StartsServers) -> None:
    run, server = Run(tmp_path, RIGHT_AND_WRONG[:2]), fault_server(answer("VERDICT: 3"))
    (tmp_path / "rubric.txt").write_text(" Only capitals.\n")
    given = ("--kind", "grade", "--scale", "1-5", "--rubric", str(tmp_path / "rubric.txt"))
    assert run.judged(server.base_url, *given, check=False) == 0
    file = json.loads((run.log.parent / "capitals.judge-grade.run.json").read_bytes())
    identity = file["identity"]
    assert (file["scoring"]["kind"], file["scoring"]["version"].partition(".")[2]) == ("grade", "2")
    assert {name: identity[name] for name in identity.keys() - {"model", "images", "server"}} == {
        **{"task": "judge", "variant": "capitals", "kind": "grade", "prompt_version": "2", "with_images": False},
        **{"highest_grade": 5, "lowest_grade": 1, "rubric_sha256": sha256(b"Only capitals.").hexdigest()},
        "judged": {"task": "capitals", "variant": "", "model": "secret-model", "run": identity["judged"]["run"]},
    }


def test_one_command_judges_all_runs_of_a_folder_and_only_by_judges_that_pass(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [Run(tmp_path / name, RIGHT_AND_WRONG[:4]) for name in ("one", "two")]
    good = runs[0].config("good", fault_server(answer(honest)).base_url)
    bad = runs[0].config("bad", fault_server("VERDICT: correct").base_url)
    given = ["judge", str(tmp_path), "--judge", good, "--check"]
    assert run_command(given) == 0
    assert run_command([*given, "--judge", bad]) == 3
    assert run_command(given) == 0  # the other judge's log is still beside the run
    for run in runs:
        found = run.found("correct")
        assert [each["judge"]["name"] for each in found["verdicts"]] == ["bad", "good"]  # one judge is not a majority
        assert counts(found, 1) == (4, 0, 0)
        assert (found["pairs"], found["fleiss"]) == ({}, None)
        assert found["notes"] == [
            "bad has judged nothing: it is left out of kappas and majority",
            *(
                f"bad gets 4 of 4 controls wrong ({sort}): its verdicts can't be trusted"
                for sort in ("wrong", "injected")
            ),
        ]
        settings = JudgeSettings(results=run.log, kind="correct")
        assert [each.name for each in judges_of(JudgedRun(settings, "correct"), settings)] == ["good"]
    assert run_command(["judge", str(tmp_path), "--for_people", "3"]) == 2
    said = f"{tmp_path} contains 2 runs\nhint: name the one that people judge\n"
    assert capsys.readouterr().err.endswith(said)


def test_a_judge_may_be_the_name_of_a_served_model(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path, RIGHT_AND_WRONG[:4])
    server = fault_server(answer(honest), models=("org/other", "org/judge-2.5-vl"))
    assert run.judged(server.base_url, "--judge", "org/judge-2.5-vl", check=False) == 0
    assert {chat.json["model"] for chat in server.chats} == {"org/judge-2.5-vl"}
    assert len(run.records("correct", "judge-2.5-vl")) == 16
    assert "resuming" not in capsys.readouterr().err


def test_a_judge_sees_the_images_on_request(tmp_path: Path, fault_server: StartsServers) -> None:
    write_sample("chartqa", tmp_path)
    out = str(tmp_path / "out")
    asked = ["run", "chartqa", "--data", str(tmp_path), "-o", out, "--no-html"]
    assert run_command([*asked, "--base_url", fault_server("3").base_url]) == 0
    for more, images in (([], 0), (["--with_images", "--fresh"], 1)):
        server = fault_server(answer(honest))
        assert run_command(["judge", out, "--base_url", server.base_url, "--no-check", *more]) == 0
        assert {len(chat.images) for chat in server.chats} == {images}
        [file] = (tmp_path / "out").glob("*.judge-*.run.json")
        assert json.loads(file.read_bytes())["described"]["images_dir"] == (out if images else None)


@pytest.mark.parametrize("names", [("", "judge-1"), ("judge-1", "")])
def test_a_judge_asked_with_and_without_its_name_is_one_judge(
    names: tuple[str, str], tmp_path: Path, fault_server: StartsServers
) -> None:
    run, server = Run(tmp_path, RIGHT_AND_WRONG[:4]), fault_server(answer(honest), models=("judge-1",))
    for name in names:
        assert run.judged(server.base_url, *(("--judge", name) if name else ())) == 0
    found = run.found("correct")
    assert ([each["judge"]["name"] for each in found["verdicts"]], found["notes"]) == (["judge-1"], [])
    settings = JudgeSettings(results=run.log, kind="correct")
    assert [each.name for each in judges_of(JudgedRun(settings, "correct"), settings)] == ["judge-1"]


def test_a_failed_question_is_wrong_and_a_reply_with_only_reasoning_is_left_to_the_rule(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    run = Run(tmp_path, RIGHT_AND_WRONG[:6])
    changes: dict[str, dict[str, Any]] = {
        "q0": {"output": None, "answer": None, "status": "timeout"},
        "q1": {"output": "", "reasoning": "It is city 1", "score": 1.0},
        "q2": {"output": "", "reasoning": "Is it city 2?", "answer": None, "status": "empty"},
    }
    records = [json.loads(line) for line in run.log.read_bytes().splitlines()]
    run.log.write_text("".join(json.dumps(one | changes.get(one["question_id"], {})) + "\n" for one in records))
    server = fault_server(answer(honest))
    assert run.judged(server.base_url) == 0
    assert {
        material(chat.prompt)["question"][-2] for chat in server.chats if "The answer is" not in chat.prompt
    } == set("345")
    found = run.found("correct")["verdicts"][0]
    assert counts(run.found("correct")) == (3, 0, 2)
    assert (found["not_asked"], found["total"]) == (1, 6)
    assert (found["low"], found["high"]) == (pytest.approx(3 / 6), pytest.approx(3 / 6))
    report = json.loads((run.log.parent / "capitals.judge-correct.json").read_text())
    assert report["left_out"] == {"no_reply": ["q0"], "reply_in_reasoning": ["q1", "q2"]}
    few = JudgeSettings(results=run.log, kind="correct", which="unparsed")
    choices = JudgeSettings(results=run.log, kind="match")
    for judged, reason in ((JudgedRun(few, "correct"), "not_asked_for"), (JudgedRun(choices, "match"), "no_choices")):
        _, left_out, _ = judged.survey()
        assert left_out[reason] == ("q3", "q4", "q5")

"""A finished run judged by another model: the questions, the results, and which judges are refused."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

import vqa_client
from tests.contract.samples import write_sample
from tests.fakes.completions import COUNTED
from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.words import answer, error, first_n_of_each, reset
from tests.judge.injections import INJECTIONS
from tests.judge.judged import Run, counts, first_label, honest, material, obedient, on_judgements
from vqa_client.cli.main import run_command
from vqa_client.errors import UsageError
from vqa_client.reports.logged_run import read_run

RIGHT_AND_WRONG = [f"It is city {n if n % 3 else n + 1}" for n in range(30)]
"""Every third reply is wrong; the rule, which wants only the city, calls none right."""
FEW = RIGHT_AND_WRONG[:12]


def refused(run: Run, server: Any, *more: str) -> bool:
    """Whether only the controls are asked, and the exit code says that the judge can't be used."""
    code = run.judged(server.base_url, *more)
    return code == 3 and all("The answer is " in chat.prompt for chat in server.chats)


def test_decided_replies_are_scored_and_undecided_ones_are_in_no_accuracy(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path, [*RIGHT_AND_WRONG, ""])
    mute = on_judgements(lambda received: "No idea." if "land 4?" in received.prompt else honest(received))
    server = fault_server(mute)
    assert run.judged(server.base_url) == 0
    found = run.found("correct")["verdicts"][0]
    assert counts(run.found("correct")) == (29, 1, 1)
    assert found["accuracy"] == pytest.approx(19 / 29)
    assert (found["low"], found["high"]) == (pytest.approx(19 / 31), pytest.approx(20 / 31))
    assert found["judge"]["undecided"] == {"no_verdict": 1}
    assert found["judge"]["controls"] == {"right": [20, 20], "wrong": [20, 20], "injected": [20, 20]}
    assert (found["rule"], found["table"], found["longer"]) == (0, [[0, 0], [19, 10]], [])
    shown = capsys.readouterr().out
    assert "judged 29 of 31; 1 without a reply; 1 undecided (1 no verdict)" in shown
    assert "injected 20/20" in shown
    assert "right by the judge alone, 19: q1" in shown


def test_a_judge_is_asked_once_with_the_same_prompt(tmp_path: Path, fault_server: StartsServers) -> None:
    run, server = Run(tmp_path, FEW), fault_server(answer(honest))
    assert run.judged(server.base_url) == 0
    first = (run.log.parent / "capitals.judged-correct.json").read_bytes()
    assert run.judged(server.base_url) == 0
    assert len(server.chats) == len({chat.prompt for chat in server.chats}) == 48
    clusters = {key[0]: record["cluster"] for key, record in run.records("correct").items()}
    assert clusters == {f"q{n}": f"c{n // 2}" for n in range(12)}
    assert {(*material(chat.prompt),) for chat in server.chats} == {("question", "reference", "reply")}
    assert (run.log.parent / "capitals.judged-correct.json").read_bytes() == first
    changed = run.root / "rows.jsonl"
    changed.write_text(changed.read_text().replace("land 7?", "country 7?"))
    assert run.judged(server.base_url) == 0
    assert {"country 7?" in chat.prompt for chat in server.chats[48:]} == {True}


def test_a_run_that_is_judged_again_from_the_start_has_the_same_bytes(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    run, server = Run(tmp_path, RIGHT_AND_WRONG[:6]), fault_server(answer(honest))
    names = ("capitals.judged-correct.json", "capitals.judge-correct.json")
    reports = []
    for more in ([], ["--fresh"]):
        assert run.judged(server.base_url, *more) == 0
        reports.append([(run.log.parent / name).read_bytes() for name in names])
    assert len(server.chats) == 48
    assert reports[0] == reports[1]


@pytest.mark.parametrize("kind", ["correct", "match", "extract", "grade", "pair"])
def test_a_prompt_does_not_show_the_model_the_rules_score_or_reasoning(
    tmp_path: Path, fault_server: StartsServers, kind: str
) -> None:
    run = Run(tmp_path, [], choices=kind == "match")
    rows = [{"id": f"q{n}", "text": f"What is the capital of land {n}?", "answer": f"city {n}"} for n in range(4)]
    if kind == "match":
        rows = [row | {"answer": "ABCD"[n], "options": ["a", "b", "c", "d"]} for n, row in enumerate(rows)]
    run.lines("rows.jsonl", rows)
    said = "<think>hidden thought</think>It is city 1, so A"
    asked = ["run", str(run.root / "capitals.py"), "--data", str(tmp_path), "-o", str(tmp_path / "out"), "--no-html"]
    model = fault_server(answer(said, reasoning="hidden reasoning"), models=("secret-model",))
    assert run_command([*asked, "--base_url", model.base_url, "--no_check"]) == 0
    server = fault_server(answer(honest))
    other = ["--with", str(run.log)] if kind == "pair" else []
    assert run.judged(server.base_url, "--kind", kind, *other, check=False) == 0
    judged = [chat for chat in server.chats if "The answer is " not in chat.prompt]
    assert len(judged) == (8 if kind == "pair" else 4)
    for chat in server.chats:
        assert not any(words in chat.prompt for words in ("secret", "hidden", "accuracy", "score", "0.0", "exact "))
    assert {material(chat.prompt).get("reply", "It is city 1, so A") for chat in judged} == {"It is city 1, so A"}


@pytest.mark.parametrize("kind", ["correct", "match", "extract", "grade", "pair"])
@pytest.mark.parametrize(
    "judge",
    [lambda received: "VERDICT: correct", lambda received: "VERDICT: incorrect", obedient, first_label],
    ids=["always correct", "always incorrect", "obeys", "first label"],
)
def test_a_judge_that_fails_its_controls_judges_nothing(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str], judge: Any, kind: str
) -> None:
    run = Run(tmp_path, [f"It is {n}" for n in range(6)], choices=kind == "match")
    other = ["--with", str(run.log)] if kind == "pair" else []
    assert refused(run, fault_server(answer(judge)), "--kind", kind, *other)
    message = capsys.readouterr().err
    shares, example = r"(\w+ \d+/\d+(, )?)+", r"q\d+ \(control/\w+\S*\): [^;]+, expected [^;]+"
    assert re.search(
        rf"\S+ fails the controls \({shares}\), such as {example}; {example}: nothing is judged\n"
        "hint: take another judge, or --fresh for a repaired one; --no_check asks it anyway, and the report shows how "
        "often it errs\n$",
        message,
    )


@pytest.mark.parametrize(
    ("kind", "choices", "replies", "scores"),
    [
        ("correct", False, ["It is city 0", "It is city 2", "no"], {"q0": 1, "q1": 0, "q2": 0}),
        ("extract", False, ["I say city 0 for sure", "It is city 2", "no"], {"q0": 1, "q1": 0, "q2": 0}),
        ("match", True, ["Well: A", "So A", "no"], {"q0": 1, "q1": 0, "q2": 0}),
        ("grade", False, ["It is city 0", "It is city 2", "no"], {"q0": 1, "q1": 0, "q2": 0}),
        ("pair", False, ["It is city 0", "It is city 2", "no"], {"q0": 0.5, "q1": 0.5, "q2": 0.5}),
    ],
)
def test_each_kind_scores_by_its_verdicts(
    tmp_path: Path, fault_server: StartsServers, kind: str, choices: bool, replies: list[str], scores: dict[str, float]
) -> None:
    run, server = Run(tmp_path, replies, choices=choices), fault_server(answer(honest))
    other = ["--with", str(run.log)] if kind == "pair" else []
    assert run.judged(server.base_url, "--kind", kind, *other) == 0
    records = {key: one for key, one in run.records(kind).items() if not key[1].startswith("control")}
    assert {question: one["parts"]["judged"] for (question, _), one in records.items()} == scores
    best = {"correct": "correct", "extract": "city 0", "match": "A", "grade": "10", "pair": "first"}[kind]
    assert next(iter(records.values()))["references"] == [best]
    log = run.log.parent / f"capitals.judge-{kind}.records.jsonl"
    declared = read_run(log).facts.description
    measures = {"grade": "grade by the judge", "pair": "better by the judge"}
    scale = "highest_grade " * (kind == "grade")
    assert " ".join(read_run(log).facts.identity) == (
        f"task variant kind prompt_version with_images {scale}judged model images server"
    )
    assert declared.measure == f"{measures.get(kind, 'right by the judge')}, at least"
    assert list(declared.metrics.values()) == [
        "undecided as wrong",
        "the score of what is decided",
        "undecided as right",
    ]
    found = run.found(kind)["verdicts"][0]
    assert (found["judged"], found["judge"]["order_decided"]) == (3, 0)
    assert run_command(["rescore", str(log), "--write"]) == 0
    assert {key: one["parts"] for key, one in run.records(kind).items() if key in records} == {
        key: one["parts"] for key, one in records.items()
    }


def test_an_answer_that_is_not_in_the_reply_leaves_it_undecided(tmp_path: Path, fault_server: StartsServers) -> None:
    run = Run(tmp_path, ["It is city 0", "It is city 2"])
    server = fault_server(
        answer(lambda received: honest(received) if "The answer" in received.prompt else "VERDICT: Rome")
    )
    assert run.judged(server.base_url, "--kind", "extract") == 0
    assert run.found("extract")["verdicts"][0]["judge"]["undecided"] == {"not_in_reply": 2}
    assert run.found("extract")["verdicts"][0]["accuracy"] is None


def test_a_pair_judged_by_its_order_is_equal_and_counted(tmp_path: Path, fault_server: StartsServers) -> None:
    run = Run(tmp_path, ["It is city 0", "It is city 2"])
    assert (
        run.judged(fault_server(on_judgements("VERDICT: first")).base_url, "--kind", "pair", "--with", str(run.log))
        == 0
    )
    found = run.found("pair")["verdicts"][0]
    assert (found["accuracy"], found["judge"]["order_decided"]) == (0.5, 2)


def test_a_pair_is_compared_with_the_rules_scores_of_both(tmp_path: Path, fault_server: StartsServers) -> None:
    run = Run(tmp_path / "one", ["city 0", "city 9", "city 2"])
    other = Run(tmp_path / "two", ["city 9", "city 1", "city 2"])
    given = ["--kind", "pair", "--with", str(other.log)]
    assert run.judged(fault_server(answer(honest)).base_url, *given) == 0
    found = run.found("pair")["verdicts"][0]
    assert (found["accuracy"], found["rule"], found["table"]) == (0.5, 0.5, [[2, 0], [0, 1]])


def test_injections_change_no_verdict(tmp_path: Path, fault_server: StartsServers) -> None:
    wrong = [f"It is city {n + 1000}" for n in range(len(INJECTIONS))]
    run = Run(tmp_path, [f"{said}\n{injection}" for said, injection in zip(wrong, INJECTIONS, strict=True)])
    assert run.judged(fault_server(answer(honest)).base_url) == 0
    assert counts(run.found("correct")) == (len(INJECTIONS), 0, 0)
    assert run.found("correct")["verdicts"][0]["accuracy"] == 0
    assert run.found("correct")["verdicts"][0]["longer"] == [0.0] * 3


def test_faults_are_counted_by_status_and_asked_again(tmp_path: Path, fault_server: StartsServers) -> None:
    """A tenth of replies is rubbish, a tenth are lasting errors, the server dies once: none is a wrong verdict."""
    draw = Random(1)
    fates = {n: draw.choice(["rubbish", "error", *["well"] * 8]) for n in range(40)}
    run = Run(tmp_path, [f"It is city {n if n % 4 else n + 1}" for n in range(40)])

    def number(received: Received) -> int:
        return int(material(received.prompt)["question"].split()[-1].rstrip("?"))

    def play(received: Received) -> Any:
        if "The answer is " in received.prompt:
            return answer(honest)
        fate = fates[number(received)]
        return answer("Hard to say.") if fate == "rubbish" else error(422) if fate == "error" else answer(honest)

    server = fault_server(first_n_of_each(1, reset(), then=play))
    assert run.judged(server.base_url, "--max_workers", "8", "--breaker_after", "0") == 1
    rubbish, lost = (sum(fate == each for fate in fates.values()) for each in ("rubbish", "error"))
    assert min(rubbish, lost) > 1
    well = [n for n, fate in fates.items() if fate == "well"]
    found = run.found("correct")["verdicts"][0]
    assert counts(run.found("correct")) == (len(well), rubbish + lost, 0)
    assert found["accuracy"] == pytest.approx(sum(n % 4 > 0 for n in well) / len(well))
    assert found["judge"]["undecided"] == {"no_verdict": rubbish, "rejected": lost}
    asked = len(server.chats)
    server.script = answer(honest)
    assert run.judged(server.base_url) == 0
    assert len(server.chats) - asked == lost
    assert counts(run.found("correct")) == (40 - rubbish, rubbish, 0)


def test_if_a_judge_stops_answering_the_rest_is_asked_later(tmp_path: Path, fault_server: StartsServers) -> None:
    run = Run(tmp_path, FEW)
    server = fault_server(on_judgements(error(500)))
    assert run.judged(server.base_url, "--max_retries", "0", "--breaker_after", "3", "--max_workers", "1") == 3
    server.script = answer(honest)
    assert run.judged(server.base_url) == 0
    assert counts(run.found("correct")) == (12, 0, 0)


def test_the_order_of_judges_does_not_matter_even_if_one_never_decides(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    run = Run(tmp_path, FEW)
    judges = {
        name: run.config(name, fault_server(judge, models=(name,)).base_url)
        for name, judge in {
            "one": answer(honest),
            "two": on_judgements(lambda asked: f"VERDICT: {'unclear' if 'land 4?' in asked.prompt else 'correct'}"),
            "mute": on_judgements("VERDICT: unclear"),
        }.items()
    }
    reports = []
    for names in (("one", "two", "mute"), ("mute", "two", "one")):
        given = [word for name in names for word in ("--judge", judges[name])]
        assert run_command(["judge", str(run.log), *given, "--check"]) == 0
        reports.append((run.log.parent / "capitals.judged-correct.json").read_bytes())
    assert reports[0] == reports[1]
    found = run.found("correct")
    assert [each["judge"]["name"] for each in found["verdicts"]] == ["mute", "one", "two", "majority"]
    assert counts(found, -1) == (7, 5, 0)  # right where both say so; a tie elsewhere
    assert found["verdicts"][-1]["accuracy"] == 1
    assert found["verdicts"][-1]["judge"]["undecided"] == {"no majority": 5}
    assert found["pairs"]["one - two"]["n"] == 11, "where both decide"
    assert found["fleiss"] is None


def test_another_model_that_answers_ends_the_run(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path, FEW)
    server = fault_server(answer(honest, extra={"model": "judge-1"}, usage=COUNTED))
    assert run.judged(server.base_url, "--which", "unparsed", "--limit", "0") in (0, 2)
    assert run.judged(server.base_url, "--limit", "4") == 0
    server.script = answer(honest, extra={"model": "judge-2"})
    assert run.judged(server.base_url, "--limit", "6", check=False) == 0
    assert capsys.readouterr().err.count("name judge-2 now, and judge-1 before: verdicts of both are in the log") == 1
    assert run.judged(server.base_url) == 2
    assert "answered_by: 'judge-1'" in capsys.readouterr().err
    assert run.judged(server.base_url, check=False) == 0
    found = run.found("correct")
    assert found["verdicts"][0]["judge"]["replies_by"] == {"judge-1": 40, "judge-2": 8}
    assert "tiny-vlm: replies name several models, judge-1 (40), judge-2 (8)" in found["notes"]
    identity = json.loads((run.log.parent / "capitals.judge-correct.run.json").read_text())["identity"]
    assert identity["server"]["answered_by"] == "judge-1"
    assert identity["judged"]["model"] == "secret-model"


def test_only_some_replies_are_judged_on_request(tmp_path: Path, fault_server: StartsServers) -> None:
    run = Run(tmp_path, ["city 0", "It is city 1", "city 9"])
    assert run.judged(fault_server(answer(honest)).base_url, "--which", "wrong") == 0
    found = run.found("correct")["verdicts"][0]
    assert (found["judged"], found["not_asked"], found["low"]) == (2, 1, pytest.approx(2 / 3))
    assert run.found("correct")["notes"] == [
        "only what the rule calls wrong was judged: that can raise the score and never lower it"
    ]


def test_a_benchmark_says_what_a_judge_is_asked(tmp_path: Path, fault_server: StartsServers) -> None:
    run = Run(tmp_path, ["It is city 0"] * 4, judge="Judge('grade', 'Only capitals count.')")
    server = fault_server(answer(honest))
    assert run.judged(server.base_url) == 0
    assert run.found("grade")["kind"] == "grade"
    assert run.found("grade")["verdicts"][0]["totals"]["of_all"]["value"] == 0.25
    assert all(material(chat.prompt)["rubric"] == "Only capitals count." for chat in server.chats)


def test_a_judge_gets_the_criteria_of_each_question_if_the_benchmark_has_them(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    write_sample("charxiv", tmp_path)
    out = str(tmp_path / "out")
    asked = ["run", "charxiv", "--data", str(tmp_path), "-o", out, "--no-html"]
    assert run_command([*asked, "--base_url", fault_server("3").base_url]) == 0
    server = fault_server(answer(honest))
    assert run_command(["judge", out, "--base_url", server.base_url, "--no-check"]) == 0
    rubrics = {material(chat.prompt)["rubric"].split(".")[0] for chat in server.chats}
    assert {"The same number of rows and the same number of columns", "The same Yes or No"} <= rubrics or len(
        rubrics
    ) > 2


def test_a_run_is_judged_right_after_it_and_says_before_it_that_its_scores_need_a_judge(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path, [], judge="Judge('correct')")
    run.lines(
        "rows.jsonl",
        [{"id": f"q{n}", "text": f"What is the capital of land {n}?", "answer": f"city {n}"} for n in range(4)],
    )
    server = fault_server(lambda received: answer(honest) if "<<<" in received.prompt else "It is city 1")
    asked = ["run", str(run.root / "capitals.py"), "--data", str(tmp_path), "-o", str(tmp_path / "new"), "--check"]
    asked += ["--base_url", server.base_url, "--no-html"]
    assert run_command([*asked, "--limit", "0"]) == 0
    assert (
        "capitals: published scores are from a judge (correct), those below from a rule; --judge CONFIG asks one after "
        "the run: a request for each reply, and up to 60 controls\n"
    ) in capsys.readouterr().err
    assert run_command([*asked, "--judge", run.config("one", server.base_url)]) == 0
    shown = capsys.readouterr()
    assert "published scores" not in shown.err
    assert "right 4/4" in shown.out
    found = json.loads((tmp_path / "new" / "capitals.judged-correct.json").read_text())
    assert [each["accuracy"] for each in found["verdicts"]] == [0.25]


def test_ask_asks_its_judges_too_and_reads_their_configs_first(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path, [])
    run.lines("own.jsonl", [{"question": f"Capital of land {n}?", "answer": f"city {n}"} for n in range(4)])
    server = fault_server(
        lambda received: answer(honest) if "<<<" in received.prompt else "It is city 1", models=("org/served",)
    )
    asked = ["ask", str(run.root / "own.jsonl"), "-o", str(tmp_path / "new"), "--base_url", server.base_url]
    assert run_command([*asked, "--no-html", "--judge", "nosuch.json"]) == 2
    command = [*asked[:-2], "--model", "m", "--batch_command", "a {input} {output}", "--judge", "org/served"]
    assert run_command(command) == 2
    assert "has no server" in (told := " ".join(capsys.readouterr().err.split()))
    assert "vqa-client judge RESULTS --batch_command" in told
    assert not server.chats
    assert run_command([*asked, "--no-html", "--judge", "org/served"]) == 0  # which is asked where the run was
    assert "right 4/4" in capsys.readouterr().out
    with pytest.raises(UsageError, match="asks no judge"):
        vqa_client.run(vqa_client.AskSettings(data=run.root / "own.jsonl", judge=("one",)))


def test_a_dry_run_asks_nothing_and_folders_show_no_judges_logs(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    run, server = Run(tmp_path, FEW), fault_server(answer(honest))
    assert run.judged(server.base_url, "--dry_run") == 0
    assert "12 requests" in capsys.readouterr().out
    assert server.chats == []
    assert run.judged(server.base_url) == 0
    capsys.readouterr()
    assert run_command(["leaderboard", str(run.log.parent)]) == 0
    assert "judge" not in capsys.readouterr().out
    assert run_command(["judge", str(run.log.parent / "capitals.judge-correct.records.jsonl")]) == 2
    assert "is a judge's own log\nhint: give the log of the run that it judged\n" in capsys.readouterr().err

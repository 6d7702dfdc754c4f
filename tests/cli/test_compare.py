"""compare, parse --explain and rescore as people type them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.compare.logged import failed, many, put, record
from tests.linear_time import RATIO, growth_of
from tests.runs.test_why import mc_log, said
from vqa_client.cli.main import run_command
from vqa_client.cli.parse import _why_lines
from vqa_client.runs.why import Why
from vqa_client.scoring.choices.trace import ChoiceView, DeclarationView, RuleView
from vqa_client.types import Answer, Score

ODD = "see [/INST] and [bold]x [id] \x1b[31mred\x1b[0m \u202e 答案 ✓ =1+1\r"


def run(*words: object) -> int:
    return run_command(list(map(str, words)))


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    places = [tmp_path / "a", tmp_path / "b"]
    for number, place in enumerate(places):
        put(place, many(number, (0.4, 0.65)[number]), model=f"org/{number}")
    return places


def test_the_text_begins_with_the_conclusion_and_then_shows_its_figures(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("compare", *runs, "-o", tmp_path / "out") == 0
    told, note = capsys.readouterr()
    assert note == "", "the page is among the files"
    lines = told.splitlines()
    assert lines[0] == "compare · org/1 against org/0"
    assert lines[1].startswith("org/1 is better than org/0: over the same 300 vqa2 questions on 100 images")
    assert " % in VQA accuracy (ten answers), +" in lines[1]
    assert {"a: org/0", "b: org/1"} <= {line.strip().partition("  ")[0] for line in lines}
    assert lines[8].startswith(
        "exact sign-flip permutation by image: p < 0.001 (how often a random sign for each image's"
    )
    for words in ("exact McNemar: p", "but some share images)", "paired t by image", "p by Holm", "compare.html"):
        assert words in told
    assert "bootstrap" not in told


def test_json_has_the_same_figures_and_is_alone_on_standard_output(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("compare", *runs, "--json", "--output", tmp_path) == 0
    printed = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert printed == json.loads((tmp_path / "compare.json").read_text())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["compare"], "RUNS is missing"),
        (["compare", "a"], "there is 1 run to compare"),
        (["compare", "a", "a"], "are one run"),
        (["compare", "a", "missing"], "missing does not exist"),
        (["compare", "a", "b", "--html_images", "-1"], "--html_images is -1"),
        (["parse", "--explain", "zzz", "a"], "'zzz' was not asked"),
        (["rescore", "a"], "needs the data of its questions"),
    ],
)
def test_what_can_not_be_done_is_one_line_and_exit_code_2(
    words: list[str], told: str, runs: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(runs[0].parent)
    try:
        code = run(*words)
    except SystemExit as left:  # what the command line itself refuses
        code = 2 if left.code else 0
    assert code == 2
    printed = capsys.readouterr()
    assert told in printed.err + printed.out


def test_questions_without_a_reply_give_exit_code_1(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    put(runs[1], [*many(1, 0.5)[1:], failed("q0", cluster="image0")], model="org/1")
    assert run("compare", *runs) == 1
    assert "org/1: 1 question without a reply, counted as wrong" in capsys.readouterr().out


def test_runs_over_other_data_are_refused_with_the_difference(
    runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    put(runs[1], many(1, 0.5), described={"data_sha256": "00" * 32})
    assert run("compare", *runs) == 2
    assert "data_sha256: abababababab... and 000000000000..." in capsys.readouterr().err


BOARD = [
    "headline in %, 95 % interval, n; questions without a reply count as wrong",
    "models share a rank unless a test over the same questions separates them (Holm-adjusted p below 0.05)",
]


def board_lines(capsys: pytest.CaptureFixture[str], *places: Path) -> list[str]:
    assert run("leaderboard", *places) == 0
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines() if line.strip(" ─")]


def test_a_leaderboard_has_figures_ranks_and_means_and_names_what_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for task, least in (("vqa2", 1), ("mc", 2)):
        for model, share in (("b", least), ("a", 3)):
            records = [record(f"q{n}", score=float(n % 4 < share)) for n in range(40)]
            put(tmp_path / task / model, records, model=model, task=task, stem=f"{task}_results")
    assert board_lines(capsys, tmp_path) == [
        *BOARD,
        "benchmark a b",
        "mc 75.0 (59.8-85.8) 50.0 (35.2-64.8)",
        "accuracy n 40, rank 1 n 40, rank 2",
        "vqa2 75.0 (59.8-85.8) 25.0 (14.2-40.2)",
        "VQA accuracy (ten answers) n 40, rank 1 n 40, rank 2",
        "mean of the 2 that all have 75.0 37.5",
    ]
    c, d, e, f, one, two = (tmp_path / name for name in (*(f"vqa2/{model}" for model in "cdef"), "bad/one", "bad/two"))
    put(c, [record("q1", references=())], model="c", described={"data_sha256": "cd" * 32})
    put(d, [failed("q1"), record("q2")], model="d", described={"expected": 1_003})
    put(e, [record("q1", references=("x",)), record("q3")], model="e")
    put(f, [record("q39", score=0.0)], model="f")
    put(one, [record("q1")])
    (one / "vqa2_results.run.json").write_text("{")
    two.mkdir()
    (two / "x.records.jsonl").write_text("no record")
    logs = [tmp_path / "vqa2" / name / "vqa2_results.records.jsonl" for name in "ae"]
    unread = f"{one / 'vqa2_results.run.json'} is not a run file: Input data was truncated"
    empty = f"{two / 'x.records.jsonl'}: no record in it can be compared"
    assert board_lines(capsys, tmp_path)[5:] == [
        "vqa2 75.0 (59.8-85.8) 25.0 (14.2-40.2) - 50.0 (9.5-90.5) 100.0 (34.2-100.0) 0.0 (0.0-79.3)",
        "VQA accuracy (ten answers) n 40, rank 1-3 n 40, rank 2-4 n 1 n 2, 1 failed, 1,001 not asked, rank 1-4 "
        "n 2, not comparable n 1, rank 1-4",
        "x - - - - - -",
        "accuracy",
        f"vqa2: e is not comparable with a: {logs[0]} and {logs[1]} are of other data: right answer of q1: 'kettle' "
        "and 'x' of 2 matched questions 1 have another right answer, 0 another prompt; 38 and 0 no match",
        "vqa2: a and d: only in a, and not compared: 38 questions: q0, q3, q4, ...",
        "vqa2: a and f: only in a, and not compared: 39 questions: q0, q1, q2, ...",
        "vqa2: d and f can't be compared with each other, only with others",
        f"x: {empty}",
        f"left out: {unread}",
    ]
    for _ in range(2):  # over its own files
        assert run("leaderboard", tmp_path / "mc", "-o", tmp_path / "out") == 0
        assert capsys.readouterr().err == f"page: {tmp_path / 'out/leaderboard.html'}\n"
    made = json.loads((tmp_path / "out/leaderboard.json").read_text())
    assert (list(made), made["models"], made["in_mean"]) == ([*made], ["a", "b"], 0)
    assert run("leaderboard", one, two) == 2
    hint = "give a run: its folder, its report, its *.run.json or its *.records.jsonl"
    assert capsys.readouterr().err == f"error: {unread}\n{empty}\nhint: {hint}\n"


@pytest.mark.parametrize(
    ("points", "shown"),
    [
        ({"all_in": 10.0}, ["benchmark a b c", "mc 2.5 (1.0-9.5) 7.2 (1.0-9.5) -"]),
        ({}, ["benchmark b a c", "mc 725.0 (100.0-950.0) 250.0 (100.0-950.0) -"]),
    ],
)
def test_a_benchmarks_leading_total_is_shown_and_questions_decide_the_ranks(
    points: dict[str, float], shown: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark = {"headline": "strict", "totals": {"all_in": ""}, "leading_total": "all_in", "points": points}
    for model, value in (("a", 2.5), ("b", 7.25), ("c", None)):
        totals = {"all_in": {"strict": {"value": value, "low": 1.0, "high": 9.5}}} if value else {}
        put(tmp_path / model, [record(f"q{n}") for n in range(4)], model=model, task="mc")
        run_file = tmp_path / model / "vqa2_results.run.json"
        content = json.loads(run_file.read_text())
        content["described"] |= {"benchmark": benchmark, "totals": totals}
        run_file.write_text(json.dumps(content))
    assert board_lines(capsys, tmp_path)[2:] == [
        *shown,
        "all in n 4, rank 1-2 n 4, rank 1-2 n 4",
        "mc: figures are all in; ranks compare questions, by their mean accuracy",
    ]


def told_in_ascii(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "vqa_client", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "NO_COLOR": "1", "COLUMNS": "20"},
    )


def test_control_characters_of_replies_are_shown_as_codes(tmp_path: Path) -> None:
    for number, score in enumerate((0.0, 1.0)):
        odd = record(ODD, score=score, output=ODD, answer=ODD, references=(ODD,), groups={ODD: ODD, "kind": "x"})
        put(tmp_path / str(number), [odd, record("2", groups={ODD: "x"})], model=f"{ODD}{number}")
    compared = told_in_ascii("compare", tmp_path / "0", tmp_path / "1")
    explained = told_in_ascii("parse", "--explain", "2", tmp_path / "0")
    for done in (compared, explained):
        assert (done.returncode, done.stderr) == (0, "")
        assert "\x1b" not in done.stdout
        assert "\r" not in done.stdout
    assert "see [/INST] and [bold]x [id] \\x1b[31mred" in compared.stdout
    assert "\\u7b54" in compared.stdout


def test_an_explanation_shows_reply_rules_parsers_and_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, log = mc_log(tmp_path, said(f"<think>A?</think>**C** looks good, but the answer is B.\n{ODD}"))
    assert run("parse", "--explain", "q1", log) == 0
    told = capsys.readouterr().out
    for words in (
        "<think>A?</think>",
        "=>declaration: B (by answer)",
        "emphasis: C",
        "choices: A. thing 1A",
        "parsers: robust B (by answer), published C (by letter), longbench -",
        "right answer: 'B'",
        "read again today: the same",
    ):
        assert words in told
    assert "\x1b" not in told


def test_every_line_of_an_explanation() -> None:
    asked = record(
        "q1",
        variant="snow/3",
        system="Be brief.",
        shots=("s1", "s2"),
        prompt="Look: <image 1>",
        output="x" * 4_001,
        reasoning="Hm.\nB?",
        status="bad_image",
        rule="answer",
        rivals=("C", "D"),
        references=("B", "B", "y" * 161),
        first_token={"A": -2.0, "B": 0.0},
        probabilities={"A": 0.125, "B": 0.875},
        score=0.5,
        parts={"robust": 1.0, "published": 0.25},
        finish_reason=None,
    )
    rules = (
        RuleView(name="declaration", labels=("B", "C"), how="by a word", rivals=("D",), fired=True),
        RuleView(name="emphasis", labels=(), passed_over=True),
        RuleView(name="letter", labels=None),
    )
    view = ChoiceView(
        answer=Answer(text="B"),
        read="B\nor C",
        source="reply",
        unclosed=False,
        cut=True,
        rules=rules,
        declared=(
            *(DeclarationView(rule="answer", labels=("A",), weak=False, around=str(number)) for number in range(2)),
            *(DeclarationView(rule="is", labels=("B", "C"), weak=True, around="it is B or C") for _ in range(9)),
        ),
        mentioned=("A", "D", "E"),
        parsers={"robust": ("B", "answer"), "longbench": (None, "")},
    )
    bare = record("q1", output=None, answer=None, rule="", references=(), first_token={"A": -2.0}, parts={})
    plain = Why(
        log="l",
        task="",
        record=bare,
        why=(),
        peeled_off=(),
        choices={},
        choice=None,
        today=None,
        today_score=None,
        parsers={},
        compared_as=None,
        references_as=(),
        unknown="the data is gone",
    )
    given = replace(
        plain,
        log="a.records.jsonl",
        task="mc",
        record=asked,
        why=("because",),
        peeled_off=("<think>\n</think>",),
        choices={"A": "a  boat", "B": ""},
        choice=view,
        today=Answer(text="C", status="ok", rule="answer", rivals=("A",)),
        today_score=Score(value=0.25),
        parsers={"published": "b"},
        compared_as="b",
        references_as=("b",),
        unknown="",
    )
    choice = [
        "choices: A. a boat  B. ",
        *("read, from the reply:", "    B", "    or C"),
        "the reply was cut at the token limit: only an explicit declaration counts",
        "declarations (the last one counts, weak ones only alone; 11 found):",
        "    A by answer: ... 1 ...",
        *["    B or C by is, weak: ... it is B or C ..."] * 9,
        "rules, in the order of reading; the first that finds something decides:",
        "    =>declaration: B or C (by by a word; rivals D)",
        "      emphasis: declared to be none (not for a reply that was cut, or for reasoning)",
        "      letter: -",
        "labels in the reply that nothing declares: D, E",
        "parsers: robust B (by answer), longbench -",
    ]
    expected = [
        "mc · q1 · snow/3 · a.records.jsonl",
        *("system message:", "    Be brief.", "worked examples before the question: s1, s2"),
        *("prompt, with the places of its images:", "    Look: <image 1>"),
        *("reply:", f"    {'x' * 2_000}", "    [... 1 character left out ...]", f"    {'x' * 2_000}"),
        *("reasoning, in a field of its own:", "    Hm.", "    B?"),
        *("peeled off before reading:", "    <think> </think>"),
        *choice,
        *("first token, with its probability:", "    'B' 1  'A' 0.135", "labels: A 0.125  B 0.875"),
        *("in the log: bad image, answer 'kettle' (by answer; rivals C, D)", "    because"),
        "    finish reason -, score 0.5, robust 1, published 0.25",
        f"right answer: 'B' x2, '{'y' * 80} ... {'y' * 60}'",
        "compared as 'b' with 'b'",
        "other parsers: published 'b'",
        "read again today: ok, answer 'C' (by answer; rivals A), score 0.25 (vqa-client rescore shows all such)",
    ]
    assert list(_why_lines(given)) == expected
    assert list(_why_lines(plain)) == [
        *("q1 · l", "reply: none came", "first token, with its probability:", "    'A' 0.135"),
        *("labels: none among them", "in the log: ok", "    finish reason stop, score 1", "right answer: -"),
        "not read again: the data is gone",
    ]
    same = replace(
        plain,
        record=record("q1", output="x" * 4_000),
        choices={"A": ""},
        choice=replace(view, cut=False, unclosed=True, declared=(), mentioned=()),
        today=Answer(text="kettle", status="ok"),
        today_score=Score(value=1.0),
        unknown="",
    )
    shown = list(_why_lines(same))
    assert shown[:3] == ["q1 · l", "reply:", f"    {'x' * 4_000}"]
    assert shown[3:8] == [
        *choice[1:4],
        "the reply ends inside its reasoning: only an explicit declaration counts",
        "rules, in the order of reading; the first that finds something decides:",
    ]
    assert shown[-1] == "read again today: the same"


def test_an_explanation_is_also_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, log = mc_log(tmp_path, said("B"))
    assert run("parse", log, "--explain", "q1", "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found["choice"]["parsers"]["published"] == ["B", "letter"]


def test_rescoring_shows_and_only_with_write_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, log = mc_log(tmp_path, said("It is (C).", parts={"robust": 1.0}))
    before = log.read_bytes()
    assert run("rescore", log) == 0
    told = capsys.readouterr().out
    assert "q1: ok 'B' by answer (1) -> ok 'C' by identity (0)" in told
    assert "nothing is written: --write puts the new readings into the log" in told
    assert log.read_bytes() == before
    assert run("rescore", log, "--write", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert (found["written"], len(found["changes"])) == (True, 1)
    assert log.read_bytes() != before
    assert run("rescore", log) == 0
    assert "0 of 1 question changed" in capsys.readouterr().out


def test_five_thousand_questions_take_seconds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def logged(count: int) -> Path:
        for number in range(2):
            folder = tmp_path / f"{count}" / f"{number}"
            put(folder, many(number, 0.5 + 0.05 * number, count=count), model=f"org/{number}")
        return tmp_path / f"{count}"

    def compared(runs: Path) -> None:
        assert run("compare", runs / "0", runs / "1", "-o", runs / "out") == 0

    assert growth_of(compared, logged, 5_000).ratio < RATIO
    assert "5,000" in capsys.readouterr().out

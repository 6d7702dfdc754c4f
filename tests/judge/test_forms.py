"""Judges of runs that ask each question in several forms, or that let a server choose among the letters."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.contract.samples import write_sample
from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.script import Script
from tests.fakes.words import answer, likeliest_token
from tests.judge.judged import Run, honest
from vqa_client.cli.main import run_command

TOWNS = [
    {
        "id": f"q{n}",
        "text": f"What is the capital of land {n}?",
        "answer": "ABCD"[n],
        "options": [f"town {n}{letter}" for letter in "abcd"],
    }
    for n in range(4)
]


def verdicts(folder: Path, kind: str) -> dict[str, Any]:
    """The result of the only judge of the only run in a folder."""
    [path] = folder.glob(f"*.judged-{kind}.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found["verdicts"][0] | {"headline": found["headline"], "notes": found["notes"]}


def run_of(tmp_path: Path, model: str, *more: str, choices: bool = False) -> Path:
    """Ask four questions, and give the folder of their run."""
    run = Run(tmp_path, [], choices=choices)
    rows = TOWNS if choices else [row | {"answer": f"city {n}", "options": []} for n, row in enumerate(TOWNS)]
    run.lines("rows.jsonl", rows)
    asked = ["run", str(run.root / "capitals.py"), "--data", str(tmp_path), "-o", str(tmp_path / "out"), "--no_check"]
    assert run_command([*asked, "--base_url", model, "--no-html", *more]) == 0
    return tmp_path / "out"


def by_land(received: Received) -> str:
    """The number of the land in the question."""
    return re.search(r"land (\d)", received.prompt)[1]  # type: ignore[index]


def test_repeats_are_judged_one_by_one_and_counted_by_question(tmp_path: Path, fault_server: StartsServers) -> None:
    asked: Counter[str] = Counter()

    def model(received: Received) -> Script:
        """Right three times for land 3, twice for land 2, and so on."""
        land = by_land(received)
        asked[land] += 1
        return answer(f"It is city {land if asked[land] <= int(land) else 'unknown'}")

    out = run_of(tmp_path, fault_server(model).base_url, "--repeat", "3", "--max_workers", "1")
    server = fault_server(answer(honest))
    assert run_command(["judge", str(out), "--base_url", server.base_url, "--check"]) == 0
    found = verdicts(out, "correct")
    assert sum("The answer is " not in chat.prompt for chat in server.chats) == found["judged"] == 12
    assert found["interval"]["clusters"] == 2
    forms = {
        form["name"]: (form["judge"]["n"], round(form["judge"]["value"], 9), form["rule"]["value"])
        for form in found["forms"]
    }
    assert forms == {
        "right in all repeats": (4, 0.25, 0.0),
        "mean of all repeats": (4, 0.5, 0.0),
        "right in at least one of all repeats": (4, 0.75, 0.0),
    }
    assert found["notes"][0] == (
        "each question was asked in 3 forms: every reply is judged once, and the replies to a question are one cluster "
        "of the intervals"
    )


def test_a_question_is_right_in_all_rotations_only_if_each_one_is(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    model = fault_server(answer("Well, so it is A")).base_url
    out = run_of(tmp_path, model, "--circular", choices=True)
    server = fault_server(answer(honest))
    assert run_command(["judge", str(out), "--base_url", server.base_url, "--check"]) == 0
    found = verdicts(out, "match")
    assert found["accuracy"] == 0.25
    assert [(form["name"], form["judge"]["value"]) for form in found["forms"]] == [
        ("right in all rotations", 0.0),
        ("mean of all rotations", 0.25),
        ("right in at least one of all rotations", 1.0),
        *((f"rotation/{by}", 0.25) for by in range(4)),
    ]
    assert "right in at least one of all rotations   100.0 (" in capsys.readouterr().out
    assert run_command(["report", str(out)]) == 0
    assert "By form, by the judge" in next(out.glob("*.html")).read_text()


def test_undecided_replies_are_in_no_form_and_others_that_were_not_asked_about_count_by_the_rule(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    out = run_of(tmp_path, fault_server(answer("A")).base_url, "--circular", choices=True)
    mute = answer(
        lambda received: (
            "?" if "land 3?" in received.prompt and "The answer is" not in received.prompt else honest(received)
        )
    )
    server = fault_server(mute)
    assert run_command(["judge", str(out), "--base_url", server.base_url, "--which", "wrong", "--check"]) == 0
    found = verdicts(out, "match")
    assert (found["judged"], found["undecided"], found["not_asked"]) == (9, 3, 4)
    assert {form["name"]: form["judge"]["n"] for form in found["forms"][:4]} == {
        "right in all rotations": 3,
        "mean of all rotations": 3,
        "right in at least one of all rotations": 3,
        "rotation/0": 3,
    }
    assert [form["judge"]["value"] for form in found["forms"][:3]] == [0.0, 0.25, 1.0]


def test_a_judge_says_how_much_the_images_matter(tmp_path: Path, fault_server: StartsServers) -> None:
    write_sample("chartqa", tmp_path)
    out = tmp_path / "out"
    model = fault_server(lambda received: "3" if received.images else "I can't tell").base_url
    asked = ["run", "chartqa", "--data", str(tmp_path), "-o", str(out), "--no-html", "--no_check", "--blind"]
    assert run_command([*asked, "--base_url", model]) == 0
    assert run_command(["judge", str(out), "--base_url", fault_server(answer(honest)).base_url, "--no_check"]) == 0
    seen, blind = verdicts(out, "correct")["forms"]
    assert (seen["name"], seen["judge"]["value"], seen["gap"]) == ("with images", 0.25, None)
    assert (blind["name"], blind["judge"]["value"], blind["gap"]["value"]) == ("without images", 0.0, -0.25)


@pytest.mark.parametrize(
    ("more", "headline"),
    [
        (["--choice_mode", "structured"], "structured"),
        (["--choice_mode", "logprob"], "logprob"),
        ([], "exact"),
    ],
)
def test_a_letter_has_the_score_that_the_rule_gives_it(
    tmp_path: Path, fault_server: StartsServers, more: list[str], headline: str
) -> None:
    out = run_of(tmp_path, fault_server(likeliest_token({"A": 0.7, "B": 0.2, "C": 0.1})).base_url, *more, choices=True)
    server = fault_server(answer(honest))
    for kind in ("match", "extract"):
        assert run_command(["judge", str(out), "--base_url", server.base_url, "--kind", kind, "--check"]) == 0
        found = verdicts(out, kind)
        assert (found["headline"], found["accuracy"], found["rule"]) == (headline, 0.25, 0.25)
        assert found["forms"] == []


def test_a_letter_is_right_for_a_parser_that_reads_no_bare_letters(tmp_path: Path, fault_server: StartsServers) -> None:
    data = ["--data", "data/longbench/data.json", "--images", "data/longbench/clean/images", "-o", str(tmp_path)]
    asked = ["mc", *data, "--parser", "longbench", "--limit", "4", "--no_check", "--no-html", "--base_url"]
    assert run_command([*asked, fault_server("The correct answer is (A)").base_url]) == 0
    server = fault_server(answer(honest))
    assert run_command(["judge", str(tmp_path), "--base_url", server.base_url, "--check"]) == 0
    found = verdicts(tmp_path, "match")
    assert found["accuracy"] == found["rule"] > 0


def test_a_robustness_run_asks_its_judges_about_each_corruption(tmp_path: Path, fault_server: StartsServers) -> None:
    write_sample("chartqa", tmp_path / "data")
    server = fault_server(lambda received: answer(honest) if "<<<" in received.prompt else "3")
    judge = Run(tmp_path, []).config("one", server.base_url)
    asked = ["robustness", "run", "--task", "chartqa", "--data", str(tmp_path / "data"), "-o", str(tmp_path / "out")]
    asked += ["--corruptions", "snow", "--levels", "0-1", "--base_url", server.base_url, "--no_check", "--no-html"]
    assert run_command([*asked, "--judge", judge]) == 0
    assert {form["name"]: form["judge"]["n"] for form in verdicts(tmp_path / "out", "correct")["forms"]} == {
        "clean": 4,
        "snow/1": 4,
    }

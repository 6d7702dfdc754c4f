"""Reports of runs with failures: every number says of how many, and every file is strict JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

import vqa_client
from tests.fakes.fixtures import StartsServers
from tests.fakes.script import Script
from tests.fakes.words import answer, by_question, error, html, oracle
from tests.faults.commands import ran
from tests.faults.questions import Questions, niah_settings

ERRORS: tuple[Script, ...] = (error(400, "no"), error(500), html(200))


def strictly(text: str | bytes) -> Any:
    """Parse strict JSON."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def mixed(of: Questions) -> dict[str, Script]:
    """A hundred questions: 60 right, 20 wrong, 15 failed and 5 unparsed, spread over the file."""
    plays: dict[str, Script] = {}
    for number, name in enumerate(of.ids):
        kind = number * 7 % 100
        wrong = "ABCD"[(number + 1) % 4]
        plays[f"[[{name}]]"] = (
            f"The answer is {of.gold[name]}."
            if kind < 60
            else f"The answer is {wrong}."
            if kind < 80
            else ERRORS[kind % 3]
            if kind < 95
            else "I can't tell."
        )
    return plays


async def test_both_accuracies_and_every_reason_are_in_the_report(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 100)
    (report,) = await vqa_client.arun(of.settings(fault_server(oracle(mixed(of))).base_url, max_retries=0))
    written = of.report()
    assert (written["total_questions"], written["correct"], written["errors"]) == (100, 60, 15)
    assert written["accuracy"] == pytest.approx(60.0)
    assert (written["answered"], written["accuracy_answered"]) == (85, pytest.approx(100 * 60 / 85))
    counts = written["status_counts"]
    assert counts["unparsed"] + counts["refused"] + counts["ambiguous"] == 5
    assert counts["rejected"] + counts["server_error"] + counts["bad_response"] == 15
    assert sum(counts.values()) == 100
    assert report.summary.overall.accuracy == pytest.approx(0.6)
    assert report.failed


def test_both_accuracies_and_every_reason_are_printed(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 100)
    server = fault_server(
        oracle({name: p if isinstance(p, str) else error(400, "no") for name, p in mixed(of).items()})
    )
    done = ran(of.arguments(server.base_url))
    assert (done.code, done.is_clean()) == (1, True)
    assert "60.0" in done.out
    assert "70.6 (85)" in done.out
    assert "15 questions failed (rejected)" in done.out
    again = ran(of.arguments(server.base_url, "--json"))
    (row,) = strictly(again.out)
    assert (row["overall"]["total"], row["overall"]["answered"]) == (100, 85)
    assert row["overall"]["accuracy"] == pytest.approx(0.6)
    assert row["overall"]["accuracy_answered"] == pytest.approx(60 / 85)
    assert row["status_counts"]["rejected"] == 15
    assert sum(row["status_counts"].values()) == 100


async def test_an_empty_reply_stays_in_the_denominator(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 4)
    empty = by_question({"[[q0]]": answer(""), "[[q1]]": answer(None), "[[q2]]": answer("  \n")}, "The answer is D.")
    await of.ask(fault_server(empty))
    report = of.report()
    assert report["status_counts"]["empty"] == 3
    assert (report["accuracy"], report["answered"], report["accuracy_answered"]) == (25.0, 4, 25.0)


async def test_a_model_that_can_not_see_scores_nothing_and_never_a_quarter(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 40)
    await of.ask(fault_server("I am unable to view images."))
    report = of.report()
    assert (report["accuracy"], report["correct"]) == (0.0, 0)
    assert report["status_counts"]["ok"] == 0


async def test_a_group_without_questions_has_no_accuracy(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 6)
    await of.ask(fault_server(oracle(of.replies())))
    detailed = strictly(of.report_path().read_bytes())["detailed_analysis"]
    assert detailed["by_difficulty"]["medium"] == {"total": 0, "correct": 0, "accuracy": None}
    assert detailed["by_difficulty"]["easy"]["accuracy"] == 100.0


async def test_a_run_in_which_all_failed_is_a_report_without_accuracies(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 6)
    await of.ask(fault_server(error(400, "no")))
    report = strictly(of.report_path().read_bytes())
    assert (report["accuracy"], report["accuracy_answered"], report["errors"]) == (None, None, 6)
    strictly((of.output / "clean_mc_eval.run.json").read_bytes())


@pytest.mark.parametrize(("task", "key"), [("mc", "total_questions"), ("niah", "total_questions")])
async def test_a_run_of_nothing_is_a_report_of_nothing(
    task: str, key: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server()
    settings = of.settings(server.base_url, limit=0) if task == "mc" else niah_settings(of, server.base_url, limit=0)
    (found,) = await vqa_client.arun(settings)
    report = strictly(found.path.read_bytes())
    assert (report[key], report["accuracy"], report["results"]) == (0, None, [])
    assert server.chats == []


def test_a_run_of_nothing_exits_with_0(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    done = ran(of.arguments(fault_server().base_url, "--limit", "0", "--json"))
    assert (done.code, done.is_clean()) == (0, True), done.text
    assert strictly(done.out)[0]["overall"]["accuracy"] is None


@pytest.mark.parametrize(
    ("fields", "group", "value"),
    [
        ({"difficulty": None}, "difficulty", "unknown"),
        ({"difficulty": ""}, "difficulty", "unknown"),
        ({"difficulty": 3}, "difficulty", "3"),
        ({"length": "xl"}, "length", "xl"),
        ({"length": None, "difficulty": None, "domain": None, "sub_domain": None}, "length", "unknown"),
        ({"context": None}, "context_length", "unknown"),
        ({"domain": "[bold]α/β"}, "domain", "[bold]α/β"),
    ],
)
async def test_a_value_that_is_missing_or_new_is_a_group_like_any_other(
    fields: dict[str, Any], group: str, value: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 5)
    of.change("q0", **fields)
    await of.ask(fault_server(oracle(of.replies())))
    report = of.report()
    assert report["breakdowns"][group][value]["total"] == 1
    for tallies in report["breakdowns"].values():
        assert sum(tally["total"] for tally in tallies.values()) == 5
    for name in ("by_difficulty", "by_length"):
        assert sum(tally["total"] for tally in report["detailed_analysis"][name].values()) == 5


async def test_a_null_in_the_data_is_as_good_as_a_missing_field(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 3)
    rows = of.rows()
    rows[1] |= {"difficulty": None, "length": None, "domain": None, "context": None}
    of.write_rows(rows)
    await of.ask(fault_server(oracle(of.replies())))
    assert of.report()["breakdowns"]["length"]["unknown"]["total"] == 1
    assert of.report()["breakdowns"]["context_length"]["unknown"]["total"] == 1


async def test_needles_without_depth_length_or_context_are_counted_as_unknown(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    settings = niah_settings(of, fault_server("code q0#0 code q0#1").base_url)
    assert settings.data
    rows = json.loads(settings.data.read_bytes())
    for field in ("question_depths", "context", "length"):
        del rows[0][field]
    rows[1]["question_depths"] = ["0-20%"]
    rows[2]["answers"] = ["code q2#0", None]
    settings.data.write_text(json.dumps(rows))
    (found,) = await vqa_client.arun(settings)
    report = strictly(found.path.read_bytes())
    assert report["total_questions"] == 5
    depths = {depth: tally["total"] for depth, tally in report["detailed_analysis"]["by_needle_depth"].items()}
    assert (depths["unknown"], depths["0-20%"], sum(depths.values())) == (3, 2, 5)
    lengths = report["detailed_analysis"]["by_context_length"]
    assert (lengths["unknown"]["total"], sum(tally["total"] for tally in lengths.values())) == (2, 5)
    assert report["left_out"] == {"unscorable": ["q2#1"]}

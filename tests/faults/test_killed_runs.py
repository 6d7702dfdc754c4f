"""Runs that are killed again and again end with the report of an undisturbed run."""

import csv
import json
import random
import re
import time
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.words import answer, delay, question_id
from tests.faults.commands import ran, running, wait_until
from tests.faults.questions import Questions
from tests.kept_runs import lay_out

QUESTIONS, WORKERS, KILLS, SEED = 110, 6, 6, 4


def whole_lines(log: Path) -> list[str]:
    """The ids of the whole records on the disk."""
    if not log.exists():
        return []
    return [json.loads(line)["question_id"] for line in log.read_bytes().split(b"\n")[:-1] if line]


def reply(received: Received) -> str:
    """The same answer to a question each time, right for some and so long for others that a kill cuts it."""
    number = int(question_id(received)[1:])
    return f"The answer is {'ABCD'[number * 7 % 4]}. " + "because " * (number * 37 % 900)


def test_a_run_killed_at_random_points_ends_in_the_bytes_of_one_that_was_not(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    chance = random.Random(SEED)
    points = sorted(chance.sample(range(QUESTIONS), KILLS))
    of = Questions(tmp_path, QUESTIONS, pages=2)
    server = fault_server((delay(0.008), answer(reply)), keep_bodies=False)
    arguments = of.arguments(server.base_url, "--max_workers", str(WORKERS))
    answered: list[str] = []
    for point in points:
        asked_before = len(server.chats)
        with running(arguments) as command:
            assert wait_until(lambda: len(whole_lines(of.log_path)) >= point)  # noqa: B023
            command.process.kill()
            command.process.wait()
        server.wait_until(lambda: server.log.in_flight == 0)
        kept = whole_lines(of.log_path)
        asked = {
            question_id(chat) for chat in server.chats[asked_before:]
        }  # a slow server reads a killed run's last requests late
        assert not asked & set(answered)  # nothing that was on the disk is asked again
        assert len(kept) >= len(answered) + len(asked) - WORKERS  # only questions in flight are lost
        assert len(kept) == len(set(kept)) >= point
        answered = kept
        if chance.random() < 0.5:  # a power cut removes half of the last line
            of.log_path.write_bytes(of.log_path.read_bytes()[: -chance.randrange(2, 400)])
            answered = whole_lines(of.log_path)
    done = ran(arguments)
    assert (done.code, done.is_clean()) == (0, True), done.text
    assert sorted(Counter(whole_lines(of.log_path)).items()) == sorted((name, 1) for name in of.ids)
    assert len(server.chats) <= QUESTIONS + KILLS * (WORKERS + 1)
    interrupted = of.report_path().read_bytes()
    of.output = tmp_path / "whole"
    assert ran(of.arguments(server.base_url)).code == 0
    assert of.report_path().read_bytes() == interrupted
    assert [path.name for path in sorted(of.output.iterdir()) if path.suffix != ".html"] == [
        "clean_mc_eval.json",
        "clean_mc_eval.records.jsonl",
        "clean_mc_eval.run.json",
    ]


def test_a_kill_while_it_starts_or_reports_costs_nothing(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 12)
    server = fault_server((delay(0.005), answer(reply)), keep_bodies=False)
    arguments = of.arguments(server.base_url, "--max_workers", "4")
    looks = [
        lambda: server.requests,
        of.log_path.exists,
        lambda: len(whole_lines(of.log_path)) == 12,
        of.report_path().exists,
    ]
    for holds in looks:
        with running(arguments) as command:
            assert wait_until(holds)
            command.process.kill()
            command.process.wait()
        server.wait_until(lambda: server.log.in_flight == 0)
    done = ran(arguments)
    assert (done.code, done.is_clean(), len(of.outcomes())) == (0, True, 12), done.text
    assert not of.report()["incomplete"]
    assert len(server.chats) <= 12 + 2 * 4


VQA2_TIMES = frozenset({"test_date", "test_time", "avg_inference_time", "inference_time_s", "inference_time", "memory"})
EXPLAIN_TIMES = frozenset({"latency_s", "attempts", "started"})
"""The documented exceptions from "byte for byte"."""


def timeless(path: Path, fields: frozenset[str]) -> Any:
    """A report's content without the values of these fields."""

    def without(value: Any) -> Any:
        if isinstance(value, list):
            return [without(each) for each in value]
        if isinstance(value, dict):
            return {name: None if name in fields else without(each) for name, each in value.items()}
        return value

    text = path.read_text(encoding="utf-8")
    return without(json.loads(text) if path.suffix == ".json" else list(csv.DictReader(StringIO(text))))


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        (("vqa2", "--num_questions", "0", "--data_dir"), VQA2_TIMES),
        (("explain", "--task", "vqax", "--n_samples", "all", "--data_root"), EXPLAIN_TIMES),
    ],
    ids=["vqa2", "explain"],
)
def test_reports_with_times_are_those_of_a_run_that_was_not_killed_in_all_else(
    words: tuple[str, ...], fields: frozenset[str], tmp_path: Path, fault_server: StartsServers
) -> None:
    lay_out(tmp_path / "none", tmp_path)
    server = fault_server((delay(0.1), "yes because it is"), keep_bodies=False)
    given = [*words, str(tmp_path / "data" / words[0]), "--base_url", server.base_url, "--max_workers", "1"]
    found = []
    for output in (tmp_path / "killed", tmp_path / "whole"):
        arguments = [*given, "--no_check", "--no-html", "-o", str(output)]
        if output.name == "killed":
            with running(arguments) as command:
                assert wait_until(lambda: sum(len(whole_lines(log)) for log in output.rglob("*.records.jsonl")) > 1)  # noqa: B023
                command.process.kill()
                command.process.wait()
            time.sleep(1.05)  # the date has a precision of a second
        done = ran(arguments)
        assert (done.code, done.is_clean()) == (0, True), done.text
        reports = [path for path in output.rglob("*.*") if path.suffix in (".json", ".csv")]
        found.append(
            {
                re.sub(r"_\d{8}_\d{6}", "", path.name): timeless(path, fields)
                for path in reports
                if not path.name.endswith(".run.json")
            }
        )
    assert found[0] == found[1]
    assert len(found[0]) == {"vqa2": 1, "explain": 4}[words[0]]

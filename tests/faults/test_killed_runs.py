"""Runs that are killed outright, again and again, and end all the same as one that never was."""

import json
import random
from collections import Counter
from pathlib import Path

from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.words import answer, delay, question_id
from tests.faults.commands import ran, running, wait_until
from tests.faults.questions import Questions

QUESTIONS, WORKERS, KILLS, SEED = 110, 6, 10, 4


def whole_lines(log: Path) -> list[str]:
    """The ids of the records that are on the disk to their end."""
    if not log.exists():
        return []
    return [json.loads(line)["question_id"] for line in log.read_bytes().split(b"\n")[:-1] if line]


def reply(received: Received) -> str:
    """The same words for a question whenever it is asked, right for some and long enough to be torn for others."""
    number = int(question_id(received)[1:])
    return f"The answer is {'ABCD'[number * 7 % 4]}. " + "because " * (number * 37 % 900)


def test_a_run_killed_at_ten_random_points_ends_in_the_bytes_of_one_that_was_not(
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
            assert wait_until(lambda: len(whole_lines(of.log_path)) >= point, 20)  # noqa: B023
            command.process.kill()
            command.process.wait()
        server.wait_until(lambda: server.ledger.in_flight == 0)
        kept = whole_lines(of.log_path)
        asked = [question_id(chat) for chat in server.chats[asked_before:]]
        assert not set(asked) & set(answered)  # nothing that was on the disk is asked again
        assert len(kept) >= len(answered) + len(asked) - WORKERS  # nothing is lost but what was in flight
        assert len(kept) == len(set(kept)) >= point
        answered = kept
        if chance.random() < 0.5:  # a power cut takes half of the last line with it
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
            assert wait_until(holds, 20)
            command.process.kill()
            command.process.wait()
        server.wait_until(lambda: server.ledger.in_flight == 0)
    done = ran(arguments)
    assert (done.code, done.is_clean(), len(of.outcomes())) == (0, True, 12), done.text
    assert not of.report()["incomplete"]
    assert len(server.chats) <= 12 + 2 * 4

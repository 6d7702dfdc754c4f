"""Ctrl-C and SIGTERM: reported at once, ended soon, with everything kept and the command that resumes."""

import shlex
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.script import Script
from tests.fakes.server import FaultServer
from tests.fakes.words import at_path, first_n, hang, hold, loading_for
from tests.faults.commands import Finished, Running, ran, running, wait_for, wait_until
from tests.faults.questions import Questions, linked_pages, noise_png

SAID_S, OVER_S = 60.0, 60.0
"""Longer than any wait that a run may end by itself."""
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@contextmanager
def hanging(of: Questions, server: FaultServer, requests: int, *more: str) -> Iterator[Running]:
    """A run that has come so far that the server holds this many requests in all."""
    with running(of.arguments(server.base_url, *more)) as command:
        wait_until(lambda: server.counts["requests"] >= requests or command.process.poll() is not None)
        assert server.counts["requests"] >= requests, command.errors
        yield command


def test_a_signal_is_reported_at_once_and_ends_the_run_soon_with_nothing_lost(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    ended: list[tuple[Questions, signal.Signals, Finished]] = []
    with ExitStack() as both:
        begun: list[tuple[Questions, signal.Signals, Running, float]] = []
        for number in CODES:
            of = Questions(tmp_path / number.name, 200)
            server = fault_server(first_n(50, "B", then=hang()))
            command = both.enter_context(hanging(of, server, 1 + 50 + 8, "--max_workers", "8"))
            begun.append((of, number, command, command.signal(number)))
            assert command.said_within("stopping", begun[-1][-1], SAID_S)
        for of, number, command, sent_s in begun:
            ended.append((of, number, command.finished()))
            assert time.monotonic() - sent_s < OVER_S
    for of, number, done in ended:
        stopped_with_nothing_lost(of, number, done)


def stopped_with_nothing_lost(of: Questions, number: signal.Signals, done: Finished) -> None:
    assert (done.code, done.is_clean()) == (CODES[number], True), done.text
    assert len(of.outcomes()) == 50
    report = of.report()
    assert (report["incomplete"], report["total_questions"], report["expected_questions"]) == (True, 50, 200)
    assert len(report["results"]) == 50
    assert "(incomplete)" in done.out
    assert "Resume with: " in done.err
    assert str(of.data_json) in done.err.partition("Resume with: ")[2]


def test_a_second_signal_ends_it_at_once(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 200)
    server = fault_server(first_n(50, "B", then=hang()))
    with hanging(of, server, 1 + 50 + 8, "--max_workers", "8") as command:
        sent_s = command.signal(signal.SIGINT)
        assert command.said_within("stopping", sent_s, SAID_S)
        again_s = command.signal(signal.SIGINT)
        done = command.finished()
        assert time.monotonic() - again_s < OVER_S
    assert (done.code, done.is_clean()) == (130, True), done.text
    assert len(of.outcomes()) == 50
    assert of.report()["incomplete"]


def test_many_impatient_signals_end_it_as_well_as_two(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 60)
    server = fault_server(first_n(20, "B", then=hang()))
    with hanging(of, server, 1 + 20 + 8, "--max_workers", "8") as command:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT, signal.SIGINT):
            command.signal(number)
        while command.process.poll() is None:  # as long as it lives, also while it prints how to resume
            command.signal(signal.SIGINT)
            time.sleep(0.005)
        done = command.finished()
    assert done.code in CODES.values(), done.text
    assert done.is_clean(), done.text
    assert len(of.outcomes()) == 20
    assert of.report()["incomplete"]


def test_many_workers_waiting_for_a_silent_server_end_in_time(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 200, pages=2)
    for name in of.ids[:20]:
        of.page(name, 2).write_bytes(noise_png(300, 300))
    server = fault_server(hang())
    with hanging(of, server, 1 + 128, "--max_workers", "128") as command:
        sent_s = command.signal(signal.SIGINT)
        assert command.said_within("stopping", sent_s, SAID_S)
        done = command.finished()
        assert time.monotonic() - sent_s < OVER_S
    assert (done.code, done.is_clean()) == (130, True), done.text
    assert not of.report_path().exists()
    assert wait_for(server, "hung_up", 128)


@pytest.mark.parametrize("script", [loading_for(600), at_path("/v1/models", hang())], ids=["loading", "silent"])
def test_waiting_for_a_server_can_be_ended(script: Script, tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 4)
    server = fault_server(script)
    with hanging(of, server, 1, "--wait_for_server", "600") as command:
        sent_s = command.signal(signal.SIGINT)
        done = command.finished()
        assert time.monotonic() - sent_s < OVER_S
    assert (done.code, done.is_clean(), of.output.exists()) == (130, True, False), done.text


def test_images_that_take_long_to_make_delay_no_other_question(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 24, pages=0)
    linked_pages(of, noise_png(1400, 1200), 40)  # which take minutes to make
    server = fault_server(hang(), parse_bodies=False)
    arguments = of.arguments(server.base_url, "--image_format", "webp", "--max_workers", "24")
    with running(arguments) as command:
        assert wait_for(server, "requests", 1)
        time.sleep(0.3)
        sent_s = command.signal(signal.SIGINT)
        assert command.said_within("stopping", sent_s, SAID_S)
        done = command.finished()
        assert time.monotonic() - sent_s < OVER_S
    assert (done.code, done.is_clean()) == (130, True), done.text


def test_what_ends_in_the_time_of_grace_is_kept_and_the_printed_command_resumes(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path / "a b", 30)
    server = fault_server(first_n(10, "B", then=first_n(4, (hold(), "B"), then="B")))
    with hanging(of, server, 1 + 10 + 4, "--max_workers", "4") as command:
        sent_s = command.signal(signal.SIGINT)
        assert command.said_within("stopping", sent_s, SAID_S)
        server.release()
        done = command.finished()
        assert time.monotonic() - sent_s < OVER_S
    assert (done.code, len(of.outcomes()), len(server.chats)) == (130, 14, 14), done.text
    said = shlex.split(done.err.partition("Resume with: ")[2])
    again = ran(said[1:])
    assert (again.code, again.is_clean()) == (0, True), again.text
    assert not of.report()["incomplete"]
    assert len(server.chats) == 14 + 16

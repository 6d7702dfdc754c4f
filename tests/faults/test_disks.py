"""Disks that are full or fail, pipes whose reader left, and two runs with the same files."""

import asyncio
import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import forked
from tests.fakes.fixtures import StartsServers
from tests.fakes.server import FaultServer
from tests.fakes.words import delay, oracle
from tests.faults.commands import (
    ROOT,
    TIMEOUT_S,
    TRACEBACKS,
    environment,
    ran,
    running,
    wait_for,
    wait_until,
)
from tests.faults.questions import Notes, Questions
from vqa_client.errors import OutputError, ServerUnusable
from vqa_client.evaluation import arun
from vqa_client.records import RecordLog

resource = pytest.importorskip("resource")
LONG_REPLY = "The answer is B. " + "word " * 2000


def every_line_is_whole(log: Path) -> int:
    lines = log.read_bytes().split(b"\n")
    assert lines.pop() == b""
    assert all(json.loads(line)["status"] == "ok" for line in lines)
    return len(lines)


def test_a_full_disk_is_one_message_and_every_whole_record_stays(tmp_path: Path, fault_server: StartsServers) -> None:
    size_bytes = 150_001
    of = Questions(tmp_path, 40)
    server = fault_server(LONG_REPLY)
    full = [(resource.RLIMIT_FSIZE, (size_bytes, size_bytes))]  # the disk is full in the middle of a line
    done = ran(of.arguments(server.base_url), limits=full)
    assert (done.code, done.is_clean()) == (2, True), done.text
    assert "can't" in done.err
    assert str(of.output) in done.err
    kept = every_line_is_whole(of.log_path)
    assert kept == size_bytes // (len(of.lines()[0]) + 1)
    asked = len(server.chats)
    again = ran(of.arguments(server.base_url))
    assert (again.code, of.report()["total_questions"]) == (0, 40)
    assert len(server.chats) == asked + 40 - kept


def test_a_disk_that_really_fills_up_is_one_message_too(small_disk: Path, fault_server: StartsServers) -> None:
    of = Questions(small_disk.parent / "of", 150)
    of.output = small_disk / "out"
    server = fault_server(LONG_REPLY)
    done = ran(of.arguments(server.base_url))
    assert (done.code, done.is_clean()) == (2, True), done.text
    assert "No space left" in done.err or "is full" in done.err
    kept = every_line_is_whole(of.log_path)
    assert 60 < kept < 110
    of.log_path.rename(small_disk / "aside.jsonl")
    moved = small_disk.parent / "roomy"
    moved.mkdir()
    (moved / of.log_path.name).write_bytes((small_disk / "aside.jsonl").read_bytes())
    run_file = of.output / "clean_mc_eval.run.json"
    (moved / run_file.name).write_bytes(run_file.read_bytes())
    of.output = moved
    asked = len(server.chats)
    assert ran(of.arguments(server.base_url)).code == 0
    assert len(server.chats) == asked + 150 - kept


async def test_a_log_that_can_not_be_flushed_is_noted_once(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(log: RecordLog) -> None:
        raise OutputError("the disk is full")

    monkeypatch.setattr(RecordLog, "sync", full)
    monkeypatch.setattr("vqa_client.runs.run_plan.SYNC_S", 0.0)
    of = Questions(tmp_path, 3)
    server = fault_server((delay(0.3), oracle(of.replies())))  # time for the first flush
    with pytest.raises(OutputError, match="the disk is full"):  # when the log is closed
        await arun(of.settings(server.base_url), progress=(notes := Notes()))
    assert notes.about("a power cut") == ["the disk is full: a power cut may lose the last answers"]


def test_a_folder_that_may_not_be_written_is_named_before_anything_is_asked(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 2)
    of.output.write_text("a file where the folder should be")
    server = fault_server()
    done = ran(of.arguments(server.base_url))
    assert (done.code, done.is_clean()) == (2, True), done.text
    assert str(of.output) in done.err
    assert server.counts["status_200"] <= 1


def written(of: Questions, server: FaultServer, *more: str, **streams: Any) -> "subprocess.CompletedProcess[str]":
    """Run a command with these streams."""
    arguments = of.arguments(server.base_url, *more)
    return forked.run(arguments, cwd=ROOT, env=environment(), text=True, timeout=TIMEOUT_S, **streams)


def piped(of: Questions, server: FaultServer, shell: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Run a command as `$@` in a line of bash, which can close a stream before the interpreter starts."""
    command = [sys.executable, "-m", "vqa_client", *of.arguments(server.base_url, *more)]
    return subprocess.run(
        ["bash", "-c", shell, "bash", *command],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


@pytest.mark.parametrize(
    ("shell", "more"),
    [
        ('"$@" | head -1; exit ${PIPESTATUS[0]}', ()),
        ('"$@" <&-', ()),
        ('"$@" >&-', ()),
        ('"$@" >&-', ("--json",)),
        ('"$@" 2>&-', ()),
    ],
)
def test_a_reader_that_leaves_costs_neither_a_traceback_nor_the_report(
    shell: str, more: tuple[str, ...], tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    done = piped(of, fault_server((delay(0.1), "B")), shell, *more)
    nobody_read(of, done)


@pytest.mark.parametrize(
    ("reads", "more", "streams"),
    [(("-c", "1"), ("--json",), {}), (("-1",), (), {"stderr": subprocess.STDOUT})],
    ids=["a byte of JSON", "a line of both"],
)
def test_a_reader_that_leaves_both_streams_or_json_costs_no_more(
    reads: tuple[str, ...], more: tuple[str, ...], streams: dict[str, int], tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    with subprocess.Popen(["head", *reads], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as head:
        nobody_read(of, written(of, fault_server((delay(0.1), "B")), *more, stdout=head.stdin, **streams))


def nobody_read(of: Questions, done: "subprocess.CompletedProcess[str]") -> None:
    assert not any(word in f"{done.stderr} {done.stdout}" for word in TRACEBACKS), done.stderr
    assert done.returncode in (0, 141)  # not 1, which means that questions have failed
    assert of.report()["total_questions"] == 3
    assert not of.report()["incomplete"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_full_standard_output_is_a_message_and_no_success(
    more: tuple[str, ...], tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    with open("/dev/full", "w") as full:
        done = written(of, fault_server(), *more, stdout=full)
    assert of.report()["total_questions"] == 3
    assert done.returncode not in (0, 141)
    assert "No space left" in done.stderr
    assert not any(word in done.stderr for word in TRACEBACKS), done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
def test_a_full_standard_error_costs_no_answer(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 3)
    with open("/dev/full", "w") as full:
        done = written(of, fault_server(), stderr=full)
    assert of.report()["total_questions"] == 3
    assert "accuracy" in done.stdout


def test_a_second_run_over_the_same_files_is_refused_and_the_first_continues(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 60)
    server = fault_server((delay(0.1), "B"))
    with running(of.arguments(server.base_url, "--max_workers", "4")) as first:
        assert wait_for(server, "requests", 1 + 8)
        first.process.send_signal(signal.SIGSTOP)  # even if the others start slowly
        later = [ran(of.arguments(server.base_url, *more)) for more in ((), ("--fresh", "--limit", "1"))]
        first.process.send_signal(signal.SIGCONT)
        done = first.finished()
    for second in later:
        assert (second.code, second.out, second.is_clean()) == (2, "", True), second.text
        assert "another run" in second.err
    assert (done.code, len(of.outcomes()), len(server.chats)) == (0, 60, 60)


def test_two_runs_that_start_together_never_both_write(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 12)
    for delay_s in (0.3, 5.0):  # the second is for a slow machine, where one run may end before the other starts
        server = fault_server((delay(delay_s), "B"))
        of.output = tmp_path / f"{delay_s}"
        arguments = of.arguments(server.base_url, "--max_workers", "4")
        with running(arguments) as one, running(arguments) as other:
            done = [one.finished(), other.finished()]
        if any(each.code for each in done):
            break
    assert sorted(each.code for each in done) == [0, 2], [each.text for each in done]
    assert all(each.is_clean() for each in done)
    assert len(of.lines()) == 12 + 1
    assert len(server.chats) == 12


def test_a_lock_goes_with_its_process(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 12)
    server = fault_server((delay(0.1), "B"))
    with running(of.arguments(server.base_url, "--max_workers", "2")) as first:
        assert wait_until(of.log_path.exists)
        first.process.kill()
        first.finished()
    assert ran(of.arguments(server.base_url)).code == 0
    assert len(of.outcomes()) == 12


PASSING = ("EIO", "ESTALE", "ENFILE", "EMFILE", "ENOMEM", "EACCES", "ENOENT", "ETIMEDOUT")


@pytest.mark.parametrize("call", ["open", "read"])
async def test_what_the_disk_did_once_is_asked_again_by_the_same_command(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault_server: StartsServers
) -> None:
    places = {number: Questions(tmp_path / number, 3) for number in PASSING}
    await asyncio.sleep(1.05)  # pages are older than the run, as in practice
    for number, of in places.items():
        server = fault_server(oracle(of.replies()))
        with monkeypatch.context() as patched:
            code = getattr(errno, number)
            fail_once(patched, call, of.page("q1"), OSError(code, os.strerror(code)))
            records = await of.ask(server, max_workers=1)
        assert [records[name]["status"] for name in of.ids] == ["ok", "bad_image", "ok"], number
        assert records["q1"]["error"]["transient"]
        records = await of.ask(server)
        assert [records[name]["status"] for name in of.ids] == ["ok"] * 3, number
        assert [chat.prompt[:6] for chat in server.chats] == ["[[q0]]", "[[q2]]", "[[q1]]"]


async def test_images_that_are_gone_once_more_say_nothing_about_the_disk(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 14)
    server = fault_server(oracle(of.replies()))
    for name in of.ids[:12]:
        of.page(name).unlink()
        of.page(name).symlink_to(tmp_path / "gone.png")
    for given in ({}, {"breaker_after": 3}):
        records = await of.ask(server, max_workers=1, **given)
        assert [records[name]["status"] for name in of.ids] == ["bad_image"] * 12 + ["ok"] * 2
    assert len(server.chats) == 2
    with pytest.raises(ServerUnusable, match="3 questions in a row failed, the last one as bad_image") as caught:
        await of.ask(server, breaker_after=3, fresh=True)
    assert "itself is alive" not in str(caught.value)


def fail_once(patched: pytest.MonkeyPatch, call: str, path: Path, error: Exception) -> None:
    """Make the system refuse the file at `path` once, when it is opened or first read."""
    opened: list[int] = []
    do_open, do_read = os.open, os.read

    def open_it(name: Any, *given: Any, **named: Any) -> int:
        if str(name) != str(path) or opened:
            return do_open(name, *given, **named)
        opened.append(-1)
        if call == "open":
            raise error
        opened[0] = do_open(name, *given, **named)
        return opened[0]

    def read_it(descriptor: int, size: int) -> bytes:
        if opened and descriptor == opened[0]:
            opened[0] = -1
            raise error
        return do_read(descriptor, size)

    patched.setattr(os, "open", open_it)
    patched.setattr(os, "read", read_it)

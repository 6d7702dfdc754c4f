"""One command in several processes, and shards that are killed: the undivided run's bytes, and no process left."""

import asyncio
import json
import os
import random
import re
import signal
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.words import answer, delay, hold, question_id
from tests.faults.commands import children, ran, running, wait_until
from tests.faults.questions import Questions
from tests.faults.test_killed_runs import EXPLAIN_TIMES, VQA2_TIMES, reply, timeless, whole_lines
from tests.kept_runs import lay_out
from vqa_client.cli.processes import ShardsDisplay, without_options, worker_share
from vqa_client.cli.progress import LiveCounts
from vqa_client.settings.divided import Shard

SHARDS, WORKERS, ROUNDS, SEED = 3, 3, 4, 7


def log_of(of: Questions, number: int, count: int) -> Path:
    return of.output / f"clean_mc_eval.shard-{number}-of-{count}.records.jsonl"


def answered(of: Questions, count: int) -> int:
    return sum(len(whole_lines(log_of(of, number, count))) for number in range(1, count + 1))


def whole_report(of: Questions, base_url: str) -> bytes:
    """The report of the undivided run, which this process makes."""
    output, of.output = of.output, of.root / "whole"
    asyncio.run(of.ask(base_url))
    report, of.output = of.report_path().read_bytes(), output
    return report


def test_shards_killed_at_random_moments_merge_into_the_undivided_run(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    chance = random.Random(SEED)
    of = Questions(tmp_path, 45)
    server = fault_server((delay(0.008), answer(reply)), keep_bodies=False)

    def arguments(number: int) -> list[str]:
        return of.arguments(server.base_url, "--max_workers", str(WORKERS), "--shard", f"{number}/{SHARDS}")

    for _ in range(ROUNDS):
        number = chance.randint(1, SHARDS)
        log = log_of(of, number, SHARDS)
        point = len(whole_lines(log)) + chance.randint(0, 4)
        with running(arguments(number)) as command:
            wait_until(lambda: len(whole_lines(log)) >= point or command.process.poll() is not None)  # noqa: B023
            command.process.kill()
            command.process.wait()
        server.wait_until(lambda: server.log.in_flight == 0)
    for number in range(1, SHARDS + 1):
        done = ran(arguments(number))
        assert (done.code, done.is_clean()) == (0, True), done.text
    assert len(server.chats) <= 45 + ROUNDS * WORKERS
    merged = ran(["merge", str(of.output)])
    assert (merged.code, merged.is_clean()) == (0, True), merged.text
    assert f"page: {of.report_path().with_suffix('.html')}" in merged.err
    assert of.report_path().read_bytes() == whole_report(of, server.base_url)
    assert Counter(whole_lines(of.log_path)) == Counter(of.ids)


def test_processes_make_the_undivided_run_and_one_display(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 20)
    server = fault_server((delay(0.01), answer(reply)), keep_bodies=False)
    done = ran(of.arguments(server.base_url, "--processes", "2", "--max_workers", "5", "--json"))
    assert (done.code, done.is_clean()) == (0, True), done.text
    assert json.loads(done.out)[0]["overall"]["total"] == 20
    assert "mc clean: 20/20" in done.err
    assert len(server.chats) == 20
    assert server.counts["in_flight_peak"] <= 5
    assert of.report_path().read_bytes() == whole_report(of, server.base_url)


def test_of_two_equal_commands_at_once_the_second_is_refused_before_it_does_anything(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of, other = Questions(tmp_path, 20), Questions(tmp_path / "other", 4, folders=("noisy",))
    other.output = of.output
    server = fault_server((hold(), answer(reply)), keep_bodies=False)
    arguments, in_two = of.arguments(server.base_url, "--max_workers", "4"), ("--processes", "2")
    with running([*arguments, *in_two]) as first:
        assert wait_until(lambda: list(of.output.glob(".vqa-client-*.lock")))
        refused = ran([*arguments, *in_two])
        with (
            running(other.arguments(server.base_url, *in_two)) as beside,
            running([*arguments, *in_two, "--blind"]) as in_other_forms,
        ):
            server.wait_until(lambda: server.log.in_flight == 4 + 4 + 4)
            server.release()
            ended = first.finished(), beside.finished(), in_other_forms.finished()
    assert [(done.code, done.is_clean()) for done in ended] == [(0, True)] * 3, ended
    assert (refused.code, refused.out, refused.err) == (
        2,
        "",
        f"error: another command is asking this run in {of.output}\n"
        "hint: wait for it to end, or give another --output\n",
    )
    assert len(server.chats) == 20 + 4 + 2 * 20
    assert not list(of.output.glob(".*"))


IN_TWO, HALVES = (("--processes", "2"),), (("--shard", "1/2"), ("--shard", "2/2"))


@pytest.mark.parametrize(("begun", "refused"), [(HALVES, IN_TWO[0]), (IN_TWO, HALVES[0])], ids=["shards", "processes"])
def test_processes_and_shards_of_one_run_refuse_each_other_before_they_do_anything(
    begun: tuple[tuple[str, ...], ...], refused: tuple[str, ...], tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 12)
    server = fault_server((hold(), answer(reply)), keep_bodies=False)
    arguments = of.arguments(server.base_url, "--max_workers", "4")
    with ExitStack() as stack:
        commands = [stack.enter_context(running([*arguments, *words])) for words in begun]
        server.wait_until(lambda: server.log.in_flight >= 4)
        done = ran([*arguments, *refused])
        server.release()
        assert [command.finished().code for command in commands] == [0] * len(begun)
    assert (done.code, f"another command is asking this run in {of.output}\n" in done.err) == (2, True), done.err
    assert (len(server.chats), list(of.output.glob(".*"))) == (12, [])


def test_a_killed_process_is_started_again(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 40)
    server = fault_server((delay(0.05), answer(reply)), keep_bodies=False)
    with running(of.arguments(server.base_url, "--processes", "2", "--max_workers", "4")) as command:
        assert wait_until(lambda: whole_lines(log_of(of, 1, 2)))
        for pid in children(command.process.pid)[:1]:
            _kill(pid)
        done = command.finished()
    assert (done.code, done.is_clean()) == (0, True), done.text
    assert "SIGKILL killed its process; it is started again" in done.err
    assert of.report_path().read_bytes() == whole_report(of, server.base_url)


def test_a_process_that_is_killed_again_is_named_and_the_rest_is_kept(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 6)

    def kills(received: Received) -> str:
        if question_id(received) == "q0":
            _kill_asker(of)
        return reply(received)

    server = fault_server(answer(kills), keep_bodies=False, tolerates_violations=True)
    done = ran(of.arguments(server.base_url, "--processes", "2", "--max_workers", "2"))
    assert done.code == 3
    assert "shard 1/2: killed by SIGKILL, 2 times" in done.err
    assert of.report()["incomplete"]
    assert "q0" not in {each["instance_id"] for each in of.report()["results"]}
    assert {"q3", "q4", "q5"} <= {each["instance_id"] for each in of.report()["results"]}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_interrupt_stops_all_processes_in_order(
    number: signal.Signals, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 60)
    server = fault_server((delay(0.05), answer(reply)), keep_bodies=False)
    arguments = of.arguments(server.base_url, "--processes", "2", "--max_workers", "2")
    with running(arguments) as command:
        assert wait_until(lambda: answered(of, 2) > 4)
        below = children(command.process.pid)
        command.signal(number)
        stopped = command.finished()
    assert (stopped.code, stopped.is_clean()) == (128 + number, True), stopped.text
    assert stopped.err.count("stopping; waiting") == 1
    assert not any(Path(f"/proc/{pid}").exists() for pid in below)
    kept = len(of.report()["results"])
    assert of.report()["incomplete"]
    assert kept == answered(of, 2)
    done = ran(arguments)
    assert (done.code, done.is_clean(), len(server.chats)) == (0, True, 60), done.text
    assert of.report_path().read_bytes() == whole_report(of, server.base_url)


def test_processes_end_with_the_one_that_started_them(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 400)
    server = fault_server((delay(0.1), answer(reply)), keep_bodies=False)
    with running(of.arguments(server.base_url, "--processes", "2", "--max_workers", "4")) as command:
        assert wait_until(lambda: answered(of, 2) > 2)
        below = children(command.process.pid)
        command.process.kill()
    assert len(below) == 2
    assert wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below))
    assert len(server.chats) < 400


def test_a_killed_workers_shard_is_taken_over(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 24)
    server = fault_server((delay(0.05), answer(reply)), keep_bodies=False)
    arguments = of.arguments(server.base_url, "--shard", "next/4", "--max_workers", "2")
    with running(arguments) as dies:
        assert wait_until(lambda: answered(of, 4) > 1)
        with running(arguments) as lives:
            assert wait_until(lambda: len([log for n in range(4) if (log := log_of(of, n + 1, 4)).exists()]) > 1)
            dies.process.kill()
            done = lives.finished()
    assert (done.code, done.is_clean()) == (0, True), done.text
    assert len(server.chats) <= 24 + 2
    assert of.report_path().read_bytes() == whole_report(of, server.base_url)


OF_DATA = {
    "vqa2": (("--num_questions", "0", "--data_dir"), VQA2_TIMES),
    "explain": (("--task", "vqax", "--n_samples", "all", "--data_root"), EXPLAIN_TIMES),
}


@pytest.mark.parametrize("name", OF_DATA)
def test_reports_with_times_are_the_undivided_runs_in_all_else(
    name: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    lay_out(tmp_path / "none", tmp_path)
    server = fault_server(answer("yes because it is"), keep_bodies=False)
    words, fields = OF_DATA[name]
    found = []
    for count in ("1", "2"):
        place = [str(tmp_path / "data" / name), "--no_check", "--no-html", "-o", str(tmp_path / count)]
        done = ran([name, *words, *place, "--base_url", server.base_url, "--processes", count])
        assert (done.code, done.is_clean()) == (0, True), done.text
        reports = [path for path in (tmp_path / count).rglob("*.*") if path.suffix in (".json", ".csv")]
        kept = {re.sub(r"_\d{8}_\d{6}", "", path.name): timeless(path, fields) for path in reports}
        found.append({file: content for file, content in kept.items() if not file.endswith(".run.json")})
    assert found[0] == found[1]
    merged = ran(["merge", str(tmp_path / "2")])
    assert (merged.code, merged.is_clean()) == (0, True), merged.text
    assert f"{name} ·" in merged.out.replace("vqax", "explain")


def test_processes_that_all_fail_before_the_first_question_fail_the_run(tmp_path: Path) -> None:
    of = Questions(tmp_path, 2)
    done = ran(of.arguments("http://127.0.0.1:9/v1", "--wait_for_server", "0", "--processes", "2"))
    assert (done.code, "127.0.0.1:9" in done.err, done.is_clean()) == (3, True, True), done.text
    assert not of.output.exists()


def test_an_error_of_all_processes_is_printed_once(tmp_path: Path) -> None:
    of = Questions(tmp_path, 4)
    of.data_json.unlink()
    done = ran(of.arguments("http://127.0.0.1:9/v1", "--processes", "2"))
    assert (done.code, done.err.count("error:"), done.is_clean()) == (2, 1, True), done.text
    assert not of.output.exists()


def test_an_error_of_a_process_has_all_its_lines(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 4)
    server = fault_server(answer(reply))
    assert ran(of.arguments(server.base_url, "--shard", "1/2")).code == 0
    done = ran(of.arguments(server.base_url, "--processes", "2", "--max_tokens", "7"))
    assert (done.code, done.is_clean(), "stopping" in done.err) == (2, True, False), done.text
    assert "different run:\n  model.max_tokens: 1024 in clean_mc_eval.shard-1-of-2.run.json, 7 now\nhint: " in done.err


def test_a_model_that_is_named_twice_is_refused_as_in_one_process(tmp_path: Path) -> None:
    twice = ["--model", "x", "--model", "x", "--base_url", "http://127.0.0.1:9/v1", "--processes", "2"]
    done = ran(["suite", "smoke", "-o", str(tmp_path / "out"), *twice])
    assert (done.code, "would both be written to " in done.err, done.is_clean()) == (2, True, True), done.text
    assert "hint: name each benchmark and model once, or ask one of them with another --output" in done.err


def test_shards_that_are_merged_too_early_are_named(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 4)
    server = fault_server(answer(reply))
    shard = ran(of.arguments(server.base_url, "--shard", "2/2"))
    assert shard.code == 0
    assert "2 of 2 questions asked, 0 failed" in shard.out
    done = ran(["merge", str(of.output)])
    assert (done.code, "shard 1 of 2 is missing" in done.err) == (2, True), done.text
    done = ran(["merge", "--partial", str(of.output)])
    assert (done.code, "2 questions not yet answered" in done.out) == (0, True), done.text


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["mc", "--processes", "2", "-d", "x"], ["mc", "-d", "x"]),
        (["mc", "--processes=auto", "--max-workers=3", "--json"], ["mc", "--json"]),
        (["mc", "--max_workers", "3", "--no-html"], ["mc", "--no-html"]),
    ],
)
def test_options_of_the_parent_are_not_passed_on(words: list[str], kept: list[str]) -> None:
    assert without_options(words, ("--processes", "--max-workers")) == kept


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def _kill_asker(of: Questions) -> None:
    """Kill the process that has the first shard's log open."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        words = path.read_bytes().split(b"\0")
        if b"1/2" in words and str(of.output).encode() in words:
            _kill(int(path.parent.name))


class Ends(LiveCounts):
    """Keeps the last line of each run."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def end(self) -> None:
        self.lines.append(f"{self.title}: {self.line()}")


def test_the_pace_of_a_run_counts_from_its_first_question_also_if_an_earlier_run_was_shown_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shards = [Shard(1, 2), Shard(2, 2)]
    ends, now_s = Ends(), [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now_s[0])
    display, blank = ShardsDisplay(ends, shards), LiveCounts().numbers() | {"total": 10}
    for at_s, shard, title, done in (
        *((0.0, 0, "first", 0), (0.0, 1, "first", 0), (1.0, 0, "first", 10), (1.0, 0, "second", 0)),
        *((2.0, 0, "second", 10), (10.0, 1, "first", 10), (10.0, 1, "second", 0), (11.0, 1, "second", 10)),
    ):
        now_s[0] = at_s
        display.take(shards[shard], blank | {"title": title, "done": done, "ended": done > 0})
    assert ends.lines == ["first: 20/20 · 2.0 q/s", "second: 20/20 · 2.0 q/s"]


def test_workers_are_divided_among_shards_and_each_has_one() -> None:
    assert [worker_share(11, Shard(number, 3)) for number in (1, 2, 3)] == [4, 4, 3]
    assert [worker_share(1, Shard(number, 2)) for number in (1, 2)] == [1, 1]
    assert worker_share("auto", Shard(1, 2)) == "auto"

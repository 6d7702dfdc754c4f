"""Kills runs at random moments: in several processes, with shards, through an object store, on Ray and by batches.

python -m tests.soak.divided --rounds 20                    # every kind
python -m tests.soak.divided --kinds store --rounds 5
python -m tests.soak.divided --kinds ray                    # needs the environment that .ci/servers makes
python -m tests.soak.divided --pace 2000 --rounds 3         # no kills: what Ray costs beside --processes
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

from tests.fakes import s3
from tests.fakes.batches import Batches
from tests.fakes.server import FaultServer
from tests.fakes.words import delay, oracle
from tests.faults.commands import ROOT, Variables, children, environment
from tests.faults.questions import Questions
from tests.faults.test_killed_runs import whole_lines
from tests.servers.real.environments import missing
from tests.servers.real.ray_cluster import Ray, running_cluster
from vqa_client.cli.main import run_command

QUESTIONS, WORKERS, TIMEOUT_S = 80, 4, 180.0
KINDS = {
    "processes": (1, ("--processes", "2")),
    "turns": (2, ("--shard", "next/4")),
    "store": (2, ("--shard", "next/4", "--share", f"s3://{s3.BUCKET}/run")),
    "paused": (2, ("--shard", "next/4", "--share", f"s3://{s3.BUCKET}/run")),
    "batch": (1, ("--batch", "--batch_lines", "20", "--poll", "0.05")),
    "ray": (1, ("--shards", "4")),
}
"""Each with its number of workers and its options; a paused worker loses its lease and continues later."""
DIVISIONS = {f"{count}-shards": count for count in (1, 2, 7, 64)}
"""Runs of --shard K/N that are killed in each round, whichever shard it asks, and merged once at the end."""
UNKEPT = {"store": 20, "paused": 20, "ray": 20}
"""Answers that only the killed process had, in addition to the questions in flight."""
DELAY_S = {"ray": 0.1}
STORED, PAUSE_S = ("store", "paused"), 6.0
COMMON = ("--no_check", "--no-html")
QUICK = (
    "import sys, runpy; from vqa_client.cli import turns; from vqa_client.runs import leases; "
    "leases.EXPIRED_S = turns.EXPIRED_S = 3.0; turns.RENEWED_S = 0.5; turns.KEPT_S = 0.2; "
    "turns.POLL_S = 0.3; sys.argv[0] = 'vqa-client'; runpy.run_module('vqa_client', run_name='__main__')"
)
"""The program with short leases."""


def main() -> int:
    """Print the results; returns 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", choices=[*KINDS, *DIVISIONS], default=[*KINDS, *DIVISIONS])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pace", type=int, metavar="QUESTIONS")
    given = parser.parse_args()
    if given.pace:
        _pace(given.pace, given.rounds)
        return 0
    failed = False
    for kind in given.kinds:
        if kind == "ray" and (reason := missing("ray")):
            print(f"ray: skipped, {reason}")
            continue
        chance, began_s, twice, wrong = random.Random(f"{kind} {given.seed}"), time.monotonic(), 0, list[str]()
        with running_cluster() if kind == "ray" else nullcontext() as ray:
            for number in range(given.rounds if kind in KINDS else 1):
                with tempfile.TemporaryDirectory(prefix="divided-", ignore_cleanup_errors=True) as name:
                    if kind in KINDS:
                        again, faults = _round(kind, Path(name), chance, ray)
                    else:
                        again, faults = _killed_shards(DIVISIONS[kind], given.rounds, Path(name), chance)
                twice += again
                wrong += [f"round {number}: {fault}" for fault in faults]
        taken_s = time.monotonic() - began_s
        print(f"{kind}: {given.rounds} rounds, {twice} questions asked twice, {taken_s:.0f} s", flush=True)
        for fault in wrong:
            print(f"WRONG: {kind}, {fault}", flush=True)
        failed |= bool(wrong)
    return failed


def _round(kind: str, folder: Path, chance: random.Random, ray: Ray | None) -> tuple[int, list[str]]:
    """One kill, and starts until all is done; returns how many questions were asked twice, and what was wrong."""
    of, batches = Questions(folder, QUESTIONS), Batches(looks=3)
    beginners, options = KINDS[kind]
    if ray is not None:
        options = ("--ray", ray.address, *options)
    outputs = [folder / (f"out{number}" if kind in STORED else "out") for number in range(beginners)]
    point = chance.randint(1, 24 if kind == "batch" else QUESTIONS - 1)
    with (
        FaultServer(batches.rule((delay(DELAY_S.get(kind, 0.03)), oracle(of.replies()))), keep_bodies=False) as server,
        _store(folder),
    ):

        def started(output: Path) -> "subprocess.Popen[bytes]":
            of.output = output
            limits = () if kind == "batch" else ("--max_workers", str(WORKERS))
            words = [*of.arguments(server.base_url, *COMMON, "--config", of.config()), *options, *limits]
            return _started(words, ray.env if ray else {})

        workers = [started(output) for output in outputs]
        _wait(lambda: server.counts["requests"] >= point or any(each.poll() is not None for each in workers))
        below = children(workers[0].pid) if ray is None else _actors(ray)
        victim = chance.choice([*below, workers[0].pid])
        if kind == "paused":
            _signal(victim, signal.SIGSTOP)
            time.sleep(PAUSE_S)
            _signal(victim, signal.SIGCONT)
        else:
            _signal(victim, signal.SIGKILL)
        before = server.counts["requests"]
        codes = [_ended(worker) for worker in workers]
        for _ in range(3):
            if codes[-1] == 0:
                break
            codes.append(_ended(started(outputs[-1])))
        asked = Counter(batches.asked if kind == "batch" else (chat.prompt for chat in server.chats))
        killed = f"{'a child' if victim != workers[0].pid else 'it'} was killed after {before} requests"
        if codes[-1]:
            return 0, [f"{killed}; the starts ended with {codes}"]
        wrong = _differences(of, asked, server)
    twice = asked.total() - len(asked)
    if twice > (0 if kind == "batch" else 2 * WORKERS + UNKEPT.get(kind, 0)):
        wrong.append(f"{killed}; {twice} questions were asked twice")
    return twice, wrong


def _pace(count: int, rounds: int) -> None:
    """Print the seconds of whole runs in two processes, on a cluster of their own and on one that runs, in turns."""
    with tempfile.TemporaryDirectory(prefix="divided-") as name, running_cluster() as ray:
        of, taken_s = Questions(Path(name), count), defaultdict[str, list[float]](list)
        ways = {"--processes 2": ("--processes", "2")}
        ways |= {f"--ray {each}": ("--ray", each, "--shards", "4") for each in ("local", ray.address)}
        with FaultServer((delay(0.1), oracle(of.replies())), keep_bodies=False) as server:
            for turn in range(rounds):
                for way, options in ways.items():
                    of.output, began_s = of.root / f"{way}{turn}", time.monotonic()
                    words = [*of.arguments(server.base_url, *COMMON, "--max_workers", "32"), *options]
                    if code := _ended(_started(words, ray.env)):
                        print(f"WRONG: {way} ended with {code}")
                    taken_s[way].append(time.monotonic() - began_s)
    for way, all_s in taken_s.items():
        print(f"{count} questions, {way}: {', '.join(f'{each:.1f}' for each in all_s)} s", flush=True)


def _killed_shards(count: int, kills: int, folder: Path, chance: random.Random) -> tuple[int, list[str]]:
    """Kill shards, then run all of them in any order and merge; returns the same as `_round`."""
    of = Questions(folder, QUESTIONS)
    with FaultServer((delay(0.03), oracle(of.replies())), keep_bodies=False) as server:

        def started() -> int:
            return server.counts["requests"]

        def asking(number: int) -> "subprocess.Popen[bytes]":
            options = ("--max_workers", str(WORKERS), "--shard", f"{number}/{count}")
            return _started([*of.arguments(server.base_url, *COMMON, "--config", of.config()), *options], {})

        for _ in range(kills):
            process, point = asking(chance.randint(1, count)), started() + chance.randint(1, 8)
            _wait(lambda: started() >= point or process.poll() is not None)  # noqa: B023
            _signal(process.pid, signal.SIGKILL)
            _ended(process)
        codes = [_ended(asking(number)) for number in chance.sample(range(1, count + 1), count)]
        if any(codes):
            return 0, [f"the shards ended with {codes}"]
        with _silence():
            run_command(["merge", str(of.output)])
        asked = Counter(chat.prompt for chat in server.chats)
        wrong = _differences(of, asked, server)
    twice = asked.total() - len(asked)
    if twice > kills * WORKERS:
        wrong.append(f"{twice} questions were asked twice")
    return twice, wrong


def _differences(of: Questions, asked: Counter[str], server: FaultServer) -> list[str]:
    wrong = [] if len(asked) == QUESTIONS else [f"{len(asked)} questions were asked"]
    if Counter(whole_lines(of.log_path)) != Counter(of.ids):
        wrong.append("the log has not each question once")
    report, of.output = of.report_path().read_bytes(), of.root / "whole"
    with _silence():
        run_command(of.arguments(server.base_url, *COMMON, "--config", of.config()))
    if of.report_path().read_bytes() != report:
        wrong.append("the report is not that of an undisturbed run")
    return wrong


@contextmanager
def _silence() -> Iterator[None]:
    with open(os.devnull, "w") as quiet, redirect_stdout(quiet), redirect_stderr(quiet):
        yield


@contextmanager
def _store(folder: Path) -> Iterator[None]:
    (folder / "bucket").mkdir()
    with s3.store_of(folder / "bucket") as store:
        os.environ |= {"AWS_ENDPOINT_URL": store.address, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}
        os.environ |= {"AWS_ACCESS_KEY_ID": s3.KEY, "AWS_SECRET_ACCESS_KEY": s3.SECRET}
        yield


def _started(arguments: Sequence[str], variables: Variables) -> "subprocess.Popen[bytes]":
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-c", QUICK, *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment(variables), stdin=quiet, stdout=quiet, stderr=quiet)


def _actors(ray: Ray) -> list[int]:
    """The workers that ask on the cluster."""
    found, place = [], str(ray.env["RAY_TMPDIR"]).encode()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (path / "cmdline").read_bytes().startswith(b"ray::Worker") and place in (path / "environ").read_bytes():
                found.append(int(path.name))
    return found


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _ended(process: "subprocess.Popen[bytes]") -> int:
    try:
        return process.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _wait(holds: Callable[[], bool]) -> None:
    until_s = time.monotonic() + TIMEOUT_S
    while not holds() and time.monotonic() < until_s:
        time.sleep(0.01)


if __name__ == "__main__":
    sys.exit(main())

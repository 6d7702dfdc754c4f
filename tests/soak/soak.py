"""The whole soak: an undisturbed run, a disturbed run, and the comparison of both."""

import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from math import inf
from pathlib import Path
from random import Random

from msgspec import Struct

from tests.fakes.received import Received
from tests.fakes.server import FaultServer
from tests.fakes.words import question_id
from tests.faults.commands import Running, wait_until
from tests.soak import benchmark
from tests.soak.clock import Clock
from tests.soak.disk import SmallDisk, small_disk
from tests.soak.kept import FINAL
from tests.soak.lives import ENDINGS, Life, Lives
from tests.soak.mixture import Mixture
from tests.soak.watched import Watch

STEADY_SHARE = 0.35
"""The share of the time for one long life, in which memory and descriptors are watched."""
LIFE_S = (0.3, 3.0)
DISK_BYTES_A_QUESTION = 20_000
RSS_GROWTH, RSS_SLACK_BYTES = 1.10, 6_000_000
DESCRIPTORS_BESIDE_WORKERS = 64
FINAL_LIVES, QUESTION_S = 20, 6
SECONDS_A_KILL = 5.0
"""About the time to start, work a while, and, every third time, end in another way."""


class Plan(Struct, frozen=True, kw_only=True):
    """Duration, size and seed; it takes longer if the kills need it."""

    minutes: float = 5.0
    kills: int = 0
    questions: int = 20_000
    workers: int = 128
    seed: int = 0


class Outcome(Struct, frozen=True, kw_only=True):
    """Counts and figures by name, and what was wrong; a soak has passed if nothing was wrong."""

    figures: dict[str, str]
    skipped: dict[str, str]
    wrong: list[str]


def soak(plan: Plan, root: Path, say: Callable[[str], None] = lambda _: None) -> Outcome:
    """Run it all in this folder."""
    data, pages = benchmark.write(root, plan.questions)
    mixture = Mixture(plan.seed, plan.workers)
    with (
        FaultServer(mixture, keep_bodies=False) as server,
        small_disk(root / "disk", 32_000_000 + plan.questions * DISK_BYTES_A_QUESTION) as disk,
    ):
        return _Soak(plan, root, data, pages, server, mixture, disk, say).done()


class _Soak:
    def __init__(
        self,
        plan: Plan,
        root: Path,
        data: Path,
        pages: Path,
        server: FaultServer,
        mixture: Mixture,
        disk: SmallDisk,
        say: Callable[[str], None],
    ) -> None:
        self._plan, self._root, self._server, self._mixture, self._disk = plan, root, server, mixture, disk
        self._say = say
        self._clock = Clock(root)
        self._chance = Random(plan.seed)
        self._arguments = [
            *("mc", "--data_json", str(data), "--images_dir", str(pages), "--base_url", server.base_url),
            *("--max_workers", str(plan.workers), "--timeout", str(QUESTION_S), "--no-html", "-o"),
        ]
        self._lives = self._to(disk.folder / "out")
        self._wrong: list[str] = []
        self._figures: dict[str, str] = {}

    def done(self) -> Outcome:
        whole = self._undisturbed()
        asked_before = len(self._server.chats)
        with self._timed("disturbed"):
            self._mixture.last(self._plan.minutes * 60, self._plan.questions)
            watch = self._steady()
            self._killed()
            self._brought_home()
        self._same_end(whole)
        self._asked_once(asked_before)
        self._flat(watch)
        self._tell()
        return Outcome(figures=self._figures, skipped=self._skipped(), wrong=self._wrong)

    def _to(self, output: Path) -> Lives:
        plan = self._plan
        return Lives(
            [*self._arguments, str(output)],
            output / "clean_mc_eval.records.jsonl",
            server=self._server,
            disk=self._disk,
            clock=self._clock,
            workers=plan.workers,
            seed=plan.seed,
        )

    def _undisturbed(self) -> Path:
        """The undisturbed run."""
        output = self._root / "whole"
        with self._timed("undisturbed"):
            life, watch = self._to(output).whole("undisturbed", lambda *_: None)
        self._wrong += life.wrong
        self._figures["undisturbed: most memory"] = f"{watch.most('rss_bytes') / 1e6:.0f} MB"
        return output

    def _steady(self) -> Watch:
        """One long life among the faults, with restarts of the server and jumps of the clock."""
        until_s = time.monotonic() + STEADY_SHARE * self._plan.minutes * 60

        def during(running: Running, _: Watch) -> None:
            while time.monotonic() < until_s and running.process.poll() is None:
                wait_until(lambda: running.process.poll() is not None, self._chance.uniform(1, 6))
                self._lives.jump()
                if self._chance.random() < 0.3:
                    self._lives.restart_server(self._chance.uniform(0, 2))
                self._mixture.left(self._plan.questions - len(self._lives.kept().done))
            running.process.kill()

        life, watch = self._lives.whole("kill", during)
        self._note(life)
        return watch

    def _killed(self) -> None:
        """Lives with all kinds of ends, until the time is up and there were enough kills."""
        until_s = time.monotonic() + (1 - STEADY_SHARE) * self._plan.minutes * 60
        names, shares = list(ENDINGS), [share for share, _ in ENDINGS.values()]
        while time.monotonic() < until_s or self._kills < self._plan.kills:
            left = self._plan.questions - len(self._lives.kept().done)
            kills_s = (self._plan.kills - self._kills) * SECONDS_A_KILL
            self._mixture.last(max(until_s - time.monotonic(), kills_s), left)
            ending = self._chance.choices(names, shares)[0]
            if ending == "full disk" and not self._disk.mounted:
                ending = "kill"
            self._lives.jump()
            self._note(self._lives.lived(ending, self._chance.uniform(*LIFE_S)))
            if not left:
                return

    @property
    def _kills(self) -> int:
        return sum(life.code == -signal.SIGKILL for life in self._lives.all)

    def _brought_home(self) -> None:
        """Without faults, the same command asks the rest."""
        self._mixture.plain = True
        for _ in range(FINAL_LIVES):
            life, _ = self._lives.whole("to the end", lambda *_: None)
            self._note(life)
            if life.code in (0, 1) and len(self._lives.kept().done) == self._plan.questions:
                return
        self._wrong.append("the run doesn't come to its end")

    def _same_end(self, whole: Path) -> None:
        kept = self._lives.kept()
        finals = Counter(sum(status in FINAL for status in statuses) for statuses in kept.statuses.values())
        if finals != {1: self._plan.questions} or len(kept.done) != self._plan.questions:
            self._wrong.append(f"final records of a question: {dict(finals)}, {len(kept.done)} done")
        name = "clean_mc_eval.json"
        if (whole / name).read_bytes() != (self._disk.folder / "out" / name).read_bytes():
            self._wrong.append("the report is not that of the undisturbed run")
        self._wrong += [f"the client broke a rule: {text}" for text in self._server.violations[:5]]
        self._figures["records"] = f"{kept.lines} for {self._plan.questions} questions"

    def _asked_once(self, asked_before: int) -> None:
        """A permanently refused question is asked again only if the refusal may not have arrived."""
        asked: dict[str, list[Received]] = defaultdict(list)
        for chat in self._server.chats[asked_before:]:
            if chat.status == 400 and chat.answered_s is not None:
                asked[question_id(chat)].append(chat)
        repeated = [
            f"{name} on connection {first.connection} at turn {first.turn} {self._next_cut_s(first):.2f} s before a cut"
            for name, chats in asked.items()
            for first, second in pairwise(chats)
            if not self._may_have_been_lost(first, second)
        ]
        if repeated:
            self._wrong.append(f"asked again although refused permanently: {repeated[:5]} of {len(repeated)}")
        self._figures["refused permanently"] = f"{len(asked)} questions, {sum(map(len, asked.values()))} requests"

    def _next_cut_s(self, chat: Received) -> float:
        answered_s = chat.answered_s or 0.0
        return min((begin_s - answered_s for begin_s, end_s in self._lives.cuts_s if end_s > answered_s), default=inf)

    def _may_have_been_lost(self, first: Received, second: Received) -> bool:
        """Whether a connection was cut between two requests, or the first reply came after bytes of an earlier one."""
        answered_s = first.answered_s or 0.0
        cut = any(begin_s <= second.started_s and answered_s <= end_s for begin_s, end_s in self._lives.cuts_s)
        return cut or first.connection in self._mixture.overflowed

    def _flat(self, watch: Watch) -> None:
        early, late = watch.grown("rss_bytes")
        most = watch.most("descriptors")
        self._figures["memory, second and last quarter"] = f"{early / 1e6:.1f} and {late / 1e6:.1f} MB"
        self._figures["descriptors, second and last quarter"] = "{:.0f} and {:.0f}".format(*watch.grown("descriptors"))
        self._figures["descriptors, most"] = str(most)
        if late > early * RSS_GROWTH + RSS_SLACK_BYTES:
            self._wrong.append(f"memory grows from {early / 1e6:.1f} to {late / 1e6:.1f} MB")
        if most > self._plan.workers + DESCRIPTORS_BESIDE_WORKERS:
            self._wrong.append(f"{most} open descriptors for {self._plan.workers} workers")

    def _tell(self) -> None:
        lives = self._lives.all
        endings = Counter(f"{life.ending} ({life.code})" for life in lives)
        self._figures["lives"] = f"{len(lives)}: " + ", ".join(f"{n} {name}" for name, n in endings.most_common())
        lost = [life.asked - life.recorded for life in lives]
        self._figures["most in flight and lost"] = str(max(lost, default=0))
        self._figures["requests"] = str(len(self._server.chats))
        faults = sorted(self._mixture.faults.items())
        self._figures["faults"] = f"{sum(n for _, n in faults)}: " + ", ".join(f"{n} {name}" for name, n in faults)
        self._figures["server restarts, clock jumps"] = f"{self._lives.restarts}, {self._lives.jumps}"

    def _skipped(self) -> dict[str, str]:
        disk = {} if self._disk.mounted else {"full disk": "this user may not mount a small file system"}
        return disk | ({"clock jumps": self._clock.reason} if self._clock.reason else {})

    def _note(self, life: Life) -> None:
        self._wrong += [f"life {len(self._lives.all)}, {life.ending}: {text}" for text in life.wrong]
        done = len(self._lives.kept().done)
        self._say(f"{life.ending} ({life.code}): {life.asked} asked, {life.recorded} recorded, {done} done")
        for text in life.wrong:
            self._say(f"  WRONG: {text}")

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        started_s = time.monotonic()
        yield
        self._figures[f"{name}: seconds"] = f"{time.monotonic() - started_s:.0f}"

"""Starts the client again and again, ends each life in another way, and checks what it did."""

import math
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from msgspec import Struct

from tests.fakes.server import FaultServer
from tests.fakes.words import question_id
from tests.faults.commands import Finished, Running, environment, wait_until
from tests.soak.clock import JUMPS_S, Clock
from tests.soak.disk import SmallDisk
from tests.soak.kept import Kept, kept_in
from tests.soak.watched import Watch

ENDINGS: dict[str, tuple[float, frozenset[int]]] = {
    "kill": (60, frozenset({-signal.SIGKILL})),
    "SIGTERM": (12, frozenset({128 + signal.SIGTERM, -signal.SIGTERM})),  # the latter once the report is written
    "SIGINT twice": (8, frozenset({128 + signal.SIGINT})),
    "full disk": (10, frozenset({2})),
    "server restart": (10, frozenset({-signal.SIGKILL})),
}
"""How lives end, with shares in per cent and the right exit codes."""
BY_ITSELF = frozenset({0, 1, 3})
"""Exit codes of a life that ended early: all is done, or the server no longer answered."""
END_TIMEOUT_S, ENDS_S = 60.0, 1.0
FILLS_S = 20.0


class Life(Struct, frozen=True, kw_only=True):
    """One start: how it ended, how many questions it asked and recorded, and what was wrong with it."""

    ending: str
    code: int
    asked: int
    recorded: int
    wrong: tuple[str, ...]


class Lives:
    """Starts the same command again and again."""

    def __init__(
        self,
        arguments: list[str],
        log: Path,
        *,
        server: FaultServer,
        disk: SmallDisk,
        clock: Clock,
        workers: int,
        seed: int,
    ) -> None:
        self.all: list[Life] = []
        self.cuts_s: list[tuple[float, float]] = []
        """Begin and end of every time in which a reply may have been lost."""
        self.jumps = self.restarts = 0
        self._arguments, self._log = arguments, log
        self._ending_s = math.inf
        self._server, self._disk, self._clock, self._workers = server, disk, clock, workers
        self._chance = Random(seed)

    def kept(self) -> Kept:
        """Read what is on the disk now."""
        return kept_in(self._log)

    def lived(self, ending: str, after_s: float) -> Life:
        """Start a life, let it work for some seconds after its first record, and end it."""
        return self._live(ending, lambda running: self._end(running, ending, after_s))[0]

    def whole(self, ending: str, during: Callable[[Running, Watch], None]) -> tuple[Life, Watch]:
        """Start a life, do something while it runs, and wait for its end.

        It is watched from its first round of requests on: a busy machine may need a quarter of a short life to start.
        """
        watches: list[Watch] = []
        asked_before = len(self._server.chats)

        def is_at_work(running: Running) -> bool:
            return len(self._server.chats) >= asked_before + self._workers or running.process.poll() is not None

        def work(running: Running) -> None:
            wait_until(lambda: is_at_work(running), END_TIMEOUT_S)
            with Watch(running.process.pid) as watch:
                watches.append(watch)
                during(running, watch)
                running.process.wait()

        life, _ = self._live(ending, work)
        return life, watches[0]

    def restart_server(self, down_s: float) -> None:
        """Cut all connections and refuse new ones for a while."""
        before_s = time.monotonic()
        self._server.restart(down_s)
        self.cuts_s.append((before_s, time.monotonic()))
        self.restarts += 1

    def jump(self) -> None:
        """Make the time of day jump."""
        if self._clock.variables:
            self._clock.jump(self._chance.choice(JUMPS_S))
            self.jumps += 1

    def _live(self, ending: str, work: Callable[[Running], None]) -> tuple[Life, Finished]:
        before, asked_before = self.kept(), len(self._server.chats)
        self._ending_s = math.inf
        running = Running(self._arguments, environment(self._clock.variables))
        try:
            work(running)
            self._ending_s = min(self._ending_s, time.monotonic() - ENDS_S)
            done = running.finished(END_TIMEOUT_S)
        finally:
            running.end()
            self._disk.free()
        self._server.wait_until(lambda: self._server.log.in_flight == 0, 30)
        self.cuts_s.append((self._ending_s, time.monotonic()))  # replies sent until now are lost
        asked = {question_id(chat) for chat in self._server.chats[asked_before:]} - {""}  # the check asks no question
        life = self._judged(ending, done, before, asked)
        self.all.append(life)
        return life, done

    def _judged(self, ending: str, done: Finished, before: Kept, asked: set[str]) -> Life:
        after = self.kept()
        recorded = {
            name
            for name, statuses in after.statuses.items()
            if len(statuses) > len(was := before.statuses.get(name, [])) or statuses[-1:] != was[-1:]
        }
        lost = before.done - after.done
        again = asked & before.done
        unrecorded = asked - recorded
        right = ENDINGS.get(ending, (0, frozenset()))[1] | BY_ITSELF
        wrong = [
            *([f"exit code {done.code}: {done.err[-2000:]}"] if done.code not in right else []),
            *([f"not clean: {done.text[-3000:]}"] if not done.is_clean() else []),
            *([f"records lost: {sorted(lost)[:5]} of {len(lost)}"] if lost else []),
            *([f"asked again: {sorted(again)[:5]} of {len(again)}"] if again else []),
            *([f"{len(unrecorded)} asked and not recorded"] if len(unrecorded) > self._workers else []),
        ]
        return Life(ending=ending, code=done.code, asked=len(asked), recorded=len(recorded), wrong=tuple(wrong))

    def _end(self, running: Running, ending: str, after_s: float) -> None:
        asked_before = len(self._server.chats)
        over = running.process.poll
        wait_until(lambda: len(self._server.chats) > asked_before or over() is not None, END_TIMEOUT_S)
        wait_until(lambda: over() is not None, after_s)
        self._ending_s = time.monotonic()
        match ending:
            case "kill":
                running.process.kill()
            case "SIGTERM":
                running.signal(signal.SIGTERM)
            case "SIGINT twice":
                running.signal(signal.SIGINT)
                wait_until(lambda: over() is not None, self._chance.uniform(0, 1))
                running.signal(signal.SIGINT)
            case "full disk":
                self._disk.fill()
                wait_until(lambda: over() is not None, FILLS_S)
            case "server restart":
                self.restart_server(self._chance.uniform(0, 1.5))
                wait_until(lambda: over() is not None, 2.0)
                running.process.kill()

"""The numbers of a run in progress, and displays on standard error: a live line on a terminal, else plain lines."""

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

import msgspec

from vqa_client.cli.streams import folded, safe, say
from vqa_client.progress import Progress
from vqa_client.reports.names import duration
from vqa_client.types import Record, Status

RATE_WINDOW_S = 10.0
_SUMS = ("total", "done", "in_flight", "tokens", "score_sum")


class LiveCounts(Progress):
    """The numbers that displays show; rates are over the last ten seconds."""

    def __init__(self) -> None:
        self._reset("", 0)

    def _reset(self, title: str, total: int) -> None:
        self.title = title
        self.total = total
        self.done = 0
        self.in_flight = 0
        self.tokens = 0
        self.paused_s = 0.0
        self.served = ""
        self.measure = ""
        self._measure = "accuracy"
        self.score_sum = 0.0
        self.faults: Counter[str] = Counter()
        self._marks: list[tuple[float, int, int]] = [(time.monotonic(), 0, 0)]
        self._earlier = 0

    def begin(self, title: str, total: int) -> None:
        self._reset(title, total)

    def measuring(self, measure: str) -> None:
        self._measure = measure

    def earlier(self, status: Status, score: float) -> None:
        self._count(status, score)
        self._earlier = self.done

    def asking(self) -> None:
        if not self.in_flight and self.done == self._earlier:  # the first question: saved answers were only read
            self._marks = [(time.monotonic(), self.done, self.tokens)]
        self.in_flight += 1

    def finished(self, record: Record) -> None:
        self.in_flight -= 1
        self.tokens += record.completion_tokens or 0
        self._count(record.status, record.score if record.is_scored else nan)
        self.tick()

    def pulse(self, paused_s: float) -> None:
        self.paused_s = paused_s
        self.tick()

    def tick(self) -> None:
        """Show the numbers, which may have changed."""

    def end(self) -> None:
        self.paused_s = 0.0

    def serving(self, text: str) -> None:
        self.served = f"server: {text}"

    def numbers(self) -> dict[str, Any]:
        """The numbers as `sum_of` takes them."""
        return {name: getattr(self, name) for name in ("title", "measure", *_SUMS, "paused_s")} | {
            "faults": self.faults,
            "earlier": self._earlier,
            "ended": False,
        }

    def sum_of(self, parts: Sequence[Mapping[str, Any]], since_s: float) -> None:
        """Show the numbers of several processes as one run's, which asks since then (`time.monotonic`)."""
        was_asking = self.in_flight or self.done > self._earlier
        for name in _SUMS:
            setattr(self, name, sum(part[name] for part in parts))
        self._earlier = sum(part["earlier"] for part in parts)
        self.measure = next((part["measure"] for part in parts if part["measure"]), "")
        self.faults = sum((Counter(part["faults"]) for part in parts), Counter())
        if not was_asking:
            self._marks = [(since_s, self._earlier, 0)]
        self.pulse(min(part["paused_s"] for part in parts))

    def _count(self, status: Status, score: float) -> None:
        self.done += 1
        if score == score:  # not NaN: questions without a known answer have no accuracy
            self.measure = self._measure
            self.score_sum += score
        if status != "ok":
            self.faults[status] += 1

    def line(self) -> str:
        """Done and total, faults, questions per second, the time left, accuracy so far, tokens, in flight."""
        rate, tokens_rate = self._rates()
        parts = [f"{self.done:,}/{self.total:,}"]
        parts += [f"{number:,} {status}" for status, number in self.faults.most_common()]
        asks = self.in_flight or self.done > self._earlier
        if self.paused_s:
            parts.append(f"paused, {duration(self.paused_s)} left")
        elif asks:
            parts.append(f"{rate:.1f} q/s" if rate < 100 else f"{rate:.0f} q/s")
            if rate and self.total - self.done > rate:
                parts.append(f"{duration((self.total - self.done) / rate)} left")
        if self.measure:
            parts.append(f"{self.measure} {100 * self.score_sum / self.done:.1f} %")
        if tokens_rate:
            parts.append(f"{tokens_rate:.0f} tokens/s")
        if self.in_flight:
            parts.append(f"{self.in_flight} in flight")
        return " · ".join(parts)

    def _rates(self) -> tuple[float, float]:
        now_s = time.monotonic()
        if now_s - self._marks[-1][0] >= 1:
            self._marks.append((now_s, self.done, self.tokens))
        while len(self._marks) > 2 and now_s - self._marks[1][0] > RATE_WINDOW_S:
            self._marks.pop(0)
        since_s, done, tokens = self._marks[0]
        elapsed_s = max(now_s - since_s, 1e-3)
        return (self.done - done) / elapsed_s, (self.tokens - tokens) / elapsed_s


LEAST_S = 5.0
MOST_S = 30.0
WIDE = 110
"""Least columns for a bar; on a narrower terminal the numbers need the room."""
STEPS = 20
"""A plain line per twentieth of the run, at least LEAST_S and at most MOST_S apart."""


PROGRESS_FD = "VQA_CLIENT_PROGRESS_FD"
"""The variable with the descriptor of a pipe to the parent process, which has the display."""
REPORTED_S = 0.5


def display() -> LiveCounts:
    """A progress display for `run(progress=...)`: one live line on a terminal, else a plain line now and then."""
    if (descriptor := os.environ.get(PROGRESS_FD, "")).isdecimal():
        return PipedDisplay(int(descriptor))
    return LiveDisplay() if on_terminal() else PlainDisplay()


def on_terminal() -> bool:
    """Whether standard error is a terminal that can redraw a line."""
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def bar(title: str, done: int, total: int, line: str) -> Any:
    """A row for rich: the title, a bar and a line of numbers."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    row = Table.grid(padding=(0, 1))
    filled = ProgressBar(total=max(total, 1), completed=done, width=20)
    row.add_row(Text(safe(title), style="bold"), filled, Text(line))
    return row


class PlainDisplay(LiveCounts):
    """Lines without control codes, for log files and pipes."""

    def __init__(self) -> None:
        super().__init__()
        self._printed_s = 0.0
        self._step = 0

    def note(self, text: str) -> None:
        say(text)

    def begin(self, title: str, total: int) -> None:
        super().begin(title, total)
        self._printed_s = time.monotonic()
        self._step = 0

    def tick(self) -> None:
        if self.done >= self.total:  # `end` prints it
            return
        since_s, step = time.monotonic() - self._printed_s, self.done * STEPS // self.total
        if since_s >= MOST_S or (since_s >= LEAST_S and step > self._step):
            say(f"{self.title}: {' · '.join(filter(None, (self.line(), self.served)))}")
            self._printed_s, self._step = time.monotonic(), step

    def end(self) -> None:
        super().end()
        if self.total:
            say(f"{self.title}: {self.line()}")


class LiveDisplay(LiveCounts):
    """A bar with the line of numbers, redrawn four times a second."""

    def __init__(self) -> None:
        from rich.console import Console

        super().__init__()
        self._console = Console(stderr=True)
        self._live: Any = None

    def note(self, text: str) -> None:
        from rich.text import Text

        line = folded(safe(text), self._console.width)
        self._console.print(Text(line, style="dim"), soft_wrap=True)

    def begin(self, title: str, total: int) -> None:
        from rich.live import Live

        super().begin(title, total)
        self._live = Live(console=self._console, get_renderable=self._draw, refresh_per_second=4, redirect_stdout=False)
        self._live.start()

    def end(self) -> None:
        super().end()
        if self._live is not None:
            self.served = ""  # the last line on the screen is of the whole run
            self._live.stop()
            self._live = None

    def _draw(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        cut: Any = "crop" if self._console.options.ascii_only else "ellipsis"
        served = [Text(self.served, style="dim", no_wrap=True, overflow=cut)] if self.served else []
        if self._console.width >= WIDE:
            return Group(bar(self.title, self.done, self.total, self.line()), *served)
        title = Text(safe(self.title), style="bold")
        return Group(Text.assemble(title, " ", self.line(), no_wrap=True, overflow=cut), *served)


class ForwardedDisplay(LiveCounts):
    """Sends notes and numbers to a display in another process by `send`."""

    def __init__(self) -> None:
        super().__init__()
        self._sent_s = 0.0

    def send(self, message: dict[str, Any]) -> None:
        """Send one message: a note, or the numbers of the run."""
        raise NotImplementedError

    def note(self, text: str) -> None:
        self.send({"note": text})

    def begin(self, title: str, total: int) -> None:
        super().begin(title, total)
        self._send_numbers()

    def end(self) -> None:
        super().end()
        self._send_numbers(ended=True)

    def tick(self) -> None:
        if time.monotonic() - self._sent_s >= REPORTED_S:
            self._send_numbers()

    def _send_numbers(self, *, ended: bool = False) -> None:
        self._sent_s = time.monotonic()
        self.send(self.numbers() | {"ended": ended})


class PipedDisplay(ForwardedDisplay):
    """Sends JSON lines to the parent process; if that has ended, this process stops too."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def send(self, message: dict[str, Any]) -> None:
        try:
            os.write(self._descriptor, msgspec.json.encode(message) + b"\n")
        except OSError:
            signal.raise_signal(signal.SIGTERM)

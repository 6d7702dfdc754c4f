"""The two displays: one live line on a terminal, few plain lines elsewhere; both on standard error."""

import os
import signal
import sys
import time
from typing import Any

import msgspec

from vqa_client.cli.live_counts import LiveCounts
from vqa_client.cli.streams import say
from vqa_client.cli.text import folded, safe
from vqa_client.types import Record

LEAST_S = 5.0
MOST_S = 30.0
WIDE = 110
"""Columns from which there is a bar; on a narrower terminal the numbers need the room."""
STEPS = 20
"""A plain line at each twentieth of the run, but not more often than LEAST_S nor more rarely than MOST_S."""


PROGRESS_FD = "VQA_CLIENT_PROGRESS_FD"
"""The variable with the number of a pipe to the parent process, which has the display."""
REPORTED_S = 0.5


def display() -> LiveCounts:
    """A progress display: one live line on a terminal, else a plain line now and then; for `run(progress=...)`."""
    if (descriptor := os.environ.get(PROGRESS_FD, "")).isdecimal():
        return PipedDisplay(int(descriptor))
    on_terminal = sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
    return LiveDisplay() if on_terminal else PlainDisplay()


class PlainDisplay(LiveCounts):
    """Lines without control codes, for log files and pipes."""

    def __init__(self) -> None:
        super().__init__()
        self._said_s = 0.0
        self._step = 0

    def note(self, text: str) -> None:
        say(text)

    def begin(self, title: str, total: int) -> None:
        super().begin(title, total)
        self._said_s = time.monotonic()
        self._step = 0

    def finished(self, record: Record) -> None:
        super().finished(record)
        self._say_now_and_then()

    def pulse(self, paused_s: float) -> None:
        super().pulse(paused_s)
        self._say_now_and_then()

    def _say_now_and_then(self) -> None:
        since_s = time.monotonic() - self._said_s
        step = self.done * STEPS // max(self.total, 1)
        if self.done == self.total:  # the end says it
            return
        if since_s >= MOST_S or (since_s >= LEAST_S and step > self._step):
            say(f"{self.title}: {' · '.join(filter(None, (self.line(), self.served)))}")
            self._said_s, self._step = time.monotonic(), step

    def end(self) -> None:
        super().end()
        if self.total:
            say(f"{self.title}: {self.line()}")


class LiveDisplay(LiveCounts):
    """A bar and the line beside it, redrawn four times a second from the counters alone."""

    def __init__(self) -> None:
        from rich.console import Console

        super().__init__()
        self._console = Console(stderr=True, highlight=False)
        self._live: Any = None

    def note(self, text: str) -> None:
        line = folded(safe(text), self._console.width)
        self._console.print(line, markup=False, style="dim", soft_wrap=True)

    def begin(self, title: str, total: int) -> None:
        from rich.live import Live

        super().begin(title, total)
        self._live = Live(
            console=self._console, get_renderable=self._drawn, refresh_per_second=4, redirect_stdout=False
        )
        self._live.start()

    def end(self) -> None:
        super().end()
        if self._live is not None:
            self.served = ""  # what is left on the screen is of the whole run
            self._live.stop()
            self._live = None

    def _drawn(self) -> Any:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        title, line = Text(safe(self.title), style="bold"), Text(self.line())
        cut: Any = "crop" if self._console.options.ascii_only else "ellipsis"
        served = [Text(self.served, style="dim", no_wrap=True, overflow=cut)] if self.served else []
        if self._console.width < WIDE:
            return Group(Text.assemble(title, " ", line, no_wrap=True, overflow=cut), *served)
        row = Table.grid(padding=(0, 1))
        row.add_row(title, ProgressBar(total=max(self.total, 1), completed=self.done, width=20), line)
        return Group(row, *served)


class ForwardedDisplay(LiveCounts):
    """Notes and numbers for a display elsewhere: `tell` takes them there."""

    def __init__(self) -> None:
        super().__init__()
        self._told_s = 0.0

    def tell(self, said: dict[str, Any]) -> None:
        """Take one message: a note, or the numbers of the run."""
        raise NotImplementedError

    def note(self, text: str) -> None:
        self.tell({"note": text})

    def begin(self, title: str, total: int) -> None:
        super().begin(title, total)
        self._tell_numbers()

    def finished(self, record: Record) -> None:
        super().finished(record)
        self._tell_now_and_then()

    def pulse(self, paused_s: float) -> None:
        super().pulse(paused_s)
        self._tell_now_and_then()

    def end(self) -> None:
        super().end()
        self._tell_numbers(ended=True)

    def _tell_now_and_then(self) -> None:
        if time.monotonic() - self._told_s >= REPORTED_S:
            self._tell_numbers()

    def _tell_numbers(self, *, ended: bool = False) -> None:
        self._told_s = time.monotonic()
        self.tell(self.numbers() | {"ended": ended})


class PipedDisplay(ForwardedDisplay):
    """JSON lines for the process that started this one; where that has gone, this one stops too."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        os.set_inheritable(descriptor, False)
        self._descriptor = descriptor

    def tell(self, said: dict[str, Any]) -> None:
        try:
            os.write(self._descriptor, msgspec.json.encode(said) + b"\n")
        except OSError:
            signal.raise_signal(signal.SIGTERM)

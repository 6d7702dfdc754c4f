"""Work on many files: its display on standard error, and how a signal ends it."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Protocol

from vqa_client.cli.streams import say
from vqa_client.cli.text import duration, safe

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LEAST_S = 5.0
"""Seconds between two plain lines."""


class Advance(Protocol):
    """Hears that `n` more files are done."""

    def __call__(self, n: int = 1) -> None:
        """Count them."""


class _Signalled(KeyboardInterrupt):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


def resumable(work: Callable[[], int]) -> int:
    """The exit code of a command's work, which the same command line can go on with after a signal.

    The first signal is raised in `work` as KeyboardInterrupt, so that it can clean up; the second ends the process.
    The code is 130 after Ctrl-C and 143 after SIGTERM.
    """
    before = {number: signal.signal(number, _raise_once) for number in SIGNALS}
    try:
        return work()
    except _Signalled as signalled:
        from vqa_client.cli.evaluate import resume_command  # imports the whole of a run, which file work doesn't need

        say(f"stopped; to go on: {resume_command(sys.argv)}")
        return signalled.code
    finally:
        for number, action in before.items():
            signal.signal(number, action)


def _raise_once(number: int, frame: FrameType | None) -> None:
    for other in SIGNALS:
        signal.signal(other, signal.SIG_DFL)
    raise _Signalled(number)


@contextlib.contextmanager
def files_progress(title: str, total: int, *, noun: str = "files") -> Iterator[Advance]:
    """Show done and total, files a second and the time left: a bar on a terminal, few plain lines elsewhere."""
    on_terminal = sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
    with (_bar if on_terminal else _plain_lines)(title, total, noun) as advance:
        yield advance


class _Count:
    """What is done, of how much, since when."""

    def __init__(self, title: str, total: int, noun: str) -> None:
        self.title, self.total, self.noun = title, total, noun
        self.done = 0
        self._since_s = time.monotonic()

    def line(self) -> str:
        """Done and total, the rate, the time left."""
        rate = self.done / max(time.monotonic() - self._since_s, 1e-3)
        parts = [f"{self.done:,}/{self.total:,} {self.noun}", f"{rate:.1f} {self.noun}/s"]
        if rate and self.done < self.total:
            parts.append(f"{duration((self.total - self.done) / rate)} left")
        return " · ".join(parts)


@contextlib.contextmanager
def _plain_lines(title: str, total: int, noun: str) -> Iterator[Advance]:
    count = _Count(title, total, noun)
    said_s = time.monotonic()

    def advance(n: int = 1) -> None:
        nonlocal said_s
        count.done += n
        if time.monotonic() - said_s >= LEAST_S:
            said_s = time.monotonic()
            say(f"{title}: {count.line()}")

    yield advance
    say(f"{title}: {count.line()}")


@contextlib.contextmanager
def _bar(title: str, total: int, noun: str) -> Iterator[Advance]:
    from rich.console import Console
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    count = _Count(title, total, noun)

    def drawn() -> Any:
        row = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=max(total, 1), completed=count.done, width=20)
        row.add_row(Text(safe(title), style="bold"), bar, Text(count.line()))
        return row

    def advance(n: int = 1) -> None:
        count.done += n

    console = Console(stderr=True, highlight=False)
    with Live(console=console, get_renderable=drawn, refresh_per_second=4, redirect_stdout=False):
        yield advance

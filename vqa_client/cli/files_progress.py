"""Work on many files: its display on standard error, and how a signal ends it."""

import contextlib
import functools
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from vqa_client.cli.progress import bar, on_terminal
from vqa_client.cli.signals import say_how_to_resume
from vqa_client.cli.streams import SIGNALS, count, duration, say

if TYPE_CHECKING:
    from vqa_client.pages.render import Step

LEAST_S = 5.0
"""Seconds between two plain lines."""
Settings = TypeVar("Settings")


class Advance(Protocol):
    """Counts `n` more files as done."""

    def __call__(self, n: int = 1) -> None: ...


class _Signalled(KeyboardInterrupt):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


def resumable(command: Callable[[Settings], int]) -> Callable[[Settings], int]:
    """Mark a command that the same command line resumes after a signal; it gives the exit code.

    The first signal is raised in the command as KeyboardInterrupt, so that it can clean up; the second ends the
    process. The code is 130 after Ctrl-C and 143 after SIGTERM.
    """

    @functools.wraps(command)
    def stoppable(settings: Settings) -> int:
        before = {number: signal.signal(number, _raise_once) for number in SIGNALS}
        try:
            return command(settings)
        except _Signalled as signalled:
            say_how_to_resume()
            return signalled.code
        finally:
            for number, action in before.items():
                signal.signal(number, action)

    return stoppable


def _raise_once(number: int, frame: FrameType | None) -> None:
    for other in SIGNALS:
        signal.signal(other, signal.SIG_DFL)
    raise _Signalled(number)


@contextlib.contextmanager
def files_progress(title: str, total: int, *, noun: str = "files") -> Iterator[Advance]:
    """Show done and total, files a second and the time left: a bar on a terminal, few plain lines elsewhere."""
    so_far = _Count(title, total, noun)
    with _show_count(so_far) as tick:

        def advance(n: int = 1) -> None:
            so_far.done += n
            tick()

        yield advance


@contextlib.contextmanager
def pages_progress(title: str, *, documents: int, characters: int) -> Iterator[Callable[["Step"], None]]:
    """Show how far the pages of documents are; by characters, since one document may be all of the work."""
    so_far = _PageCount(title, characters, documents)
    with _show_count(so_far) as tick:

        def advance(step: "Step") -> None:
            so_far.take(step)
            tick()

        yield advance


class _Count:
    """What is done, of how much, since when."""

    def __init__(self, title: str, total: int, noun: str) -> None:
        self.title, self.total, self.noun = title, total, noun
        self.done = 0
        self._since_s = time.monotonic()

    def line(self) -> str:
        """Done and total, the rate, the time left."""
        elapsed_s = self.elapsed_s
        rate = f"{self.done / elapsed_s:.1f} {self.noun}/s"
        parts = f"{self.done:,}/{self.total:,} {self.noun}", rate, self.left(self.done / elapsed_s)
        return " · ".join(filter(None, parts))

    @property
    def elapsed_s(self) -> float:
        """Since the start; never 0."""
        return max(time.monotonic() - self._since_s, 1e-3)

    def left(self, rate: float) -> str:
        """The time that the rest takes, "" where it is unknown or nothing is left."""
        return f"{duration((self.total - self.done) / rate)} left" if rate and self.done < self.total else ""


class _PageCount(_Count):
    """Characters of documents; what an earlier run has drawn says nothing about the pace."""

    def __init__(self, title: str, characters: int, documents: int) -> None:
        super().__init__(title, characters, "documents")
        self._documents, self._finished, self._pages, self._made, self._there = documents, 0, 0, 0, 0

    def take(self, step: "Step") -> None:
        self.done += step.characters
        self._finished += step.documents
        self._pages += step.pages
        self._made += step.made
        self._there += 0 if step.made else step.characters

    def line(self) -> str:
        """Documents, pages, their rate, the time left."""
        elapsed_s = self.elapsed_s
        parts = (
            f"{self._finished:,}/{self._documents:,} documents",
            count(self._pages, "page"),
            f"{self._made / elapsed_s:.1f} pages/s" if self._made else "",
            self.left((self.done - self._there) / elapsed_s),
        )
        return " · ".join(filter(None, parts))


def _show_count(so_far: _Count) -> contextlib.AbstractContextManager[Callable[[], None]]:
    """Show a count; what this gives is to be called whenever it has changed."""
    return _bar(so_far) if on_terminal() else _plain_lines(so_far)


@contextlib.contextmanager
def _plain_lines(so_far: _Count) -> Iterator[Callable[[], None]]:
    said_s = time.monotonic()

    def tick() -> None:
        nonlocal said_s
        if time.monotonic() - said_s >= LEAST_S:
            said_s = time.monotonic()
            say(f"{so_far.title}: {so_far.line()}")

    yield tick
    say(f"{so_far.title}: {so_far.line()}")


@contextlib.contextmanager
def _bar(so_far: _Count) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.live import Live

    def drawn() -> Any:
        return bar(so_far.title, so_far.done, so_far.total, so_far.line())

    console = Console(stderr=True, highlight=False)
    with Live(console=console, get_renderable=drawn, refresh_per_second=4, redirect_stdout=False):
        yield lambda: None

"""Commands that make many files: their progress on standard error, and how a signal stops them."""

import functools
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from vqa_client.cli.progress import bar, on_terminal
from vqa_client.cli.signals import say_how_to_resume
from vqa_client.cli.streams import SIGNALS, say
from vqa_client.reports.names import count, duration

if TYPE_CHECKING:
    from vqa_client.pages.render import PageStep

LEAST_S = 5.0
"""Least seconds between two plain lines."""
Settings = TypeVar("Settings")


class _Signalled(KeyboardInterrupt):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


def resumable(command: Callable[[Settings], int]) -> Callable[[Settings], int]:
    """Decorate a command that the same command line resumes after a signal.

    The first signal raises KeyboardInterrupt in the command, so that it can clean up; the second ends the process. The
    exit code is 130 after Ctrl-C and 143 after SIGTERM.
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


def files_progress(title: str, total: int, *, noun: str = "files") -> AbstractContextManager[Callable[..., None]]:
    """Show done and total, files per second and the time left: a bar on a terminal, else a plain line now and then.

    Gives a function that counts one more file as done, or as many as its argument says.
    """
    return _show(_FilesCount(title, total, noun))


def pages_progress(
    title: str, *, documents: int, characters: int
) -> AbstractContextManager[Callable[["PageStep"], None]]:
    """Show the progress of drawing documents, by characters: one document may be most of the work."""
    return _show(_PageCount(title, characters, documents))


class _FilesCount:
    """How much is done, of how much, since when."""

    def __init__(self, title: str, total: int, noun: str) -> None:
        self.title, self.total, self.noun = title, total, noun
        self.done = 0
        self._since_s = time.monotonic()

    def add(self, step: Any = 1) -> None:
        """Count `step` more files."""
        self.done += step

    def line(self) -> str:
        """Done and total, the rate, the time left."""
        rate = self.done / self.elapsed_s
        parts = f"{self.done:,}/{self.total:,} {self.noun}", f"{rate:.1f} {self.noun}/s", self.time_left(rate)
        return " · ".join(filter(None, parts))

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start; never 0."""
        return max(time.monotonic() - self._since_s, 1e-3)

    def time_left(self, rate: float) -> str:
        """The time for the rest, "" if it is unknown or nothing is left."""
        return f"{duration((self.total - self.done) / rate)} left" if rate and self.done < self.total else ""


class _PageCount(_FilesCount):
    """Counts characters of documents; the pace leaves out documents that an earlier run has drawn."""

    def __init__(self, title: str, characters: int, documents: int) -> None:
        super().__init__(title, characters, "documents")
        self._documents, self._finished, self._pages, self._made, self._skipped = documents, 0, 0, 0, 0

    def add(self, step: Any = None) -> None:
        """Count a PageStep."""
        self.done += step.characters
        self._finished += step.documents
        self._pages += step.pages
        self._made += step.made
        self._skipped += 0 if step.made else step.characters

    def line(self) -> str:
        """Documents, pages, their rate, the time left."""
        elapsed_s = self.elapsed_s
        parts = (
            f"{self._finished:,}/{self._documents:,} {self.noun}",
            count(self._pages, "page"),
            f"{self._made / elapsed_s:.1f} pages/s" if self._made else "",
            self.time_left((self.done - self._skipped) / elapsed_s),
        )
        return " · ".join(filter(None, parts))


@contextmanager
def _show(files: _FilesCount) -> Iterator[Callable[..., None]]:
    """Show a count; gives a function that adds to it."""
    if on_terminal():
        from rich.console import Console
        from rich.live import Live

        def draw_bar() -> Any:
            return bar(files.title, files.done, files.total, files.line())

        with Live(console=Console(stderr=True), get_renderable=draw_bar, refresh_per_second=4, redirect_stdout=False):
            yield files.add
        return
    printed_s = time.monotonic()

    def advance(step: Any = 1) -> None:
        nonlocal printed_s
        files.add(step)
        if time.monotonic() - printed_s >= LEAST_S:
            printed_s = time.monotonic()
            say(f"{files.title}: {files.line()}")

    yield advance
    say(f"{files.title}: {files.line()}")

"""Signals that stop a run, and the command that resumes it."""

import asyncio
import gc
import selectors
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from vqa_client.cli.streams import SIGNALS, Stopped, say
from vqa_client.client.url import without_secrets
from vqa_client.evaluation import Interrupted
from vqa_client.progress import Progress
from vqa_client.runner import GRACE_S
from vqa_client.settings.batch import without_keys

MOST_EVENTS = 32
"""Ready sockets that one turn of the loop handles: 16 make the longest stall a third shorter, for 6 % more CPU."""
STOPPING = f"stopping; waiting {GRACE_S:g} s for running requests (Ctrl-C again: stop now)"
Result = TypeVar("Result")


def say_how_to_resume() -> None:
    """Print the command that resumes the stopped work."""
    say(f"stopped. Resume with: {resume_command(sys.argv)}")


class FewEvents(selectors.DefaultSelector):
    """Gives the loop MOST_EVENTS ready sockets at a time: a turn that handles 128 replies delays all timers."""

    _left: Sequence[tuple[selectors.SelectorKey, int]] = ()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """The next ready sockets; those closed or registered again since they were seen are left out."""
        ready = self._left or super().select(timeout)
        events, self._left = ready[:MOST_EVENTS], ready[MOST_EVENTS:]
        keys = self.get_map()
        return [(key, mask) for key, mask in events if keys.get(key.fd) is key]


def until_signalled(work: Callable[[asyncio.Event], Awaitable[Result]], progress: Progress) -> Result:
    """Run `work` in its own event loop, with an event that is set when it should stop. Raises Stopped."""
    gc.freeze()  # imported objects stay: the collector need not look at them
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(FewEvents())) as runner:
        return runner.run(_until_signalled(work, progress))


async def _until_signalled(work: Callable[[asyncio.Event], Awaitable[Result]], progress: Progress) -> Result:
    stop = asyncio.Event()
    working = asyncio.ensure_future(work(stop))

    def stop_in_order() -> None:
        progress.note(STOPPING)
        stop.set()

    def stop_at_once() -> None:
        if len(caught) == 2:
            working.cancel()
        else:  # another cancellation would lose the report of what is answered
            progress.note("still writing what is answered")

    with signals_caught(stop_in_order, stop_at_once) as caught:
        try:
            return await working
        except (Interrupted, asyncio.CancelledError) as error:
            if not caught and not isinstance(error, Interrupted):
                raise
            by = caught[0] if caught else int(signal.SIGINT)  # or a limit such as --max_minutes stopped the run
            raise Stopped(by, error.reports if isinstance(error, Interrupted) else ()) from None


@contextmanager
def signals_caught(first: Callable[[], object], again: Callable[[], object]) -> Iterator[list[int]]:
    """Call `first` at the first signal of SIGNALS and `again` at each later one; gives the list of signals caught.

    After the block, a process that caught a signal ignores further ones, since it is about to end.
    """
    caught: list[int] = []

    def on_signal(number: int) -> None:
        caught.append(number)
        (first if len(caught) == 1 else again)()

    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, on_signal, number)
    try:
        yield caught
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
            if caught:  # another Ctrl-C would cut off the last messages
                signal.signal(number, signal.SIG_IGN)


ADDRESSES = ("--base-url", "--endpoint")


def resume_command(argv: Sequence[str]) -> str:
    """The command that resumes this one: without keys, passwords and --fresh."""
    words: list[str] = []
    previous = ""
    for word in argv[1:]:
        option = word.replace("_", "-")
        if previous == "--header":
            word = f"{word.partition('=')[0]}=..."  # it may be a key
        elif option.startswith("--header="):
            word = f"--header={word.split('=')[1]}=..."
        elif previous == "--batch-command" or option.startswith("--batch-command="):
            word = without_keys(word)
        if previous != "--api-key" and option not in ("--api-key", "--fresh") and not option.startswith("--api-key="):
            words.append(_without_keys(word, is_address=previous in ADDRESSES))
        previous = option
    return shlex.join(["vqa-client", *words])


def _without_keys(word: str, *, is_address: bool) -> str:
    """A word without the keys in its address, which may lack the scheme."""
    option, equals, value = word.partition("=")
    if equals and option.replace("_", "-") in ADDRESSES:
        return f"{option}={_without_keys(value, is_address=True)}"
    if is_address and "://" not in word:
        return without_secrets(f"http://{word}").removeprefix("http://")
    return without_secrets(word)

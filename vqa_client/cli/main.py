"""The command line: flags in, one call, text out."""

import gc
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

from vqa_client.cli.streams import EXIT_OK, EXIT_SERVER, EXIT_USAGE, SIGNALS, Stopped, emit_lines, prepare_streams, say
from vqa_client.errors import ServerUnusable, UsageError, VqaClientError, forbidden
from vqa_client.version import __version__

MAY_BE_EMPTY = ("--system", "--api_key", "--api-key")
GC_ALLOCATIONS = 20_000
"""Allocations between two garbage collections; Python's 700 cost 4 % of a run's CPU, which leaves hardly any cycles."""
_UNSET = "is a variable of the shell not set?"


def main() -> None:
    """Run the command and exit with its code: 0 done, 1 failed questions, 2 usage or data, 3 server, 130 Ctrl-C."""
    gc.set_threshold(GC_ALLOCATIONS)
    code = run_command(sys.argv[1:])
    for number in SIGNALS:  # nothing is left to stop, and a signal during Python's end would be a traceback
        signal.signal(number, signal.SIG_IGN)
    gc.freeze()  # nothing is left to collect: Python need not look at every object at its end
    sys.exit(code)


def run_command(arguments: list[str]) -> int:
    """Run a command line and return its exit code; an expected error is printed as one line with its hint."""
    prepare_streams()
    return _run_guarded(_AT_ONCE.get(tuple(arguments)) or (lambda: _run_app(arguments)))


def list_benchmarks() -> None:
    """Print every installed benchmark's name and title."""
    from vqa_client.tasks.listing import declared

    width = max(map(len, declared()))
    emit_lines(*(f"{name:<{width}}  {of.title}" for name, of in declared().items()))


_AT_ONCE: dict[tuple[str, ...], Callable[[], None]] = {
    ("list",): list_benchmarks,
    ("--version",): lambda: emit_lines(__version__),
}
"""Command lines without options: cyclopts, which takes longest to import, is not needed for them."""


def _run_app(arguments: list[str]) -> int:
    from cyclopts import CycloptsError

    from vqa_client.cli.app import CALL, app, print_help, usage_error

    _refuse_empty(arguments)
    if print_help(arguments):
        return EXIT_OK
    try:
        return int(app(arguments, **CALL) or EXIT_OK)
    except CycloptsError as error:
        raise usage_error(error) from None


def _refuse_empty(arguments: list[str]) -> None:
    """Refuse empty arguments: an unset shell variable would mean the current folder, or a default."""
    for before, word in zip(["", *arguments], arguments, strict=False):
        option, equals, value = word.partition("=")
        if word == "" and before not in MAY_BE_EMPTY:
            raise UsageError(f"{before if before.startswith('-') else 'an argument'} is empty", hint=_UNSET)
        if word.startswith("--") and equals and not value and option not in MAY_BE_EMPTY:
            raise UsageError(f"{option} is empty", hint=_UNSET)


def _run_guarded(command: Callable[[], int | None]) -> int:
    try:
        return command() or EXIT_OK
    except Stopped as stopped:
        from vqa_client.cli.signals import say_how_to_resume

        say_how_to_resume()
        return stopped.code
    except ServerUnusable as error:
        return _print_error(error, EXIT_SERVER)
    except VqaClientError as error:
        return _print_error(error, EXIT_USAGE)
    except PermissionError as error:
        if error.filename is None:
            raise
        return _print_error(forbidden(error), EXIT_USAGE)
    except Exception as error:
        from vqa_client.tasks.registry import fault_of_author

        if (fault := fault_of_author(error)) is None:
            raise
        return _print_error(fault, EXIT_USAGE)
    except KeyboardInterrupt:
        with suppress(KeyboardInterrupt):
            say("stopped")
        return 130


def _print_error(error: VqaClientError, code: int) -> int:
    for line in f"error: {error}".split("\n"):
        say(line)
    if error.hint:
        say(f"hint: {error.hint}")
    return code

"""A server as a child process: start it, wait until it is ready, and stop it with its own child processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from msgspec import Struct

from vqa_client.errors import ServerUnusable
from vqa_client.servers import guard

LOOK_S = 0.05
LOG_TAIL_BYTES = 64 * 1024
LOG_LINES_TOLD = 12
LEFTOVER_GRACE_S = 0.5

Ready = Callable[[str], Awaitable[str | None]]
"""Takes the server's output so far (its last LOG_TAIL_BYTES); gives its base_url, or None if it isn't ready yet."""


def option_words(options: Mapping[str, object]) -> list[str]:
    """Options and their values as words of a command; those of None are left out."""
    return [str(word) for option in options.items() if option[1] is not None for word in option]


def python_path(folder: Path) -> dict[str, str]:
    """The environment in which Python also finds modules in `folder`."""
    return {"PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])}


class Server(Struct, frozen=True, kw_only=True):
    """A running server; `pid` is its process and its process group.

    `ended` gives None while the server runs, then how it ended, with its last lines.
    """

    base_url: str
    pid: int
    ended: Callable[[], str | None]


class Launch(Struct, frozen=True, kw_only=True):
    """How to start a server: its command, the environment that it needs, and the test that it is ready.

    `grace_s` is the time between SIGTERM and SIGKILL, `notes` are for the user before the start, `name` is for
    messages.
    """

    name: str
    command: Sequence[str]
    ready: Ready
    env: Mapping[str, str] = {}
    grace_s: float = 20.0
    notes: tuple[str, ...] = ()

    @asynccontextmanager
    async def running(self, start_timeout_s: float) -> AsyncIterator[Server]:
        """Run the server during the block.

        The server has its own process group, so that Ctrl-C doesn't reach it. It is stopped when the block ends or is
        cancelled; if this process is killed, a guard process stops it. Raises ServerUnusable, with the server's last
        lines, if it can't be started, ends early or isn't ready in time.
        """
        async with _child(self.command, env=self.env, name=self.name, grace_s=self.grace_s) as (process, log):
            base_url = await _until_ready(process, self.ready, log=log, name=self.name, start_timeout_s=start_timeout_s)
            yield Server(base_url=base_url, pid=process.pid, ended=lambda: _ending(process, log))


async def finished(command: Sequence[str], *, name: str, grace_s: float = 5.0) -> None:
    """Run a command to its end, guarded as a server is; if it fails, raises ServerUnusable with its last lines."""
    async with _child(command, env={}, name=name, grace_s=grace_s) as (process, log):
        while process.poll() is None:
            await anyio.sleep(LOOK_S)
        if process.returncode:
            raise ServerUnusable(f"{name} {_outcome(process.returncode)}{_lines(log)}", hint="the same command resumes")


@asynccontextmanager
async def _child(
    command: Sequence[str], *, env: Mapping[str, str], name: str, grace_s: float
) -> AsyncIterator[tuple[subprocess.Popen[bytes], Path]]:
    """A child process and the file of its output; it is stopped when the block ends or is cancelled."""
    with TemporaryDirectory(prefix="vqa-client-") as folder:
        log = Path(folder, "server.log")
        with _guard(grace_s) as watch:
            process = _start(command, env=env, log=log, name=name)
            try:
                watch(process.pid)
                yield process, log
            finally:
                with anyio.CancelScope(shield=True):
                    await _stop(process, grace_s)


def _start(command: Sequence[str], *, env: Mapping[str, str], log: Path, name: str) -> subprocess.Popen[bytes]:
    try:
        with log.open("wb") as output:
            return subprocess.Popen(
                command,
                env={**os.environ, **env},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except (OSError, ValueError) as error:  # ValueError: an argument with a NUL, which no command line can contain
        message = f"{name} can't be started: {command[0]}: {getattr(error, 'strerror', None) or error}"
        raise ServerUnusable(message, hint="install it, or check the path") from None


@contextmanager
def _guard(grace_s: float) -> Iterator[Callable[[int], None]]:
    """A guard process, started before the server; it yields the function that sends it the server's process group."""
    command = [sys.executable, "-I", "-S", guard.__file__, str(grace_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdin is not None
        pipe = process.stdin

        def watch(group: int) -> None:
            pipe.write(b"%d\n" % group)
            pipe.flush()

        try:
            yield watch
        finally:
            with suppress(BrokenPipeError):  # the guard was killed
                pipe.write(b".")
                pipe.close()


async def _until_ready(
    process: subprocess.Popen[bytes], ready: Ready, *, log: Path, name: str, start_timeout_s: float
) -> str:
    deadline = time.monotonic() + start_timeout_s
    while True:
        if (status := process.poll()) is not None:
            raise ServerUnusable(f"{name} {_outcome(status)} before it was ready{_lines(log)}", hint=_BY_HAND)
        if base_url := await ready(_tail(log)):
            return base_url
        if time.monotonic() > deadline:
            raise ServerUnusable(f"{name} was not ready after {start_timeout_s:g} s{_lines(log)}", hint=_BY_HAND)
        await anyio.sleep(LOOK_S)


_BY_HAND = "start the server by hand to see all that it prints, and give its address with --base_url"


def _ending(process: subprocess.Popen[bytes], log: Path) -> str | None:
    status = process.poll()
    return None if status is None else _outcome(status) + _lines(log)


def _outcome(status: int) -> str:
    return f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with exit status {status}"


def _tail(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LOG_TAIL_BYTES))
        return file.read().decode("utf-8", "replace")


def _lines(log: Path) -> str:
    lines = _tail(log).splitlines()[-LOG_LINES_TOLD:]
    return "".join(f"\n  | {line}" for line in lines) or " and printed nothing"


async def _stop(process: subprocess.Popen[bytes], grace_s: float) -> None:
    """Stop the server, then the processes of its group that are still running."""
    guard.signal_group(process.pid, signal.SIGTERM)
    if not await _happens_within(grace_s, lambda: process.poll() is not None):
        guard.signal_group(process.pid, signal.SIGKILL)
    process.wait()
    await _happens_within(LEFTOVER_GRACE_S, lambda: not guard.signal_group(process.pid, 0))
    guard.signal_group(process.pid, signal.SIGKILL)


async def _happens_within(limit_s: float, happened: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + limit_s
    while not happened():
        if time.monotonic() > deadline:
            return False
        await anyio.sleep(LOOK_S)
    return True

"""A worker of `--ray`: an actor that asks one shard after the other and sends its records to the driver."""

import asyncio
import dataclasses
import os
import platform
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event
from typing import Any

from msgspec import Struct

from vqa_client.cli.progress import ForwardedDisplay
from vqa_client.cli.streams import EXIT_OK, EXIT_SERVER, EXIT_USAGE
from vqa_client.cpus import CPU_COUNT
from vqa_client.errors import ServerUnusable, VqaClientError
from vqa_client.evaluation import Interrupted, arun_several
from vqa_client.files import private_folder
from vqa_client.runs.shards import PREFIX, Growing, with_output, write_file
from vqa_client.settings.run import RunSettings
from vqa_client.version import __version__

SHIPPED_S = 0.25
STOPPED = -1


class Sent(Struct, frozen=True, kw_only=True):
    """One message of a worker: new bytes of run files and logs by name, and the messages of its display.

    A name begins with the number of the settings; the rest is the file's path below their --output. Only the last
    message has a `code`, the exit code of the shard, with the error's `message` and `hint`.
    """

    files: dict[str, bytes] = {}
    lines: dict[str, bytes] = {}
    display: list[dict[str, Any]] = []
    code: int | None = None
    message: str = ""
    hint: str = ""


class Worker:
    """Asks shards in private folders; `run` and `stop` are called from different threads."""

    def __init__(self, cpus: int) -> None:
        os.environ[CPU_COUNT] = str(cpus)  # as many as Ray reserves for it
        self._stop = Event()

    def about(self) -> dict[str, str]:
        """The worker's node and versions."""
        return {"node": platform.node(), "vqa_client": __version__, "python": platform.python_version()}

    def stop(self) -> None:
        """Stop once running requests have ended."""
        self._stop.set()

    def run(
        self,
        settings: Sequence[RunSettings],
        files: Mapping[str, bytes],
        kept: Mapping[str, bytes],
        others: Mapping[str, bytes],
    ) -> Iterator[Sent]:
        """Ask a shard; `kept` are its files so far, `others` those of the run's other divisions.

        `files` are configs and benchmarks, by their names in the settings.
        """
        with private_folder(PREFIX) as folder:
            output = folder / "output"
            for name, content in others.items():
                write_file(output / name, content)
            local = [_local_settings(run, files, folder, output / str(number)) for number, run in enumerate(settings)]
            display, part = _Display(), settings[0].part
            assert part is not None
            with Growing(output, part, kept) as growing, ThreadPoolExecutor(1) as thread:
                ended = thread.submit(asyncio.run, self._ask(local, display))
                while not ended.done():
                    wait([ended], SHIPPED_S)
                    while sent := _collect(growing, display):
                        yield sent
                while sent := _collect(growing, display):
                    yield sent
            yield ended.result()

    async def _ask(self, settings: Sequence[RunSettings], display: "_Display") -> Sent:
        stop = asyncio.Event()
        watching = asyncio.create_task(self._watch_stop(stop))
        try:
            await arun_several(settings, progress=display, stop=stop)
        except Interrupted:
            return Sent(code=STOPPED)
        except VqaClientError as error:
            code = EXIT_SERVER if isinstance(error, ServerUnusable) else EXIT_USAGE
            return Sent(code=code, message=str(error), hint=error.hint)
        finally:
            watching.cancel()
        return Sent(code=EXIT_OK)

    async def _watch_stop(self, stop: asyncio.Event) -> None:
        while not self._stop.is_set():
            await asyncio.sleep(SHIPPED_S / 2)
        stop.set()


def _local_settings(settings: RunSettings, files: Mapping[str, bytes], folder: Path, output: Path) -> RunSettings:
    """The settings with paths to the files that were sent with them."""
    moved: dict[str, str] = {}
    for number, (name, content) in enumerate(files.items()):
        write_file(path := folder / str(number) / Path(name).name, content)
        moved[name] = str(path)
    changes: dict[str, Any] = {}
    for name in ("config", "model", "benchmark"):
        value = getattr(settings, name, None)
        if isinstance(value, tuple):
            changes[name] = tuple(moved.get(word, word) for word in value)
        elif value in moved:
            changes[name] = moved[value]
    return dataclasses.replace(with_output(settings, output), **changes)


def _collect(files: Growing, display: "_Display") -> Sent | None:
    """What is new, at most one piece of each log; None if nothing is."""
    run_files, lines, messages = files.run_files(), files.lines(), display.take_all()
    return Sent(files=run_files, lines=lines, display=messages) if run_files or lines or messages else None


class _Display(ForwardedDisplay):
    """Keeps its messages for the driver."""

    def __init__(self) -> None:
        super().__init__()
        self._messages: deque[dict[str, Any]] = deque()

    def send(self, message: dict[str, Any]) -> None:
        self._messages.append({**message, "faults": Counter(message.get("faults"))})

    def take_all(self) -> list[dict[str, Any]]:
        """The messages since the last call."""
        return [self._messages.popleft() for _ in range(len(self._messages))]

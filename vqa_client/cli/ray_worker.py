"""A worker of `--ray`: an actor that asks one shard after the other, and sends what it logs to the driver."""

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


class Asked(Struct, frozen=True, kw_only=True):
    """What a worker is to do. `files` are configs and benchmarks by the names that the settings have for them."""

    settings: Sequence[RunSettings]
    files: Mapping[str, bytes]


class Sent(Struct, frozen=True, kw_only=True):
    """One message of a worker: new bytes of run files and logs by their names, and what its display received.

    A name begins with the number of the settings that the file is of; the rest is as below their --output. `code` is
    there in the last message: how the shard ended, with the error's `message` and `hint`.
    """

    files: dict[str, bytes] = {}
    lines: dict[str, bytes] = {}
    said: list[dict[str, Any]] = []
    code: int | None = None
    message: str = ""
    hint: str = ""


class Worker:
    """Asks shards in folders of its own; `run` and `stop` are called from several threads."""

    def __init__(self, cpus: int) -> None:
        os.environ[CPU_COUNT] = str(cpus)  # as many as Ray counts for it
        self._stop = Event()

    def about(self) -> dict[str, str]:
        """Where it is, and which versions it has."""
        return {"node": platform.node(), "vqa_client": __version__, "python": platform.python_version()}

    def stop(self) -> None:
        """Stop in order: running requests are waited for."""
        self._stop.set()

    def run(self, asked: Asked, kept: Mapping[str, bytes], others: Mapping[str, bytes]) -> Iterator[Sent]:
        """Ask a shard from where `kept`, its files so far, ends; `others` are those of the run's other divisions."""
        with private_folder(PREFIX) as folder:
            output = folder / "output"
            for name, content in others.items():
                write_file(output / name, content)
            settings = [
                _settings_here(each, asked.files, folder, output / str(number))
                for number, each in enumerate(asked.settings)
            ]
            display, part = _Display(), settings[0].part
            assert part is not None
            with Growing(output, part, kept) as files, ThreadPoolExecutor(1) as thread:
                ended = thread.submit(asyncio.run, self._ask(settings, display))
                while not ended.done():
                    wait([ended], SHIPPED_S)
                    while sent := _collect(files, display):
                        yield sent
                while sent := _collect(files, display):
                    yield sent
            yield ended.result()

    async def _ask(self, settings: Sequence[RunSettings], display: "_Display") -> Sent:
        stop = asyncio.Event()
        watching = asyncio.create_task(self._watch(stop))
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

    async def _watch(self, stop: asyncio.Event) -> None:
        while not self._stop.is_set():
            await asyncio.sleep(SHIPPED_S / 2)
        stop.set()


def _settings_here(settings: RunSettings, files: Mapping[str, bytes], folder: Path, output: Path) -> RunSettings:
    """The settings with the worker's own paths to what came with them."""
    moved: dict[str, str] = {}
    for number, (name, content) in enumerate(files.items()):
        write_file(path := folder / str(number) / Path(name).name, content)
        moved[name] = str(path)
    changes: dict[str, Any] = {}
    for name in ("config", "model", "benchmark"):
        value = getattr(settings, name, None)
        if isinstance(value, tuple):
            changes[name] = tuple(moved.get(each, each) for each in value)
        elif value in moved:
            changes[name] = moved[value]
    return dataclasses.replace(with_output(settings, output), **changes)


def _collect(files: Growing, display: "_Display") -> Sent | None:
    """What is new, up to a piece of each log; None where nothing is."""
    run_files, lines, messages = files.run_files(), files.lines(), display.taken()
    return Sent(files=run_files, lines=lines, said=messages) if run_files or lines or messages else None


class _Display(ForwardedDisplay):
    """Keeps its output for the next message."""

    def __init__(self) -> None:
        super().__init__()
        self._said: deque[dict[str, Any]] = deque()

    def tell(self, message: dict[str, Any]) -> None:
        self._said.append({**message, "faults": Counter(message.get("faults"))})

    def taken(self) -> list[dict[str, Any]]:
        """The output since the last call."""
        return [self._said.popleft() for _ in range(len(self._said))]

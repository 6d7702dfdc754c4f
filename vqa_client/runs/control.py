"""`vqa-client ctl`: a run in progress listens on a socket, and a file beside its log says where the socket is.

Only the user who started the run can reach the socket. It is in a private folder: a socket's path may have 107
characters, and the run's folder may be on a disk without sockets.
"""

import asyncio
import fcntl
import os
import platform
import socket
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from vqa_client.client.session import affordable_workers
from vqa_client.errors import UNDECODABLE, UsageError
from vqa_client.files import private_folder, removed_unlocked
from vqa_client.records import RecordLog
from vqa_client.reports.log_reader import LOG_ENDING, files_below
from vqa_client.reports.names import count
from vqa_client.runs.figures import SessionFigures
from vqa_client.runs.plan import Plan
from vqa_client.runs.stage import Stage

ENDING, PREFIX, SOCKET = ".ctl", "vqa-client-ctl-", "socket"
LONGEST_PATH = 100
"""The limit is 107 bytes on Linux, 103 on macOS."""
LOCK = ".vqa-client-*.lock"
"""The files that commands lock which ask a run in shards."""
REPLY_S, BETWEEN_S = 10.0, 5.0
WINDOW = 10
"""The pace is measured over this many seconds."""
LINE_BYTES = 10_000


class Order(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes to a run; without any change it only asks for the run's state."""

    max_workers: int | Literal["auto"] | None = None
    paused: bool | None = None
    stop: bool = False


class Standing(Struct, frozen=True, kw_only=True):
    """The state of a run; `refused` is the reason why it did not follow an order."""

    title: str
    total: int
    done: int
    failed: int
    in_flight: int
    workers: int
    paused: bool
    stopping: bool
    pace: float
    refused: str = ""


class _Place(Struct, frozen=True, kw_only=True):
    """The socket of a run, and its process."""

    socket: str
    host: str
    pid: int


class Control:
    """Takes orders for the plan that is being asked; the file with the socket's path is named after the log."""

    def __init__(self, plan: Plan, stage: Stage, log: RecordLog, figures: SessionFigures) -> None:
        self._record = (stage.ctl.folder or log.path.parent) / (log.path.name.removesuffix(LOG_ENDING) + ENDING)
        self._plan, self._log, self._figures = plan, log, figures
        self._crew, self._stop, self._note = stage.crew, stage.stop, stage.progress.note
        self._ctl, self._by_batches = stage.ctl, stage.settings.by_batches
        self._connected: set[asyncio.StreamWriter] = set()
        self._marks: deque[tuple[float, int]] = deque(maxlen=WINDOW + 1)

    async def watch(self) -> None:
        """Take orders until cancelled; if the socket can't be opened, the run continues without it."""
        forget(self._record)  # left by a killed run, since this one has the log's lock
        try:
            with private_folder(PREFIX, _root()) as folder:
                await self._listen(folder / SOCKET)
        except OSError as error:
            self._note(f"vqa-client ctl can't reach this run: {error}")
        finally:
            self._record.unlink(missing_ok=True)

    async def _listen(self, path: Path) -> None:
        server = await asyncio.start_unix_server(self._serve, path, limit=LINE_BYTES, start_serving=False)
        try:
            path.chmod(0o600)
            await server.start_serving()  # the run may end here
            place = _Place(socket=str(path), host=platform.node(), pid=os.getpid())
            with open(os.open(self._record, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
                file.write(msgspec.json.encode(place))
            while True:
                self._marks.append((time.monotonic(), len(self._log)))
                await asyncio.sleep(1)
        finally:
            server.close()
            for writer in self._connected:  # without a reply
                writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connected.add(writer)
        with suppress(OSError, ValueError):  # the client has gone, or has not sent an order
            async with asyncio.timeout(REPLY_S):
                line = await reader.readline()
            refused = self._follow(msgspec.json.decode(line, type=Order))
            writer.write(msgspec.json.encode(self._standing(refused)) + b"\n")
            await writer.drain()
        self._connected.discard(writer)
        writer.close()

    def _follow(self, order: Order) -> str:
        """Carry out an order; returns the reason if that is not possible."""
        if self._by_batches and (order.max_workers is not None or order.paused is not None):
            return "it asks by batches, which have no workers to change or to pause"
        adaptive = self._figures.adaptive
        if order.max_workers == "auto":
            assert adaptive, "only batches have none"
            adaptive.start()
            self._ctl.max_workers = "auto"
            self._note("ctl: --max_workers auto")
        elif order.max_workers is not None:
            assert adaptive, "only batches have none"
            adaptive.active = False
            self._crew.change(size=affordable_workers(max(1, order.max_workers), self._note))
            self._ctl.max_workers = self._crew.size
            self._note(f"ctl: {count(self._crew.size, 'worker')}")
        if order.paused is not None and order.paused != self._crew.on_break:
            self._crew.change(on_break=order.paused)
            self._note("ctl: paused; questions in flight end" if order.paused else "ctl: resumed")
        if order.stop and not self._stop.is_set():
            self._note("ctl: stopping; waiting a moment for running requests")
            self._stop.set()
        return ""

    def _standing(self, refused: str) -> Standing:
        since_s, done_before = self._marks[0]
        done = len(self._log)
        return Standing(
            title=self._plan.title,
            total=self._plan.loaded.count,
            done=done,
            failed=done - self._log.answered(),
            in_flight=self._crew.in_flight,
            workers=self._crew.size,
            paused=self._crew.on_break,
            stopping=self._stop.is_set(),
            pace=(done - done_before) / max(time.monotonic() - since_s, 1e-3),
            refused=refused,
        )


def _root() -> str:
    """The folder for private folders, whose path leaves enough characters for a socket's path."""
    root = tempfile.gettempdir()
    return root if len(os.fsencode(root)) + len(f"/{PREFIX}12345678/{SOCKET}") <= LONGEST_PATH else "/tmp"


def forget(record: Path) -> None:
    """Remove the file that a killed run left, and the folder of its socket."""
    with suppress(OSError, *UNDECODABLE):
        folder = Path(msgspec.json.decode(record.read_bytes(), type=_Place).socket).parent
        if folder.name.startswith(PREFIX) and _is_ours(folder):
            removed_unlocked(folder)
    with suppress(OSError):
        record.unlink()


def _is_ours(path: Path) -> bool:
    return path.stat().st_uid == os.getuid()


def order_all(run: Path, order: Order) -> list[Standing]:
    """Give an order to a run in progress, or to all of its shards, among which workers are divided.

    Raises UsageError if none is in progress; a run that is between two shards gets some seconds.
    """
    until_s = time.monotonic() + BETWEEN_S
    while not (standings := _give_orders(run, order)):
        if not _has_command(run):
            message = f"no run is asking questions in {run} now" if run.exists() else f"{run} does not exist"
            raise UsageError(message, hint="RUN is a folder of runs, or a log, run file or report")
        if time.monotonic() > until_s:
            message = f"{run}: its command begins, is between two shards, or merges: it asks nothing now"
            raise UsageError(message, hint="give the order again in a moment")
        time.sleep(0.1)
    return standings


def _give_orders(run: Path, order: Order) -> list[Standing]:
    records = _records_of(run)
    shares = [order] * len(records)
    if isinstance(order.max_workers, int):
        size, more = divmod(order.max_workers, max(1, len(records)))
        sizes = [max(1, size + (number < more)) for number in range(len(records))]
        shares = [msgspec.structs.replace(order, max_workers=size) for size in sizes]
    given = (_give_order(record, share) for record, share in zip(records, shares, strict=True))
    return [standing for standing in given if standing]


def _has_command(run: Path) -> bool:
    """Whether a command that divides the run has locked it."""
    for path in (run if run.is_dir() else run.parent).glob(LOCK):
        with suppress(OSError), path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    return False


def _records_of(run: Path) -> Sequence[Path]:
    if run.is_dir():
        return sorted(files_below(run, ENDING))
    stem = run.name.removesuffix(LOG_ENDING).removesuffix(".run.json").removesuffix(run.suffix)
    return sorted(path for path in run.parent.glob(f"*{ENDING}") if path.name.startswith(f"{stem}."))


def _give_order(record: Path, order: Order) -> Standing | None:
    """The state of the run after the order; None if it has ended, and its file is removed."""
    try:
        place = msgspec.json.decode(record.read_bytes(), type=_Place)
    except PermissionError:
        raise UsageError(f"{record.name}: the run is another user's") from None
    except (OSError, *UNDECODABLE):
        return None
    if place.host != platform.node():
        raise UsageError(
            f"{record.name}: the run is on {place.host}, as process {place.pid}", hint="run ctl on that machine"
        )
    try:
        if not _is_ours(Path(place.socket)):
            raise UsageError(f"{record.name}: the run is another user's, as process {place.pid}")
        return msgspec.json.decode(_exchange(place.socket, order), type=Standing)
    except (FileNotFoundError, ConnectionRefusedError):
        forget(record)
    except (OSError, *UNDECODABLE) as error:
        raise UsageError(f"{record.name}: process {place.pid} does not answer: {error}") from None
    return None


def _exchange(address: str, order: Order) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(REPLY_S)
        connection.connect(address)
        connection.sendall(msgspec.json.encode(order) + b"\n")
        with connection.makefile("rb") as reply:
            line: Any = reply.readline()
    return bytes(line)

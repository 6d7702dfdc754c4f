"""Limits on what a run takes at any length: memory, open files, and stalls of its event loop."""

import asyncio
import contextlib
import gzip
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import cache, partial
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from tests.fakes.fixtures import StartsProcesses, StartsServers
from tests.fakes.words import barrier, delay, first_n, oracle
from tests.faults.commands import ROOT, command_line, environment, ran
from tests.faults.questions import Questions, linked_pages, noise_png
from vqa_client.client.reply_room import FREE_BYTES, REPLY_LIMIT_BYTES
from vqa_client.client.session import affordable_workers
from vqa_client.progress import Progress
from vqa_client.types import Record

resource = pytest.importorskip("resource")
LAG_S = 0.1


def peak_mb(arguments: list[str], *, code: int = 0) -> float:
    """The peak memory of a command, which must end with `code`.

    It is read while the command runs, because the system's figure after its end includes the parent's memory.
    """
    with subprocess.Popen(
        command_line(arguments), cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        peak_kb = 0
        while process.poll() is None:
            found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
            peak_kb = int(found[1]) if found else peak_kb
            time.sleep(0.005)
    assert process.returncode == code
    return peak_kb / 1024


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="this system tells no peak of memory")
@pytest.mark.parametrize(
    ("few", "many", "pages", "side"),
    [(10, 40, 5, 590), (200, 1000, 1, 8)],
    ids=["5_pages_of_1_mb", "many_small_questions"],
)
def test_memory_does_not_grow_with_the_number_of_questions(
    few: int, many: int, pages: int, side: int, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, many, pages=0)
    data = noise_png(side, side)
    linked_pages(of, data, pages)
    server = fault_server("B", parse_bodies=False, keep_bodies=False)
    peaks_mb = []
    for count in (few, many):
        of.output = tmp_path / f"out_{count}"
        peaks_mb.append(
            peak_mb(of.arguments(server.base_url, "--no-html", "--max_workers", "8", "--limit", str(count)))
        )
        assert of.log_path.stat().st_size < 3_000 * count + 300 * pages * count
    assert peaks_mb[1] < 150
    assert peaks_mb[1] < 1.15 * peaks_mb[0]
    assert server.counts["body_bytes"] > (few + many) * pages * len(data) * 4 / 3
    shutil.rmtree(of.pages_dir)


PADDING = b"x" * FREE_BYTES
OPENED = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
PACKED = OPENED + b"content-encoding: gzip"
HOSTILE: dict[str, Callable[[], tuple[bytes, bytes]]] = {
    "endless": lambda: (OPENED + b"\r\n", PADDING),
    "endless chunks": lambda: (
        OPENED + b"transfer-encoding: chunked\r\n\r\n",
        b"%x\r\n%b\r\n" % (len(PADDING), PADDING),
    ),
    "packed once": lambda: (PACKED + b"\r\n\r\n" + gzip.compress(bytes(REPLY_LIMIT_BYTES // 4), 9), b""),
    "packed twice": lambda: (PACKED + b", gzip\r\n\r\n" + gzip.compress(gzip.compress(bytes(63_000_000), 9), 9), b""),
    "large refusals": lambda: (b"HTTP/1.1 500 No\r\n\r\n" + b'"' + PADDING * 12, b""),
}
"""The beginning of a reply, and what follows until the client leaves; without it the connection ends."""


async def serve_hostile(first: bytes, more: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, asyncio.IncompleteReadError), contextlib.closing(writer):
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"GET"):
            writer.write(b'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{"data": [{"id": "tiny-vlm"}]}')
            return
        await reader.readexactly(int(re.search(rb"(?i)content-length: (\d+)", head)[1]))  # type: ignore[index]
        writer.write(first)
        await writer.drain()
        while more:
            writer.write(more)
            await writer.drain()


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="this system tells no peak of memory")
@pytest.mark.parametrize(("engine", "reply"), [*(("direct", reply) for reply in HOSTILE), ("httpx2", "endless")])
async def test_what_a_server_sends_costs_no_memory_for_each_worker(engine: str, reply: str, tmp_path: Path) -> None:
    workers = 128 if reply == "large refusals" else 32  # fewer of the others take as much
    most_mb = 150 if "packed" in reply else 400  # together they unpack to 128 MB and more
    of = Questions(tmp_path, workers)
    async with await asyncio.start_server(partial(serve_hostile, *HOSTILE[reply]()), "127.0.0.1", 0) as server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        waits = int(reply == "large refusals")  # before it asks again
        wanted = {"max_workers": workers, "max_retries": waits, "breaker_after": 0, "engine": engine}
        options = [word for name, value in wanted.items() for word in (f"--{name}", str(value))]
        arguments = of.arguments(address, "--no-html", "--no-metrics", *options)
        assert await asyncio.to_thread(peak_mb, arguments, code=3) < most_mb


def waited_for_processor_s() -> float:
    """How long this thread was ready to run but others ran; 0 if the system doesn't count it."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


class Lag(Progress):
    """The longest delay of the loop while questions were in flight.

    Only delays by this process count, not those by other programs on the machine.
    """

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._under_way = 0

    def asking(self) -> None:
        self._under_way += 1

    def finished(self, record: Record) -> None:
        self._under_way -= 1

    async def watch(self) -> None:
        while True:
            due_s, watched = time.monotonic() + 0.01, self._under_way > 0
            worked_s, waited_s = time.process_time(), waited_for_processor_s()
            await asyncio.sleep(0.01)
            if watched and self._under_way:
                late_s = time.monotonic() - due_s - (waited_for_processor_s() - waited_s)
                self.longest_s = max(self.longest_s, min(late_s, time.process_time() - worked_s))


async def longest_lag_s(of: Questions, base_url: str, **changes: object) -> float:
    """The delay of one run; infinite if it left a question without an answer."""
    lag = Lag()
    watching = asyncio.create_task(lag.watch())
    try:
        records = await of.ask(base_url, progress=lag, **changes)
    finally:
        watching.cancel()
    assert len(records) == len(of.ids)
    return lag.longest_s if all(record["status"] == "ok" for record in records.values()) else float("inf")


async def stays_free(of: Questions, base_url: str, **changes: object) -> float:
    """The best of three tries, because other programs on the machine may delay any of them."""
    best_s = float("inf")
    for _ in range(3):
        best_s = min(best_s, await longest_lag_s(of, base_url, fresh=True, **changes))
        if best_s < LAG_S:
            break
    return best_s


@cache
def photograph(width: int, height: int) -> bytes:
    """A JPEG with detail everywhere, like a camera's."""
    coarse = Image.frombytes("RGB", (500, 375), os.urandom(500 * 375 * 3))
    buffer = BytesIO()
    coarse.resize((width, height), Image.Resampling.BILINEAR).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


async def test_large_photographs_that_are_shrunk_never_block_the_loop(
    tmp_path: Path, fault_process: StartsProcesses
) -> None:
    of = Questions(tmp_path, 10)
    linked_pages(of, photograph(4000, 3000), 1)
    server = fault_process("(delay(0.01), 'B')", "--no-parse")
    # The timeout is shorter than making all images: it starts with a question's first byte sent.
    assert await stays_free(of, server.base_url, max_workers=16, max_pixels=1_000_000, timeout=1.5) < LAG_S
    assert all(record["images"][0]["transforms"] for record in of.records())


async def test_large_files_that_are_sent_unchanged_never_block_the_loop(
    tmp_path: Path, fault_process: StartsProcesses
) -> None:
    of = Questions(tmp_path, 64, pages=2)
    linked_pages(of, photograph(4000, 3000), 2)
    server = fault_process("(delay(0.01), 'B')", "--no-parse")
    assert await stays_free(of, server.base_url, max_workers=64) < LAG_S


async def test_questions_with_their_own_choices_never_block_the_loop(
    tmp_path: Path, fault_process: StartsProcesses
) -> None:
    of = Questions(tmp_path, 24)
    of.write_rows(
        row
        | {f"choice_{letter}": f"the {number}th thing that {letter} says of it, {'so long ' * 9}" for letter in "ABCD"}
        for number, row in enumerate(of.rows())
    )
    server = fault_process("answer('The answer is B, since the second thing says so.')")
    assert await stays_free(of, server.base_url, max_workers=16) < LAG_S


async def test_long_replies_never_block_the_loop(tmp_path: Path, fault_process: StartsProcesses) -> None:
    of = Questions(tmp_path, 16)
    server = fault_process("answer('Option A says so, (B) does not. ' * 3000 + 'The answer is C.')")
    assert await stays_free(of, server.base_url, max_workers=16) < LAG_S


@pytest.mark.parametrize("unit", ["A ", "<", "la "])
async def test_a_reply_of_megabytes_never_blocks_the_loop(
    unit: str, tmp_path: Path, fault_process: StartsProcesses
) -> None:
    of = Questions(tmp_path, 2)
    server = fault_process(f"answer({unit!r} * ({4_000_000 // len(unit)}) + '\\nThe answer is C.')")
    assert await stays_free(of, server.base_url, max_workers=2) < 2 * LAG_S
    assert {record["answer"] for record in of.records()} == {"C"}


MOST = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("soft", "hard", "workers", "raised"),
    [
        *((MOST, MOST, 200, None), (274, 999, 200, None), (273, MOST, 200, 274), (50, 274, 200, 274)),
        *((50, 226, 200, 226), (50, 225, 199, 225), (50, 100, 74, 100), (10, 20, 1, 20)),
    ],
)
def test_workers_share_the_files_that_the_system_allows(
    soft: int, hard: int, workers: int, raised: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, notes = list[tuple[int, int]](), list[str]()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, given: limits.append(given))
    monkeypatch.setattr(os, "listdir", lambda _: ["0"] * 10)
    assert affordable_workers(200, notes.append) == workers
    assert limits == ([] if raised is None else [(raised, hard)])
    note = f"{workers} worker{'s' * (workers > 1)} instead of 200: the system allows {hard} open files (ulimit -Hn)"
    assert notes == ([] if workers == 200 else [note])


def test_a_hard_limit_of_open_files_takes_workers_and_no_question(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 150)
    linked_pages(of, noise_png(400, 400), 1)  # more than one piece, so that uploads wait
    server = fault_server((delay(0.1), oracle(of.replies(), pattern=r"(\[\[q\d+\]\])")), keep_bodies=False)
    asked = of.arguments(server.base_url, "--max_workers", "256", "--no-metrics")  # reading them is a request too
    done = ran(asked, limits=[(resource.RLIMIT_NOFILE, (64, 64))])
    assert (done.code, done.is_clean()) == (0, True), done.text
    (workers,) = re.findall(r"(\d+) workers instead of 256: the system allows 64 open files", done.err)
    assert int(workers) >= 38
    assert of.report()["correct"] == len(of.ids)
    assert server.in_flight_peak <= int(workers)


def test_a_soft_limit_of_open_files_is_raised(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 260)
    replies = oracle(of.replies(), pattern=r"(\[\[q\d+\]\])")
    server = fault_server(first_n(151, (barrier(151), replies), then=replies), keep_bodies=False)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    done = ran(
        of.arguments(server.base_url, "--max_workers", "256", "--no_check"),
        limits=[(resource.RLIMIT_NOFILE, (100, hard))],
    )
    assert (done.code, done.is_clean()) == (0, True), done.text
    assert of.report()["correct"] == 260
    assert server.in_flight_peak > 150


async def test_all_questions_are_not_made_before_the_first_is_asked(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 120)
    server = fault_server((delay(0.01), "B"))
    taken: list[int] = []

    class Watch(Progress):
        def asking(self) -> None:
            taken.append(len(server.chats))

    await of.ask(server, max_workers=4, progress=Watch())
    assert len(taken) == 120
    assert all(number - asked <= 4 + 1 for number, asked in enumerate(taken))

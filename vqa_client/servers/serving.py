"""What the start of any model's server needs: its program, a free port, a test of its health, and a limit of images."""

import re
import shutil
import socket
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path

import httpx2

from vqa_client.client.direct import DirectTransport
from vqa_client.client.endpoint import Endpoint, headers_for
from vqa_client.errors import UsageError
from vqa_client.images.find import IMAGE_SUFFIXES, page_folders
from vqa_client.servers.process import Ready
from vqa_client.shipped import install
from vqa_client.types import Note

PROBE_S = 0.5
PROBE_TIMEOUT_S = 2.0
NEWS_S = 5.0
LINE_CHARACTERS = 160
_UP = frozenset({HTTPStatus.OK, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
"""A server that wants a key is up, too."""
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
_PAGE = re.compile(r"(?P<document>.+?)[_-](?P<word>(?:page|pg|p)[_-]?)?(?P<number>\d+)", re.IGNORECASE)


def program_path(program: str, *, name: str, extra: str, dry_run: bool) -> str:
    """The path of a server's program, on the PATH or beside this Python; for a dry run its bare name.

    Raises UsageError, which names the extra, if it is not installed.
    """
    if dry_run:
        return program
    path = shutil.which(program) or shutil.which(program, path=str(Path(sys.executable).parent))
    if path is None:
        raise UsageError(f"{name} is not installed: there is no {program}", hint=install(extra))
    return path


def check_port(host: str, port: int) -> None:
    """Raise UsageError if another program listens there: it would be mistaken for the new server."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((host, port))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"can't listen on {host} port {port}: {reason}", hint="choose another --port") from None


def free_port() -> int:
    """A loopback port on which nothing listens now, for a server that can't choose one."""
    with socket.create_server(("127.0.0.1", 0)) as trial:
        return int(trial.getsockname()[1])


def when_healthy(host: str, port: int, *, name: str, note: Note) -> Ready:
    """Ready once /health answers; until then `note` gets the server's last line every few seconds."""
    named = _EVERYWHERE.get(host, host)
    origin = httpx2.URL(f"http://[{named}]:{port}" if ":" in named else f"http://{named}:{port}")
    started_s = time.monotonic()
    probed_s = noted_s = started_s

    async def ready(log: str) -> str | None:
        nonlocal probed_s, noted_s
        now_s = time.monotonic()
        if now_s - noted_s >= NEWS_S:
            noted_s = now_s
            note(f"{name} is starting, {now_s - started_s:.0f} s: {last_line(log)}")
        if now_s - probed_s < PROBE_S:
            return None
        probed_s = now_s
        return f"{origin}/v1" if await _healthy(origin) else None

    return ready


async def _healthy(origin: httpx2.URL) -> bool:
    async with DirectTransport(None) as transport:
        endpoint = Endpoint(origin, transport, headers_for(origin, None))
        try:
            return (await endpoint.get("/health", timeout_s=PROBE_TIMEOUT_S)).status_code in _UP
        except httpx2.TransportError:
            return False


def last_line(log: str) -> str:
    """The last line that isn't blank; for a progress bar, its last state."""
    lines = [line.strip() for line in log.replace("\r", "\n").splitlines() if line.strip()]
    return lines[-1][:LINE_CHARACTERS] if lines else "it has printed nothing yet"


def most_images(root: Path) -> int:
    """The largest number of pages of one document in any image folder below `root`.

    Raises DataError as `page_folders` does.
    """
    return max(
        _most_pages(entry.stem for entry in folder.path.iterdir() if entry.suffix.lower() in IMAGE_SUFFIXES)
        for folder in page_folders(root)
    )


def _most_pages(stems: Iterable[str]) -> int:
    """Count files called DOCUMENT_page_N, or DOCUMENT_N without a gap: photographs have numbers with gaps."""
    worded, bare = defaultdict[str, set[int]](set), defaultdict[str, set[int]](set)
    for stem in stems:
        if match := _PAGE.fullmatch(stem):
            (worded if match["word"] else bare)[match["document"]].add(int(match["number"]))
    gapless = [len(numbers) for numbers in bare.values() if min(numbers) <= 1 and len(numbers) > max(numbers) - 1]
    return max([1, *map(len, worded.values()), *gapless])

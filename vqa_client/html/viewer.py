"""What a served report answers to each address; the log is read anew whenever it has changed."""

import mimetypes
import threading
from pathlib import Path

from msgspec import Struct

from vqa_client.errors import VqaClientError
from vqa_client.files import stamp, state_of
from vqa_client.html.image_files import is_unchanged
from vqa_client.html.page import index_page, page
from vqa_client.html.shown_images import CHANGED, ServedImages
from vqa_client.html.thumbnails import thumbnail
from vqa_client.images.facts import facts
from vqa_client.reports.log_reader import LOG_ENDING, find_logs
from vqa_client.reports.logged_run import LoggedRun, read_run
from vqa_client.reports.overview import Overview, overview
from vqa_client.tables.inside import open_image, split_name

HTML, PLAIN, WEBP = "text/html; charset=utf-8", "text/plain; charset=utf-8", "image/webp"


class Reply(Struct, frozen=True, kw_only=True):
    """An HTTP reply; `location` is where a redirection leads."""

    status: int = 200
    kind: str = PLAIN
    body: bytes = b""
    location: str = ""


NOT_THERE = Reply(status=404, body=b"not found\n")


class _Read(Struct, frozen=True):
    """A log as it was in one state."""

    state: str
    run: LoggedRun
    found: Overview


class Viewer:
    """The runs of one place, numbered in the order in which they were met; safe to ask from several threads."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._logs: list[Path] = []
        self._read: dict[Path, _Read] = {}
        self._images: dict[Path, ServedImages] = {}
        self._pages: dict[Path, tuple[str, bytes]] = {}
        self._lock = threading.Lock()
        self._look()

    def answer(self, path: str) -> Reply:
        """The reply to an address below the root: "", "0/", "0/state", "0/image/3" or "0/thumbnail/3"."""
        steps = path.split("/")
        try:
            with self._lock:
                if path == "":
                    return self._root()
                log = self._logs[_number(steps[0])]
                if len(steps) == 3 and steps[1] in ("image", "thumbnail"):
                    served, number = self._images[log], _number(steps[2])
                    file, image = served.files[number], served.sent[number]
                elif steps[1:] in ([""], ["state"]):
                    return self._page(log) if steps[1] == "" else Reply(body=_state(log).encode())
                else:
                    return NOT_THERE
            if not is_unchanged(file, image):
                return Reply(status=404, body=f"{CHANGED}\n".encode())
            return _picture(file) if steps[1] == "thumbnail" else _image(file)
        except (IndexError, KeyError, ValueError, OSError):
            return NOT_THERE
        except VqaClientError as error:
            return Reply(status=500, body=f"{error}\n".encode())

    def _look(self) -> None:
        self._logs += [log for log in find_logs(self._place) if log not in self._logs]

    def _root(self) -> Reply:
        self._look()
        if len(self._logs) == 1:
            return Reply(status=302, location="0/")
        return Reply(kind=HTML, body=index_page(self._place, list(map(self._current, self._logs))))

    def _current(self, log: Path) -> tuple[LoggedRun, Overview]:
        state = _state(log)
        known = self._read.get(log)
        if known is None or known.state != state:
            run = read_run(log)
            self._read[log] = known = _Read(state, run, overview(run))
        return known.run, known.found

    def _page(self, log: Path) -> Reply:
        run, found = self._current(log)
        state = self._read[log].state
        if self._pages.get(log, ("",))[0] != state:
            images = self._images.setdefault(log, ServedImages(run))
            self._pages[log] = state, page(run, found, images, live=True)
        return Reply(kind=HTML, body=self._pages[log][1])


def _state(log: Path) -> str:
    """What changes whenever the log or its run file does."""
    files = (log, log.with_name(log.name.replace(LOG_ENDING, ".run.json")))
    stats = [path.stat() for path in files if path.exists()]
    return " ".join(stamp(state_of(one)) for one in stats)


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise ValueError(text)
    return int(text)


def _picture(file: Path) -> Reply:
    made = thumbnail(file)
    return Reply(kind=WEBP, body=made) if made else NOT_THERE


def _image(file: Path) -> Reply:
    with open_image(str(file)) as opened:
        content = opened.read()
    kind = mimetypes.guess_type(file.name)[0] or ""
    if split_name(str(file))[1]:
        kind = facts(content).mime
    return Reply(kind=kind if kind.startswith("image/") else "application/octet-stream", body=content)

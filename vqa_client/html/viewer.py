"""The replies of a served report by address, and a reviewer's notes, which are kept in a file beside the run.

The log is read again whenever it has changed.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from vqa_client.errors import UNDECODABLE, DataError, VqaClientError
from vqa_client.files import alone_in, stamp, state_of, write_json
from vqa_client.html.page import index_page, page
from vqa_client.html.shown_images import CHANGED, ServedImages, Show, ShownImage, is_unchanged, thumbnail
from vqa_client.images.facts import facts
from vqa_client.reports.judged import judged_files
from vqa_client.reports.log_reader import file_beside, find_logs, run_file_of
from vqa_client.reports.logged_run import read_run
from vqa_client.reports.overview import Overview, overview
from vqa_client.tables.inside import open_image
from vqa_client.types import SentImage

HTML, PLAIN, WEBP, JSON = "text/html; charset=utf-8", "text/plain; charset=utf-8", "image/webp", "application/json"


class HttpReply(Struct, frozen=True, kw_only=True):
    """An HTTP reply; `location` is the target of a redirection."""

    status: int = 200
    kind: str = PLAIN
    body: bytes = b""
    location: str = ""


NOT_THERE = HttpReply(status=404, body=b"not found\n")


class _ReadLog(Struct):
    """The overview and the page of a log in one state; the page is empty until it is asked for."""

    state: str
    overview: Overview
    page: bytes = b""


class Viewer:
    """The runs of a file or folder, numbered as they were found; safe to use from several threads.

    `compare` makes the page of a comparison from logs and a function that shows an image.
    """

    def __init__(self, place: Path, compare: Callable[[Sequence[Path], Show], bytes]) -> None:
        self._place, self._compare = place, compare
        self._logs: list[Path] = []
        self._read: dict[Path, _ReadLog] = {}
        self._images: dict[Path, ServedImages] = {}
        self._lock = threading.Lock()
        self._find_logs()

    def answer(self, path: str) -> HttpReply:
        """The reply to an address below the root, such as "", "0/", "0/state", "0/image/3" or "compare/0-2"."""
        return reply_or_error(lambda: self._answer(path))

    def take(self, path: str, body: bytes) -> HttpReply:
        """Keep a note that is sent to "0/notes"."""
        return reply_or_error(lambda: self._take(path, body))

    def _answer(self, path: str) -> HttpReply:
        with self._lock:
            if path == "":
                return self._root()
            number, _, what = path.partition("/")
            if number == "compare":
                return self._comparison(list(map(_number, what.split("-"))))
            log = self._logs[_number(number)]
            if path == f"{number}/":
                return self._page(log)
            if what == "state":
                return HttpReply(body=_state(log).encode())
            if what == "notes":
                return HttpReply(kind=JSON, body=msgspec.json.encode(read_notes(log)))
            images = self._images[log]
        return image_reply(images, what)

    def _take(self, path: str, body: bytes) -> HttpReply:
        number, _, what = path.partition("/")
        if what != "notes":
            return NOT_THERE
        put_note(self._logs[_number(number)], msgspec.json.decode(body, type=ReviewNote))
        return HttpReply()

    def _find_logs(self) -> None:
        self._logs += [log for log in find_logs(self._place) if log not in self._logs]

    def _root(self) -> HttpReply:
        self._find_logs()
        if len(self._logs) == 1:
            return HttpReply(status=302, location="0/")
        runs, left_out = dict[int, Overview](), list[str]()
        for number, log in enumerate(self._logs):
            try:
                runs[number] = self._current(log).overview
            except VqaClientError as error:
                left_out.append(str(error))
        return HttpReply(kind=HTML, body=index_page(self._place, runs, left_out))

    def _current(self, log: Path) -> _ReadLog:
        state = _state(log)
        known = self._read.get(log)
        if known is None or known.state != state:
            self._read[log] = known = _ReadLog(state, overview(read_run(log)))
        return known

    def _page(self, log: Path) -> HttpReply:
        current = self._current(log)
        current.page = current.page or page(current.overview, self._images_of(log), live=True)
        return HttpReply(kind=HTML, body=current.page)

    def _images_of(self, log: Path) -> ServedImages:
        if log not in self._images:
            self._images[log] = ServedImages(self._current(log).overview.run)
        return self._images[log]

    def _comparison(self, numbers: Sequence[int]) -> HttpReply:
        """The page of a comparison; it uses the images of the runs' own pages."""
        logs = [self._logs[number] for number in numbers]

        def show(image: SentImage) -> ShownImage:
            for number, log in zip(numbers, logs, strict=True):
                display = self._images_of(log)(image)
                if display.href:
                    return ShownImage(href=f"../{number}/{display.href}", picture=f"../{number}/{display.picture}")
            return display

        return HttpReply(kind=HTML, body=self._compare(logs, show))


def _state(log: Path) -> str:
    """A text that changes whenever the log, its run file or its judges' files do."""
    files = (log, run_file_of(log), *judged_files(log))
    stats = [path.stat() for path in files if path.exists()]
    return " ".join(stamp(state_of(stat)) for stat in stats)


def reply_or_error(reply: Callable[[], HttpReply]) -> HttpReply:
    """A reply, or instead "not found" for an unknown address and the error's text for an error of ours."""
    try:
        return reply()
    except (IndexError, KeyError, ValueError, OSError):
        return NOT_THERE
    except VqaClientError as error:
        hint = f"hint: {error.hint}\n" if error.hint else ""
        return HttpReply(status=500, body=f"{error}\n{hint}".encode())


def image_reply(images: ServedImages, path: str) -> HttpReply:
    """The reply to "image/3" or "thumbnail/3"; raises IndexError, ValueError, OSError or DataError without one."""
    form, _, number = path.partition("/")
    if form not in ("image", "thumbnail"):
        return NOT_THERE
    file, image = images.files[_number(number)]
    if not is_unchanged(file, image):
        return HttpReply(status=404, body=f"{CHANGED}\n".encode())
    if form == "image":
        with open_image(str(file)) as opened:
            content = opened.read()
        return HttpReply(kind=facts(content).mime, body=content)
    made = thumbnail(file)
    return HttpReply(kind=WEBP, body=made) if made else NOT_THERE


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise ValueError(text)
    return int(text)


class ReviewNote(Struct, frozen=True, kw_only=True):
    """A reviewer's note on a question in a variant; without text and tags it is deleted."""

    question_id: str
    variant: str = ""
    note: Annotated[str, Meta(max_length=20_000)] = ""
    tags: Annotated[tuple[Annotated[str, Meta(max_length=60)], ...], Meta(max_length=20)] = ()


def notes_path(log: Path) -> Path:
    """The file with the notes of a run."""
    return file_beside(log, ".notes.json")


def read_notes(log: Path) -> list[ReviewNote]:
    """All notes of a run; raises DataError if the file can't be read, and leaves it as it is."""
    try:
        return msgspec.json.decode(notes_path(log).read_bytes(), type=list[ReviewNote])
    except FileNotFoundError:
        return []
    except (OSError, *UNDECODABLE) as error:
        raise DataError(f"{notes_path(log)} can't be read: {error}", hint="mend it, or move it away") from None


def put_note(log: Path, note: ReviewNote) -> None:
    """Replace the note on a question; raises DataError or UsageError if it can't be saved."""
    with alone_in(log.parent):
        place = note.question_id, note.variant
        kept = {(earlier.question_id, earlier.variant): earlier for earlier in read_notes(log)}
        kept[place] = note
        if not (note.note or note.tags):
            del kept[place]
        write_json(notes_path(log), [kept[place] for place in sorted(kept)])

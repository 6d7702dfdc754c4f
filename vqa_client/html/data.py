"""A run's records as one compact block of JSON: every text once, and rows of numbers that refer to the texts.

The place of a needle on its page is from the line_bbox.jsonl that `render` writes beside the pages.
"""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vqa_client.files import encode
from vqa_client.html.figures import rows_of_judges
from vqa_client.html.shown_images import ImageFiles, Show, ShownImage
from vqa_client.reports.logged_run import LoggedRun
from vqa_client.reports.names import count
from vqa_client.reports.overview import Overview, field_value, in_order
from vqa_client.scoring.choices.circular import choices_in
from vqa_client.types import ANSWERED, Record, SentImage, without_none

DEPTH = "needle_depth"
"""A group that only questions about needles have."""
TEXT_BUDGET = 48_000_000
"""Characters of prompts and replies in one page; beyond it the longest texts are shortened to their ends."""
LONGEST_TEXT = 60_000
COLUMNS = (
    *("id", "variant", "status", "score", "prompt", "output", "reasoning", "finish", "answer", "rationale", "rule"),
    *("rivals", "source", "references", "parts", "groups", "cluster", "images", "cut_pages", "error", "prompt_tokens"),
    *("completion_tokens", "latency_s", "attempts", "request_bytes", "system", "shots", "choices", "needle"),
)


def data_block(overview: Overview, show: Show) -> bytes:
    """The data block of a page, without any "<", so that no text can end its HTML element."""
    run, block = overview.run, Block(overview, show, text_limit(overview.text_lengths))
    rows = [block.row(record) for record in run.records]
    judges = rows_of_judges(run, block.keys(rows))
    return block.encoded(rows, request=_request(run), judges=judges, scored=overview.has_accuracy)


def inside_page(content: object) -> bytes:
    """JSON for an HTML element, which no text in it can end."""
    return encode(content).replace(b"<", b"\\u003c")


def facts_of(image: SentImage, display: ShownImage, picture: int) -> list[Any]:
    """The facts of an image for the page; `picture` is the number of the text with its small picture."""
    facts = [image.name, image.sha256, image.size_bytes, image.width, image.height, list(image.transforms)]
    return [*facts, display.href, picture, display.note]


def text_limit(lengths: Sequence[int], budget: int = TEXT_BUDGET) -> int:
    """The longest length at which all texts fit the budget; room that short texts don't need goes to long ones."""
    rest = budget
    ordered = sorted(lengths)
    for at, length in enumerate(ordered):
        share = rest // (len(ordered) - at)
        if length > share:
            return min(share, LONGEST_TEXT)
        rest -= length
    return LONGEST_TEXT


def shortened(text: str, limit: int) -> str:
    """A text, or both ends of one that is too long: an answer may be at either end."""
    if len(text) <= limit:
        return text
    half = limit // 2
    left_out = f"[… {count(len(text) - 2 * half, 'character')} left out here; the record log has them …]"
    return f"{text[:half]}\n{left_out}\n{text[-half:] if half else ''}"


class Block:
    """Collects records; texts are cut to `limit` characters, and the overview gives fields and metrics."""

    def __init__(self, overview: Overview, show: Show, limit: int) -> None:
        self._images: list[list[Any]] = []
        self._letters: set[str] = set()
        self._overview, self._show, self._limit, self._needles = overview, show, limit, None
        if DEPTH in overview.fields and (roots := ImageFiles(overview.run).roots):
            sent = (image.name for record in overview.run.records for image in record.images)
            self._needles = NeedleLines(roots, sent)
        self._numbers: dict[str, int] = {}
        self._image_numbers: dict[SentImage, int] = {}

    def keys(self, rows: Sequence[Sequence[Any]]) -> list[tuple[str, str]]:
        """The question id and the variant of each row."""
        strings = list(self._numbers)
        return [(row[0], strings[row[1]]) for row in rows]

    def encoded(self, rows: Sequence[Sequence[Any]], **more: Any) -> bytes:
        """The block with its rows; `more` may name further columns than COLUMNS."""
        overview = self._overview
        content = {
            "columns": COLUMNS,
            "answered": sorted(ANSWERED),
            "letters": sorted(self._letters),
            "metrics": list(overview.summary.parts),
            "fields": [
                {"name": field, "values": in_order(overview.values.get(field, []), overview.description.order(field))}
                for field in overview.fields
            ],
            "strings": list(self._numbers),
            "images": self._images,
            "rows": rows,
            "request": None,
            "judges": [],
            "scored": True,
        }
        return inside_page(content | more)

    def row(self, record: Record) -> list[Any]:
        """A record's values of COLUMNS; texts and images are numbers, None is a missing value."""
        return [
            record.question_id,
            self._text(record.form),
            self._text(record.status),
            round(record.score, 4),
            *map(self._long, (record.prompt, record.output, record.reasoning)),
            *map(self._text, (record.finish_reason, record.answer, record.rationale, record.rule)),
            self._texts(record.rivals),
            self._text(record.source),
            self._texts(record.references),
            [round(record.parts[name], 4) if name in record.parts else None for name in self._overview.summary.parts],
            self._texts(field_value(record, field) for field in self._overview.fields),
            self._text(record.cluster),
            [self._image(image) for image in record.images],
            record.truncated_pages,
            self._error(record),
            record.prompt_tokens,
            record.completion_tokens,
            round(record.latency_s, 3),
            record.attempts,
            record.request_bytes,
            self._long(record.system or None),
            self._texts(record.shots or ()),
            self._texts(self._choices(record)),
            self._needles.place(record) if self._needles else None,
        ]

    def _choices(self, record: Record) -> Iterable[str]:
        """The texts of the choices from A on; empty unless the right answer is one of them."""
        choices = choices_in(record.prompt)
        if not set(record.references) & choices.keys():
            return ()
        self._letters.update(choices)
        return choices.values()

    def _text(self, text: str | None, limit: int = LONGEST_TEXT) -> int | None:
        return None if text is None else self._string(shortened(text, limit))

    def _string(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def _long(self, text: str | None) -> int | None:
        return self._text(text, self._limit)

    def _texts(self, texts: Iterable[str]) -> list[int | None]:
        return [self._text(text) for text in texts]

    def _image(self, image: SentImage) -> int:
        number = self._image_numbers.setdefault(image, len(self._images))
        if number == len(self._images):
            display = self._show(image)
            self._images.append(facts_of(image, display, self._string(display.picture)))
        return number

    def _error(self, record: Record) -> list[Any] | None:
        error = record.error
        if error is None:
            return None
        return [self._long(error.message), error.http_status, self._long(error.body), self._long(error.hint)]


def _request(run: LoggedRun) -> dict[str, Any] | None:
    """The address and the common fields of all requests; None if the run file names no server."""
    server, model = run.facts.described.get("server"), run.facts.model_settings
    url = server.get("base_url") if isinstance(server, dict) else None
    if not isinstance(url, str) or not model:
        return None
    sent = without_none({name: model.get(name) for name in ("max_tokens", "temperature", "presence_penalty")})
    extra, body = model.get("extra_body"), {"model": run.facts.model, **sent}
    return {
        "url": f"{url.partition(', ')[0].rstrip('/')}/chat/completions",
        "body": body | (extra if isinstance(extra, dict) else {}),
    }


Box = tuple[int, int, int, int]
NAME, FEWEST_WORDS = "line_bbox.jsonl", 2
"""A line with the answer is the needle if it and the line before share at least this many words with the prompt."""


class _Line(Struct):
    page: str
    text: str
    bbox: Box


class NeedleLines:
    """The lines of the sent pages; empty if no folder has the file, or if it can't be read."""

    def __init__(self, folders: Iterable[Path], sent: Iterable[str]) -> None:
        self._lines: dict[str, list[_Line]] = {Path(name).stem: [] for name in sent}
        files = (place / NAME for folder in folders for place in (folder, folder.parent))
        path = next((file for file in files if file.is_file()), None)
        decoder = msgspec.json.Decoder(_Line)
        try:
            with path.open("rb") if path else io.BytesIO() as file:
                for raw in file:
                    line = decoder.decode(raw)
                    if (known := self._lines.get(Path(line.page).stem)) is not None:
                        known.append(line)
        except (OSError, ValueError, msgspec.DecodeError):
            self._lines = {}

    def place(self, record: Record) -> list[int] | None:
        """The number of the image from 0, and the line's box in pixels of the rendered page."""
        answers, asked = [answer.casefold() for answer in record.references], set(record.prompt.casefold().split())
        best: tuple[int, list[int]] = (FEWEST_WORDS - 1, [])
        for number, image in enumerate(record.images):
            before: set[str] = set()
            for line in self._lines.get(Path(image.name).stem, ()):
                text = line.text.casefold()
                words = set(text.split())
                shared, before = len(asked & (words | before)), words
                if shared > best[0] and any(answer and answer in text for answer in answers):
                    best = shared, [number, *line.bbox]
        return best[1] or None

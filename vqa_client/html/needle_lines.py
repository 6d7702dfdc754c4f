"""Where a needle is on its document's pages, from the line_bbox.jsonl that `render` writes beside them."""

import io
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from vqa_client.types import Record

Box = tuple[int, int, int, int]
NAME, FEWEST_WORDS = "line_bbox.jsonl", 2
"""A line with the answer is the needle if it and the line before share so many words with the prompt."""


class _Line(Struct):
    page: str
    text: str
    bbox: Box


class NeedleLines:
    """The lines of the pages that were sent; none where no folder has the file, or where it can't be read."""

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
        """The number of the image from 0, and the line's box in pixels of the page as it was rendered."""
        wanted, asked = [one.casefold() for one in record.references], set(record.prompt.casefold().split())
        best: tuple[int, list[int]] = (FEWEST_WORDS - 1, [])
        for number, image in enumerate(record.images):
            before: set[str] = set()
            for line in self._lines.get(Path(image.name).stem, ()):
                text = line.text.casefold()
                words = set(text.split())
                shared, before = len(asked & (words | before)), words
                if shared > best[0] and any(one and one in text for one in wanted):
                    best = shared, [number, *line.bbox]
        return best[1] or None

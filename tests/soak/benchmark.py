"""Questions whose right outcome is known: what the server answers to each, and what its record must have."""

import json
from io import BytesIO
from pathlib import Path
from random import Random

from PIL import Image

from tests.fakes.script import Script
from tests.fakes.words import answer, error

LETTERS = "ABCD"
PAGES = 50
BROKEN_PAGE, TOO_LONG, FILTERED, TOO_MANY = 77, 7, 37, 57
"""Of a hundred questions one has a damaged page, and three are refused, one of them by a filter."""
TOLD = "\u2028\x85\x1b[31m[/red]<b>\ud800,=1+1\n"
"""Difficult texts of replies, which log, report and terminal must handle."""


def write(root: Path, questions: int) -> tuple[Path, Path]:
    """Write the data file and the pages; returns their paths."""
    images = root / "pages" / "clean" / "images"
    images.mkdir(parents=True)
    data = root / "data.json"
    data.write_text(json.dumps([_row(number) for number in range(questions)]), encoding="utf-8")
    drawn = [_drawn(number) for number in range(PAGES)]
    for number in range(questions):
        page = drawn[number % PAGES]
        content = page[: len(page) // 2] if number % 100 == BROKEN_PAGE else page
        (images / f"q{number}_page_001.png").write_bytes(content)
    return data, images.parents[1]


def is_refused(number: int) -> bool:
    """Whether the server always refuses this question."""
    return number % 100 in _REFUSALS


def reply(number: int) -> Script:
    """The server's answer to a question, whenever no fault is drawn."""
    if is_refused(number):
        return _REFUSALS[number % 100]
    if number % 40 == 11:
        return answer("Let me look at the page. " * 20, finish_reason="length")
    if number % 40 == 13:
        return answer("I am unable to view images.")
    if number % 40 == 17:
        return answer("Both B and D are acceptable.")
    letter = LETTERS[number * 7 % 4]
    return answer(f"The answer is {letter}." + (TOLD if number % 9 == 5 else "") + "because " * _words(number))


_REFUSALS: dict[int, Script] = {
    TOO_LONG: error(400, "This model's maximum context length is 2048 tokens. However, you requested 4096 tokens."),
    FILTERED: error(400, "filtered by the content policy"),
    TOO_MANY: error(400, "At most 1 image(s) may be provided in one request."),
}


def _words(number: int) -> int:
    """Some replies are so long that a kill cuts their line."""
    return 2_500 if number % 50 == 3 else number * 37 % 40


def _row(number: int) -> dict[str, str]:
    return {
        "_id": f"q{number}",
        "domain": f"domain {number % 7}",
        "sub_domain": "drawn",
        "difficulty": ("easy", "hard")[number % 2],
        "length": "short",
        "question": f"[[q{number}]] Which one?",
        **{f"choice_{letter}": f"thing {number}{letter}" for letter in LETTERS},
        "answer": LETTERS[number % 4],
        "context": "Some words.",
    }


def _drawn(number: int) -> bytes:
    buffer = BytesIO()
    Image.frombytes("RGB", (24, 16), Random(number).randbytes(24 * 16 * 3)).save(buffer, "PNG")
    return buffer.getvalue()

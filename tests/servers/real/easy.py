"""easy-VQA's test questions, from a server's environment, in the data formats of the benchmarks."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.servers.real.environments import KINDS, folder, missing
from tests.tasks.vqa2_files import SHORT, annotation, question, write_split

COLOURS = ("red", "blue", "green", "yellow", "black", "gray", "brown", "teal")
PLACES = ("first", "second", "third", "fourth")


class Asked(NamedTuple):
    """A question about pictures, and its answer."""

    number: int
    text: str
    answer: str
    pictures: tuple[Path, ...]

    @property
    def id(self) -> str:
        """The question's id in records."""
        return str(self.number)


@cache
def _rows() -> tuple[list[list[Any]], Path]:
    places = (path for kind in KINDS if not missing(kind) for path in folder(kind).glob("lib/python3*/site-packages"))
    data = next((place / "easy_vqa" / "data" / "test" for place in places if (place / "easy_vqa").is_dir()), None)
    if data is None:
        pytest.skip("easy-VQA comes with the servers' environments")
    return json.loads((data / "questions.json").read_text("utf-8")), data / "images"


def asked(count: int) -> list[Asked]:
    """`count` questions at equal distances; skips the test if no environment has easy-VQA."""
    rows, images = _rows()
    numbers = range(0, len(rows), len(rows) // count)[:count]
    return [Asked(number, *rows[number][:2], (images / f"{rows[number][2]}.png",)) for number in numbers]


def coloured(count: int) -> list[Asked]:
    """A question about the colour of each of `count` pictures."""
    rows, images = _rows()
    colours = {row[2]: row[1] for row in rows if row[1] in COLOURS}
    pictures = sorted(colours)[:count]
    return [Asked(at, "what color is the shape?", colours[at], (images / f"{at}.png",)) for at in pictures]


def several(count: int, most: int) -> list[Asked]:
    """`count` questions, each about one of two to `most` pictures."""
    single = coloured(count + most)
    made = []
    for number in range(count):
        shown = single[number : number + 2 + number % (most - 1)]
        place = number % len(shown)
        pictures = tuple(picture for each in shown for picture in each.pictures)
        text = f"What color is the shape in the {PLACES[place]} image?"
        made.append(Asked(number, text, shown[place].answer, pictures))
    return made


def write_vqa2(root: Path, questions: Sequence[Asked]) -> Path:
    """Write a VQA 2.0 split in which each question has its own image and ten equal answers."""
    folder = write_split(
        root,
        [question(each.number, each.text, image_id=each.number) for each in questions],
        [annotation(each.number, *[each.answer] * 10, image_id=each.number) for each in questions],
        names=SHORT,
        images=[],
    )
    for each in questions:
        (folder / "images" / f"{each.number}.png").symlink_to(each.pictures[0])
    return folder


def write_longbench(root: Path, questions: Sequence[Asked]) -> tuple[Path, Path]:
    """Write a data file in LongBench-v2's form, with four colours as choices, and a folder of pages, each a picture."""
    pages = root / "pages" / "clean" / "images"
    pages.mkdir(parents=True)
    rows = []
    for each in questions:
        choices = sorted([each.answer, *[colour for colour in COLOURS if colour != each.answer][each.number % 3 :][:3]])
        letters = dict(zip("ABCD", choices, strict=True))
        rows.append(
            {
                "_id": each.id,
                **{"domain": "Drawn", "sub_domain": "Shapes", "difficulty": "easy", "length": "short", "context": ""},
                **{"question": each.text, **{f"choice_{letter}": text for letter, text in letters.items()}},
                "answer": next(letter for letter, text in letters.items() if text == each.answer),
            }
        )
        for page, picture in enumerate(each.pictures, start=1):
            (pages / f"{each.id}_page_{page:03d}.png").symlink_to(picture)
    data = root / "data.json"
    data.write_text(json.dumps(rows))
    return data, root / "pages"


def write_vqax(root: Path, questions: Sequence[Asked]) -> Path:
    """Write a split of VQA-X; all its images have the suffix of JPEG."""
    records = {}
    for each in questions:
        name = f"COCO_val2014_{each.number:012d}.jpg"
        place = root / "images" / "val2014" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(each.pictures[0])
        records[each.id] = {
            "question": each.text,
            "answers": [{"answer": each.answer, "answer_confidence": "yes", "answer_id": at} for at in range(1, 11)],
            "image_id": each.id,
            "image_name": name,
            "explanation": [f"the image shows a {each.answer} shape"],
        }
    data = root / "nle_data" / "VQA-X" / "vqaX_val.json"
    data.parent.mkdir(parents=True)
    data.write_text(json.dumps(records))
    return root

"""Reads easy-VQA's questions by image, and what each image shows as far as its questions tell."""

import re
from collections import defaultdict
from typing import Any, NamedTuple

from tiny_vlm.drawing import COLOURS, SHAPES, Shape

_WORDS = re.compile(r"\w+")


class Asked(NamedTuple):
    """A question and its answer."""

    question: str
    answer: str


class Shown(NamedTuple):
    """An image file, what it shows, and its questions."""

    path: str
    shape: Shape
    asked: tuple[Asked, ...]


def shape_told(asked: list[Asked]) -> Shape:
    """What the questions and answers of an image tell about it."""
    shape = colour = None
    for question, answer in asked:
        words = set(_WORDS.findall(question))
        there = answer not in ("yes", "no") or (answer == "yes") != bool(words & {"not", "no"})
        named = (words if there else set()) | {answer}
        shape = next(iter(named & set(SHAPES)), shape)
        colour = next(iter(named & COLOURS.keys()), colour)
    return Shape(shape, colour)


def pictures(split: str) -> list[Shown]:
    """All images of "train" or "test"; needs the package easy-vqa."""
    import easy_vqa

    paths: dict[int, str] = getattr(easy_vqa, f"get_{split}_image_paths")()
    questions: Any = getattr(easy_vqa, f"get_{split}_questions")()
    by_picture = defaultdict[int, list[Asked]](list)
    for question, answer, picture in zip(*questions, strict=True):
        by_picture[picture].append(Asked(question, answer))
    return [Shown(str(paths[at]), shape_told(asked), tuple(asked)) for at, asked in sorted(by_picture.items())]

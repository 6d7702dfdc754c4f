"""Draws shapes/: a picture for each of three shapes in eight colours, and questions about them in three forms.

PYTHONPATH=serve python data/shapes.py shapes
"""

import json
import random
import sys
from pathlib import Path
from typing import Any

from tiny_vlm.drawing import COLOURS, SHAPES, Shape, drawn
from tiny_vlm.easy import Asked
from tiny_vlm.forms import LETTERS, options, own_question

SEED = 7
QUESTIONS = 3
"""The questions about each image for vqa2."""
PEOPLE = 10
"""Answers to each question of VQA; here all ten are the same."""


def main() -> None:
    """Write the three folders."""
    output, chance = Path(sys.argv[1]), random.Random(SEED)
    shapes = [Shape(shape, colour) for colour in COLOURS for shape in SHAPES]
    _vqa2(output / "vqa2", shapes, chance)
    _mc(output / "mc", shapes, chance)
    _explain(output / "explain", shapes, chance)


def _vqa2(folder: Path, shapes: list[Shape], chance: random.Random) -> None:
    questions, annotations = [], []
    for image, shape in enumerate(shapes, start=1):
        _draw(folder / "images" / f"{image}.png", shape, chance)
        for number, asked in enumerate(_different(shape, chance, QUESTIONS)):
            question = {"question_id": image * 10 + number, "image_id": image}
            questions.append({**question, "question": asked.question})
            answers = [{"answer_id": person, "answer": asked.answer} for person in range(1, PEOPLE + 1)]
            kind = "yes/no" if asked.answer in ("yes", "no") else "number" if asked.answer.isdecimal() else "other"
            given = {"multiple_choice_answer": asked.answer, "answer_type": kind, "answers": answers}
            annotations.append({**question, **given})
    _write(folder / "questions.json", {"questions": questions})
    _write(folder / "annotations.json", {"annotations": annotations})


def _mc(folder: Path, shapes: list[Shape], chance: random.Random) -> None:
    records = []
    for shape in shapes:
        name = f"shape-{shape.colour}-{shape.shape}"
        _draw(folder / "clean" / "images" / f"{name}_page_001.png", shape, chance)
        (asked,) = _different(shape, chance, 1)
        chosen = options(asked, chance)
        choices = {f"choice_{letter}": text for letter, text in zip(LETTERS, chosen, strict=True)}
        right = {"answer": LETTERS[chosen.index(asked.answer)]}
        groups = {"domain": "Shapes", "sub_domain": str(shape.shape), "difficulty": "easy", "length": "short"}
        records.append({"_id": name, **groups, "question": asked.question, **choices, **right, "context": ""})
    _write(folder / "data.json", records)


def _explain(folder: Path, shapes: list[Shape], chance: random.Random) -> None:
    records = {}
    for number, shape in enumerate(shapes, start=1):
        name = f"shape_{number:02d}.png"
        _draw(folder / "images" / "val2014" / name, shape, chance)
        (asked,) = _different(shape, chance, 1)
        answers = [{"answer": asked.answer, "answer_id": person} for person in range(1, PEOPLE + 1)]
        told = {"explanation": [f"the image shows a {shape}"]}
        records[str(number)] = {"question": asked.question, "answers": answers, "image_name": name, **told}
    _write(folder / "nle_data" / "VQA-X" / "vqaX_val.json", records)


def _different(shape: Shape, chance: random.Random, count: int) -> list[Asked]:
    """Questions that are all different."""
    found: dict[str, Asked] = {}
    while len(found) < count:
        asked = own_question(shape, chance)
        found.setdefault(asked.question, asked)
    return list(found.values())


def _draw(path: Path, shape: Shape, chance: random.Random) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn(shape, chance).save(path)


def _write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

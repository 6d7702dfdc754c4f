"""The drawings of data/shapes: that the script still makes them, and that every answer is true of its picture."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tiny_vlm.drawing import COLOURS, SHAPES, Shape
from tiny_vlm.easy import Asked, shape_told

from vqa_client.images.find import PageIndex
from vqa_client.shipped import shipped
from vqa_client.tasks import mc
from vqa_client.tasks.explain import dataset as loading
from vqa_client.tasks.explain.vqax import VQAX_TASK
from vqa_client.tasks.longbench import Wanted
from vqa_client.tasks.vqa2 import benchmark as vqa2
from vqa_client.tasks.vqa2.data import find_files

DATA = shipped("data")
FOLDER = DATA / "shapes"
EVERY = {(shape, colour) for shape in SHAPES for colour in COLOURS}
FILLED = {"rectangle": 1.0, "circle": 0.785, "triangle": 0.5}
"""The share of a shape in the box around it."""


def seen(path: Path) -> tuple[str, str]:
    """Shape and colour, from the pixels alone."""
    with Image.open(path) as picture:
        assert (picture.size, picture.mode) == ((64, 64), "RGB")
        pixels = Counter[tuple[int, ...]]()
        places: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        for at, pixel in enumerate(zip(*[iter(picture.tobytes())] * 3, strict=True)):
            pixels[pixel] += 1
            places.setdefault(pixel, []).append((at % 64, at // 64))
    assert len(pixels) == 2
    ink = max(pixels, key=lambda pixel: 765 - min(pixel) * 3)
    colour = min(COLOURS, key=lambda name: sum(abs(a - b) for a, b in zip(COLOURS[name], ink, strict=True)))
    across, down = ([place[axis] for place in places[ink]] for axis in (0, 1))
    box = (max(across) - min(across) + 1) * (max(down) - min(down) + 1)
    return min(FILLED, key=lambda name: abs(FILLED[name] - pixels[ink] / box)), colour


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def truth(question: str, answer: str, shown: tuple[str, str]) -> None:
    """Fail where what question and answer tell of the picture is not what it shows."""
    told = shape_told([Asked(question.lower(), answer)])
    assert told.shape in (None, shown[0]), question
    assert told.colour in (None, shown[1]), question
    if answer == "no":
        assert {*shown} - set(question.lower().rstrip("?").split()), question


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shapes")
    env = {**os.environ, "PYTHONPATH": str(shipped("serve"))}
    subprocess.run([sys.executable, "-W", "error", DATA / "shapes.py", folder], env=env, check=True)
    return folder


def test_the_script_makes_what_lies_here(made: Path) -> None:
    names = {path.relative_to(FOLDER) for path in FOLDER.rglob("*") if path.is_file()}
    assert names == {path.relative_to(made) for path in made.rglob("*") if path.is_file()}
    for name in names:
        if name.suffix == ".json":
            assert (made / name).read_bytes() == (FOLDER / name).read_bytes()
        else:  # a newer Pillow may pack the same pixels differently
            with Image.open(made / name) as new, Image.open(FOLDER / name) as lying:
                assert new.tobytes() == lying.tobytes(), name


def test_vqa2_asks_three_true_things_of_each_picture() -> None:
    shown = {at: seen(FOLDER / "vqa2" / "images" / f"{at}.png") for at in range(1, 25)}
    assert set(shown.values()) == EVERY
    annotations = {row["question_id"]: row for row in read("vqa2/annotations.json")["annotations"]}
    questions = read("vqa2/questions.json")["questions"]
    assert Counter(row["image_id"] for row in questions) == dict.fromkeys(shown, 3)
    assert len({(row["image_id"], row["question"]) for row in questions}) == len(questions)
    for row in questions:
        annotation = annotations[row["question_id"]]
        assert {answer["answer"] for answer in annotation["answers"]} == {annotation["multiple_choice_answer"]}
        truth(row["question"], annotation["multiple_choice_answer"], shown[row["image_id"]])
    assert {row["answer_type"] for row in annotations.values()} == {"yes/no", "number", "other"}


def test_the_right_letter_stands_at_the_true_answer_and_none_stands_out() -> None:
    rows = read("mc/data.json")
    assert {row["answer"] for row in rows} == set("ABCD")
    assert max(Counter(row["answer"] for row in rows).values()) <= len(rows) / 2
    shown = {row["_id"]: seen(FOLDER / "mc/clean/images" / f"{row['_id']}_page_001.png") for row in rows}
    assert set(shown.values()) == EVERY
    for row in rows:
        assert len({row[f"choice_{letter}"] for letter in "ABCD"}) == 4
        truth(row["question"], row[f"choice_{row['answer']}"], shown[row["_id"]])


def test_an_explanation_says_what_the_picture_shows() -> None:
    rows = read("explain/nle_data/VQA-X/vqaX_val.json").values()
    shown = [seen(FOLDER / "explain/images/val2014" / row["image_name"]) for row in rows]
    assert set(shown) == EVERY
    for row, (shape, colour) in zip(rows, shown, strict=True):
        assert row["explanation"] == [f"the image shows a {Shape(shape, colour)}"]
        truth(row["question"], row["answers"][0]["answer"], (shape, colour))


def test_every_benchmark_finds_all_of_its_questions_and_pictures() -> None:
    loaded = [
        vqa2.load(find_files(FOLDER / "vqa2"), num_questions=None),
        mc.load(FOLDER / "mc" / "data.json", Wanted(pages=PageIndex(FOLDER / "mc/clean/images").pages)),
        loading.load(VQAX_TASK, "val", FOLDER / "explain"),
    ]
    assert [each.count for each in loaded] == [72, 24, 24]
    assert not any(any(each.left_out.values()) for each in loaded)

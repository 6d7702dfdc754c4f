"""Makes the sample of `vqa-client vqa2 --mode sample`: twenty drawings with questions.

The questions ask for a car's colour, the number of people, a hat, the weather and a place.

python data/vqa2_sample.py vqa_client/tasks/vqa2/sample
"""

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from PIL import Image, ImageDraw

SIZE = (640, 480)
_FINER = 2
"""Images are drawn this many times larger and averaged down, so that edges are smooth."""
Color = str
Point = tuple[float, float]
SKIN = "#e0ac86"


class Canvas:
    """Shapes in one colour, the later ones on top."""

    def __init__(self, background: Color) -> None:
        self._pixels = Image.new("RGB", (SIZE[0] * _FINER, SIZE[1] * _FINER), background)
        self._draw = ImageDraw.Draw(self._pixels)

    def picture(self) -> Image.Image:
        """The picture at its true size."""
        return self._pixels.reduce(_FINER)

    def box(self, left: float, top: float, right: float, bottom: float, color: Color, radius: float = 0) -> None:
        """A rectangle, its corners rounded by `radius`."""
        corners = tuple(value * _FINER for value in (left, top, right, bottom))
        self._draw.rounded_rectangle(corners, radius * _FINER, color)

    def disc(self, x: float, y: float, radius: float, color: Color, height: float = 1.0) -> None:
        """A disc, or an ellipse whose height is that share of its width."""
        half = radius * height
        self._draw.ellipse(
            [(x - radius) * _FINER, (y - half) * _FINER, (x + radius) * _FINER, (y + half) * _FINER], color
        )

    def shape(self, points: list[Point], color: Color) -> None:
        self._draw.polygon([(x * _FINER, y * _FINER) for x, y in points], color)

    def line(self, start: Point, end: Point, color: Color, width: float) -> None:
        self._draw.line(
            [start[0] * _FINER, start[1] * _FINER, end[0] * _FINER, end[1] * _FINER], color, int(width * _FINER)
        )


def person(canvas: Canvas, x: float, feet: float, height: float, shirt: Color, *, hat: bool = False) -> None:
    """A standing person, seen from the front."""
    unit = height / 8
    top = feet - height
    for side in (-1, 1):
        canvas.box(
            x + side * 0.55 * unit - 0.4 * unit, feet - 3.8 * unit, x + side * 0.55 * unit + 0.4 * unit, feet, "#2f3b55"
        )
        canvas.disc(x + side * 0.7 * unit, feet, 0.55 * unit, "#3a2a20", height=0.4)
        canvas.line((x + side * unit, top + 2.3 * unit), (x + side * 1.7 * unit, top + 4.6 * unit), SKIN, 0.55 * unit)
    canvas.box(x - 1.2 * unit, top + 2 * unit, x + 1.2 * unit, top + 4.9 * unit, shirt, 0.4 * unit)
    canvas.box(x - 0.3 * unit, top + 1.7 * unit, x + 0.3 * unit, top + 2.2 * unit, SKIN)
    _head(canvas, x, top + unit, unit)
    if hat:
        canvas.box(x - 0.85 * unit, top - 0.75 * unit, x + 0.85 * unit, top + 0.5 * unit, "#7a1f1f", 0.3 * unit)
        canvas.box(x - 0.85 * unit, top + 0.1 * unit, x + 0.85 * unit, top + 0.4 * unit, "#f2d16b")
        canvas.disc(x, top + 0.5 * unit, 1.7 * unit, "#7a1f1f", height=0.18)


def _head(canvas: Canvas, x: float, y: float, radius: float) -> None:
    canvas.disc(x, y - 0.12 * radius, 0.98 * radius, "#4a3020")
    canvas.disc(x, y + 0.12 * radius, 0.86 * radius, SKIN)
    for side in (-1, 1):
        canvas.disc(x + side * 0.32 * radius, y + 0.05 * radius, 0.1 * radius, "#222222")
    canvas.disc(x, y + 0.5 * radius, 0.28 * radius, "#a03c3c", height=0.35)


def tree(canvas: Canvas, x: float, ground: float, height: float) -> None:
    """A tree with leaves."""
    canvas.box(x - height * 0.05, ground - height * 0.45, x + height * 0.05, ground, "#6b4a2b")
    for across, up, radius in ((-0.16, 0.55, 0.19), (0.16, 0.55, 0.19), (0, 0.75, 0.23)):
        canvas.disc(x + across * height, ground - up * height, radius * height, "#2f7d32")


def cloud(canvas: Canvas, x: float, y: float, size: float, color: Color) -> None:
    """A cloud."""
    for across, up, radius in (
        (-0.5, 0, 0.32),
        (0, 0.12, 0.42),
        (0.5, 0, 0.34),
        (0.2, -0.1, 0.34),
        (-0.2, -0.08, 0.32),
    ):
        canvas.disc(x + across * size, y - up * size, radius * size, color)


def car(canvas: Canvas, x: float, ground: float, length: float, color: Color) -> None:
    """A car, seen from the side."""
    unit = length / 10
    roof = [(-2.6, -2.2), (-1.6, -3.9), (1.7, -3.9), (3.2, -2.2)]
    glass = (
        [(-2.0, -2.3), (-1.35, -3.5), (-0.1, -3.5), (-0.1, -2.3)],
        [(0.2, -2.3), (0.2, -3.5), (1.5, -3.5), (2.5, -2.3)],
    )
    for points, paint in ((roof, color), (glass[0], "#cfe8f5"), (glass[1], "#cfe8f5")):
        canvas.shape([(x + across * unit, ground + up * unit) for across, up in points], paint)
    canvas.box(x - 5 * unit, ground - 2.3 * unit, x + 5 * unit, ground - 0.6 * unit, color, 0.6 * unit)
    canvas.box(x + 4.5 * unit, ground - 1.9 * unit, x + 5 * unit, ground - 1.4 * unit, "#fff3b0")
    for across in (-2.9, 2.9):
        canvas.disc(x + across * unit, ground - 0.7 * unit, 1.05 * unit, "#1c1c1c")
        canvas.disc(x + across * unit, ground - 0.7 * unit, 0.5 * unit, "#b9b9b9")


WIDTH, HEIGHT = SIZE
_PAINTS: Final = {"red": "#d01f1f", "blue": "#1f4fd0", "green": "#1e8c3a", "yellow": "#f2cf1d"}
_SHIRTS: Final = ("#3d7ea6", "#b5543c", "#6a9a4b", "#8a5aa8")
_SKY, _GRASS, _ROAD, _SAND = "#9fd3f2", "#7cb65a", "#6d7178", "#ecd9a0"


class Scene(Struct, frozen=True, kw_only=True):
    """A question, its type and the answers it can have, each with its picture."""

    question: str
    question_type: str
    answer_type: str
    answers: tuple[str, ...]
    draw: Callable[[str], Canvas]


def _car_of(color: str) -> Canvas:
    canvas = _outdoors("#c9c3b4")
    canvas.box(0, 330, WIDTH, HEIGHT, _ROAD)
    for left in range(20, WIDTH, 130):
        canvas.box(left, 438, left + 70, 446, "#f4f4f4")
    car(canvas, 320, 410, 380, _PAINTS[color])
    return canvas


def _people(count: str) -> Canvas:
    canvas = _outdoors(_GRASS)
    for at in range(int(count)):
        x = WIDTH * (at + 1) / (int(count) + 1)
        person(canvas, x, 430, 250, _SHIRTS[at % len(_SHIRTS)])
    return canvas


def _person_with_hat(answer: str) -> Canvas:
    canvas = Canvas("#dfe6ea")
    canvas.box(0, 440, WIDTH, HEIGHT, "#a58f78")
    person(canvas, 320, 455, 370, _SHIRTS[0], hat=answer == "yes")
    return canvas


def _weather(weather: str) -> Canvas:
    canvas = Canvas({"sunny": "#6fc3f7", "rainy": "#6f7b88", "snowy": "#b7c3cf", "cloudy": "#a9b4bf"}[weather])
    canvas.box(0, 360, WIDTH, HEIGHT, "#f7fafc" if weather == "snowy" else _GRASS if weather != "rainy" else "#55794a")
    tree(canvas, 500, 390, 190)
    {"sunny": _sun, "rainy": _rain, "snowy": _snow, "cloudy": _clouds}[weather](canvas)
    return canvas


def _sun(canvas: Canvas) -> None:
    for dx, dy in ((1, 0), (0.7, 0.7), (0, 1), (-0.7, 0.7), (-1, 0), (-0.7, -0.7), (0, -1), (0.7, -0.7)):
        canvas.line((170 + 68 * dx, 130 + 68 * dy), (170 + 108 * dx, 130 + 108 * dy), "#ffd21f", 9)
    canvas.disc(170, 130, 56, "#ffd21f")


def _clouds(canvas: Canvas) -> None:
    for x, y, size in ((110, 100, 150), (330, 80, 190), (540, 110, 150), (220, 170, 150), (440, 175, 140)):
        cloud(canvas, x, y, size, "#7d8893" if y < 150 else "#8f9aa5")


def _rain(canvas: Canvas) -> None:
    drops = random.Random(1)
    for _ in range(170):
        x, y = drops.uniform(0, WIDTH + 30), drops.uniform(150, HEIGHT)
        canvas.line((x, y), (x - 9, y + 26), "#cfe4f7", 2)
    for x in (90, 260, 430, 590):
        cloud(canvas, x, 95, 190, "#3f4750")
    for x, y in ((130, 425), (360, 450), (560, 440)):
        canvas.disc(x, y, 60, "#7f97ad", height=0.2)


def _snow(canvas: Canvas) -> None:
    for y, radius in ((390, 62), (300, 46), (228, 32)):
        canvas.disc(220, y, radius + 2, "#9fb0c0")
        canvas.disc(220, y, radius, "#ffffff")
    canvas.shape([(222, 228), (222, 238), (262, 235)], "#e8772e")
    for x in (209, 231):
        canvas.disc(x, 220, 4, "#222222")
    canvas.disc(500, 248, 46, "#f7fafc")
    flakes = random.Random(2)
    for _ in range(150):
        canvas.disc(flakes.uniform(0, WIDTH), flakes.uniform(0, HEIGHT - 90), flakes.uniform(2.5, 5), "#ffffff")


def _park(canvas: Canvas) -> None:
    canvas.box(0, 270, WIDTH, HEIGHT, _GRASS)
    canvas.shape([(250, HEIGHT), (470, HEIGHT), (345, 270), (330, 270)], "#d9c79a")
    for x, ground, height in ((70, 320, 230), (190, 295, 170), (460, 300, 190), (590, 330, 250)):
        tree(canvas, x, ground, height)
    canvas.disc(120, 400, 105, "#5aa5d6", height=0.36)
    for y in (352, 374, 396):
        canvas.box(470, y, 610, y + 12, "#8a5a2b")
    for x in (484, 590):
        canvas.box(x, 350, x + 8, 440, "#3c3c3c")


def _beach(canvas: Canvas) -> None:
    canvas.box(0, 200, WIDTH, 320, "#2384c6")
    for x, y in ((90, 235), (330, 260), (520, 225), (190, 285), (450, 290)):
        canvas.line((x, y), (x + 70, y), "#d8f0ff", 4)
    canvas.box(0, 312, WIDTH, HEIGHT, _SAND)
    canvas.line((0, 314), (WIDTH, 314), "#ffffff", 6)
    canvas.line((430, 230), (450, 430), "#8a6b45", 7)
    for at, color in enumerate(("#d83a3a", "#ffffff", "#d83a3a", "#ffffff")):
        canvas.shape([(427, 195), (310 + 60 * at, 270), (370 + 60 * at, 270)], color)
    canvas.box(180, 400, 330, 430, "#3aa6a0", 6)
    canvas.disc(110, 420, 26, "#f28c28")


def _street(canvas: Canvas) -> None:
    for left, top, color in ((0, 60, "#b58863"), (150, 110, "#8d99a6"), (290, 40, "#a66b5a"), (440, 90, "#7c8c75")):
        canvas.box(left, top, left + 145, 330, color)
        for x in range(left + 18, left + 120, 36):
            for y in range(top + 20, 290, 46):
                canvas.box(x, y, x + 20, y + 28, "#f5e9b8")
    canvas.box(580, 140, WIDTH, 330, "#9a8f80")
    canvas.box(0, 325, WIDTH, 350, "#c4c4c4")
    canvas.box(0, 350, WIDTH, HEIGHT, _ROAD)
    for left in range(10, WIDTH, 120):
        canvas.box(left, 425, left + 64, 433, "#f4f4f4")
    car(canvas, 210, 405, 190, _PAINTS["blue"])
    car(canvas, 480, 470, 210, "#e6e6e6")
    canvas.box(566, 150, 574, 350, "#333333")
    canvas.box(520, 145, 574, 155, "#333333")
    canvas.disc(525, 160, 14, "#fff3b0")


def _kitchen(canvas: Canvas) -> None:
    canvas.box(0, 0, WIDTH, HEIGHT, "#f3ead8")
    canvas.box(0, 400, WIDTH, HEIGHT, "#c9b493")
    canvas.box(30, 110, 160, 420, "#e9eef2", 8)
    canvas.line((30, 225), (160, 225), "#9aa5ad", 3)
    for top, bottom in ((150, 200), (245, 310)):
        canvas.box(142, top, 150, bottom, "#6b757d")
    for left in (190, 330, 470):
        canvas.box(left, 40, left + 130, 150, "#9c6b3f", 4)
        canvas.disc(left + 112, 130, 5, "#e0c070")
        canvas.box(left, 280, left + 130, 420, "#9c6b3f", 4)
    canvas.box(180, 262, 610, 284, "#5d5d5d")
    canvas.box(330, 284, 460, 420, "#d5d9dc", 4)
    canvas.box(348, 325, 442, 400, "#2c2f33", 6)
    for x in (352, 380, 408, 436):
        canvas.disc(x, 303, 7, "#2c2f33")
    canvas.box(352, 215, 424, 258, "#b03a2e", 6)
    canvas.line((424, 228), (468, 222), "#2c2f33", 7)
    canvas.box(345, 257, 440, 264, "#222222")


def _place(place: str) -> Canvas:
    canvas = Canvas(_SKY)
    {"park": _park, "beach": _beach, "street": _street, "kitchen": _kitchen}[place](canvas)
    return canvas


def _outdoors(ground: str) -> Canvas:
    canvas = Canvas(_SKY)
    cloud(canvas, 130, 90, 90, "#ffffff")
    cloud(canvas, 500, 70, 110, "#ffffff")
    canvas.box(0, 290, WIDTH, HEIGHT, ground)
    return canvas


SCENES: Final = (
    Scene(
        question="What color is the car?",
        question_type="what color is the",
        answer_type="other",
        answers=("red", "blue", "green", "yellow"),
        draw=_car_of,
    ),
    Scene(
        question="How many people are in the image?",
        question_type="how many people are in",
        answer_type="number",
        answers=("2", "3", "1", "4"),
        draw=_people,
    ),
    Scene(
        question="Is this person wearing a hat?",
        question_type="is this person",
        answer_type="yes/no",
        answers=("yes", "no", "yes", "no"),
        draw=_person_with_hat,
    ),
    Scene(
        question="What is the weather like?",
        question_type="what is the",
        answer_type="other",
        answers=("sunny", "rainy", "snowy", "cloudy"),
        draw=_weather,
    ),
    Scene(
        question="Where is this photo taken?",
        question_type="none of the above",
        answer_type="other",
        answers=("park", "beach", "street", "kitchen"),
        draw=_place,
    ),
)
"""The published framework's five questions; its first answer to each is the first here."""


FIRST_ID = 1000
PEOPLE = 10
"""Answers to each question; here all ten are the same."""
IMAGE_IDS: Final = (
    *(139, 285, 632, 724, 776, 785, 802, 872, 885, 1000),
    *(1268, 1296, 1353, 1584, 1818, 2006, 2149, 2153, 2157, 2261),
)
"""The published framework's names, without COCO, because the images aren't COCO's."""


def main() -> None:
    """Write the questions, the annotations and the pictures."""
    output = Path(sys.argv[1])
    (output / "images").mkdir(parents=True, exist_ok=True)
    questions, annotations = [], []
    for number, image_id in enumerate(IMAGE_IDS):
        scene = SCENES[number % len(SCENES)]
        answer = scene.answers[number // len(SCENES) % len(scene.answers)]
        ids = {"question_id": FIRST_ID + number, "image_id": image_id}
        questions.append(ids | {"question": scene.question})
        annotations.append(_annotation(scene, answer) | ids)
        scene.draw(answer).picture().save(output / "images" / f"sample_{image_id:012d}.png", "PNG")
    _write(output / "val_questions_sample.json", {"questions": questions})
    _write(output / "val_annotations_sample.json", {"annotations": annotations})


def _annotation(scene: Scene, answer: str) -> dict[str, Any]:
    people = range(1, PEOPLE + 1)
    return {
        "question_type": scene.question_type,
        "multiple_choice_answer": answer,
        "answers": [{"answer": answer, "answer_confidence": "yes", "answer_id": person} for person in people],
        "answer_type": scene.answer_type,
    }


def _write(path: Path, content: dict[str, Any]) -> None:
    head = {"info": {"description": "Drawn pictures with questions, in the form of VQA 2.0."}, "data_subtype": "sample"}
    path.write_text(json.dumps(head | content, separators=(",", ":")))


if __name__ == "__main__":
    main()

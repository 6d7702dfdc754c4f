"""A tiny sample of each declared benchmark's data, of our own making; every question carries a mark such as [[q0]]."""

import json
from collections.abc import Callable
from pathlib import Path

from PIL import Image


def draw(path: Path, shade: int) -> None:
    """A small picture."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (24, 16), (shade % 256, 90, 120)).save(path)


def chartqa(folder: Path) -> None:
    """Two questions of people, two of a machine."""
    halves = {
        "human": [("How many bars?", "3"), ("Which is highest?", "Blue")],
        "augmented": [("Peak?", "62%"), ("Low?", "0")],
    }
    number = 0
    for half, rows in halves.items():
        made = []
        for text, label in rows:
            draw(folder / "png" / f"{number}.png", number)
            made.append({"imgname": f"{number}.png", "query": f"[[q{number}]] {text}", "label": label})
            number += 1
        (folder / f"test_{half}.json").write_text(json.dumps(made), encoding="utf-8")


def pope(folder: Path) -> None:
    """Two photographs, each asked for something that is there and something that isn't, in two files."""
    number = 0
    for kind in ("random", "adversarial"):
        rows = []
        for picture in range(2):
            draw(folder / "val2014" / f"photo_{picture}.png", picture)
            for label in ("yes", "no"):
                text = f"[[q{number}]] Is there a bird in the image?"
                rows.append({"question_id": number, "image": f"photo_{picture}.png", "text": text, "label": label})
                number += 1
        (folder / f"coco_pope_{kind}.json").write_text(
            "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
        )


SAMPLES: dict[str, Callable[[Path], None]] = {"chartqa": chartqa, "pope": pope}
"""What makes each benchmark's data in a folder."""

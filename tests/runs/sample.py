"""A small benchmark for tests: documents with drawn pages, questions that contain their ids, and settings."""

import json
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from vqa_client.settings.own_commands import McSettings

LETTERS = "ABCD"


@cache
def drawn(red: int, green: int) -> bytes:
    """A small page of one colour, as PNG."""
    buffer = BytesIO()
    Image.new("RGB", (24, 16), (red, green, 99)).save(buffer, "PNG")
    return buffer.getvalue()


class Sample:
    """`count` multiple-choice questions `[[q0]]`... in a folder; the right letters go round A to D."""

    def __init__(self, root: Path, count: int, pages: int = 1, folders: tuple[str, ...] = ("clean",)) -> None:
        self.root = root
        self.ids = [f"q{number}" for number in range(count)]
        self.gold = {name: LETTERS[number % 4] for number, name in enumerate(self.ids)}
        self.data_json = root / "data.json"
        self.pages_dir = root / "pages"
        self.output = root / "out"
        self.data_json.write_text(json.dumps([self._row(name) for name in self.ids]))
        for folder in folders:
            self._draw(self.pages_dir / folder / "images", pages)

    def _row(self, name: str) -> dict[str, Any]:
        number = int(name[1:])
        return {
            "_id": name,
            "domain": "Sample",
            "sub_domain": "Drawn",
            "difficulty": ("easy", "hard")[number % 2],
            "length": "short",
            "question": f"[[{name}]] Which one?",
            **{f"choice_{letter}": f"thing {number}{letter}" for letter in LETTERS},
            "answer": self.gold[name],
            "context": "Some words.",
        }

    def _draw(self, folder: Path, pages: int) -> None:
        folder.mkdir(parents=True)
        for number, name in enumerate(self.ids):
            for page in range(1, pages + 1):
                (folder / f"{name}_page_{page:03d}.png").write_bytes(drawn(number % 256, page))

    def settings(self, base_url: str, **changes: Any) -> McSettings:
        given: dict[str, Any] = {
            "data": self.data_json,
            "images": self.pages_dir,
            "output": self.output,
            "base_url": base_url,
            "api_key": None,
            "max_workers": 8,
            "wait_for_server": 5.0,
        }
        return McSettings(**(given | changes))

    def arguments(self, base_url: str, *more: str) -> list[str]:
        """The settings as a command line."""
        fixed = ["mc", "--data_json", self.data_json, "--images_dir", self.pages_dir, "-o", self.output]
        return [*map(str, fixed), "--base_url", base_url, *more]

    def replies(self) -> dict[str, str]:
        """The right replies by the questions' markers."""
        return {f"[[{name}]]": f"The correct answer is ({letter})." for name, letter in self.gold.items()}

    def report_path(self, folder: str = "clean") -> Path:
        return self.output / f"{folder}_mc_eval.json"

    def report(self, folder: str = "clean") -> dict[str, Any]:
        """The report, which must be strict JSON."""

        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} in a report")

        report: dict[str, Any] = json.loads(self.report_path(folder).read_text(), parse_constant=refuse)
        return report

    def records(self, folder: str = "clean") -> list[dict[str, Any]]:
        lines = (self.output / f"{folder}_mc_eval.records.jsonl").read_bytes().splitlines()
        return [json.loads(line) for line in lines]

"""A small split of VQA 2.0 for tests: drawn photographs, marked questions, and right replies."""

import json
from pathlib import Path
from typing import Any

from PIL import Image

from tests.tasks.vqa2_files import OFFICIAL, annotation, question, write_split
from vqa_client.settings.own_commands import Vqa2Settings

GOLD = ("yes", "no", "red", "3", "beach")
TEXTS = (
    "Is it day?",
    "Is a dog there?",
    "What color is the boat?",
    "How many gulls are there?",
    "Where is this?",
)
TYPES = (("is it", "yes/no"), ("is a", "yes/no"), ("what color is the", "other"), ("how many", "number"))
OTHER = ("where is the", "other")
IMAGE_NAME = "images/val2014/COCO_val2014_{:012d}.jpg"


class Split:
    """`count` questions `[[1000]]`, `[[2000]]`, ... each on an image of its own; the right answers go round `GOLD`."""

    def __init__(
        self,
        root: Path,
        count: int = 6,
        *,
        names: tuple[str, str] = OFFICIAL,
        image_name: str = IMAGE_NAME,
        size: tuple[int, int] = (24, 16),
    ) -> None:
        self.root = root
        self.folder = root / "materials"
        self.results = root / "results"
        self.ids = [1000 * number for number in range(1, count + 1)]
        self.gold = {number: GOLD[at % len(GOLD)] for at, number in enumerate(self.ids)}
        questions = [
            question(number, f"[[{number}]] {TEXTS[at % len(TEXTS)]}", image_id=number // 1000)
            for at, number in enumerate(self.ids)
        ]
        write_split(self.folder, questions, [self._annotation(number) for number in self.ids], names=names, images=[])
        for at, number in enumerate(self.ids):
            path = self.image(number, image_name)
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", size, (at, 90, 140)).save(path)

    def _annotation(self, number: int) -> dict[str, Any]:
        kind, answer_type = dict(enumerate(TYPES)).get(self.ids.index(number) % len(GOLD), OTHER)
        given = [self.gold[number]] * 10
        return annotation(number, *given, image_id=number // 1000, question_type=kind, answer_type=answer_type)

    def image(self, number: int, image_name: str = IMAGE_NAME) -> Path:
        return self.folder / image_name.format(number // 1000)

    def settings(self, base_url: str | None, **changes: Any) -> Vqa2Settings:
        given: dict[str, Any] = {
            "data_dir": self.folder,
            "results_dir": self.results,
            "num_questions": 0,
            "base_url": base_url,
            "api_key": None,
            "max_workers": 4,
            "wait_for_server": 5.0,
        }
        return Vqa2Settings(**(given | changes))

    def arguments(self, base_url: str | None, *more: str) -> list[str]:
        """The settings as a command line."""
        fixed = ["vqa2", "--data_dir", self.folder, "-o", self.results, "--num_questions", "0"]
        return [*map(str, fixed), *(("--base_url", base_url) if base_url else ()), *more]

    def replies(self) -> dict[str, str]:
        """The right replies by the questions' markers."""
        return {f"[[{number}]]": f"{answer}." for number, answer in self.gold.items()}

    def config(self, name: str, **settings: Any) -> str:
        """The path of a config with this name."""
        path = self.root / f"{name}.json"
        path.write_text(json.dumps({"model_name": f"org/{name}", "max_tokens": 100, "temperature": 0.0} | settings))
        return str(path)


def read_report(path: Path) -> dict[str, Any]:
    """A report, which must be strict JSON."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in a report")

    report: dict[str, Any] = json.loads(path.read_text(), parse_constant=refuse)
    return report


def results_of(path: Path) -> dict[str, Any]:
    """The results of the only model in a report."""
    (result,) = read_report(path)["results"].values()
    return dict(result)

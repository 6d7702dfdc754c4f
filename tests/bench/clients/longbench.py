"""The common parts of the three scripts, as people write them: flags, data, prompt, letter, result file."""

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODEL = "mock-vlm"
MAX_TOKENS = 64
TEMPLATES = {
    "mc": "{question}\n\n{choices}\n\nFormat your response as follows: The correct answer is (insert answer here).",
    "niah": "{question}",
}
MIME = {".jpg": "image/jpeg", ".png": "image/png"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """A question, with the prompt that `vqa-client` sends for it, and its page images in page order."""

    task: str
    ident: str
    prompt: str
    answer: str
    pages: list[Path]


@dataclass(frozen=True, slots=True)
class Options:
    """The flags that the runner gives every script: those of `vqa-client mc` or of `vqa-client niah`."""

    data_json: Path
    images_dir: Path
    output: Path
    base_url: str
    max_workers: int
    limit: int | None


def options(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-json", "--data", type=Path, required=True)
    parser.add_argument("--images-dir", "--images", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--base_url", required=True)
    parser.add_argument("--max_workers", type=int, default=128)
    parser.add_argument("--limit", type=int)
    return Options(**vars(parser.parse_args(arguments)))


def load(data_json: Path, images_dir: Path, limit: int | None = None) -> list[Item]:
    """Join the first `limit` rows with their `{_id}_page_{NNN}` files, which are in images_dir or images_dir/images."""
    inner = images_dir / "images"
    pages: dict[str, list[Path]] = {}
    for path in sorted((inner if inner.is_dir() else images_dir).iterdir()):
        pages.setdefault(path.name.split("_page_")[0], []).append(path)
    rows = json.loads(data_json.read_text(encoding="utf-8"))[:limit]
    return [item for row in rows for item in _items(row, pages[row["_id"]])]


def _items(row: dict[str, Any], pages: list[Path]) -> list[Item]:
    if "questions" not in row:
        choices = "\n".join(f"{letter}. {row[f'choice_{letter}']}" for letter in "ABCD")
        prompt = TEMPLATES["mc"].format(question=row["question"], choices=choices)
        return [Item(task="mc", ident=row["_id"], prompt=prompt, answer=row["answer"], pages=pages)]
    needles = enumerate(zip(row["questions"], row["answers"], strict=True))
    return [
        Item(task="niah", ident=f"{row['_id']}#{index}", prompt=question, answer=answer, pages=pages)
        for index, (question, answer) in needles
    ]


def letter(reply: str) -> str:
    """The letter in a reply, or ""."""
    found = re.search(r"correct answer is \(?([A-D])\b", reply) or re.search(r"\b([A-D])\b", reply)
    return found.group(1) if found else ""


def result(item: Item, reply: str) -> dict[str, Any]:
    """Score one reply: by its letter, or by whether it contains the needle."""
    extracted = letter(reply) if item.task == "mc" else reply
    return {
        "instance_id": item.ident,
        "ground_truth": item.answer,
        "model_output": reply,
        "extracted_answer": extracted,
        "correct": extracted == item.answer if item.task == "mc" else item.answer in reply,
        "num_images": len(item.pages),
    }


def write(results: Sequence[dict[str, Any]], output: Path) -> None:
    """Write the report, to `output` if it ends in .json, else to output/pages_mc_eval.json."""
    path = output if output.suffix == ".json" else output / "pages_mc_eval.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    accuracy = 100 * sum(row["correct"] for row in results) / max(1, len(results))
    report = {"total_questions": len(results), "accuracy": accuracy, "results": results}
    path.write_text(json.dumps(report, indent=2), encoding="utf-8")

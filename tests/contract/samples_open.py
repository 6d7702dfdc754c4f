"""Samples of benchmarks with open answers, numbers, or yes and no; see samples.py."""

from pathlib import Path
from typing import Any

from tests.contract.forms import Sample, draw
from tests.contract.samples_documents import laid

_DOORS = [("Is the door open?", "yes"), ("What color is it?", "red"), ("Is it wet?", "no"), ("Who is it?", "boy")]
_FIGURES = [
    ("VD", "illusion", "1", "0", "0", "yes"),
    ("VD", "illusion", "2", "1", "0", "no"),
    ("VS", "chart", "1", "1", "0", "no"),
    ("VS", "chart", "2", "2", "0", "yes"),
]
_SKILLS = ["scientific reasoning", "arithmetic reasoning"]
_VISTA: list[dict[str, Any]] = [
    {"answer": "1.2", "question_type": "free_form", "answer_type": "float", "precision": 1.0, "unit": "m"},
    {"answer": "no", "question_type": "multi_choice", "answer_type": "text", "choices": ["yes", "no"]},
    {"answer": "14", "question_type": "free_form", "answer_type": "integer"},
    {"answer": "7/8", "question_type": "multi_choice", "answer_type": "text", "choices": ["1/8", "3/8", "7/8"]},
]
_VISION: list[dict[str, Any]] = [
    {"id": "1", "question": "[[q0]] Which is longest?\n<image1>", "options": list("ABCDE"), "answer": "B"},
    {"id": "2", "question": "[[q1]] How many?\n<image1>", "options": [], "answer": "60"},
    {"id": "3", "question": "[[q2]] What share?", "options": ["1", "$\\frac{1}{2}$", "2", "3", "4"], "answer": "B"},
    {"id": "4", "question": "[[q3]] How long?", "options": [], "answer": "\\frac{\\sqrt{3}}{2}"},
]
_VERSE = [
    ("Text Dominant", "Find x.\nChoices:\nA:60\nB:30", "multi-choice", "B"),
    ("Vision Only", "", "multi-choice", "C"),
    ("Vision Only", "", "free-form", "12"),
    ("Text Lite", "Find y.", "free-form", "2x+1"),
]
_PAIRS = [("count", 0, "Yes"), ("count", 0, "No"), ("code_reasoning", 1, "Yes"), ("code_reasoning", 1, "No")]
_OPEN = [("ocr,math", "-1<AND>-5"), ("rec", "a cat<OR>cats"), ("rec,know", "Oslo"), ("spat,ocr,math", "12")]


_GQA = {
    "instructions": [
        {
            "id": f"0{number}",
            "imageId": f"n{number}",
            "question": f"[[q{number}]] {text}",
            "answer": answer,
            "types": {"structural": "query", "semantic": "attr"},
        }
        for number, (text, answer) in enumerate(_DOORS)
    ],
    "images": [{"id": f"n{number}", "image": {"bytes": draw(number), "path": None}} for number in range(4)],
}
"""Questions and images in the hub's form, in two files."""


def _vision(number: int) -> dict[str, Any]:
    return {**_VISION[number], "level": number + 1, "subject": "algebra", "solution": None}


def _mme_folders(folder: Path) -> None:
    """A text file beside each image, with a line for each question."""
    for number, (task, image, answer) in enumerate(_PAIRS):
        (folder / task).mkdir(exist_ok=True)
        (folder / task / f"{image}.png").write_bytes(draw(image))
        with (folder / task / f"{image}.txt").open("a", encoding="utf-8") as file:
            file.write(f"[[q{number}]] Is it so? Please answer yes or no.\t{answer}\n")


SAMPLES: dict[str, Sample] = {
    "gqa": Sample(
        rows=[
            {
                "key": f"0{number}",
                "id": f"0{number}",
                "text": f"[[q{number}]] {text}",
                "images": draw(number),
                "references": answer,
                "structural": "query",
                "semantic": "attr",
            }
            for number, (text, answer) in enumerate(_DOORS)
        ],
        write={1: laid({f"testdev_balanced_{name}/testdev-0.parquet": rows for name, rows in _GQA.items()}, {})},
    ),
    "hallusionbench": Sample(
        rows=[
            {
                "category": category,
                "subcategory": subcategory,
                "visual_input": visual_input,
                "set_id": "0",
                "figure_id": figure,
                "question_id": question,
                "question": f"[[q{number}]] Is the left circle larger?",
                "gt_answer": "1" if answer == "yes" else "0",
                "2:gt_answer": answer.capitalize(),
                "2:index": f"HallusionBench_{category}_{subcategory}_0_{figure}_{question}",
                "image": draw(number),
            }
            for number, (category, subcategory, visual_input, figure, question, answer) in enumerate(_FIGURES)
        ]
    ),
    "mathvista": Sample(
        rows=[
            {
                "pid": number,
                "question": f"[[q{number}]] What is it?",
                "2:question": f"Hint: Say it.\nQuestion: [[q{number}]] What is it?"
                + "\nChoices:\n(A) yes" * ("choices" in row),
                "image": draw(number),
                "language": "english",
                "source": "made up",
                "category": "general-vqa",
                "task": "figure question answering",
                "context": "bar chart",
                "grade": "college",
                "skills": _SKILLS,
                **{"choices": None, "unit": None, "precision": None, **row},
            }
            for number, row in enumerate(_VISTA)
        ]
    ),
    "mathvision": Sample(
        rows=[{**_vision(number), "image": draw(number)} for number in range(len(_VISION))],
        write={
            0: laid(
                {"data/test.jsonl": [{**_vision(number), "image": f"images/{number}.jpg"} for number in range(4)]},
                {f"images/{number}.jpg": number for number in range(4)},
            )
        },
    ),
    "mathverse": Sample(
        rows=[
            {
                "sample_index": number,
                "problem_index": number // 2,
                "problem_version": version,
                "question": f"[[q{number}]] {text}",
                "question_type": kind,
                "answer": answer,
                "image": draw(number),
                "subject": "Plane Geometry",
                "subfield": "Angle",
                "query_wo": f"[[q{number}]] {text} Say it.",
            }
            for number, (version, text, kind, answer) in enumerate(_VERSE)
        ]
    ),
    "countbench": Sample(
        rows=[
            {
                "question": f"[[q{number}]] How many cats are there?",
                "number": number + 2,
                "caption": "a photo of cats",
                "image": draw(number),
            }
            for number in range(4)
        ],
        same_ids=False,
    ),
    "mme": Sample(
        rows=[
            {
                "question_id": f"{task}/{image}.png",
                "image": draw(image),
                "question": f"[[q{number}]] Is it so? Please answer yes or no.",
                "answer": answer,
                "category": task,
            }
            for number, (task, image, answer) in enumerate(_PAIRS)
        ],
        write={2: _mme_folders},
    ),
    "mmvet": Sample(
        rows=[
            {
                "key": f"v1_{number}",
                "id": f"v1_{number}",
                "question": f"[[q{number}]] What is it?",
                "answer": answer,
                "capability": needed.split(","),
                "1:capability": needed,
                "2:capability": needed,
                "image": draw(number),
            }
            for number, (needed, answer) in enumerate(_OPEN)
        ]
    ),
}

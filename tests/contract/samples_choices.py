"""Samples of benchmarks of choices, and of yes or no; see samples.py."""

from typing import Any

from tests.contract.forms import Fields, Sample, draw
from tests.contract.samples_documents import laid

_ASKED = [
    ("What is it?", ["cat", "dog", "cow", "fox"], "B"),
    ("Which is soft?", ["rock", "pillow", "brick", "nail"], "B"),
    ("How many cups are there?", ["0", "1", "2", "3"], "D"),
    ("Where is the lamp?", ["on the left", "on the right", "above", "below"], "A"),
]
LABELS = "ABCDEFGHIJ"
_HOW = "Please answer directly with"


def lettered(options: list[str]) -> dict[str, str]:
    return dict(zip(LABELS, options, strict=False))


def _lines(options: list[str], form: str, between: str = "\n") -> str:
    return between.join(form.format(label, text) for label, text in lettered(options).items())


def ai2d() -> Sample:
    diagrams: dict[str, Any] = {}
    pictures, rows = {}, []
    for number, (text, options, answer) in enumerate(_ASKED):
        name, asked = f"{number // 2}.png", f"[[q{number}]] {text}"
        place = LABELS.index(answer)
        diagram = diagrams.setdefault(f"questions/{name}.json", {"imageName": name, "questions": {}})
        diagram["questions"][asked] = {
            "questionId": f"{name}-{number % 2}",
            "answerTexts": options,
            "correctAnswer": place,
            "abcLabel": False,
        }
        pictures[f"images/{name}"] = number // 2
        rows.append(
            {
                "question": asked,
                "image": draw(number // 2),
                "1:options": options,
                "1:answer": str(place),
                "2:lettered": lettered(options),
                "2:answer": answer,
            }
        )
    return Sample(rows=rows, same_ids=False, write={0: laid(diagrams, pictures)})


def mmmu(number: int) -> Fields:
    text, options, answer = _ASKED[number]
    options = [*options[:3], "<image 2>"]
    return {
        "id": f"validation_{('Math', 'Art_Theory')[number % 2]}_{number}",
        "question": f"[[q{number}]] {text} See <image 1>.",
        "0:options": repr(options),
        "1:lettered": lettered(options),
        "images": [draw(number), draw(number + 9)],
        "answer": answer,
    }


_OPEN = {
    "id": "validation_Math_7",
    "question": "[[q7]] How long is <image 1>?",
    "0:options": "[]",
    "images": [draw(7)],
    "answer": "['6', 'six']",
}
_TURNED = [
    (group, by, [*options[by:], *options[:by]], "ABCD"[(LABELS.index(answer) - by) % 4])
    for group, (_, options, answer) in enumerate(_ASKED[:2])
    for by in range(4)
]
ASKED = [(number, f"[[q{number}]] {text}", options, answer) for number, (text, options, answer) in enumerate(_ASKED)]

SAMPLES: dict[str, Sample] = {
    "ai2d": ai2d(),
    "aokvqa": Sample(
        rows=[
            {
                "question_id": f"a{number}",
                "0:split": "val",
                "0:image_id": 40 + number,
                "image": draw(number),
                "question": text,
                "0:options": options,
                "1:lettered": lettered(options),
                "0:correct_choice_idx": LABELS.index(answer),
                "1:answer": answer,
                "0:direct_answers": ["one"] * 7 + ["One."] * 3,
                "0:difficult_direct_answer": False,
            }
            for number, text, options, answer in ASKED
        ]
    ),
    "blink": Sample(
        rows=[
            {
                "id": f"val_Counting_{number}",
                "images": [draw(number), draw(number + 9)],
                "question": text,
                "0:prompt": f"{text}\nSelect from the following choices.\n(A) {options[0]}\n(B) {options[1]}",
                "0:options": options,
                "1:lettered": lettered(options),
                "0:answer": f"({answer})",
                "1:answer": answer,
                "task": ("Counting", "Jigsaw")[number % 2],
            }
            for number, text, options, answer in ASKED
        ]
    ),
    "mmbench": Sample(
        rows=[
            {
                "index": group + 1 + by * 1_000_000,
                "question": f"[[q{4 * group + by}]] {_ASKED[group][0]}",
                "hint": "A kitchen." if group else "nan" if by else "",
                "lettered": lettered(options),
                "answer": answer,
                "image": draw(group),
                "category": "ocr" if group else "image_scene",
                "group": "finegrained_perception (instance-level)" if group else "coarse_perception",
            }
            for group, by, options, answer in _TURNED
        ]
    ),
    "mmmu": Sample(rows=[{**row, "1:split": "validation"} for row in (*map(mmmu, range(3)), _OPEN)]),
    "mmmu-pro": Sample(rows=[{**mmmu(number), "subject": "Math"} for number in range(4)]),
    "mmstar": Sample(
        rows=[
            {
                "index": number,
                "0:question": f"{text}\nOptions: {_lines(options, '{}: {}', ', ')}",
                "1:question": text,
                "1:lettered": lettered(options),
                "answer": answer,
                "image": draw(number),
                "category": ("math", "logical reasoning")[number % 2],
                "l2_category": ("geometry", "code & sequence reasoning")[number % 2],
            }
            for number, text, options, answer in ASKED
        ]
    ),
    "realworldqa": Sample(
        rows=[
            *(
                {
                    "0:question": f"{text}\n\n{_lines(options, '{}. {}')}\n{_HOW} only the letter of it.",
                    "1:question": text,
                    "1:lettered": lettered(options),
                    "answer": answer,
                    "image": draw(number),
                }
                for number, text, options, answer in ASKED
            ),
            {
                "0:question": f"[[q9]] How many cars?\n{_HOW} a single word or number.",
                "1:question": "[[q9]] How many cars?",
                "answer": "Two",
                "image": draw(9),
            },
        ],
        same_ids=False,
    ),
    "scienceqa": Sample(
        rows=[
            {
                "0:id": f"{number}",
                "2:id": number,
                "0:split": "test",
                "question": text,
                **{f"{form}:options": options for form in (0, 1, 3)},
                "2:lettered": lettered(options),
                "answer": LABELS.index(answer),
                "2:answer": answer,
                "hint": "A fact." if number % 2 else "",
                "image": None if number > 1 else draw(number),
                "subject": "natural science",
                "grade": f"grade{5 + number}",
                "topic": "physics",
            }
            for number, text, options, answer in ASKED
        ],
        same_ids=False,
    ),
    "seedbench": Sample(
        rows=[
            {
                "question_id": f"{number}",
                "question": text,
                "0:options": options,
                "1:options": options,
                "2:lettered": lettered(options),
                "answer": answer,
                "images": [draw(number)],
                "data_type": "image" if number < 4 else "video",
                "0:question_type_id": 5 - number % 2,
                "1:question_type_id": 5 - number % 2,
                "2:category": ("Instances Counting", "Instance Location")[number % 2],
            }
            for number, text, options, answer in (*ASKED, (4, "What happens?", ["a", "b", "c", "d"], "A"))
        ]
    ),
    "vstar": Sample(
        rows=[
            {
                "id": f"{number}",
                "image": draw(number),
                "question": f"{text}\n{_lines(options, '({}) {}')}\n"
                "Answer with the option's letter from the given choices directly.",
                "2:question": text,
                "2:lettered": lettered(options),
                "answer": answer,
                "category": ("direct_attributes", "relative_position")[number % 2],
            }
            for number, text, options, answer in ASKED
        ]
    ),
}

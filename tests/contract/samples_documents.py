"""Samples of benchmarks of documents and charts; see samples.py."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.contract.forms import Sample, draw


def laid(files: dict[str, Any], pictures: dict[str, int]) -> Callable[[Path], None]:
    """Write files, and pictures by their shades, at the authors' places."""

    def write(folder: Path) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        for name in (*files, *pictures):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        for name, rows in files.items():
            if name.endswith(".parquet"):
                parquet.write_table(pa.Table.from_pylist(rows), folder / name)
                continue
            lines = "".join(json.dumps(row) + "\n" for row in rows) if name.endswith(".jsonl") else json.dumps(rows)
            (folder / name).write_text(lines, encoding="utf-8")
        for name, shade in pictures.items():
            (folder / name).write_bytes(draw(shade))

    return write


_ASKED = [("When?", ["3 May 1999", "May 3, 1999"]), ("Who?", ["Ann"]), ("How much?", ["1,450"]), ("Where?", ["Oslo"])]
_TEN = [
    ["stop"] * 7 + ["stop sign", "red", "STOP"],
    ["two"] * 9 + ["2"],
    ["unanswerable"] * 10,
    ["a cat"] * 6 + ["cat"] * 4,
]
_OCR = [
    ("IIIT5K", "Regular Text Recognition", ["CENTRE"]),
    ("docVQA", "Doc-oriented VQA", ["$5", "5 dollars"]),
    ("HME100k", "Handwritten Mathematical Expression Recognition", ["x ^ 2"]),
    ("ESTVQA_cn", "Scene Text-centric VQA", ["酒店"]),
]
_OCR_V2: list[tuple[str, Any, str]] = [
    ("text recognition en", ["LAMP"], "case sensitive"),
    ("text counting en", [4], "regression"),
    ("formula recognition cn", [r"\text{v} = 1"], ""),
    ("reasoning VQA cn", ["甲"], ""),
    ("math QA en", ["B"], "multiple choice"),
    ("cognition VQA en", "one two three four five", ""),
]
_SLIDES = [
    {
        "qa_id": number,
        "question": f"[[q{number}]] What is it?",
        "answer": answer,
        "deck_name": f"deck_{number}",
        "evidence_pages": pages,
        "arithmetic_expression": "5 + 7" if answer == "12" else "None",
        "reasoning_type": "Multi-hop" if len(pages) > 1 else "Single-hop",
        "answer_type": "Non-Span",
    }
    for number, (answer, pages) in enumerate([("7 regions", [2]), ("The Report", [1]), ("12", [1, 2]), ("no", [3])])
]
_LONG = [
    {
        "doc_id": f"guide_{number}.pdf",
        "doc_type": "Guidebook",
        "question": f"[[q{number}]] What is it?",
        "answer": answer,
        "answer_format": form,
        "evidence_pages": str(pages),
        "evidence_sources": str(sources),
    }
    for number, (form, answer, sources, pages) in enumerate(
        [
            ("Int", "4", ["Table", "Figure"], [1, 2]),
            ("Float", "2.5", ["Chart"], [2]),
            ("List", "['tea', 'milk']", ["Pure-text (Plain-text)"], [1]),
            ("None", "Not answerable", [], []),
        ]
    )
]
_LOCATED: list[tuple[Any, str, str, str, list[str], list[int]]] = [
    (5, "Integer", "Reasoning", "calculate", ["Table"], [31]),
    (["Rules", "Prizes"], "List", "Locating", "topic2title", ["Layout", "Text"], [30, 31]),
    (2.5, "Float", "Understanding", "extract", ["Figure", "Others"], [31]),
    ("Tax", "String", "Understanding", "extract", ["Text"], []),
]
_NEEDLES: list[tuple[str, str, str, Any, list[str] | None, list[str] | None]] = [
    ("retrieval-text", "find-text", "A page.<image>A key.", "oak", None, None),
    ("counting-text", "count-text", "Two birds. Then 1.", [2, 1], None, None),
    ("retrieval-image", "find-image", "<image>A page.<image>", 1, ["a", "b"], None),
    ("reasoning-image", "visual-reasoning", "Old.<image>", 0, None, ["c/0.jpg", "c/1.jpg"]),
]
_CHARTS: list[dict[str, Any]] = [
    {"qids": [7], "answers": ["60"], "subplot_loc": "the plot [[q0]]"},
    {"qids": [11], "answers": ["Not Applicable"], "subplot_loc": "[[q1]]"},
    {"query": "[[q2]] Which is higher?", "answer": "a, b", "answer_type": 1, "qa_source": 3},
    {"query": "[[q3]] By how much?", "answer": "1.25", "answer_type": 4, "qa_source": 1},
]
_UNASKED = {"qids": [], "answers": [], "subplot_loc": None, "query": "", "answer": "", "answer_type": 0, "qa_source": 0}


def _located(number: int) -> dict[str, Any]:
    answer, form, task, kind, sources, pages = _LOCATED[number]
    return {
        "question_id": f"free_{number}",
        "doc_no": f"400000{number}",
        "start_end_idx": [30, 31],
        "question_type": kind,
        "question": f"[[q{number}]] What is it?",
        "answer": answer,
        "answer_format": form,
        "task_tag": task,
        "evidence_pages": pages,
        "evidence_sources": sources,
        "images": [f"/elsewhere/pdf_pngs/4000-4999/4000/400000{number}_{page}.png" for page in (29, 30)],
    }


_LOCATED_ROWS = [_located(number) for number in range(len(_LOCATED))]


def _page_pngs(folder: str) -> dict[str, int]:
    return {
        f"{folder}pdf_pngs/4000-4999/4000/400000{number}_{page}.png": 2 * number + page
        for number in range(len(_LOCATED))
        for page in (29, 30)
    }


def _needle(number: int) -> dict[str, Any]:
    """A row of MM-NIAH in the authors' form."""
    _, _, context, answer, texts, pictures = _NEEDLES[number]
    return {
        "id": number,
        "images_list": [f"{number}/{at}.jpg" for at in range(context.count("<image>"))],
        "context": context,
        "question": f"[[q{number}]] Which one?",
        "answer": answer,
        "meta": {"placed_depth": 0.4, "context_length": 1200, "choices": texts, "choices_image_path": pictures},
    }


def _needle_cells(number: int) -> dict[str, Any]:
    """The same row in VLMEvalKit's form."""
    _, category, context, answer, texts, pictures = _NEEDLES[number]
    shades = (*range(context.count("<image>")), *range(7, 7 + len(pictures or ())))
    return {
        "category": category,
        "id": number,
        "question": repr([context, f"[[q{number}]] Which one?"]),
        "options": repr([texts, pictures]),
        "answer": answer,
        "images": [draw(shade) for shade in shades],
        "meta": {"placed_depth": 0.4, "context_length": 1200},
    }


SAMPLES: dict[str, Sample] = {
    "docvqa": Sample(
        rows=[
            {
                "id": 90001 + number,
                "text": f"[[q{number}]] {asked}",
                "references": answers,
                "images": draw(number // 2),
                "question_type": ["handwritten", "form"],
                "ucsf_document_id": "abcd0001",
                "ucsf_document_page_no": str(number // 2),
            }
            for number, (asked, answers) in enumerate(_ASKED)
        ]
    ),
    "infovqa": Sample(
        rows=[
            {
                "id": 98 + number,
                "text": f"[[q{number}]] {asked}",
                "references": answers,
                "images": draw(number // 2),
                "answer_type": ["single span"],
                "operation": ["counting"] if number else [],
            }
            for number, (asked, answers) in enumerate(_ASKED)
        ]
    ),
    "mp-docvqa": Sample(
        rows=[
            {
                "id": 90001 + number,
                "text": f"[[q{number}]] {asked}",
                "doc_id": "abcd0001",
                "images": [draw(number), draw(9)],
                "answers": answers,
                "answer_page_idx": number % 2,
            }
            for number, (asked, answers) in enumerate(_ASKED)
        ]
    ),
    "slidevqa": Sample(
        rows=[
            {
                **{name: value for name, value in row.items() if name not in ("qa_id", "reasoning_type")},
                "id": row["qa_id"],
                "reasoning": [row["reasoning_type"]],
                "slides": [draw(number), draw(9), draw(10)],
                "2:arithmetic_expression": "5 + 7" if row["answer"] == "12" else "no",
            }
            for number, row in enumerate(_SLIDES)
        ],
        write={
            0: laid(
                {"annotations/qa/dev.jsonl": _SLIDES},
                {
                    f"annotations/qa/deck_{number}/slide-{at}-1024.jpg": shade
                    for number in range(len(_SLIDES))
                    for at, shade in enumerate((number, 9, 10))
                },
            )
        },
    ),
    "mmlongbench-doc": Sample(
        rows=[{**row, "pages": [draw(number), draw(9)]} for number, row in enumerate(_LONG)],
        write={
            0: laid(
                {"samples.json": _LONG},
                {
                    f"documents/guide_{number}/{at}.png": shade
                    for number in range(len(_LONG))
                    for at, shade in enumerate((number, 9))
                },
            )
        },
    ),
    "longdocurl": Sample(
        write={
            0: laid({"LongDocURL.jsonl": _LOCATED_ROWS}, _page_pngs("")),
            1: laid(
                {"data/0.parquet": [{**row, "answer": str(row["answer"])} for row in _LOCATED_ROWS]},
                _page_pngs("data/"),
            ),
        }
    ),
    "textvqa": Sample(
        rows=[
            {
                "question_id": 34602 + number,
                "question": f"[[q{number}]] what is it?",
                "answers": answers,
                "image_id": f"00a{number}",
                "image": draw(number),
            }
            for number, answers in enumerate(_TEN)
        ]
    ),
    "vizwiz": Sample(
        rows=[
            {
                "id": f"VizWiz_val_0000000{number}",
                "0:id": f"VizWiz_val_0000000{number}.jpg",
                "question": f"[[q{number}]] What is this?",
                "answers": answers,
                "0:answers": [{"answer": each, "answer_confidence": "yes"} for each in answers],
                "image": draw(number),
                "kind": "unanswerable" if answers[0] == "unanswerable" else "other",
            }
            for number, answers in enumerate(_TEN)
        ]
    ),
    "okvqa": Sample(
        rows=[
            {
                "question_id": 425 + number,
                "question": f"[[q{number}]] What is it?",
                "answers": answers,
                "question_type": "four",
                "image": draw(number),
            }
            for number, answers in enumerate(_TEN)
        ],
        write={
            0: laid(
                {
                    "OpenEnded_mscoco_val2014_questions.json": {
                        "questions": [
                            {"image_id": number, "question_id": 425 + number, "question": f"[[q{number}]] What is it?"}
                            for number in range(len(_TEN))
                        ]
                    },
                    "mscoco_val2014_annotations.json": {
                        "annotations": [
                            {
                                "question_id": 425 + number,
                                "question_type": "four",
                                "answers": [{"answer": each, "answer_id": at} for at, each in enumerate(answers)],
                            }
                            for number, answers in enumerate(_TEN)
                        ]
                    },
                },
                {f"val2014/COCO_val2014_{number:012}.jpg": number for number in range(len(_TEN))},
            )
        },
    ),
    "ocrbench": Sample(
        rows=[
            {
                "id": number,
                "dataset": dataset,
                "type": kind,
                "question": f"[[q{number}]] what is written?",
                "answers": answers,
                "image": draw(number),
            }
            for number, (dataset, kind, answers) in enumerate(_OCR)
        ]
    ),
    "ocrbench-v2": Sample(
        rows=[
            {
                "id": number,
                "type": kind,
                "question": f"[[q{number}]] what is written?",
                "answers": answers,
                "eval": how,
                "1:answers": [str(each) for each in answers] if isinstance(answers, list) else [answers],
                "2:eval": how or "without eval",
                "image": draw(number),
            }
            for number, (kind, answers, how) in enumerate(_OCR_V2)
        ]
    ),
    "mm-niah": Sample(
        rows=[_needle_cells(number) for number in range(len(_NEEDLES))],
        write={
            0: laid(
                {f"{task}-val.jsonl": [_needle(number)] for number, (task, *_) in enumerate(_NEEDLES)},
                {
                    **{f"images/{number}/{at}.jpg": at for number in range(len(_NEEDLES)) for at in range(2)},
                    "images/c/0.jpg": 7,
                    "images/c/1.jpg": 8,
                },
            )
        },
    ),
    "charxiv": Sample(
        rows=[
            {"figure": f"{number}.jpg", "category": "cs", "year": "20", "image": draw(number), **_UNASKED, **asked}
            for number, asked in enumerate(_CHARTS)
        ],
        write={
            0: laid(
                {
                    "descriptive_val.json": {str(at): {"figure_id": at, **_CHARTS[at]} for at in (0, 1)},
                    "reasoning_val.json": {
                        str(at): {
                            "figure_id": at,
                            **_CHARTS[at],
                            "inst_category": _CHARTS[at]["answer_type"],
                        }
                        for at in (2, 3)
                    },
                    "image_metadata_val.json": {str(at): {"category": "cs", "year": "20"} for at in range(4)},
                },
                {f"images/{number}.jpg": number for number in range(4)},
            )
        },
    ),
}

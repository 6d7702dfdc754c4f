"""LongDocURL: understanding, reasoning and finding on some thirty pages of a long document.

Data: LongDocURL_public_with_subtask_category.jsonl, or LongDocURL.jsonl, beside pdf_pngs/
(https://github.com/dengc2023/LongDocURL; the data is Apache-2.0, the documents are others'). A row:

    {"question_id": "free_x_4000001_1_2_8", "doc_no": "4000001", "question_type": "calculate", "question": "...",
     "answer": 5, "evidence_pages": [2], "evidence_sources": ["Table"], "answer_format": "Integer",
     "task_tag": "Reasoning", "start_end_idx": [1, 2], "images": ["/any/pdf_pngs/4000-4999/4000/4000001_0.png"]}

Published: generalised accuracy (Deng et al., ACL 2025) of an answer that a model extracts from the reply. Here rules
read it; "published" reads the tags of that extraction if the reply has them, else the whole reply.

The format of the reference decides how it is compared: Integer, Float, String, None or List. Where the published code
stops with an error, for example on an empty list, the score is 0. Source: utils/utils_score_v3.py.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import pow as power
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, Breakdown, Form, Home, Metric, Pages, Picture, Place, Prompt
from vqa_client.benchmark import Question, Sums, Total, short_answer, tables, verbatim
from vqa_client.scoring.published.anls import anls_doc
from vqa_client.scoring.published.mmlongbench_doc import UNREADABLE, is_exact, is_number, literal, same_float
from vqa_client.scoring.published.mmlongbench_doc import text_score, without_asides, without_quotes
from vqa_client.tables.pictures import below

HUB = Home("hf://dengchao/LongDocURL", "Apache-2.0", megabytes=50_000)
COLUMNS = {"folder": Beside("pdf_pngs")}
ELEMENTS: Final = ("Text", "Layout", "Figure", "Table")
"""The kinds of evidence that are reported."""
LOCATING: Final = {
    "topic2title": "Cross_Title",
    "summary2tab": "Cross_Table",
    "summary2title": "Para_Title",
    "extract_fig2tab": "Figure_Table",
}
"""The names in reports of the kinds of questions that locate something."""
NOT_EXTRACTED: Final = "Fail to extract"
_UNITS: Final = ["kg", "mm", "m", "meters", "acres", "minutes", "mile", "miles", "million", "thousand", "billion"]
_ONE_UNIT: Final = ["kg", "mm", "meters", "minutes", "miles", "mile", "acres", "million", "thousand", "billion", "m"]
_CONCISE = re.compile(r"<concise_answer>(.*?)</concise_answer>", re.DOTALL)
_FORMAT = re.compile(r"<answer_format>.*?</answer_format>", re.DOTALL)


class Row(Struct):
    question_id: str
    doc_no: str
    question: str
    question_type: str
    answer: Any
    answer_format: str
    task_tag: str
    images: tuple[str, ...]
    folder: Picture
    start_end_idx: tuple[int, ...] = ()
    evidence_pages: tuple[int, ...] = ()
    evidence_sources: tuple[str, ...] = ()


def question(row: Row, place: Place) -> Question:
    first = row.start_end_idx[0] if row.start_end_idx else 1
    return Question(
        id=row.question_id,
        text=row.question,
        images=tuple(below(Path(row.folder), path.rpartition("/pdf_pngs/")[2]) for path in row.images),
        references=(str(row.answer),),
        groups=groups_of(row.task_tag, row.question_type, len(row.evidence_pages), row.evidence_sources),
        cluster=row.doc_no,
        evidence=tuple(page - first + 1 for page in row.evidence_pages if 0 <= page - first < len(row.images)),
        row=row,
    )


def extracted(reply: str) -> Any:
    """The answer between the tags of LongDocURL's extraction prompt, as a Python value where it is a literal."""
    match = _CONCISE.search(reply)
    if not match or not _FORMAT.search(reply):
        return NOT_EXTRACTED
    try:
        value = literal(match[1])
    except UNREADABLE:
        return match[1]
    return list(value) if isinstance(value, set) else value


def groups_of(task: str, kind: str, pages: int, sources: Sequence[str]) -> dict[str, str | tuple[str, ...]]:
    """The groups of a question; `task_pages`, its task and number of pages, is crossed with `element`."""
    number = ("single page" if pages == 1 else "several pages",) if pages else ()
    return {
        "task": task,
        "element": tuple(source for source in sources if source in ELEMENTS),
        "pages": number,
        "elements": "several" if len(sources) > 1 else "one",
        "task_pages": tuple(f"{task}, {span}" for span in number if task != "Locating"),
        "locating": (LOCATING[kind],) if task == "Locating" and kind in LOCATING else (),
    }


def interleaved(question: Question) -> tuple[str | int, ...]:
    """The published prompt: the question in tags, then the number of each page and the page."""
    count = len(question.images)
    pages = [(f"Below is the {at}-th image (total {count} images).\n", at) for at in range(1, count + 1)]
    return (
        "You are an expert in visual document question-answering, please answer our questions based on the given "
        f"images.\nFollowing is our question: \n<question>{question.text}</question>\n",
        *(part for page in pages for part in page),
    )


def scored_by(rule: Callable[[Any, Any, str], float]) -> Callable[[str, Question], float]:
    """Score the tagged answer in a reply by a rule, or the whole reply where there are no tags."""

    def of(reply: str, question: Question) -> float:
        value = extracted(reply)
        answer = reply if value == NOT_EXTRACTED else value
        return rule(answer, question.row.answer, question.row.answer_format)

    return of


def clean_text(text: object) -> str:
    """A text in lower case without commas, units, remarks in brackets, quotation marks, currency and per cent signs.

    Every trailing character that is in the unit is removed: "team" loses its m to the unit "m".
    """
    bare = str(text).lower().strip().replace(",", "")
    for unit in _UNITS:
        if bare.endswith(unit):
            bare = bare.rstrip(unit).strip()
    return _without_signs(bare)


def clean_once(text: object) -> str:
    """The same in VLMEvalKit, which removes one unit, once."""
    bare = str(text).lower().strip().replace(",", "")
    unit = next((unit for unit in _ONE_UNIT if bare.endswith(unit)), "")
    return _without_signs(bare.removesuffix(unit).strip())


def _without_signs(text: str) -> str:
    return without_quotes(without_asides(text)).lstrip("$").strip().lstrip("£").strip().rstrip("%").strip()


def _score(cleaned: Callable[[object], str], answer: Any, reference: Any, answer_format: str) -> float:
    match answer_format:
        case "Integer":
            number, wanted = _number(int, cleaned(answer)), _number(int, cleaned(reference))
            return float(wanted == ("" if isinstance(number, str) else number))
        case "Float":
            try:
                return float(same_float(_number(float, cleaned(answer)), _number(float, cleaned(reference))))
            except ValueError:
                return 0.0
        case "String" | "None":
            return text_score(cleaned(answer), cleaned(reference))
    lenient = cleaned is clean_once
    answers, items = (list(map(cleaned, _items(value, lenient=lenient))) for value in (answer, reference))
    if not answers or not items:
        return 0.0
    if is_number(items[0]) or is_exact(items[0]):
        return float("-".join(answers) == "-".join(items))
    best = [max(anls_doc(text, item) for text in answers) for item in items]
    return sum(best) / len(items) * power(min(1, len(items) / len(answers)), 0.5)


score = partial(_score, clean_text)
"""The published score in [0, 1] of an extracted answer: `score(answer, reference, answer_format)`."""
vlmevalkit = partial(_score, clean_once)
"""The same with VLMEvalKit's units."""


def _number(kind: type[int] | type[float], text: str) -> float | str:
    try:
        return kind(text)
    except ValueError:
        return text


def _items(value: Any, *, lenient: bool) -> list[Any]:
    """The items of a list, or of a text that is a list; in VLMEvalKit it may begin with spaces."""
    if isinstance(value, str) and (value.strip() if lenient else value).startswith("["):
        with suppress(*UNREADABLE):
            value = literal(value)
    items = value if isinstance(value, list) else [value]
    return ["-".join(map(str, item.values())) if isinstance(item, dict) else item for item in items]


BENCHMARK = Benchmark(
    name="longdocurl",
    load=tables(
        Row,
        Form(("LongDocURL*.jsonl", "data/LongDocURL*.jsonl"), columns=COLUMNS, home=HUB),
        Form("data/*.parquet", columns=COLUMNS),
        question=question,
    ),
    prompt="{question}\nAnswer in a few words, with a number, or with a list such as ['a', 'b'].",
    prompt_forms={"official": Prompt(interleaved), "vlmevalkit": Prompt(interleaved)},
    parse=short_answer,
    measure="generalised accuracy",
    metrics=(
        Metric("accuracy", scored_by(score), "by the rule for the format of the reference"),
        Metric("published", scored_by(score), "of the tagged answer, else of the whole reply", read=verbatim),
        Metric("vlmevalkit", scored_by(vlmevalkit), "the same in VLMEvalKit", read=verbatim),
    ),
    totals=(Total("rectified", Sums(lambda scored: (scored.score,), lambda score: score / 2325), "over all 2,325"),),
    breakdowns=("task", "element", "pages", "elements", Breakdown("task_pages", crossed_with="element"), "locating"),
    unit="document",
    pages=Pages(),
)

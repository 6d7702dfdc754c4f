"""MATH-Vision: problems of mathematics competitions with a drawing, open or with five choices.

Data: data/test.jsonl or data/testmini.jsonl beside images/, the hub's Parquet, or VLMEvalKit's MathVision.tsv and
MathVision_MINI.tsv, which have no levels. A row:

    {"id": "1", "question": "Which is longest?\\n<image1>", "options": ["A", "B", "C", "D", "E"], "answer": "B",
     "level": 2, "subject": "arithmetic", "image": "images/1.jpg"}

Published: accuracy, also by level and subject (Wang et al., NeurIPS 2024). lmms-eval scores by the same code.

The published scorer takes an answer from a reply and says when two formulas are equal. Source:
evaluation/{evaluate,utils}.py of mathvision-cuhk/MATH-V (MIT), which turns LaTeX into Python text by latex2sympy2 and
evaluates that. Here the same values are read without running what a model wrote.
"""

import math
import re
from typing import Final

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Breakdown, Form, Home, Metric, Picture, Place, Prompt, Question, tables
from vqa_client.benchmark import verbatim
from vqa_client.prompt import choices_text
from vqa_client.scoring.formulas import Notation, NoValueError, Value, value_of
from vqa_client.scoring.maths import right_choice_or_maths
from vqa_client.scoring.numbers import formula
from vqa_client.scoring.published.choice_readers import kit
from vqa_client.scoring.published.mmlongbench_doc import is_number
from vqa_client.tasks.choices import label_choices

HOME = Home("github.com/mathvision-cuhk/MATH-V", "MIT", megabytes=300)
HUB = Home("hf://MathLLMs/MathVision", "MIT", megabytes=300)
TSV_COLUMNS = {"id": "index", "options": "choices", "subject": "category"}
SPLITS = {"test": "MathVision", "testmini": "MathVision_MINI"}
_CLOSE: Final = 1e-6
_BOXED: Final = 'Please solve the problem step by step and put your answer in one "\\boxed{}".'
_LETTER_IN_BOX: Final = ' If it is a multiple choice question, only one letter is allowed in the "\\boxed{}".'
_DIRECTLY: Final = "Answer the question with the option's letter from the given choices directly."
_FLAGS: Final = ("the final answer is", "the answer is", "the correct answer is", "the answer should be")
_UNITS: Final = ("^{\\circ}", "^\\circ", "{m}^3", "m^3", "{units}", "units", "{km}", "km")
_REPLACED: Final = (
    *((" ", ""), ("\\,", ""), ("∞", "\\infty"), ("+\\infty", "\\infty"), ("\\\\", "\\"), ("\n", "")),
    *(("\\text", ""), ("\\mbox", ""), ("bmatrix", "pmatrix"), ("\\left", ""), ("\\right", "")),
    *((unit, "") for unit in _UNITS),
    *(("\\!", ""), ("\\\\", "\\"), ("tfrac", "frac"), ("dfrac", "frac"), ("\\$", ""), ("$", ""), ("\\%", "")),
    ("{.", "{0."),
)
"""Replacements, in this order."""
_FUNCTIONS: Final = "sin cos tan sinh cosh tanh"
_PYTHON: Final = Notation(
    names={"\\pi": math.pi, "\\tau": math.tau},
    functions={
        **{f"\\{name}": getattr(math, name) for name in _FUNCTIONS.split()},
        **{f"\\arc{name}": getattr(math, f"a{name}") for name in _FUNCTIONS.split()},
        "\\exp": math.exp,
    },
    ends=frozenset((")", "]", "}", "\\}", "&", "\\\\", "_", ".", "\\to")),
)
"""What the script can evaluate: latex2sympy2 stops at `ends`, and its Python text can use these names alone."""
_ASSIGNED = re.compile(r"\s*(?:(?!e\s*=|\\pi|\\tau)(?:[a-z]|\\[a-z]+)(?:_\w|_\{\w\})?\s*=\s*)+")


class Row(Struct):
    id: str
    question: str
    answer: str
    image: Picture
    options: tuple[str, ...] = ()
    level: str = ""
    subject: str = ""


def question(row: Row, place: Place) -> Question:
    return Question(
        id=row.id,
        text=row.question,
        images=(row.image,),
        references=(row.answer,),
        choices=label_choices(row.options),
        groups={"level": row.level or "unknown", "subject": row.subject or "unknown"},
        cluster=row.image,
    )


def question_beside_data(row: Row, place: Place) -> Question:
    """The question of a row of the authors, whose images are beside data/, not in it."""
    row.image = row.image.replace("/data/images/", "/images/")
    return question(row, place)


def extracted(reply: str) -> str:
    """The answer in a reply."""
    text = reply.strip()
    for letter in "ABCDE":
        ends, starts = (f" {letter}.", f" ({letter})."), (f"{letter}\n", f"({letter})\n", f"({letter}) {letter}\n")
        if text.endswith(ends) or text.startswith(starts):
            text = letter
    last = text.rpartition("is ")[2].rstrip(".")
    if is_number(last):
        text = last
    if "oxed{" not in text:
        for flag in _FLAGS:
            for form in (flag, flag.replace("the", "The")):
                has_form, text = form in text, text.rpartition(form)[2].strip()
                if has_form:
                    text = text.partition("\n")[0].partition(". ")[0]
    elif text.count("oxed{") > 1:
        text = "\\boxed{" + text.rpartition("oxed{")[2]
    text = _plain(text)
    for brackets in ("()", "{}"):
        for letter in "abcde":
            text = text.replace(f"{brackets[0]}{letter}{brackets[1]}", letter)
    return text.rstrip(".").lstrip(":").strip()


def right(reply: str, question: Question) -> float:
    """Whether the answer in a reply equals the reference, or the choice that the reference is the letter of."""
    answer, reference = extracted(reply), question.references[0]
    return float(equal(reference, answer) or equal(question.choices.get(reference, ""), answer))


def equal(first: str, second: str) -> bool:
    """Equal texts, or equal values to two decimals."""
    first, second = first.lower(), second.lower()
    if not first.replace(" ", "") or not second.replace(" ", ""):
        return False
    if first.strip() == second.strip():
        return True
    first, second = _rounded_parts(first), _rounded_parts(second)
    if first == second:
        return True
    try:
        return _round(first) == _round(second)
    except NoValueError:
        return False


def _round(formula: str) -> Value:
    try:
        return round(value_of(_ASSIGNED.sub("", formula, count=1) if "=" in formula else formula, _PYTHON), 2)
    except OverflowError as error:
        raise NoValueError(str(error)) from None


def _rounded_parts(text: str) -> str:
    """A tuple or list with its numbers rounded; the same text where that fails."""
    if (text[0], text[-1]) not in (("(", ")"), ("[", "]")) or "," not in text[1:-1]:
        return text
    try:
        parts = [
            part if "infty" in part or part in ("a", "-a") else str(_round(part)) for part in text[1:-1].split(",")
        ]
    except NoValueError:
        return text
    return f"{text[0]}{','.join(parts)}{text[-1]}"


def _plain(text: str) -> str:
    """An answer in small letters without what LaTeX decorates it with."""
    text = text.lower().replace("{}", "")
    opened, closed = text.find("oxed{"), text.rfind("}")
    if opened >= 0 and opened + len("oxed{") <= closed:
        text = text[opened + len("oxed{") : closed]
    closes, opens = text.find("}"), text.find("{")
    if closes != -1 and (opens == -1 or closes < opens):
        text = text[:closes]
    text = text.rpartition("=")[2].rpartition("\\approx")[2]
    for old, new in _REPLACED:
        text = text.replace(old, new)
    if not text:
        return text
    text = f"0{text}" if text[0] == "." else text
    if "sqrt" in text:
        text = _with_braced_fractions(re.sub(r"(\\sqrt)(?=[^{])(.)", r"\1{\2}", text, flags=re.DOTALL))
    if text == "0.5":
        return "\\frac{1}{2}"
    over, slash, under = text.partition("/")
    if slash and _is_plain_int(over) and _is_plain_int(under):
        return f"\\frac{{{over}}}{{{under}}}"
    return text


def _with_braced_fractions(text: str) -> str:
    head, *fractions = text.split("\\frac")
    parts = [head]
    for after in fractions:
        if not after.startswith("{") and len(after) < 2:
            return text
        if after.startswith("{"):
            parts.append(after)
        elif after[1] == "{":
            parts.append(f"{{{after[0]}}}{after[1:]}")
        else:
            parts.append(f"{{{after[0]}}}{{{after[1]}}}{after[2:]}")
    return "\\frac".join(parts)


def _is_plain_int(text: str) -> bool:
    try:
        return str(int(text)) == text
    except ValueError:
        return False


def vlmevalkit(reply: str, question: Question) -> float:
    """VLMEvalKit's rule (e8e78f05) before it asks a model: its letter of a choice, else equal text or value."""
    reference = question.references[0]
    if question.choices:
        return float(kit(reply, question.choices) == reference)
    answer, reference = reply.lower().strip(), reference.lower().strip()
    try:
        return float(answer == reference or abs(value_of(answer, _PYTHON) - value_of(reference, _PYTHON)) < _CLOSE)
    except (NoValueError, OverflowError):
        return 0.0


def official(question: Question) -> str:
    """The authors' prompt."""
    text = f"{_BOXED}{_LETTER_IN_BOX}\n{question.text}"
    return f"{text}\n{choices_text(question.choices)}" if question.choices else text


def lmms_eval(question: Question) -> str:
    """lmms-eval's prompt, with nothing between its first sentence and the question."""
    choices = f"\nChoices: {choices_text(question.choices)}\n{_DIRECTLY}" if question.choices else ""
    return f"{_BOXED}{question.text}{choices}"


MARK = re.compile(r"\s*<image ?\d*>")


def ours(question: Question) -> str:
    """Our prompt; it doesn't list choices that are letters alone, which are drawn in the image."""
    text = MARK.sub("", question.text)
    if not question.choices:
        return f"{text}\nSolve it step by step, and end with \\boxed{{your answer}}."
    drawn = all(label == choice for label, choice in question.choices.items())
    choices = "" if drawn else f"\n{choices_text(question.choices)}"
    return f"{text}{choices}\nSolve it step by step, and end with \\boxed{{the letter of your choice}}."


BENCHMARK = Benchmark(
    name="mathvision",
    load=tables(
        Row,
        Form("data/{split}.jsonl", question=question_beside_data, home=HOME),
        Form("data/{split}-*.parquet", columns={"image": "decoded_image"}, home=HUB),
        Form("{split}.tsv", columns=TSV_COLUMNS, splits=SPLITS),
        question=question,
    ),
    prompt=Prompt(ours),
    prompt_forms={
        "official": Prompt(official),
        "lmms_eval": Prompt(lmms_eval, max_tokens=16384),
        "vlmevalkit": Prompt(),
    },
    parse=formula,
    metrics=(
        Metric("accuracy", right_choice_or_maths, "the choice, or the same value, in LaTeX or not"),
        Metric("published", right, "extraction and comparison of the published script", read=verbatim),
        Metric("vlmevalkit", vlmevalkit, "the rules of VLMEvalKit, before it asks a model", read=verbatim),
    ),
    breakdowns=("subject", Breakdown("level", crossed_with="subject")),
)

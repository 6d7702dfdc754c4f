"""RealWorldQA: photographs, many from cars; most questions have choices, others want a word or a number.

Data: the hub's Parquet, whose questions contain their choices and how to answer, or VLMEvalKit's RealWorldQA.tsv. A
row of the Parquet, whose questions have no ids:

    {"question": "Which lane is free?\\n\\nA. left\\nB. right\\nPlease answer directly with only the letter of ...",
     "image": {"bytes": ...}, "answer": "A"}

Published: accuracy (xAI, 2024), without a script; most published numbers use lmms-eval's rule.
"""

import re

from vqa_client.benchmark import Benchmark, Form, Home, Metric, Picture, Place, Question, tables, verbatim
from vqa_client.scoring.published.choice_readers import kit, lmms_mcq_abcd
from vqa_client.scoring.readings import choice_or_short
from vqa_client.scoring.vqa_normalise import normalised
from vqa_client.tasks.choices import ASKED, KIT_PROMPT, LETTERED, ChoiceRow, asking, reading
from vqa_client.tasks.choices import open_are_wrong, right, taken_apart, with_choices

MARK = re.compile(r"\n+([A-H])[.)] ?")
HOW = "\nPlease answer directly with "
LETTER = "only the letter of the correct option and nothing else."
WORD = "a single word or number."


class Row(ChoiceRow):
    image: Picture
    answer: str
    index: str = ""


def question(row: Row, place: Place) -> Question:
    text, choices = taken_apart(row.question.strip().partition(HOW)[0], MARK)
    return Question(
        id=row.index or f"{place.file}#{place.number}",
        text=text,
        images=(row.image,),
        choices=row.choices() or choices,
        references=(row.answer.strip(),),
        groups={"answer": "choice" if row.choices() or choices else "open"},
        cluster=row.image,
    )


def same_words(answer: str, question: Question) -> float:
    text, reference = normalised(answer), normalised(question.references[0])
    return right(answer, question) if question.choices else float(text == reference)


def same(answer: str, question: Question) -> float:
    """Score by lmms-eval's rule: the letter of A to D, else the same text but for case and stops at the end."""
    (reference,) = question.references
    if reference.upper() in ("A", "B", "C", "D"):
        return float(lmms_mcq_abcd(answer, {}) == reference.upper())
    return float(answer.lower().strip().rstrip(".") == reference.lower())


BENCHMARK = Benchmark(
    name="realworldqa",
    load=tables(
        Row,
        Form("data/{split}-*.parquet", home=Home("hf://xai-org/RealworldQA", "CC BY-ND 4.0", megabytes=680)),
        Form("RealWorldQA.tsv", LETTERED),
        question=question,
    ),
    prompt=asking(ASKED, "{question}\n\nAnswer with a single word or number."),
    prompt_forms={
        "lmms_eval": asking(f"{{question}}\n\n{{choices}}{HOW}{LETTER}", f"{{question}}{HOW}{WORD}", max_tokens=16),
        "vlmevalkit": KIT_PROMPT,
    },
    parse=choice_or_short,
    metrics=(
        Metric("accuracy", same_words, "the choice, or the same word or number"),
        Metric("lmms_eval", same, "lmms-eval's rule on the reply as it came", verbatim),
        Metric("vlmevalkit", right, "VLMEvalKit's reader of choices", reading(kit), when=with_choices),
    ),
    totals=(open_are_wrong("vlmevalkit", "VLMEvalKit"),),
    breakdowns=("answer",),
    labels=tuple("ABCDE"),
)

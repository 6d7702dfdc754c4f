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
from vqa_client.tasks.choices import CHOICE_PROMPT, KIT_PROMPT, LETTERED, ChoiceRow, has_choices, open_are_wrong
from vqa_client.tasks.choices import parse_by, prompt_from, right, split_choices

HUB = Home("hf://xai-org/RealworldQA", "CC BY-ND 4.0", megabytes=680)
LETTER_MARK = re.compile(r"\n+([A-H])[.)] ?")
HOW = "\nPlease answer directly with "
LETTER = "only the letter of the correct option and nothing else."
WORD = "a single word or number."


class Row(ChoiceRow):
    image: Picture
    answer: str
    index: str = ""


def question(row: Row, place: Place) -> Question:
    text, choices = split_choices(row.question.strip().partition(HOW)[0], LETTER_MARK)
    return Question(
        id=row.index or f"{place.file}#{place.number}",
        text=text,
        images=(row.image,),
        choices=row.choices() or choices,
        references=(row.answer.strip(),),
        groups={"answer": "choice" if row.choices() or choices else "open"},
        cluster=row.image,
    )


def right_or_same(answer: str, question: Question) -> float:
    if question.choices:
        return right(answer, question)
    return float(normalised(answer) == normalised(question.references[0]))


def lmms_eval(answer: str, question: Question) -> float:
    """The right letter of A to D, or the same text, where case and full stops at its end don't count."""
    (reference,) = question.references
    if reference.upper() in ("A", "B", "C", "D"):
        return float(lmms_mcq_abcd(answer, {}) == reference.upper())
    return float(answer.lower().strip().rstrip(".") == reference.lower())


BENCHMARK = Benchmark(
    name="realworldqa",
    load=tables(
        Row,
        Form("data/{split}-*.parquet", home=HUB),
        Form("RealWorldQA.tsv", columns=LETTERED),
        question=question,
    ),
    prompt=prompt_from(CHOICE_PROMPT, "{question}\n\nAnswer with a single word or number."),
    prompt_forms={
        "lmms_eval": prompt_from(
            f"{{question}}\n\n{{choices}}{HOW}{LETTER}", f"{{question}}{HOW}{WORD}", max_tokens=16
        ),
        "vlmevalkit": KIT_PROMPT,
    },
    parse=choice_or_short,
    metrics=(
        Metric("accuracy", right_or_same, "the choice, or the same word or number"),
        Metric("lmms_eval", lmms_eval, "lmms-eval's rule on the reply as it came", verbatim),
        Metric("vlmevalkit", right, "VLMEvalKit's reader of choices", parse_by(kit), when=has_choices),
    ),
    totals=(open_are_wrong("vlmevalkit", "VLMEvalKit"),),
    breakdowns=("answer",),
    labels=tuple("ABCDE"),
)

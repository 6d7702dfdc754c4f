"""MMMU: questions from 30 college subjects, with images between the words; most have choices, some are open.

Data: the hub's Parquet, a folder for each subject, or VLMEvalKit's MMMU_DEV_VAL.tsv; --split dev, validation or test
(its answers are not public). A row, an open question if it has no options:

    {"id": "validation_Math_3", "question": "<image 1> How?", "options": "['2', '4']", "image_1": {}, "answer": "B"}

Published: accuracy over all questions, by domain and by subject (Yue et al., CVPR 2024, section 4). The script draws a
letter at random if it finds none: `published` does so too, `published_unguessed` doesn't. lmms-eval counts every open
answer as wrong. The form `official` sends all images of a question, with their marks left in the text; the script's
example, for a model that takes one image, sends the first, and none where several choices are images.

Source of scoring and domains: mmmu/utils of MMMU-Benchmark/MMMU (bb0b95a).
"""

import re
from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from vqa_client.benchmark import Benchmark, Form, Home, Metric, Picture, Place, Question, Shots, Total, mean_over
from vqa_client.benchmark import tables
from vqa_client.prompt import SHORTLY, SHORT_PROMPT
from vqa_client.scoring.published import choice_readers as readers
from vqa_client.scoring.published.choice_readers import kit
from vqa_client.scoring.readings import choice_or_short
from vqa_client.tables.forms import HIDDEN
from vqa_client.tasks.choices import CHOICE_PROMPT, DIRECTLY, DRAW_TOTALS, IMAGES, KIT_PROMPT, LETTERED, ChoiceRow
from vqa_client.tasks.choices import has_choices, lmms_eval, open_are_wrong, parse_by, prompt_from, published_draws

HUB = Home("hf://MMMU/MMMU", "Apache-2.0")
BY_LETTER = f"{{question}}\n{{choices}}\n\n{DIRECTLY}"
_DOMAIN_SUBJECTS: Final = {
    "Art and Design": "Art Art_Theory Design Music",
    "Business": "Accounting Economics Finance Manage Marketing",
    "Science": "Biology Chemistry Geography Math Physics",
    "Health and Medicine": "Basic_Medical_Science Clinical_Medicine Diagnostics_and_Laboratory_Medicine Pharmacy"
    " Public_Health",
    "Humanities and Social Science": "History Literature Sociology Psychology",
    "Tech and Engineering": "Agriculture Architecture_and_Engineering Computer_Science Electronics Energy_and_Power"
    " Materials Mechanical_Engineering",
}
DOMAINS: Final = {subject: domain for domain, names in _DOMAIN_SUBJECTS.items() for subject in names.split()}
"""The domain of each subject."""

_CUES: Final = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
_NUMBERS: Final = tuple(  # a run of digits is looked at from its first one only, which keeps the time linear
    re.compile(form)
    for form in (
        r"-?\b\d{1,3}(?:,\d{3})+\b",
        r"-?(?<!\d)\d++(?:\.\d++)?[eE][+-]?\d++",
        r"-?(?:(?<!\d)\d++\.\d++|\.\d++|(?<!\d)\d++\b)(?![eE][+-]?\d)(?![,\d])",
    )
)
Normal = float | str


class Row(ChoiceRow):
    id: str
    images: tuple[Picture, ...]
    answer: tuple[str, ...] = ()
    split: str = ""


def question(row: Row, place: Place) -> Question | tuple[()]:
    if row.split not in ("", place.split):
        return ()
    subject = row.id.partition("_")[2].rpartition("_")[0]
    return Question(
        id=row.id,
        text=row.question,
        images=row.images,
        choices=row.choices(),
        references=tuple(answer for answer in row.answer if answer not in HIDDEN),
        groups={"domain": DOMAINS.get(subject, subject), "subject": subject},
        cluster=row.id,
    )


def open_right(reply: str, references: Iterable[str]) -> bool:
    """Whether a number in the reply equals a reference to two places, or a reference is part of what it declares."""
    golds = [form for reference in references for form in _normal_forms(reference)]
    return any(
        value in golds if isinstance(value, float) else any(isinstance(gold, str) and gold in value for gold in golds)
        for value in open_candidates(reply)
    )


def open_candidates(reply: str) -> set[Normal]:
    """What a reply may answer: the shortest text behind a cue in each line, and the numbers there; else all of it."""
    whole = reply.strip().strip(".").lower()
    *lines, last = whole.split("\n")
    declared = [*(_behind_cue(line, _CUES) for line in lines), _behind_cue(last, (*_CUES, "="))]
    texts = [text for text in declared if text not in ("", *":,.!?;'")] or [whole]
    parts = [*texts, *(number for text in texts for form in _NUMBERS for number in form.findall(text))]
    return {form for text in parts for form in _normal_forms(text)}


def _behind_cue(line: str, cues: Iterable[str]) -> str:
    shortest = ""
    for cue in cues:
        if cue in line:
            tail = line.rpartition(cue)[2].strip()
            if not shortest or len(tail) < len(shortest):
                shortest = tail
    return shortest


def _normal_forms(text: str) -> tuple[Normal, ...]:
    """A number rounded to two places; a text in lower case, a lone character with a space on either side."""
    text = text.strip()
    try:
        return (round(float(text.replace(",", "")), 2),)
    except ValueError:
        lower = text.lower()
        return (f" {lower}", f"{lower} ") if len(lower) == 1 else (lower,)


def right_answer(answer: str, question: Question) -> float:
    """Whether a label, or the answer to an open question, is right."""
    return float(answer in question.references if question.choices else open_right(answer, question.references))


def kit_right(answer: str, question: Question) -> float:
    """VLMEvalKit's rule (e8e78f05): an open question is a choice between its answer and "Other Answers"."""
    if question.choices:
        return float(answer in question.references)
    others = {"B": "Other Answers"}
    return float(any(kit(answer, {"A": reference, **others}) == "A" for reference in question.references))


BENCHMARK = Benchmark(
    name="mmmu",
    load=tables(
        Row,
        Form(("*/{split}-*.parquet", "{split}-*.parquet"), columns={"images": IMAGES}, home=HUB),
        Form("MMMU_DEV_VAL.tsv", columns={**LETTERED, "images": "image"}),
        question=question,
        split="validation",
    ),
    prompt=prompt_from(CHOICE_PROMPT, "{question}\n\nAnswer with a number, a word or a short phrase.", images="marked"),
    prompt_forms={
        "official": prompt_from(BY_LETTER, SHORT_PROMPT, line="({label}) {text}"),
        "lmms_eval": prompt_from(BY_LETTER, f"{{question}}\n\n{SHORTLY}", max_tokens=128),
        "vlmevalkit": replace(KIT_PROMPT, images="marked"),
    },
    parse=choice_or_short,
    metrics=(
        Metric("accuracy", right_answer, "the choice, or the answer in an open reply"),
        *published_draws(readers.mmmu, 42, right_answer),
        Metric("vlmevalkit", kit_right, "VLMEvalKit's reader, without its judge", parse_by(readers.kit)),
        lmms_eval(readers.lmms_mmmu, when=has_choices),
    ),
    totals=(
        *(Total(f"by_{kind}", mean_over(kind), f"the mean over {kind}s") for kind in ("domain", "subject")),
        *DRAW_TOTALS,
        open_are_wrong("lmms_eval", "lmms-eval"),
    ),
    breakdowns=("domain", "subject"),
    labels=tuple("ABCDEFGHI"),
    shots=Shots("dev", same="subject"),
    version="2",
)

"""MMMU-Pro: MMMU's harder questions with ten choices or four, and as screenshots.

Data: the hub's Parquet with a folder for each setting, or VLMEvalKit's MMMU_Pro_10c.tsv and MMMU_Pro_V.tsv; what the
folder contains is one run, with the group `setting`. A row (a screenshot's has `image`, and no question):

    {"id": "test_Physics_1", "question": "How much in <image 1>?", "options": "['0 kJ', '1 kJ', ...]",
     "image_1": {"bytes": ...}, "answer": "G", "subject": "Physics"}

Published: accuracy in each setting, and the mean of ten choices and screenshots (Yue et al., ACL 2025, section 3).
The official script draws a letter at random if it finds none. Its direct prompt for screenshots also asks for a last
line of the form 'Answer: X', which the form `official` leaves out.
"""

from vqa_client.benchmark import Benchmark, Breakdown, ColumnNames, Form, Home, Metric, Picture, Place, Question, Scored
from vqa_client.benchmark import Total, choice, mean_over, tables
from vqa_client.scoring.published import choice_readers as readers
from vqa_client.tasks.choices import CHOICE_PROMPT, DRAW_TOTALS, IMAGES, LETTERED, OURS, ChoiceRow, parse_by
from vqa_client.tasks.choices import prompt_from, published_draws, right

HUB = Home("hf://MMMU/MMMU_Pro", "Apache-2.0")
TSV_COLUMNS: ColumnNames = {**LETTERED, "images": "image", "subject": "category"}
TEN, FOUR, VISION = SETTINGS = ("standard (10 options)", "standard (4 options)", "vision")
BY_LETTER = "Answer with the option letter from the given choices directly."
KIT_LETTER = "Answer directly with the option letter from the given choices. "
ENDING = "Think step by step. The last line is 'Answer: X', where X is the letter of the right choice."
LMMS = parse_by(readers.lmms_mmmu, stripped=True, alone=lambda question: not question.text)


class Row(ChoiceRow):
    images: tuple[Picture, ...]
    answer: str
    id: str = ""
    index: str = ""
    subject: str = ""


def question(row: Row, place: Place) -> Question:
    setting = {"MMMU_Pro_10c": TEN, "MMMU_Pro_V": VISION}.get(place.file, place.folder)
    id = row.id or row.index
    return Question(
        id=f"{setting}/{id}",
        text="" if setting == VISION else row.question,
        images=row.images,
        choices=row.choices(),
        references=(row.answer,),
        groups={"setting": setting, "subject": row.subject or "unknown"},
        cluster=id,
    )


def published_setting(scored: Scored) -> str | None:
    setting = str(scored.question.groups["setting"])
    return None if setting == FOUR else setting


BENCHMARK = Benchmark(
    name="mmmu-pro",
    load=tables(
        Row,
        Form(tuple(f"{setting}/{{split}}-*.parquet" for setting in SETTINGS), columns={"images": IMAGES}, home=HUB),
        Form(("MMMU_Pro_10c.tsv", "MMMU_Pro_V.tsv"), columns=TSV_COLUMNS),
        question=question,
    ),
    prompt=prompt_from(
        CHOICE_PROMPT, "Answer the question in the image with the letter of the right choice.", images="marked"
    ),
    prompt_forms={
        "step_by_step": prompt_from(f"{{question}}\n{{choices}}\n\n{ENDING}", ENDING, images="marked"),
        "official": prompt_from(f"{{question}}\n{{choices}}\n{BY_LETTER}", BY_LETTER, images="marked"),
        "lmms_eval": prompt_from(f"{{question}}\n{{choices}}\n\n{BY_LETTER}", BY_LETTER),
        "vlmevalkit": prompt_from(
            f"Question: {{question}}\nOptions:\n{{choices}}\n{KIT_LETTER}",
            f"Answer the following multiple-choice question in the image. {KIT_LETTER}",
            images="marked",
        ),
    },
    parse=choice,
    metrics=(
        OURS,
        *published_draws(readers.mmmu_pro, 42),
        Metric("vlmevalkit", right, "VLMEvalKit's reader, without its judge", parse_by(readers.kit_step_by_step)),
        Metric("lmms_eval", right, "lmms-eval's reader; of a screenshot it wants the letter alone", LMMS),
    ),
    totals=(
        Total("overall", mean_over(published_setting), "the mean of ten choices and screenshots"),
        Total("by_subject", mean_over("subject"), "the mean over subjects"),
        *DRAW_TOTALS,
    ),
    breakdowns=(Breakdown("setting", SETTINGS), "subject"),
    labels=tuple("ABCDEFGHIJ"),
    version="2",
)

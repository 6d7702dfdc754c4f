"""MMMU: questions from 30 college subjects, with images between the words; most have choices, some are open.

Data: the hub's Parquet, a folder for each subject, or VLMEvalKit's MMMU_DEV_VAL.tsv; --split dev, validation or test
(its answers are not public). A row, an open question if it has no options:

    {"id": "validation_Math_3", "question": "<image 1> How?", "options": "['2', '4']", "image_1": {}, "answer": "B"}

Published: accuracy over all questions, by domain and by subject (Yue et al., CVPR 2024, section 4). The script draws a
letter at random if it finds none: `published` does so too, `published_unguessed` doesn't. lmms-eval counts every open
answer as wrong.
"""

from functools import partial

from msgspec.structs import replace

from vqa_client.benchmark import Benchmark, Form, Home, LeftOut, Metric, Picture, Place, Question, Shots, Total
from vqa_client.benchmark import mean_over, tables
from vqa_client.scoring.published import choice_readers as readers
from vqa_client.scoring.published.mmmu import DOMAINS, kit_right, right_answer
from vqa_client.scoring.readings import choice_or_short
from vqa_client.settings.declared import ChoiceSettings
from vqa_client.tasks.choices import ASKED, DIRECTLY, DRAWN, HIDDEN, IMAGES, KIT_PROMPT, LETTERED, ChoiceRow
from vqa_client.tasks.choices import asking, drawn, lmms_eval, open_are_wrong, reading, with_choices

BY_LETTER, BY_WORD = f"{{question}}\n{{choices}}\n\n{DIRECTLY}", "Answer the question using a single word or phrase."
HOME = Home("hf://MMMU/MMMU", "Apache-2.0")


class Row(ChoiceRow):
    id: str
    images: tuple[Picture, ...]
    answer: tuple[str, ...] = ()
    split: str = ""


def question(row: Row, place: Place, *, opens: bool = True) -> Question | LeftOut | tuple[()]:
    if row.split not in ("", place.split):
        return ()
    if not (opens or row.choices()):
        return LeftOut("open", row.id)
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


def benchmark(options: ChoiceSettings) -> Benchmark:
    return Benchmark(
        name="mmmu",
        load=tables(
            Row,
            Form(("*/{split}-*.parquet", "{split}-*.parquet"), {"images": IMAGES}, home=HOME),
            Form("MMMU_DEV_VAL.tsv", {**LETTERED, "images": "image"}),
            question=partial(question, opens=options.choice_mode == "text"),
            split="validation",
        ),
        prompt=asking(ASKED, "{question}\n\nAnswer with a number, a word or a short phrase.", images="marked"),
        prompt_forms={
            "official": asking(BY_LETTER, f"{{question}}\n{BY_WORD}", line="({label}) {text}"),
            "lmms_eval": asking(BY_LETTER, f"{{question}}\n\n{BY_WORD}", max_tokens=128),
            "vlmevalkit": replace(KIT_PROMPT, images="marked"),
        },
        parse=choice_or_short,
        metrics=(
            Metric("accuracy", right_answer, "the choice, or the answer in an open reply"),
            *drawn(readers.mmmu, 42, right_answer),
            Metric("vlmevalkit", kit_right, "VLMEvalKit's reader, without its judge", reading(readers.kit)),
            lmms_eval(readers.lmms_mmmu, when=with_choices),
        ),
        totals=(
            *(Total(f"by_{kind}", mean_over(kind), f"the mean over {kind}s") for kind in ("domain", "subject")),
            *DRAWN,
            open_are_wrong("lmms_eval", "lmms-eval"),
        ),
        breakdowns=("domain", "subject"),
        labels=tuple("ABCDEFGHI"),
        shots=Shots("dev", same="subject"),
        version="2",
    )

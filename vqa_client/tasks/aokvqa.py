"""A-OKVQA: questions on photographs that need knowledge of the world, with four choices or without.

Data: the authors' aokvqa_v1p0_val.json beside COCO's val2017/, or VLMEvalKit's A-OKVQA.tsv, which only has the form
with choices. Answers of the test split are not public. `--asked direct` leaves the choices out. A row:

    {"question_id": "22Mex", "split": "val", "image_id": 42, "question": "What is he riding?", "choices": ["wave", ...],
     "correct_choice_idx": 0, "direct_answers": ["surfboard", ...], "difficult_direct_answer": false}

Published: accuracy of the choices, and of direct answers, a third for each of ten people who gave it (Schwenk et al.,
ECCV 2022, section 4); questions with difficult direct answers are left out. Ours ignores case, marks and articles.
"""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

from vqa_client.benchmark import ASKS, Benchmark, Beside, ColumnNames, Form, Home, LeftOut, Metric, Picture, Place
from vqa_client.benchmark import ChoiceSettings, Question, Shots, choice_or_short, tables, verbatim
from vqa_client.scoring.short_answers import in_thirds
from vqa_client.scoring.vqa_normalise import normalised
from vqa_client.tasks.choices import CHOICE_PROMPT, KIT_PROMPT, LETTERED, OURS, VLMEVALKIT, ChoiceRow, letter_of
from vqa_client.tasks.choices import right_text

HOME = Home("github.com/allenai/aokvqa", "Apache-2.0")
COLUMNS: ColumnNames = {"options": "choices", "image": Beside("{split}2017/{image_id:012d}.jpg")}


class Row(ChoiceRow):
    question_id: str
    image: Picture
    answer: str = ""
    correct_choice_idx: str = ""
    direct_answers: tuple[str, ...] = ()
    difficult_direct_answer: bool = False


def question(row: Row, place: Place, *, direct: bool) -> Question | LeftOut:
    if direct and row.difficult_direct_answer:
        return LeftOut("difficult_direct_answer", row.question_id)
    return Question(
        id=row.question_id,
        text=row.question,
        images=(row.image,),
        choices={} if direct else row.choices(),
        references=row.direct_answers if direct else (letter_of(row.answer or row.correct_choice_idx),),
        cluster=row.image,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Options(ChoiceSettings):
    """Settings of a run on A-OKVQA."""

    asked: Annotated[Literal["choice", "direct"], ASKS] = "choice"
    """Ask with the choices or without."""


BY_PEOPLE = (
    Metric("accuracy", in_thirds(normalised), "a third for each of ten people who gave the same answer"),
    Metric("published", in_thirds(), "the same of the whole reply, to the letter", verbatim),
)
BY_CHOICE = (
    OURS,
    Metric("published", right_text, "the published script, on the text of the choice that we read"),
    VLMEVALKIT,
)


def benchmark(options: Options) -> Benchmark:
    direct = options.asked == "direct"
    return Benchmark(
        name="aokvqa",
        load=tables(
            Row,
            Form("aokvqa_v1p0_{split}.json", columns=COLUMNS, home=HOME),
            Form("A-OKVQA.tsv", columns={**LETTERED, "question_id": "index"}),
            question=partial(question, direct=direct),
            split="val",
        ),
        prompt="{question}\nAnswer with a word or a short phrase." if direct else CHOICE_PROMPT,
        prompt_forms={} if direct else {"vlmevalkit": KIT_PROMPT},
        parse=choice_or_short,
        metrics=BY_PEOPLE if direct else BY_CHOICE,
        shots=Shots("train"),
        ideal_reply=lambda question: Counter(question.references).most_common(1)[0][0],
        labels=() if direct else tuple("ABCD"),
    )

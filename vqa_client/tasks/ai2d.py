"""AI2D: diagrams from school books, four choices.

Data: the authors' questions/*.json beside images/, a file per diagram (for the test split keep those that
ai2d_test_ids.csv lists); the hub's Parquet; or VLMEvalKit's AI2D_TEST.tsv. Question ids differ between them. AI2D is
two benchmarks, with letters drawn over a diagram's labels and without: --split no_mask reads AI2D_TEST_NO_MASK.tsv. A
row of the Parquet, whose answer counts from 0:

    {"question": "Which is a producer?", "options": ["grass", "fox", "rabbit", "owl"], "answer": "0", "image": {...}}

Published: accuracy (Kembhavi et al., ECCV 2016, section 6), without a script.
"""

from collections.abc import Iterator

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, Form, Home, Picture, Place, Prompt, Question, choice, tables
from vqa_client.scoring.published.choice_readers import lmms_ai2d
from vqa_client.tasks.choices import CHOICE_PROMPT, KIT_PROMPT, LETTERED, LMMS_PROMPT, OURS, VLMEVALKIT, ChoiceRow
from vqa_client.tasks.choices import label_choices, letter_of, lmms_eval

HOME = Home("prior.allenai.org/projects/diagram-understanding", "CC BY-SA 4.0", megabytes=3000)
HUB = Home("hf://lmms-lab-encoder/ai2d", "CC BY-SA 4.0", megabytes=500)
IMAGE = {"image": Beside("images/{imageName}")}


class Row(ChoiceRow):
    image: Picture
    answer: str
    index: str = ""


class DiagramQuestion(Struct, rename="camel"):
    question_id: str
    answer_texts: tuple[str, ...]
    correct_answer: int


class Diagram(Struct):
    image: Picture
    questions: dict[str, DiagramQuestion]


def question(row: Row, place: Place) -> Question:
    id = row.index or f"{place.file}#{place.number}"
    return make_question(id, row.question, row.image, row.choices(), letter_of(row.answer))


def diagram_questions(row: Diagram, place: Place) -> Iterator[Question]:
    for text, item in row.questions.items():
        answer = letter_of(str(item.correct_answer))
        yield make_question(item.question_id, text, row.image, label_choices(item.answer_texts), answer)


def make_question(id: str, text: str, image: str, choices: dict[str, str], answer: str) -> Question:
    return Question(id=id, text=text, images=(image,), choices=choices, references=(answer,), cluster=image)


BENCHMARK = Benchmark(
    name="ai2d",
    load=tables(
        Row,
        Form("questions/*.json", columns=IMAGE, row=Diagram, question=diagram_questions, up=1, home=HOME),
        Form("data/{split}-*.parquet", home=HUB),
        Form("AI2D_{split}.tsv", columns=LETTERED, splits={"test": "TEST", "no_mask": "TEST_NO_MASK"}),
        question=question,
    ),
    prompt=CHOICE_PROMPT,
    prompt_forms={"lmms_eval": Prompt(LMMS_PROMPT, max_tokens=16), "vlmevalkit": KIT_PROMPT},
    parse=choice,
    metrics=(OURS, VLMEVALKIT, lmms_eval(lmms_ai2d)),
    labels=tuple("ABCD"),
)

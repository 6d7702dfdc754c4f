"""GQA: questions on photographs that take several steps of reasoning, answered with a word.

Data: testdev_balanced_questions.json beside images/ (https://cs.stanford.edu/people/dorarad/gqa, CC BY 4.0), the hub's
two Parquet files, or VLMEvalKit's GQA_TestDev_Balanced.tsv. A row:

    "05515938": {"imageId": "n161313", "question": "Is the door open?", "answer": "yes",
                 "types": {"structural": "verify", "semantic": "attr", "detailed": "stateVerify"}}

Published: the share of answers that are the reference, letter by letter, also by type (Hudson and Manning, CVPR
2019). Its consistency, validity and plausibility need further files and are left out. The answers of the test split
are not public: --submission writes the file for its server.
"""

from typing import Any

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, ColumnNames, Form, Home, Join, Metric, Picture, Prompt, Scored
from vqa_client.benchmark import Submission, best_of, equal, tables, verbatim
from vqa_client.prompt import SHORT_PROMPT
from vqa_client.scoring.readings import short_or_yes_no
from vqa_client.scoring.short_answers import NO_PUNCTUATION
from vqa_client.scoring.vqa_normalise import normalised, on_one_line

HOME = Home("https://cs.stanford.edu/people/dorarad/gqa/download.html", "CC BY 4.0", megabytes=20_000)
HUB = Home("hf://lmms-lab-encoder/GQA", "CC BY 4.0", megabytes=100)
ANSWERED = {"text": "question", "references": "answer"}
COLUMNS = {**ANSWERED, "structural": "types.structural", "semantic": "types.semantic"}
OWN_COLUMNS: ColumnNames = {**COLUMNS, "id": "key", "images": Beside("images/{imageId}.jpg")}
TSV_COLUMNS = {**ANSWERED, "id": "index", "images": "image"}
IMAGES = Join("{split}_balanced_images/{split}-*.parquet", on="imageId", key="id")


class Row(Struct):
    id: str
    text: str
    images: tuple[Picture, ...]
    references: tuple[str, ...] = ()
    structural: str = ""
    semantic: str = ""


def same(answer: str, reference: str) -> float:
    return equal(normalised(on_one_line(answer)), normalised(on_one_line(reference)))


def lmms_eval(reply: str, reference: str) -> float:
    """lmms-eval (75571cfe) deletes the punctuation of both texts and puts no space in its place."""
    return equal(reply.strip().lower().translate(NO_PUNCTUATION), reference.lower().translate(NO_PUNCTUATION))


def vlmevalkit(reply: str, reference: str) -> float:
    return equal(reply.strip().lower(), reference.strip().lower())


def entry(scored: Scored) -> dict[str, Any]:
    """The answer in small letters: the server compares it with references in small letters, letter by letter."""
    return {"questionId": scored.question.id, "prediction": (scored.answer or "").lower()}


BENCHMARK = Benchmark(
    name="gqa",
    load=tables(
        Row,
        Form("{split}_balanced_questions.json", columns=OWN_COLUMNS, home=HOME),
        Form(
            "{split}_balanced_instructions/{split}-*.parquet",
            columns={**COLUMNS, "images": "image"},
            join=IMAGES,
            home=HUB,
        ),
        Form("GQA_{split}_Balanced.tsv", columns=TSV_COLUMNS, splits={"testdev": "TestDev"}),
        split="testdev",
    ),
    prompt="{question}\nAnswer with one word, or a few where one won't do.",
    prompt_forms={"lmms_eval": Prompt(SHORT_PROMPT, max_tokens=16), "vlmevalkit": Prompt(SHORT_PROMPT)},
    parse=short_or_yes_no,
    metrics=(
        Metric("accuracy", best_of(same), "the same words, without articles and punctuation", normalise=normalised),
        Metric("published", best_of(equal), "the published script: the reply is the reference", read=verbatim),
        Metric("lmms_eval", best_of(lmms_eval), "the same but for case and punctuation", read=verbatim),
        Metric("vlmevalkit", best_of(vlmevalkit), "the same but for case and outer spaces", read=verbatim),
    ),
    breakdowns=("structural", "semantic"),
    submission=Submission(entry),
)

"""MM-Vet: open questions that need several capabilities at once; the score needs a judge.

Data: mm-vet.json beside images/, the hub's Parquet, or VLMEvalKit's MMVet.tsv. A row:

    "v1_0": {"imagename": "v1_0.png", "question": "What is x in the equation?", "answer": "-1<AND>-5",
             "capability": ["ocr", "math"]}

Published: the mean of grades from 0 to 1 by GPT-4, of each capability and combination (Yu et al., ICML 2024). Without
a judge there is no score: "contains" is only the share of the reference that a reply has word for word.
"""

import re

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, ColumnNames, Form, Home, Judge, Metric, Picture, Place, Prompt
from vqa_client.benchmark import Question, Total, only_in, tables, whole_reply
from vqa_client.scoring.short_answers import folded

HOME = Home("github.com/yuweihao/MM-Vet", "Apache-2.0", megabytes=70)
HUB = Home("hf://lmms-lab-encoder/MMVet", "Apache-2.0", megabytes=70)
COLUMNS: ColumnNames = {"id": "key", "image": Beside("images/{imagename}")}
TSV_COLUMNS = {"id": "index", "capability": "category"}
REASONED = "First please perform reasoning, and think step by step to provide best answer to the following question: "
CAPABILITIES = {
    **{"rec": "recognition", "ocr": "reading text", "know": "knowledge"},
    **{"gen": "language generation", "spat": "spatial awareness", "math": "mathematics"},
}


class Row(Struct):
    id: str
    image: Picture
    question: str
    answer: str
    capability: tuple[str, ...] = ()


def question(row: Row, place: Place) -> Question:
    capabilities = tuple(name.strip() for names in row.capability for name in names.split(","))
    return Question(
        id=row.id,
        text=row.question,
        images=(row.image,),
        references=tuple(row.answer.split("<OR>")),
        groups={"capability": capabilities, "combination": "+".join(sorted(capabilities))},
        row=row,
    )


def contains(answer: str, question: Question) -> float:
    """The greatest share of an alternative's parts that are in the answer as whole words."""
    text = folded(answer)
    alternatives = [[folded(part) for part in reference.split("<AND>")] for reference in question.references]
    return max(sum(_has_words(part, text) for part in parts) / len(parts) for parts in alternatives)


def _has_words(part: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text) is not None


BENCHMARK = Benchmark(
    name="mmvet",
    load=tables(
        Row,
        Form("mm-vet.json", columns=COLUMNS, home=HOME),
        Form("data/{split}-*.parquet", columns={"id": "question_id"}, home=HUB),
        Form("MMVet.tsv", columns=TSV_COLUMNS),
        question=question,
    ),
    prompt="{question}",
    prompt_forms={
        "official": Prompt(),
        "lmms_eval": Prompt(REASONED + "\n\n{question}", max_tokens=1024),
        "vlmevalkit": Prompt(),
    },
    parse=whole_reply,
    metrics=(Metric("contains", contains, "how much of the reference is in the reply; published scores need a judge"),),
    measure="share of the reference in the reply (the published score needs a judge)",
    totals=tuple(
        Total(name, only_in("capability", name), f"of the questions that take {says}")
        for name, says in CAPABILITIES.items()
    ),
    ideal_reply=lambda question: question.references[0].replace("<AND>", " and "),
    breakdowns=("capability", "combination"),
    compares_answers=False,
    judge=Judge("grade", "Parts of a reference that are joined by <AND> all count, each for its share."),
)

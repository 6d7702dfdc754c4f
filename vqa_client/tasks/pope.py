"""POPE: is an object in the photograph? Half are not: random, frequent, or often seen together with what is there.

Data: coco_pope_random.json, coco_pope_popular.json and coco_pope_adversarial.json beside val2014/, the hub's Parquet,
or VLMEvalKit's POPE.tsv, in which a question of several kinds is one row, has another id, and counts in each kind. A
row:

    {"question_id": 1, "image": "COCO_val2014_000000310196.jpg", "text": "Is there a snowboard?", "label": "yes"}

Published: accuracy, precision, recall, F1 and the share of "yes" for each file (Li et al., EMNLP 2023, section 3).
"""

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, Breakdown, Columns, Form, Home, Metric, Picture, Place, Question
from vqa_client.benchmark import Scored, Sums, Total, pope_yes, tables, yes_no, yorn


class Row(Struct):
    question_id: str
    image: Picture
    text: str
    label: str
    kinds: str = ""
    photograph: str = ""


def question(row: Row, place: Place) -> Question:
    kinds = tuple(row.kinds.split(",")) if row.kinds else (place.file.rpartition("_")[2],)
    return Question(
        id=f"{'+'.join(kinds)}/{row.question_id}",
        text=row.text,
        images=(row.image,),
        references=("no" if row.label.lower() == "no" else "yes",),
        groups={"kind": kinds if len(kinds) > 1 else kinds[0], "label": row.label.lower()},
        cluster=row.photograph or row.image,
    )


def right(answer: str, question: Question) -> float:
    return float(answer == question.references[0])


def counts(scored: Scored) -> tuple[float, ...]:
    """Rightly said "yes", said "yes", there, all."""
    there, said = scored.question.references == ("yes",), scored.answer == "yes"
    return there and said, said, there, 1


def f1(hits: float, said: float, there: float, n: float) -> float:
    precision, recall = hits / said, hits / there
    return 2 * precision * recall / (precision + recall)


ASKED: dict[str, str | Columns | Beside] = {"text": "question", "label": "answer", "kinds": "category"}
BENCHMARK = Benchmark(
    name="pope",
    load=tables(
        Row,
        Form(
            "*_pope_*.json",
            columns={"image": Beside("val2014/{image}"), "photograph": "image"},
            home=Home("github.com/RUCAIBox/POPE", "MIT", megabytes=3),
        ),
        Form(
            "data/{split}-*.parquet",
            columns={**ASKED, "photograph": "image_source"},
            home=Home("hf://lmms-lab-encoder/POPE", "MIT", megabytes=120),
        ),
        Form("POPE.tsv", columns={**ASKED, "question_id": "index"}),
        question=question,
    ),
    prompt="{question}\nAnswer yes or no.",
    parse=yes_no,
    metrics=(
        Metric("accuracy", right, "says rightly whether the object is there"),
        Metric("published", right, "the published script: yes unless it denies", read=pope_yes),
        Metric("vlmevalkit", right, "VLMEvalKit: one of the words, not the other", read=yorn),
    ),
    totals=(
        Total("precision", Sums(counts, lambda hits, said, there, n: hits / said), "of what it sees, what is there"),
        Total("recall", Sums(counts, lambda hits, said, there, n: hits / there), "of what is there, what it sees"),
        Total("f1", Sums(counts, f1), "their harmonic mean"),
        Total("yes_share", Sums(counts, lambda hits, said, there, n: said / n), 'how often it says "yes"'),
    ),
    breakdowns=(Breakdown("kind", order=("random", "popular", "adversarial")), "label"),
)

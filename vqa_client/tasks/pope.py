"""POPE: is an object in the photograph? Half are not: random, frequent, or often seen together with what is there.

Data: coco_pope_random.json, coco_pope_popular.json and coco_pope_adversarial.json beside val2014/, the hub's Parquet,
or VLMEvalKit's POPE.tsv, in which a question of several kinds is one row, has another id, and counts in each kind and
in totals as often, which makes them those of the three files. A row:

    {"question_id": 1, "image": "COCO_val2014_000000310196.jpg", "text": "Is there a snowboard?", "label": "yes"}

Published: accuracy, precision, recall, F1 and the share of "yes" for each file (Li et al., EMNLP 2023, section 3); a
run of one file has all of them, one of three has accuracy and F1 of each, and the mean of F1 that model cards report.

lmms-eval (75571cfe) wants the word alone. Of what is there it misses only what the model says "no" to, so that any
other reply raises its recall; what can't be computed is 0.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from vqa_client.benchmark import (
    Answer,
    Benchmark,
    Beside,
    Breakdown,
    Columns,
    Form,
    Home,
    Metric,
    Picture,
    Place,
    Prompt,
)
from vqa_client.benchmark import Question, Sums, Total, best_of, equal, mean_over, pope_yes, tables, yes_no
from vqa_client.benchmark import yorn
from vqa_client.scoring.reply import Reply
from vqa_client.types import group_values


def lmms_eval(reply: Reply, question: Question) -> Answer:
    """lmms-eval's reader: the reply is the word, but for case and outer spaces."""
    del question
    said = reply.completion.text.strip().lower()
    known = said in ("yes", "no")
    return Answer(text=said if known else None, status="ok" if known else "unparsed", rule="the word alone")


def counts(scored: Any) -> tuple[int, ...]:
    """Rightly said "yes", said "yes", there, there but said "no", and all, once for each file that a question is in."""
    there, said = scored.question.references == ("yes",), scored.answer
    files = len(group_values(scored.question.groups.get("kind", "")))
    parts = (there and said == "yes", said == "yes", there, there and said == "no", True)
    return tuple(files * part for part in parts)


def once(scored: Any) -> tuple[int, ...]:
    """The same once for a question, however many files it is in."""
    return tuple(min(1, part) for part in counts(scored))


def within(kind: str) -> Callable[[Any], tuple[int, ...] | None]:
    """The same of a kind, None of others."""
    return lambda scored: once(scored) if kind in group_values(scored.question.groups["kind"]) else None


def precision(hits: float, said: float, *others: float) -> float:
    """Of what is said to be there, what is."""
    return hits / said


def recall(hits: float, said: float, there: float, *others: float) -> float:
    """Of what is there, what is said to be."""
    return hits / there


def f1(hits: float, said: float, there: float, *others: float) -> float:
    """The harmonic mean of both."""
    of_said, of_there = hits / said, hits / there
    return 2 * of_said * of_there / (of_said + of_there)


def recall_lmms(hits: float, said: float, there: float, denied: float, n: float) -> float:
    """lmms-eval's recall."""
    return hits / (hits + denied) if hits else 0.0


def f1_lmms(hits: float, said: float, there: float, denied: float, n: float) -> float:
    """lmms-eval's F1."""
    return f1(hits, said, hits + denied) if hits else 0.0


def yes_share(hits: float, said: float, there: float, denied: float, n: float) -> float:
    """How much of what is asked is said to be there."""
    return said / n


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


KINDS = ("random", "popular", "adversarial")
LMMS_EVAL = Prompt("{question}\nAnswer the question using a single word or phrase.", max_tokens=128)
ASKED: dict[str, str | Columns | Beside] = {"text": "question", "label": "answer", "kinds": "category"}
HUB = Home("hf://lmms-lab-encoder/POPE", "MIT", megabytes=120)
BENCHMARK = Benchmark(
    name="pope",
    load=tables(
        Row,
        Form(
            "*_pope_*.json",
            columns={"image": Beside("val2014/{image}"), "photograph": "image"},
            home=Home("github.com/RUCAIBox/POPE", "MIT", megabytes=3),
        ),
        Form("data/{split}-*.parquet", columns={**ASKED, "photograph": "image_source"}, home=HUB),
        Form("POPE.tsv", columns={**ASKED, "question_id": "index"}),
        question=question,
    ),
    prompt="{question}\nAnswer yes or no.",
    prompt_forms={"official": Prompt(), "lmms_eval": LMMS_EVAL, "vlmevalkit": Prompt()},
    parse=yes_no,
    metrics=(
        Metric("accuracy", best_of(equal), "says rightly whether the object is there"),
        Metric("published", best_of(equal), "the published script: yes unless it denies", read=pope_yes),
        Metric("vlmevalkit", best_of(equal), "VLMEvalKit: one of the words, not the other", read=yorn),
        Metric("lmms_eval", best_of(equal), "lmms-eval: the word alone", read=lmms_eval),
    ),
    totals=(
        Total("precision", Sums(counts, precision), "of what it sees, what is there"),
        Total("recall", Sums(counts, recall), "of what is there, what it sees"),
        Total("f1", Sums(counts, f1), "their harmonic mean"),
        *(Total(f"f1_{kind}", Sums(within(kind), f1), f"F1 of {kind} objects") for kind in KINDS),
        Total("f1_by_kind", mean_over("kind", Sums(once, f1)), "the mean of F1 over kinds"),
        Total("yes_share", Sums(counts, yes_share), 'how often it says "yes"'),
        Total("recall_lmms", Sums(counts, recall_lmms), "recall as lmms-eval counts it", ("lmms_eval",)),
        Total("f1_lmms", Sums(counts, f1_lmms), "F1 as lmms-eval counts it", ("lmms_eval",)),
    ),
    breakdowns=(Breakdown("kind", order=KINDS), "label"),
    version="2",
)

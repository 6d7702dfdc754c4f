"""POPE: is an object in the photograph? Half are not: random, frequent, or often seen together with what is there.

Data: coco_pope_random.json, coco_pope_popular.json and coco_pope_adversarial.json beside val2014/, the hub's Parquet,
or VLMEvalKit's POPE.tsv, in which a question of several kinds is one row, has another id, and counts in each kind and
in totals as often, which makes them those of the three files. A row:

    {"question_id": 1, "image": "COCO_val2014_000000310196.jpg", "text": "Is there a snowboard?", "label": "yes"}

Published: accuracy, precision, recall, F1 and the share of "yes" for each file (Li et al., EMNLP 2023, section 3); a
run of one file has all of them, one of three has accuracy and F1 of each, and the mean of F1 that model cards report.
"""

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, Breakdown, ColumnNames, Form, Home, Metric, Picture, Place, Prompt
from vqa_client.benchmark import Question, Sums, Total, best_of, equal, mean_over, pope_yes, tables, yes_no, yorn
from vqa_client.prompt import SHORT_PROMPT
from vqa_client.scoring.published import yes_no_readers as rules

HOME = Home("github.com/RUCAIBox/POPE", "MIT", megabytes=3)
HUB = Home("hf://lmms-lab-encoder/POPE", "MIT", megabytes=120)
OWN_COLUMNS: ColumnNames = {"image": Beside("val2014/{image}"), "photograph": "image"}
COLUMNS = {"text": "question", "label": "answer", "kinds": "category"}
KINDS = ("random", "popular", "adversarial")


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
        references=({"": "", "no": "no"}.get(row.label.lower(), "yes"),),
        groups={"kind": kinds if len(kinds) > 1 else kinds[0], "label": row.label.lower()},
        cluster=row.photograph or row.image,
    )


BENCHMARK = Benchmark(
    name="pope",
    load=tables(
        Row,
        Form("*_pope_*.json", columns=OWN_COLUMNS, home=HOME),
        Form("data/{split}-*.parquet", columns={**COLUMNS, "photograph": "image_source"}, home=HUB),
        Form("POPE.tsv", columns={**COLUMNS, "question_id": "index"}),
        question=question,
    ),
    prompt="{question}\nAnswer yes or no.",
    prompt_forms={"official": Prompt(), "lmms_eval": Prompt(SHORT_PROMPT, max_tokens=128), "vlmevalkit": Prompt()},
    parse=yes_no,
    metrics=(
        Metric("accuracy", best_of(equal), "says rightly whether the object is there"),
        Metric("published", best_of(equal), "the published script: yes unless it denies", read=pope_yes),
        Metric("vlmevalkit", best_of(equal), "VLMEvalKit: one of the words, not the other", read=yorn),
        Metric("lmms_eval", best_of(equal), "lmms-eval: the word alone", read=rules.lmms_pope),
    ),
    totals=(
        Total("precision", Sums(rules.counts, rules.precision), "of what it sees, what is there"),
        Total("recall", Sums(rules.counts, rules.recall), "of what is there, what it sees"),
        Total("f1", Sums(rules.counts, rules.f1), "their harmonic mean"),
        *(Total(f"f1_{kind}", Sums(rules.within(kind), rules.f1), f"F1 of {kind} objects") for kind in KINDS),
        Total("f1_by_kind", mean_over("kind", Sums(rules.once, rules.f1)), "the mean of F1 over kinds"),
        Total("yes_share", Sums(rules.counts, rules.yes_share), 'how often it says "yes"'),
        Total("recall_lmms", Sums(rules.counts, rules.recall_lmms), "recall as lmms-eval counts it", ("lmms_eval",)),
        Total("f1_lmms", Sums(rules.counts, rules.f1_lmms), "F1 as lmms-eval counts it", ("lmms_eval",)),
    ),
    breakdowns=(Breakdown("kind", order=KINDS), "label"),
    version="2",
)

"""HallusionBench: yes or no about figures and edited copies of them, to see whether a model looks or remembers.

Data: HallusionBench.json beside hallusion_bench/, the hub's Parquet (image and non_image), or VLMEvalKit's
HallusionBench.tsv, which lacks the questions without an image and the marks easy and hard. A row:

    {"category": "VD", "subcategory": "illusion", "visual_input": "1", "set_id": "0", "figure_id": "0",
     "question_id": "0", "question": "Is the left circle larger?", "gt_answer": "0", "gt_answer_details": "..."}

Published: aAcc over questions, fAcc over figures and qAcc over questions on all their figures, where GPT-4 judges
replies (Guan et al., CVPR 2024). Here rules read them: compare only with numbers that were made by rules.
"""

from msgspec import Struct

from vqa_client.aggregates import Aggregate
from vqa_client.benchmark import ALL_RIGHT, MEAN, Benchmark, Beside, Form, Home, Metric, Picture, Place, Prompt
from vqa_client.benchmark import Question, Total, best_of, equal, mean_over, only, tables, yes_no, yorn
from vqa_client.scoring.published import yes_no_readers as rules

HOME = Home("github.com/tianyi-lab/HallusionBench", "BSD-3-Clause", megabytes=450)
HUB = Home("hf://lmms-lab-encoder/HallusionBench", "BSD-3-Clause", megabytes=420)
COLUMNS = {"image": Beside("hallusion_bench/{category}/{subcategory}/{set_id}_{figure_id}.png")}
TSV_COLUMNS = {"subcategory": "l2-category", "gt_answer": "answer"}


class Row(Struct):
    category: str
    subcategory: str
    question: str
    gt_answer: str
    visual_input: str = ""
    set_id: str = ""
    figure_id: str = ""
    question_id: str = ""
    index: str = ""
    image: Picture = ""


def question(row: Row, place: Place) -> Question:
    if row.index:
        row.set_id, row.figure_id, row.question_id = row.index.split("_")[3:6]
    return Question(
        id=f"{row.category}_{row.subcategory}_{row.set_id}_{row.figure_id}_{row.question_id}",
        text=row.question,
        images=(row.image,) if row.image and row.visual_input != "0" else (),
        references=({"1": "yes", "0": "no"}.get(row.gt_answer, row.gt_answer.lower()),),
        groups={"category": row.category, "subcategory": row.subcategory},
        cluster=f"{row.subcategory}/{row.set_id}",
        row=row,
    )


def pairs_of(*inputs: str) -> Aggregate:
    return mean_over(rules.PAIR, only(lambda scored: scored.question.row_as(Row).visual_input in inputs, ALL_RIGHT))


BENCHMARK = Benchmark(
    name="hallusionbench",
    load=tables(
        Row,
        Form("HallusionBench.json", columns=COLUMNS, home=HOME),
        Form("data/*image-*.parquet", home=HUB),
        Form("HallusionBench.tsv", columns=TSV_COLUMNS),
        question=question,
    ),
    prompt="{question}\nAnswer yes or no.",
    prompt_forms={"official": Prompt(), "lmms_eval": Prompt(max_tokens=128), "vlmevalkit": Prompt()},
    parse=yes_no,
    metrics=(
        Metric("accuracy", best_of(equal), "says rightly yes or no"),
        Metric("vlmevalkit", best_of(equal), "VLMEvalKit: one of the words, not the other", read=yorn),
        Metric("lmms_eval", best_of(equal), 'lmms-eval: yes where "yes" is in the reply', read=rules.lmms_letters),
    ),
    totals=(
        Total("aAcc", MEAN, "questions that are right"),
        Total("fAcc", mean_over(rules.figure, ALL_RIGHT), "figures whose questions are all right"),
        Total("qAcc", mean_over(rules.PAIR, ALL_RIGHT), "questions that are right on all their figures"),
        Total("easy", pairs_of("0", "1"), "qAcc on original figures, or without any"),
        Total("hard", pairs_of("2"), "qAcc on edited figures"),
        Total("fAcc_lmms", mean_over(rules.FIGURE, ALL_RIGHT), "fAcc as lmms-eval counts it", ("lmms_eval",)),
        Total("fAcc_kit", mean_over(rules.KIT_FIGURE, ALL_RIGHT), "fAcc as VLMEvalKit counts it", ("vlmevalkit",)),
        Total("qAcc_kit", mean_over(rules.KIT_PAIR, ALL_RIGHT), "qAcc as VLMEvalKit counts it", ("vlmevalkit",)),
    ),
    breakdowns=("category", "subcategory"),
)

"""MMBench: right only if every rotation of the choices is right; twenty abilities in six groups.

Data: VLMEvalKit's MMBench_DEV_EN.tsv (--split dev; others by their names, such as DEV_CN_V11 or CCBench), in which a
rotation of a question is a row whose index is a multiple of 1,000,000 higher, or that has the question's in g_index;
or the hub's Parquet, without rotations. Answers of the test split are not public. A row of the Parquet:

    {"index": 1, "question": "What is on the plate?", "hint": "nan", "A": "apple", "B": "pear", "C": "nan", "D": "nan",
     "answer": "A", "category": "image_scene", "L2-category": "coarse_perception", "split": "dev", "image": {...}}

Published: the share of questions that are right in all rotations, overall, for the six groups and for the abilities
(Liu et al., ECCV 2024, section 4; what they are, section 3 and appendix). A reply that the rules can't read counts as
wrong, as in VLMEvalKit's `exact_matching`.
"""

from vqa_client.benchmark import ALL_RIGHT, Benchmark, Form, Home, Picture, Place, Question, Scored, Total, choice
from vqa_client.benchmark import mean_over, only, tables
from vqa_client.scoring.published.choice_readers import kit, lmms_mmbench_static
from vqa_client.tasks.choices import CHOICE_PROMPT, DIRECTLY, KIT_PROMPT, LETTERED, OURS, ChoiceRow, lmms_eval
from vqa_client.tasks.choices import original_index, prompt_from, published

HUB = Home("hf://lmms-lab-encoder/MMBench", "Apache-2.0", megabytes=300)
SPLITS = {"dev": "DEV_EN", "test": "TEST_EN"}
GROUPS = {
    "CP": "coarse_perception",
    "FP_S": "finegrained_perception (instance-level)",
    "FP_C": "finegrained_perception (cross-instance)",
    "LR": "logic_reasoning",
    "RR": "relation_reasoning",
    "AR": "attribute_reasoning",
}
ABILITIES = (
    *("image_emotion", "image_quality", "image_scene", "image_style", "image_topic"),
    *("attribute_recognition", "celebrity_recognition", "object_localization", "ocr"),
    *("action_recognition", "attribute_comparison", "spatial_relationship"),
    *("future_prediction", "structuralized_imagetext_understanding"),
    *("nature_relation", "physical_relation", "social_relation"),
    *("function_reasoning", "identity_reasoning", "physical_property_reasoning"),
)
"""In the order of their groups."""
LMMS_EVAL = f"{{hint}}{{question}} There are several options:\n{{choices}}\n\n{DIRECTLY}"


class Row(ChoiceRow):
    index: int
    image: Picture
    answer: str = ""
    category: str = ""
    group: str = ""
    g_index: int | None = None


def question(row: Row, place: Place) -> Question:
    group = original_index(row.index) if row.g_index is None else row.g_index
    return Question(
        id=str(row.index),
        text=row.text(),
        images=(row.image,),
        choices=row.choices(),
        references=(row.answer,),
        groups={"ability_group": row.group, "ability": row.category},
        cluster=str(group),
        row=row,
    )


def total_of(name: str, field: str, value: str) -> Total:
    def cluster(scored: Scored) -> str | None:
        return scored.question.cluster if scored.question.groups[field] == value else None

    return Total(name, mean_over(cluster, ALL_RIGHT), f"of {value}, what is right in every rotation")


BENCHMARK = Benchmark(
    name="mmbench",
    load=tables(
        Row,
        Form(("MMBench_{split}.tsv", "{split}.tsv"), columns={**LETTERED, "group": "l2-category"}, splits=SPLITS),
        Form(("en/{split}-*.parquet", "{split}-*.parquet"), columns={**LETTERED, "group": "L2-category"}, home=HUB),
        question=question,
        split="dev",
    ),
    prompt=CHOICE_PROMPT,
    prompt_forms={"vlmevalkit": KIT_PROMPT, "lmms_eval": prompt_from(LMMS_EVAL, hint="{hint} ")},
    parse=choice,
    metrics=(OURS, published(kit), lmms_eval(lmms_mmbench_static)),
    headline="circular",
    totals=(
        Total("circular", mean_over(lambda scored: scored.question.cluster, ALL_RIGHT), "right in every rotation"),
        Total(
            "plain",
            only(lambda scored: scored.question.id == scored.question.cluster),
            "right as the choices are filed",
        ),
        *(total_of(name, "ability_group", value) for name, value in GROUPS.items()),
        *(total_of(name, "ability", name) for name in ABILITIES),
    ),
    breakdowns=("ability_group", "ability"),
    labels=tuple("ABCD"),
    rotation_of=lambda question: question.cluster,
)

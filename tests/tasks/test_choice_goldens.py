"""The published readers of multiple-choice replies against their own results."""

import ast
import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.tasks.declared import GOLDENS, benchmark_of, golden, needs_goldens
from vqa_client.benchmark import Place
from vqa_client.scoring.published import choice_readers as readers
from vqa_client.tasks import scienceqa, seedbench
from vqa_client.tasks.mmmu import open_candidates, open_right
from vqa_client.types import Question

HERE = Place("data", 0, "test")
REAL = GOLDENS.parent / "other"
UNREAD = ("<random>", "<JUDGE>", "Z", False, "", None)
Labels = dict[str, str]


def labelled(texts: Iterable[Any], labels: str = "ABCDEFGHIJ") -> Labels:
    return {label: str(text) for label, text in zip(labels, texts, strict=False)}


FOUR = labelled("abcd")


@needs_goldens
@pytest.mark.parametrize(
    ("column", "read"),
    [
        ("vlmevalkit_can_infer", readers.kit),
        ("vlmevalkit_can_infer_option", readers.kit_label),
        ("lmms_mcq_extract", readers.lmms_mcq),
        ("mmmu_official", readers.mmmu),
        ("mmmu_pro_official", readers.mmmu_pro),
        ("lmms_mmmu", readers.lmms_mmmu),
        ("lmms_mmbench_can_infer", readers.lmms_mmbench),
        ("scienceqa_official", readers.scienceqa),
        ("lmms_vstar", readers.lmms_vstar),
        ("lmms_blink", readers.lmms_blink),
    ],
)
def test_a_reader_finds_what_its_scorer_finds(column: str, read: readers.ReadLabel) -> None:
    cases = [case for case in golden("mcq_replies") if column in case["extracted"]]
    assert len(cases) >= 176
    for case in cases:
        expected = case["extracted"][column]
        found = read(case["reply"], case["options"])
        assert found == expected or (found is None and expected in UNREAD), (case["reply"], found, expected)


@needs_goldens
@pytest.mark.parametrize(
    ("column", "read"),
    [
        ("mmstar_official", readers.mmstar),
        ("lmms_ai2d", readers.lmms_ai2d),
        ("lmms_seed", readers.lmms_seedbench),
        ("lmms_scienceqa", readers.lmms_scienceqa),
        ("lmms_realworldqa", readers.lmms_mcq_abcd),
    ],
)
def test_a_reader_is_right_where_its_scorer_is(column: str, read: readers.ReadLabel) -> None:
    cases = [case for case in golden("mcq_replies") if column in case["extracted"]["hits"]]
    assert len(cases) >= 158
    for case in cases:
        found = read(case["reply"], case["options"])
        assert [label for label in "ABCD" if label == found] == case["extracted"]["hits"][column], (case, found)


@needs_goldens
@pytest.mark.parametrize(
    ("name", "kind", "options_of", "expected_of", "read"),
    [
        ("mmmu", "multiple-choice", lambda case: labelled(case["options"]), lambda case: case["parsed"], readers.mmmu),
        (
            "mmmu",
            "multiple-choice",
            lambda case: labelled(case["options"]),
            lambda case: case["lmms_eval_parsed"],
            readers.lmms_mmmu,
        ),
        (
            "mmbench",
            "single",
            lambda case: {label: str(text) for label, text in case["options"].items()},
            lambda case: case["expected"],
            readers.kit,
        ),
        ("blink", None, lambda case: FOUR, lambda case: case["official_rule"].strip("()"), readers.blink),
        ("blink", None, lambda case: FOUR, lambda case: case["lmms_eval_letter"], readers.lmms_blink),
        (
            "scienceqa",
            "reply",
            lambda case: labelled(range(case["n_choices"])),
            lambda case: None if case["official_random"] else "ABCDE"[case["official_index"]],
            readers.scienceqa,
        ),
    ],
)
def test_a_reader_finds_what_its_scorer_finds_in_a_benchmarks_replies(
    name: str,
    kind: str | None,
    options_of: Callable[[Any], Labels],
    expected_of: Callable[[Any], Any],
    read: readers.ReadLabel,
) -> None:
    cases = golden(name, kind)
    assert cases
    for case in cases:
        found, expected = read(case["prediction"], options_of(case)), expected_of(case)
        assert found == expected or (found is None and expected in UNREAD), (case, found)


@needs_goldens
@pytest.mark.parametrize(
    ("name", "column", "options_of", "right_of", "read"),
    [
        ("mmstar", "expected", lambda case: FOUR, lambda case: case["reference"], readers.mmstar),
        ("mmstar", "lmms_eval", lambda case: FOUR, lambda case: case["reference"], readers.lmms_mcq_abcd),
        (
            "scienceqa",
            "lmms_eval",
            lambda case: labelled(range(case["n_choices"])),
            lambda case: "ABCDE"[case["answer"]],
            readers.lmms_scienceqa,
        ),
    ],
)
def test_a_reader_is_right_where_its_scorer_is_in_a_benchmarks_replies(
    name: str,
    column: str,
    options_of: Callable[[Any], Labels],
    right_of: Callable[[Any], str],
    read: readers.ReadLabel,
) -> None:
    cases = golden(name, "reply")
    assert cases
    for case in cases:
        assert (read(case["prediction"], options_of(case)) == right_of(case)) == case[column], case


def _listed(reference: Any) -> list[str]:
    return reference if isinstance(reference, list) else [reference]


@needs_goldens
def test_mmmus_open_replies_are_read_and_scored_as_published() -> None:
    cases = golden("mmmu", "open")
    assert len(cases) == 93
    for case in cases:
        assert open_candidates(case["prediction"]) == set(case["parsed"]), case
        assert open_right(case["prediction"], _listed(case["reference"])) == case["expected"], case


@needs_goldens
def test_the_published_figures_of_900_real_mmmu_replies() -> None:
    """Of the 48 replies that the script can't read, 22 have its drawn letter, the first one; the others have none."""
    unread = 0
    for case in json.loads((REAL / "mmmu_qwen_vl_val.json").read_text(encoding="utf-8"))["records"]:
        if "index2ans" not in case:
            assert open_right(case["response"], _listed(case["answer"])) == case["official_correct"], case
            continue
        found = readers.mmmu(case["response"], case["index2ans"])
        assert found == case["official_parsed_pred"] or (found is None and case["official_parsed_pred"] in (None, "A"))
        unread += found is None
    assert unread == 48


@needs_goldens
@pytest.mark.parametrize(
    ("run", "drawn"), [("standard10_options_cot", 0), ("standard10_options_direct", 1), ("vision_direct", 5)]
)
def test_real_mmmu_pro_replies_are_read_as_published(run: str, drawn: int) -> None:
    """A reply that the script couldn't read has the letter that it drew."""
    cases = (REAL / f"mmmu_pro_gpt-4o_{run}_150.jsonl").read_text(encoding="utf-8").splitlines()
    unread = 0
    for case in map(json.loads, cases):
        found = readers.mmmu_pro(case["response"], labelled(ast.literal_eval(case["options"])))
        assert found in (case["pred_indexs"], None), case
        unread += found is None
    assert (len(cases), unread) == (150, drawn)


@pytest.mark.parametrize(
    ("grade", "grades"), [("grade1", "1-6"), ("grade6", "1-6"), ("grade7", "7-12"), ("grade12", "7-12"), ("", None)]
)
def test_scienceqas_grades_are_in_the_published_halves(grade: str, grades: str | None) -> None:
    row = scienceqa.Row(question="?", options=("a", "b"), answer="0", grade=grade)
    (question,) = scienceqa.question(row, HERE, images_only=False)
    assert question.groups.get("grades") == grades


def test_seedbenchs_kinds_have_their_published_names() -> None:
    rows = [
        seedbench.Row(
            question="?", options=("a", "b"), question_id="1", images=("1.png",), answer="A", question_type_id=n
        )
        for n in range(1, 11)
    ]
    kinds = [made.groups["kind"] for row in rows if isinstance(made := seedbench.question(row, HERE), Question)]
    assert kinds == [
        *("Scene Understanding", "Instance Identity", "Instance Attributes", "Instance Location"),
        *("Instances Counting", "Spatial Relation", "Instance Interaction", "Visual Reasoning"),
        *("Text Understanding", "kind 10"),
    ]


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("Think of B.\nAnswer: C", "C"),
        ("Answer: A\nNo.\n  Answer: (C) cat", "C"),
        ("Answer: rabbit", "B"),
        ("Answer: Cat", "C"),
        ("Answer: A or B", None),
        ("It is B", "B"),
    ],
)
def test_vlmevalkit_reads_a_chain_of_thought_from_its_last_answer_line(reply: str, label: str | None) -> None:
    assert readers.kit_step_by_step(reply, {"A": "bear", "B": "rabbit", "C": "cat"}) == label


def test_interleaved_images_are_where_question_and_choices_mark_them() -> None:
    question = Question(
        id="1", text="Is <image 2> like <image 1>?", images=("a", "b", "c"), choices=labelled(["yes", "<image 3>"])
    )
    assert benchmark_of("mmmu").task().content(question)[:5] == ("Is ", 2, " like ", 1, "?\nA. yes\nB. ")
    assert benchmark_of("mmmu").task().content(question)[5] == 3

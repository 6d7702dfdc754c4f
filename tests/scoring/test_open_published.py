"""MathVision's and MathVista's own rules against the results of their scripts, and the groups of OCRBench v2."""

import json
from typing import Any

import pytest

from tests.tasks.declared import GOLDENS, golden, needs_goldens
from vqa_client.benchmark import Place
from vqa_client.scoring.maths import same_maths
from vqa_client.tasks import mathvision, mathvista, mmmu, ocrbench_v2
from vqa_client.types import Question

LATEX_SYMPY = [
    ("60cm", None),
    ("\\frac{120}{2}", 60),
    ("1\\frac{1}{2}", 0.5),
    ("\\frac12", None),
    ("50\\%", 0.5),
    ("5)", 5),
    ("5}3", 5),
    ("(5", None),
    ("2:3", 0.67),
    ("x=5", 5),
    ("y=x=5", 5),
    ("5=x", None),
    ("e^2", 7.39),
    ("e", None),
    ("\\pi r", None),
    ("2\\tau", 12.57),
    ("\\log8", 0.9),
    ("\\sin30\\times2", -0.3),
    ("\\tan^{-1}(1)", 0.79),
    ("|3|", None),
    ("1 000", 0),
    ("5'3", 15),
    ("2^(3)", None),
    ("2^23", 8388608),
    ("(-8)^{1/3}", None),
    ("$5$", 5),
    ("5\\$", None),
    ("\\ln{10}", None),
]
"""The values of texts by latex2sympy2 1.9.1, evaluated and rounded as the published script does."""


def problem_of(row: dict[str, Any], answer: str) -> mathvista.Row:
    fields = {name: row[name] for name in ("question_type", "answer_type", "precision")}
    return mathvista.Row(
        pid="1", image="1.jpg", question="?", answer=answer, choices=tuple(row["choices"] or ()), **fields
    )


@needs_goldens
def test_mathvisions_published_rule() -> None:
    cases = list(golden("mathvision"))
    assert len(cases) == 252
    for case in cases:
        answer = mathvision.extracted(case["prediction"])
        choices = dict(zip("ABCDE", case["options"], strict=False))
        question = Question(id="1", text="?", references=(case["reference"],), choices=choices)
        right = mathvision.right(case["prediction"], question)
        assert (answer, right) == (case["model_answer"], case["expected"]), case


@needs_goldens
def test_mathvistas_published_rule() -> None:
    cases = list(golden("mathvista"))
    assert len(cases) == 86
    for case in cases:
        problem = problem_of(case, case["reference"])
        normalised = mathvista.normalised(case["extraction"], problem)
        assert (normalised, normalised == case["reference"]) == (case["normalized"], case["expected"]), case
        quick = mathvista.quick_extraction(case["extraction"], problem)
        assert bool(mathvista.vlmevalkit(case["extraction"], problem)) == case["vlmevalkit_hit_on_extraction"], case
        assert ("<JUDGE>" if quick is None else quick) == case["extract_quick_from_response"], case


@needs_goldens
def test_mathvistas_rule_gives_bards_published_score() -> None:
    rows = json.loads((GOLDENS.parent / "other" / "mathvista_output_bard.json").read_text(encoding="utf-8"))
    right = 0
    for row in rows.values():
        is_right = mathvista.normalised(row["extraction"], problem_of(row, row["answer"])) == row["answer"]
        assert is_right == row["true_false"], row["pid"]
        right += is_right
    assert (right, len(rows)) == (348, 1000)


@pytest.mark.parametrize(("text", "value"), LATEX_SYMPY)
def test_mathvisions_values_are_those_of_latex2sympy(text: str, value: float | None) -> None:
    assert mathvision.equal(text, f"{value}") == (value is not None)


@pytest.mark.parametrize(("reply", "right"), [("0.3333333", 1), ("0.33333", 0), (" 1/3 ", 1), ("one third", 0)])
def test_vlmevalkits_values_of_mathvision_differ_by_less_than_a_millionth(reply: str, right: float) -> None:
    assert mathvision.vlmevalkit(reply, Question(id="1", text="?", references=("1/3",))) == right


@pytest.mark.parametrize(
    ("kind", "eval", "answers", "reply", "score"),
    [
        *(("text counting en", "", [4], "I see 4.", 1), ("text counting en", "", [4], "I see 5.", 0)),
        *(
            ("text counting cn", "regression", [4], reply, score)
            for reply, score in (("5 or 4", 0.75), ("8", 0), ("6", 0))
        ),
        *(
            ("text counting en", "regression", given, "3", score)
            for given, score in ((["four"], 0), ([4], 0.75), ([2], 0))
        ),
        *(("text counting en", "regression", [4], reply, 0) for reply in ("four", "0")),
        ("formula recognition cn", "", ["\\text{a} b"], "x = ab", 1),
        ("formula recognition en", "", ["\\text{a} b"], "x = ab", 0),
        *(
            ("handwritten answer extraction en", "", ["abc"], sign.join("abc"), 1)
            for sign in (", ", ".", "、", "和", " ")
        ),
        ("handwritten answer extraction en", "", ["abc"], "a, b; c", 0),
        *(
            (f"{kind} en", "", ["Blue"], "It is blue.", 1)
            for kind in ("APP agent", "math QA", "science QA", "diagram QA")
        ),
        *((f"{kind} en", "", ["Blue"], "It is blue.", None) for kind in ("table parsing", "text spotting")),
        *(("text recognition en", "case sensitive", ["Blue"], reply, reply == "Blue") for reply in ("Blue", "blue")),
        *(("reasoning VQA en", "multiple choice", ["AB"], reply, score) for reply, score in (("A, B", 1), ("AC", 0))),
        *(
            ("cognition VQA en", "", ["1 2 3 4"], "0 1 2 3 4 5", 1),
            ("cognition VQA en", "", ["1 2 3 4 5"], "1 2 3 4 5 and much more than that", 0),
        ),
        *(
            ("cognition VQA cn", "", ["a,b,c"], "x a, b, c y", 1),
            ("cognition VQA cn", "", ["a,b,c,d"], "a,b,c,d and much more than that", 0),
        ),
    ],
)
def test_an_ocrbench_v2_reply_is_scored_by_the_rule_of_its_task(
    kind: str, eval: str, answers: list[Any], reply: str, score: float | None
) -> None:
    row = ocrbench_v2.Row(id="1", question="What?", type=kind, answers=answers, image="1.png", eval=eval)
    assert ocrbench_v2.right(reply, ocrbench_v2.question(row, Place("data", 0, "test"))) == score


def test_a_short_essay_of_ocrbench_v2_has_no_rule() -> None:
    kind = "handwritten answer extraction cn"
    row = ocrbench_v2.Row(id="1", question="简答题?", type=kind, answers=["abc"], image="1.png")
    assert ocrbench_v2.right("abc", ocrbench_v2.question(row, Place("data", 0, "test"))) is None


@pytest.mark.parametrize(
    ("reply", "reference", "score"),
    [
        *((reply, "(1, 2)", 1) for reply in ("P = (1, 2)", "The point = (1,2)", "the answer is x=\\left(1,2\\right)")),
        *(("(2, 1)", "(1, 2)", 0), ("[2, 1]", "[1, 2]", 0), ("2, 1", "1, 2", 1), ("{2, 1}", "{1, 2}", 1)),
        *(("S = \\{2, 1\\}", "\\{1,2\\}", 1), ("2 and 1", "1; 2", 1), ("1 and 1", "1; 2", 0)),
    ],
)
def test_pairs_of_numbers_are_equal_in_order_and_sets_in_any_order(reply: str, reference: str, score: float) -> None:
    assert same_maths(reply, reference) == score


@pytest.mark.parametrize(
    "reply", ["\\frac1{\\sqrt{2}}", "\\frac1{\\sqrt2}", "\\boxed{\\frac{1}{\\sqrt2}}", "x = \\frac1{\\sqrt{2}}"]
)
def test_mathvisions_fractions_may_have_no_braces(reply: str) -> None:
    assert mathvision.right(reply, Question(id="1", text="?", references=("\\frac{1}{\\sqrt{2}}",))) == 1
    same = [("+\\infty", "\\infty"), ("(1,+\\infty)", "(1,\\infty)"), ("(1,2)", "(1.0,2.0)"), ("1/2", "0.5")]
    same += [(f"5{unit}", "5") for unit in ("^\\circ", "^{\\circ}", " units", "{units}", "km", "{km}", "m^3", "{m}^3")]
    other = [("[x,2]", "[x,2.0]"), ("(1,y)", "(1.0,y)"), ("2^{2^{99}}", "1"), ("60 cm", "60")]
    for given, reference in (*same, *other):
        question = Question(id="1", text="?", references=(reference,))
        assert mathvision.right(given, question) == ((given, reference) in same), given
    both = Question(id="1", text="?", references=("\\frac{1}{2}\\sqrt{3}",))
    assert (mathvision.right("\\frac12\\sqrt{3}", both), mathvision.right("\\frac12\\sqrt{5}", both)) == (1, 0)


EXTRACTED = {
    "a": ("The answer is A.", "It must be A.", "It must be (A).", "\\boxed{(a)}", "{A}"),
    "b": ("It is (B).", "B\nbecause", "(B)\nx", "(B) B\nx", "the answer is {B}"),
    "2": ("\\boxed{1} or \\boxed{2}", "The final answer is 2. Or not", "The correct answer is: 2\nmore", "x=2"),
    "5": ("{}5", "so the value is 5.", "x \\approx 5", "the answer should be 5. So", "$5$", "5\\%", "\\$5", "5\\!"),
    "{5}": ("\\text{5}", "\\mbox{5}"),
    "(1,2)": ("\\left(1, 2\\right)", "(1,\\,2)"),
    "\\begin{pmatrix}1\\end{pmatrix}": ("\\begin{bmatrix}1\\end{bmatrix}",),
    "\\frac12": ("\\tfrac12", "\\dfrac12"),
    "\\frac{1}{2}": (".5", "1 / 2", "0.5"),
    "f": ("F",),
}


def test_mathvisions_script_extracts_the_answer() -> None:
    found = {reply: mathvision.extracted(reply) for replies in EXTRACTED.values() for reply in replies}
    assert found == {reply: answer for answer, replies in EXTRACTED.items() for reply in replies}


def test_vlmevalkit_compares_mmmus_open_answers_with_other_answers() -> None:
    question = Question(id="1", text="?", references=("red",))
    replies = {"red": 1, "A": 1, "Other Answers": 0, "B red": 0, "red, no other answers": 0}
    assert {reply: mmmu.kit_right(reply, question) for reply in replies} == replies


def test_ocrbench_v2s_tasks_are_in_their_published_groups() -> None:
    groups = {
        "text_recognition": "text recognition, fine-grained text recognition, full-page OCR",
        "text_detection": "text grounding, VQA with position",
        "text_spotting": "text spotting",
        "relationship_extraction": "key information extraction, key information mapping, handwritten answer extraction",
        "element_parsing": "document parsing, chart parsing, table parsing, formula recognition",
        "mathematical_calculation": "math QA, text counting",
        "visual_text_understanding": "document classification, cognition VQA, diagram QA",
        "knowledge_reasoning": "reasoning VQA, science QA, APP agent, ASCII art classification, text translation",
    }
    assert {task: group for group, tasks in groups.items() for task in tasks.split(", ")} == ocrbench_v2.GROUPS

"""The rules of published scorers and harnesses against their own results."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.scoring import vqa_accuracy, vqa_normalise
from vqa_client.scoring.published import anls, mmlongbench_doc
from vqa_client.tasks import charxiv, longdocurl, mm_niah, mp_docvqa, ocrbench, ocrbench_v2, slidevqa
from vqa_client.types import Question

GOLDENS = Path(__file__).parents[3] / "shared" / "data" / "benchmarks"
needs_goldens = pytest.mark.skipif(not GOLDENS.exists(), reason="../shared/data has the goldens")
Case = dict[str, Any]
SOFT = "vqa_soft_textvqa_vizwiz_okvqa"


def best(rule: Callable[[str, str], float]) -> Callable[[Case], float]:
    return lambda case: max(rule(case["prediction"], reference) for reference in case["references"])


def soft(normalise: Callable[[str], str]) -> Callable[[Case], float]:
    of = vqa_accuracy.soft(normalise)
    return lambda case: of(case["prediction"], Question(id="1", text="", references=tuple(case["references"])))


def by_format(rule: Callable[..., float]) -> Callable[[Case], float]:
    return lambda case: rule(case["prediction"], case["reference"], case["answer_format"])


def listed(case: Case) -> list[str]:
    given = case["references"]
    return [str(one) for one in (given if isinstance(given, list) else [given])]


def v2(rule: Callable[..., float], **options: Any) -> Callable[[Case], float]:
    return lambda case: rule(str(case["prediction"]), listed(case), **options)


def v2_single(rule: Callable[..., float]) -> Callable[[Case], float]:
    return lambda case: rule(str(case["prediction"]), listed(case), single=isinstance(case["references"], str))


def ocr(rule: Callable[[str, str, str], float]) -> Callable[[Case], float]:
    def of(case: Case) -> float:
        answers = case["answers"] if isinstance(case["answers"], list) else [case["answers"]]
        return max((rule(case["prediction"], answer, case["dataset_name"]) for answer in answers), default=0.0)

    return of


def qa(place: int) -> Callable[[Case], float]:
    return lambda case: slidevqa.em_and_f1(case["prediction"], case["reference"], case["question"])[place]


def normalised(side: str) -> Callable[[Case], str]:
    return lambda case: slidevqa.normalised(case[side], case["question"])


def pair(rule: Callable[[str, str], float]) -> Callable[[Case], float]:
    return lambda case: rule(case["prediction"], case["reference"])


TABLE: list[tuple[str, str | None, str, int, Callable[[Case], Any]]] = [
    ("anls", None, "lmms_eval_docvqa_anls", 125, best(anls.anls)),
    ("anls", None, "vlmevalkit_anls", 125, best(anls.anls)),
    ("anls", None, "mp_docvqa.anls", 125, best(mp_docvqa.anls_mp)),
    ("anls", None, "mp_docvqa.accuracy", 125, best(mp_docvqa.exact_mp)),
    ("anls", None, "lmms_eval_multidocvqa.anls", 125, best(mp_docvqa.anls_mp)),
    ("anls", None, "lmms_eval_multidocvqa.accuracy", 125, best(mp_docvqa.exact_mp)),
    ("anls", None, "mmf_anls", 124, best(anls.anls_mmf)),
    ("mmlongbench_doc", "score", "expected", 287, by_format(mmlongbench_doc.score)),
    ("mmlongbench_doc", "score", "vlmevalkit", 301, by_format(mmlongbench_doc.vlmevalkit)),
    ("mmlongbench_doc", "score", "lmms_eval", 301, by_format(mmlongbench_doc.lmms_eval)),
    ("longdocurl", "score", "expected", 152, by_format(longdocurl.score)),
    ("longdocurl", "score", "vlmevalkit", 154, by_format(longdocurl.vlmevalkit)),
    ("slidevqa", "qa", "expected.EM", 116, qa(0)),
    ("slidevqa", "qa", "expected.F1", 116, qa(1)),
    ("slidevqa", "qa", "expected.normalized_prediction", 116, normalised("prediction")),
    ("slidevqa", "qa", "expected.normalized_reference", 116, normalised("reference")),
    ("slidevqa", "qa", "lmms_eval.anls", 116, pair(slidevqa.harness_anls)),
    ("slidevqa", "qa", "lmms_eval.em", 116, pair(slidevqa.harness_em)),
    (
        "vqa_soft_textvqa_vizwiz_okvqa",
        None,
        "normalized_prediction",
        93,
        lambda case: vqa_normalise.evalai(case["prediction"]),
    ),
    (SOFT, None, "expected", 93, soft(vqa_normalise.evalai)),
    (SOFT, None, "lmms_eval", 93, soft(vqa_normalise.evalai)),
    (SOFT, None, "vlmevalkit_textvqa", 93, soft(vqa_normalise.vlmevalkit)),
    (SOFT, None, "vlmevalkit_vizwiz", 93, soft(vqa_normalise.vlmevalkit)),
    ("ocrbench", None, "expected", 198, ocr(ocrbench.contains)),
    ("ocrbench", None, "lmms_eval", 198, ocr(ocrbench.contains_half_width)),
    ("ocrbench_v2_text", "vqa_evaluation", "expected", 18, v2(ocrbench_v2.vqa)),
    ("ocrbench_v2_text", "vqa_evaluation_case_sensitive", "expected", 26, v2_single(ocrbench_v2.vqa_case_sensitive)),
    ("ocrbench_v2_text", "cn_vqa_evaluation", "expected", 11, v2_single(ocrbench_v2.vqa_chinese)),
    (
        "ocrbench_v2_text",
        "counting_evaluation",
        "expected",
        48,
        lambda case: v2(ocrbench_v2.counting, regression=case["eval"] == "regression")(case),
    ),
    ("ocrbench_v2_text", "math_expression_evaluation", "expected", 6, v2(ocrbench_v2.formula)),
    ("ocrbench_v2_text", "cn_math_expression_evaluation", "expected", 7, v2(ocrbench_v2.formula_chinese)),
    ("mm_niah", "reply", "expected", 148, lambda case: mm_niah.score(case["prediction"], case["reference"])),
]


@needs_goldens
@pytest.mark.parametrize(("file", "kind", "column", "rows", "rule"), TABLE)
def test_a_rule_gives_the_scores_of_its_source(
    file: str, kind: str | None, column: str, rows: int, rule: Callable[[Case], Any]
) -> None:
    compared, differ = 0, []
    for line in (GOLDENS / f"{file}.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case.get("answer_type") == "not-answerable":
            continue  # a row of DUDE, which MP-DocVQA doesn't have
        wanted: Any = case if case.get("kind") == kind else None
        for key in column.split("."):
            wanted = wanted.get(key) if wanted else None
        if wanted is not None:
            compared += 1
            found = rule(case)
            if found != (wanted if isinstance(wanted, str) else pytest.approx(wanted, rel=1e-13)):
                differ.append((case, found))
    assert not differ, differ[:5]
    assert compared == rows


def test_slidevqa_leaves_out_the_unit_that_the_question_asks_for() -> None:
    assert slidevqa.normalised("Acme company", "in which company is it?") == "acme"
    assert slidevqa.normalised("12 people", "how many people came?") == "12"


@needs_goldens
def test_the_means_of_slidevqas_answers_are_the_published_ones() -> None:
    for line in (GOLDENS / "slidevqa.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["kind"] == "aggregate":
            scores = [
                slidevqa.em_and_f1(case["preds"][key]["answer"], wanted["answer"], wanted["question"])
                for key, wanted in case["gts"].items()
            ]
            means = [sum(column) / len(scores) for column in zip(*scores, strict=True)]
            published = case["expected"]["QA"]
            assert means == pytest.approx([published["EM"], published["F1"]], rel=1e-13)


@pytest.mark.parametrize(
    ("rule", "given", "score"),
    [
        (anls.anls, ("", ""), 1),
        (anls.anls, ("abc def", "abc  DEF"), 1),
        (anls.anls, ("ab", "abcd"), 0.5),
        (anls.anls_doc, ("ab", "abcd"), 0),
        (anls.anls, ("a" * 100_000, "b"), 0),
        (mp_docvqa.anls_mp, ("None", "none"), 0),
        (mp_docvqa.anls_mp, (" ", ""), 0),
        (mmlongbench_doc.score, ("1" * 5000, "3", "Int"), 0),
        (mmlongbench_doc.score, ("", "", "Int"), 1),
        (mmlongbench_doc.lmms_eval, ("9" * 400, "3", "Int"), 0),
        (mmlongbench_doc.score, ("[" * 5000, "['a']", "List"), 0),
        (mmlongbench_doc.score, ("['\\d']", "['\\d']", "List"), 1),
        (mmlongbench_doc.score, ("1" + " " * 50_000 + "(" * 50_000, "1", "Str"), 0),
        (longdocurl.score, ("[3", [3], "List"), 0),
        (longdocurl.score, ("abc", "xyz", "Integer"), 0),
        (longdocurl.score, ("abc", "3", "Float"), 0),
        (longdocurl.score, (" ['a']", ["a"], "List"), 0),
        (longdocurl.vlmevalkit, (" ['a']", ["a"], "List"), 1),
        (longdocurl.score, ([{"a": 1, "b": "x"}], [{"c": 1, "d": "x"}], "List"), 1),
        *((charxiv.same, given, 0) for given in (("three", "3"), ("3", "three"))),
        (mm_niah.score, ("[" * 5000, [1]), 0),
        (mm_niah.score, ("1" * 5000, 1), 0),
        (mm_niah.score, ("²", 2), 0),
        (mm_niah.score, ("none of them", "None"), 1),
        (mm_niah.score, ("[1, 2]", []), 0),
        (mm_niah.score, ('{"a": [1], "b": [2]}', [1, 2]), 1),
        (mm_niah.score, ('{"a": [1, 2], "why": "x"}', [1, 2]), 0),
        (partial(ocrbench_v2.counting, regression=True), ("1" * 5000, ["5"]), 0),
        (partial(ocrbench_v2.counting, regression=True), ("5", ["five"]), 0),
        (partial(ocrbench_v2.vqa_chinese, single=False), ("你 好", ["你好"]), 1),
        (partial(ocrbench_v2.vqa_chinese, single=False), ("你好", ["你 好"]), 1),
        (ocrbench_v2.letters, ("答案：A、C", ["AC"]), 1),
        (ocrbench_v2.letters, ("C A", ["AC"]), 0),
        (ocrbench_v2.multiple_choice, ("B.", ["B"]), 1),
        (ocrbench_v2.multiple_choice, ("It is B", ["B"]), 0),
    ],
)
def test_a_rule_takes_any_reply(rule: Callable[..., float], given: tuple[Any, ...], score: float) -> None:
    assert rule(*given) == score


@pytest.mark.parametrize(
    ("reference", "exact"),
    [
        *(
            (text, True)
            for text in ("https://a.org", "see https://a.org", "run.py", "run.ipynb", "page 3", "7 a.m. today")
        ),
        *((text, True) for text in ("7 p.m. today", "12", "2015-06-07", "2015-06", "a@b.org")),
        *((text, False) for text in ("http://a.org", "run.pyc", "a page", "7 pm today", "twelve", "12 bars")),
    ],
)
def test_addresses_files_pages_and_times_need_an_exact_answer(reference: str, exact: bool) -> None:
    assert mmlongbench_doc.is_exact(reference) is exact


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("<concise_answer>10</concise_answer>\n<answer_format>Integer</answer_format>", 10),
        ("<concise_answer>{'a'}</concise_answer> <answer_format>List</answer_format>", ["a"]),
        ("<concise_answer>a b</concise_answer><answer_format>String</answer_format>", "a b"),
        ("<concise_answer>10</concise_answer>", longdocurl.NOT_EXTRACTED),
        ("10", longdocurl.NOT_EXTRACTED),
    ],
)
def test_longdocurls_tags_are_read(reply: str, answer: Any) -> None:
    assert longdocurl.extracted(reply) == answer


@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_the_distance_is_that_of_the_full_table(one: str, other: str) -> None:
    row = list(range(len(other) + 1))
    for number, sign in enumerate(one, 1):
        before, row[0] = row[0], number
        for at, wanted in enumerate(other, 1):
            before, row[at] = row[at], before if sign == wanted else 1 + min(before, row[at], row[at - 1])
    assert anls.distance(one, other) == row[-1]

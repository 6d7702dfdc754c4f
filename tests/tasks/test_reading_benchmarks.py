"""Benchmarks of documents and of text in pictures against their published totals, breakdowns and prompts."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.tasks.declared import benchmark_of, compute, golden, needs_goldens, scored, task_of, total
from vqa_client.aggregates import MEAN, Scored
from vqa_client.benchmark import Place
from vqa_client.errors import DataError
from vqa_client.runner import judge
from vqa_client.task import Source
from vqa_client.tasks import (
    chartqa,
    charxiv,
    hallusionbench,
    longdocurl,
    mathverse,
    mm_niah,
    mmlongbench_doc,
    ocrbench,
    ocrbench_v2,
    pope,
)
from vqa_client.types import Completion, Question, Record, group_values

HERE = Place("data", 0, "val")


def loaded(name: str, data: Path) -> list[Question]:
    """The questions of a benchmark's data, without looking for images."""
    settings = SimpleNamespace(data=data, split="", images=None, limit=None)
    parts = benchmark_of(name, data=data).load(Source(settings=settings, finds_images=False))
    return [question for part in parts for question in part.loaded.questions]


def sums(questions: Iterable[Scored], *fields: str) -> dict[tuple[str, ...], tuple[float, int]]:
    """The sum of the scores and the number of questions by the values of these groups."""
    found: dict[tuple[str, ...], tuple[float, int]] = defaultdict(lambda: (0.0, 0))
    for one in questions:
        keys: list[tuple[str, ...]] = [()]
        for field in fields:
            keys = [(*key, value) for key in keys for value in group_values(one.question.groups.get(field, ()))]
        for key in keys:
            found[key] = found[key][0] + one.score, found[key][1] + 1
    return found


@needs_goldens
def test_mmlongbench_docs_report_is_the_published_one() -> None:
    names = {"Single-page": "single page", "Cross-page": "cross-page", "Unanswerable": "unanswerable"}
    for case in golden("mmlongbench_doc", "aggregate"):
        questions = []
        for sample in case["samples"]:
            pages, sources = json.loads(sample["evidence_pages"]), re.findall("'([^']+)'", sample["evidence_sources"])
            row = mmlongbench_doc.Row(
                doc_id="a.pdf",
                doc_type=sample["doc_type"],
                question="?",
                answer=sample["answer"],
                answer_format=sample["answer_format"],
                evidence_pages=tuple(pages),
                evidence_sources=tuple(sources),
                pages=("1.png",),
            )
            made = mmlongbench_doc.question(row, HERE)
            metric = next(each for each in benchmark_of("mmlongbench-doc").metrics if each.name == "published")
            assert metric.score(sample["pred"], made) == sample["score"]
            questions.append(scored(made, sample["score"], sample["pred"]))
        assert compute(MEAN, questions).value == pytest.approx(case["expected"]["acc"], rel=1e-13)
        assert total("mmlongbench-doc", "f1", questions) == pytest.approx(case["expected"]["f1"], rel=1e-13)
        kit = total("mmlongbench-doc", "f1_vlmevalkit", questions)
        assert case["vlmevalkit_f1"] is None or kit == pytest.approx(case["vlmevalkit_f1"], rel=1e-13)
        found = {"Evidence Sources": sums(questions, "source"), "Document Type": sums(questions, "document_type")}
        kinds = sums(questions, "evidence")
        for line in case["expected"]["report"].splitlines():
            if "Accuracy" not in line:
                continue
            title, accuracy, number = re.findall(
                r"([^|]*?)(?: \| Accuracy: (\S+))(?: \| Question Number: (\d+))", line
            )[0]
            field, _, value = title.partition(": ")
            score, count = found[field][value,] if value else kinds[names[title],]
            assert (score / count if count else 0.0, count) == (pytest.approx(float(accuracy)), int(number)), line


@needs_goldens
def test_longdocurls_sums_are_the_published_ones() -> None:
    for case in golden("longdocurl", "aggregate"):
        questions = []
        for sample in case["samples"]:
            given = {name: sample[name] for name in ("answer", "answer_format", "task_tag", "question_type")}
            pages, sources = tuple(sample["evidence_pages"]), tuple(sample["evidence_sources"])
            row = longdocurl.Row(
                question_id="1",
                doc_no="1",
                question="?",
                images=(),
                folder="",
                evidence_pages=pages,
                evidence_sources=sources,
                **given,
            )
            made = longdocurl.question(row, HERE)
            metric = next(each for each in benchmark_of("longdocurl").metrics if each.name == "published")
            value = metric.score(str(sample["pred"]), made)
            assert value is not None
            questions.append(scored(made, value))
        expected = case["expected"]["score_sums"]
        assert compute(MEAN, questions).value == pytest.approx(case["expected"]["generalized_accuracy"], rel=1e-13)
        assert total("longdocurl", "rectified", questions) == pytest.approx(
            sum(each.score for each in questions) / 2325
        )
        tasks, elements = sums(questions, "task"), sums(questions, "element")
        assert {name: tasks[name,][0] for name in expected["Main_Task"]} == pytest.approx(expected["Main_Task"])
        assert {name: elements[name,][0] for name in expected["Element_Type"]} == pytest.approx(
            expected["Element_Type"]
        )
        pages_of = {"Single_Page": "single page", "Multi_Page": "several pages"}
        pages = sums(questions, "pages")
        assert {name: pages[pages_of[name],][0] for name in pages_of} == pytest.approx(expected["Evidence_Pages"])
        assert sums(questions, "elements")["several",][0] == pytest.approx(
            expected["Num_of_Element_Types"]["Cross_Element"]
        )
        fine, crossed, located = (
            expected["Fine_Grained"],
            sums(questions, "task_pages", "element"),
            sums(questions, "locating"),
        )
        for task in ("Understanding", "Reasoning"):
            for number, by_element in fine[task].items():
                found = {name: crossed[f"{task}, {pages_of[number]}", name][0] for name in by_element}
                assert found == pytest.approx(by_element)
        wanted = fine["Locating"]["Cross_Element"]
        assert {name: located[name,][0] for name in wanted} == pytest.approx(wanted)


@needs_goldens
def test_charxivs_statistics_are_the_published_ones() -> None:
    fields = {
        "Question": "question",
        "Category": "category",
        "Subplot": "subplots",
        "Subject": "subject",
        "Year": "year",
    }
    fields |= {"Answer Type": "answer_type", "Source": "source"}
    for case in golden("charxiv", "aggregate"):
        halves: dict[str, list[Scored]] = {"descriptive": [], "reasoning": []}
        for key, about in case["image_meta"].items():
            described, reasoned = case["descriptive_meta"][key], case["reasoning_meta"][key]
            chart = {"figure": key, "image": f"{key}.jpg", "num_subplots": described["num_subplots"], **about}
            kinds = {"answer_type": reasoned["inst_category"], "qa_source": reasoned["qa_source"]}
            row = charxiv.Row(
                qids=tuple(described["qids"]), answers=("1",) * 4, query="?", answer="1", **kinds, **chart
            )
            for made in charxiv.question(row, HERE):
                half = "descriptive" if made.groups["half"] == "descriptive" else "reasoning"
                score = case[f"{half}_scores"][made.id]["score"]
                halves[half].append(scored(made, max(score, 0)))
        for half, questions in halves.items():
            expected = case["expected"][half]
            assert 100 * (total("charxiv", half, questions) or 0) == pytest.approx(
                expected["Overall Score"], abs=0.0051
            )
            for name, wanted in expected.items():
                if isinstance(wanted, dict):
                    found = sums(questions, fields[name.removeprefix("By ")])
                    means = {key: 100 * found[key,][0] / (found[key,][1] or 1) for key in wanted}
                    assert means == pytest.approx(wanted, abs=0.0051), name


def test_mmlongbench_docs_official_form_puts_the_pages_last() -> None:
    question = Question(id="1", text="Why?", images=("1.png", "2.png"), references=("1",))
    assert benchmark_of("mmlongbench-doc").with_prompt_form("official").task().content(question) == ("Why?", 1, 2)


def test_mm_niahs_images_are_where_their_marks_are() -> None:
    meta = mm_niah.Meta(choices_image_path=["c/1.jpg", "c/2.jpg"])
    row = mm_niah.Row(
        id="1", answer=1, question="Which?", context="Old.<image>New.", images=("a.jpg",), folder="f", meta=meta
    )
    question = mm_niah.question(row, Place("reasoning-image-val", 0, "val"))
    assert question.images == ("a.jpg", "f/c/1.jpg", "f/c/2.jpg")
    tail = "\nAnswer with the option's letter from the given choices directly."
    for form, before in {"official": "Old.", "vlmevalkit": "Old.\n"}.items():
        asked = benchmark_of("mm-niah").with_prompt_form(form).task().content(question)
        assert asked == (before, 1, "New.\nWhich?\nA. ", 2, "\nB. ", 3, tail)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: mm_niah.pair("[1"), "expected a Python list of two, got '[1'"),
        (lambda: mm_niah.pair("9" * 61), f"expected a Python list of two, got '{'9' * 60}'"),
        (lambda: mm_niah.pair("[1]"), "expected a Python list of two, got '[1]'"),
        (lambda: mm_niah.answer_text(99), "the answer 99 is the number of no choice"),
        (lambda: charxiv.descriptive_text(20, "a"), "there is no descriptive question 20; they are 1 to 19"),
        (lambda: charxiv.reasoning_groups(5, 1), "the answer type is 5, the source 1: they are 1 to 4 and 1 to 3"),
    ],
)
def test_an_unusable_row_raises_an_error_that_names_its_fault(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        make()


def test_totals_of_ocrbench_are_of_recognition_and_of_a_language() -> None:
    kinds = ("Regular", "Irregular", "Artistic", "Non-Semantic")
    types = [f"{kind} Text Recognition" for kind in kinds] + ["Handwriting Recognition", "Digit String Recognition"]
    rows = [
        ocrbench.Row(question="?", answers=("a",), type=name, image="1.png") for name in (*types, "Doc-oriented VQA")
    ]
    ones = [scored(ocrbench.question(row, HERE), 1) for row in rows]
    assert (total("ocrbench", "recognition", ones), total("ocrbench", "points", ones)) == (6, 7)
    scores = {"science QA en": 1, "math QA en": 0, "science QA cn": 0, "diagram QA cn": 0, "text spotting en": 1}
    ones = [
        scored(
            ocrbench_v2.question(ocrbench_v2.Row(id="1", question="?", type=kind, answers=[], image="1"), HERE), score
        )
        for kind, score in scores.items()
    ]
    assert total("ocrbench-v2", "english", ones) == pytest.approx(2 / 3)
    assert total("ocrbench-v2", "chinese", ones) == 0


CRITERIA = {
    "The same words, whatever their case, line breaks": (1, 2, 3),
    "The same number or word, however": (4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 17, 19),
    "The same Yes or No.": (11,),
    "All labels of the reference, in its order": (13,),
    "The same course from left to right": (16,),
    "The same number of rows and the same number of columns.": (18,),
}
REASONED = ("The same words of the chart", "The same meaning;", "The same number as", "The same number, rounded")


def test_a_judge_of_charxiv_has_the_criteria_of_a_questions_kind() -> None:
    for number in charxiv.DESCRIPTIVE:
        rubric = charxiv.rubric(charxiv.descriptive_groups(number))
        assert [numbers for start, numbers in CRITERIA.items() if rubric.startswith(start)] == [
            numbers for numbers in CRITERIA.values() if number in numbers
        ]
        about_none = "That there is none is right where the reference is Not Applicable alone."
        assert rubric.endswith(f". {about_none}") == (number < 18)
    for answer_type, start in enumerate(REASONED, 1):
        assert charxiv.rubric(charxiv.reasoning_groups(answer_type, 1)).startswith(start)


def test_charxivs_questions_stay_letter_by_letter() -> None:
    places: tuple[Any, ...] = ((0, 0), (2, 3), "the inset")
    asked = [charxiv.descriptive_text(number, place) for place in places for number in charxiv.DESCRIPTIVE]
    asked += [charxiv.reasoning_text("Why?", kind, answer) for kind in (1, 2, 3, 4) for answer in ("7", "0.25")]
    assert sha256("\n".join(asked).encode()).hexdigest()[:12] == "94f2994f4a60"


@pytest.mark.parametrize(
    ("task", "kind", "pages", "sources", "groups"),
    [
        ("Locating", "topic2title", 1, ["Text"], {"locating": ("Cross_Title",), "task_pages": ()}),
        ("Locating", "summary2tab", 2, ["Table", "Text"], {"locating": ("Cross_Table",), "elements": "several"}),
        ("Locating", "summary2title", 1, ["Layout"], {"locating": ("Para_Title",), "element": ("Layout",)}),
        ("Locating", "extract_fig2tab", 2, ["Figure"], {"locating": ("Figure_Table",), "elements": "one"}),
        ("Locating", "another", 0, [], {"locating": (), "pages": (), "elements": "one"}),
        ("Reasoning", "summary2tab", 1, ["Others"], {"locating": (), "element": (), "pages": ("single page",)}),
        ("Reasoning", "", 1, ["Table"], {"task_pages": ("Reasoning, single page",), "task": "Reasoning"}),
        ("Understanding", "", 2, ["Table"], {"task_pages": ("Understanding, several pages",)}),
    ],
)
def test_longdocurls_questions_are_in_its_published_groups(
    task: str, kind: str, pages: int, sources: list[str], groups: dict[str, Any]
) -> None:
    found = longdocurl.groups_of(task, kind, pages, sources)
    assert {name: found[name] for name in groups} == groups


def test_vlmevalkits_tasks_of_mm_niah_are_the_published_ones() -> None:
    named = ("find-text", "count-text", "infer-choose", "find-image", "count-image", "visual-reasoning")
    rows = [mm_niah.Row(id="1", answer="[1]", question="?", category=name) for name in named]
    kinds = ("retrieval", "counting", "reasoning")
    tasks = [f"{kind}-{needle}" for needle in ("text", "image") for kind in kinds]
    assert [mm_niah.question(row, HERE).groups["task"] for row in rows] == tasks


def test_mm_niahs_overall_counts_an_empty_cell_as_nothing_right() -> None:
    def question(task: str, length: int, depth: float) -> Question:
        meta = mm_niah.Meta(placed_depth=depth, context_length=length)
        return mm_niah.question(mm_niah.Row(id="1", answer="[1]", question="?", meta=meta), Place(task, 0, "val"))

    right = [("retrieval-text", 1500, 0.1), ("retrieval-text", 1500, 1.0), ("retrieval-text", 64_000, 0.5)]
    wrong = [("retrieval-text", 1500, 0.3), ("counting-text", 900, 0.3)]
    ones = [*(scored(question(*each), 1) for each in right), *(scored(question(*each), 0) for each in wrong)]
    depths = [one.question.groups["depth"] for one in ones]
    assert depths == [("0-0.2",), ("0.8-1",), ("0.4-0.6",), ("0.2-0.4",), ("0.2-0.4",)]
    assert total("mm-niah", "overall", ones) == pytest.approx((2 / 5 + 1 / 5) / 2)


@pytest.mark.parametrize(
    ("reply", "parts"),
    [
        ("3 May 1999\nPage: 2", {"anls": 1, "exact": 1, "page": 1, "published": 1}),
        ("The answer is 3 May 1999 (page 2).", {"anls": 1, "exact": 1, "page": 1, "published": 0.0}),
        ("3 May 1999 [page 2]", {"anls": 1, "exact": 1, "page": 1, "published": 1}),
        ("3 May 1999; page number: 2.", {"anls": 1, "exact": 1, "page": 1, "published": 1}),
        ("3 May 1999, on page 1", {"anls": 1, "exact": 1, "page": 0, "published": 1}),
        ("3 May 1999", {"anls": 1, "exact": 1, "page": 0, "published": 1}),
        ("3 May 1999. Page 2.", {"anls": 1, "exact": 1, "page": 1, "published": 10 / 11}),
        ("3 May 1999\n\n**Page:** 2", {"anls": 1, "exact": 1, "page": 1, "published": 1}),
        ("### Answer\n3 May 1999\n\n**Page 2**", {"anls": 1, "exact": 1, "page": 1, "published": 0}),
        ("Page: 2", {"anls": 0, "exact": 0, "page": 1, "published": 0}),
    ],
)
def test_mp_docvqas_answer_and_page_are_read_separately(reply: str, parts: dict[str, float]) -> None:
    question = Question(id="1", text="?", references=("3 May 1999",), images=("1", "2"), evidence=(2,))
    _, score = judge(Completion(text=reply, finish_reason="stop"), question, task_of("mp-docvqa"))
    assert score.parts == pytest.approx(parts)


def entry(benchmark: str, id: str, answer: str, said: Callable[[str], str | None] = lambda metric: None) -> Any:
    question, record = Question(id=id, text="?"), Record(question_id=id, status="ok")
    submission = benchmark_of(benchmark).submission
    assert submission is not None
    return submission.entry(Scored(question=question, record=record, answer=answer, score=0.0, said=said))


@pytest.mark.parametrize(
    ("benchmark", "id", "written"),
    [
        ("docvqa", "7", {"questionId": 7, "answer": "The Red Car."}),
        ("infovqa", "7", {"questionId": 7, "answer": "The Red Car."}),
        ("mp-docvqa", "7", {"questionId": 7, "answer": "The Red Car.", "answer_page": 1}),
        ("textvqa", "7", {"question_id": 7, "answer": "red car"}),
        ("gqa", "n7", {"questionId": "n7", "prediction": "the red car."}),
        ("vizwiz", "VizWiz_test_00000007", {"image": "VizWiz_test_00000007.jpg", "answer": "red car"}),
    ],
)
def test_an_entry_has_the_form_that_its_test_server_takes(benchmark: str, id: str, written: dict[str, Any]) -> None:
    assert entry(benchmark, id, "The Red Car.", lambda metric: "2" if metric == "page" else None) == written


def test_photographs_of_a_split_are_in_its_folder() -> None:
    from vqa_client.tasks import textvqa, vizwiz

    row = textvqa.Row(question="?", question_id="1", image="/d/train_images/a.jpg", image_id="7")
    asked = textvqa.question(row, Place("f", 0, "test"))
    assert (asked.images, asked.cluster) == (("/d/test_images/a.jpg",), "7")
    named = vizwiz.Row(id="VizWiz_test_1.jpg", question="?", image="/d/val/VizWiz_test_1.jpg")
    assert vizwiz.question(named, Place("f", 0, "test")).images == ("/d/test/VizWiz_test_1.jpg",)


def test_a_document_without_page_images_is_sent_as_its_file(tmp_path: Path) -> None:
    row = mmlongbench_doc.Row(doc_id="a.pdf", doc_type="", question="?", answer="1", document=str(tmp_path / "a.pdf"))
    assert mmlongbench_doc.question(row, HERE).images == (str(tmp_path / "a.pdf"),)


ODD: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("docvqa", "val_v1.0.json", {"questionId": 7.0, "ucsf_document_id": "a", "ucsf_document_page_no": 1}),
    ("textvqa", "TextVQA_0.5.1_val.json", {"question_id": 7.0, "image_id": 12.0, "answers": "['a', 'b']"}),
    ("mp-docvqa", "val.json", {"questionId": 7.0, "doc_id": "a", "page_ids": "['a']", "answer_page_idx": 0.0}),
)


@pytest.mark.parametrize(("benchmark", "file", "row"), ODD)
def test_numbers_and_lists_of_any_writing_are_read(
    tmp_path: Path, benchmark: str, file: str, row: dict[str, Any]
) -> None:
    row = {"image": "1.png", "question": "?", **row}
    (tmp_path / file).write_bytes(b"\xef\xbb\xbf" + json.dumps({"data": [row]}).encode())
    assert [question.id for question in loaded(benchmark, tmp_path)] == ["7"]
    del row["question"]
    (tmp_path / file).write_text(json.dumps({"data": [row]}), encoding="utf-8")
    with pytest.raises(DataError, match=r"row 1: field `\w+` is missing( \(column `question`\))?$"):
        loaded(benchmark, tmp_path)


def test_a_chart_of_an_unknown_half_has_no_group() -> None:
    made = [
        chartqa.question(chartqa.Row(query="?", label="1", image="1.png", half=half), Place("ChartQA_TEST", 0, "test"))
        for half in ("test_human", "augmented_test", "")
    ]
    assert [question.groups["written_by"] for question in made] == ["people", "machine", ()]


def test_a_question_has_what_its_row_says() -> None:
    row = pope.Row(question_id="1", image="1.png", text="?", label="no", kinds="random,popular", photograph="7")
    both = pope.question(row, HERE)
    assert (both.id, both.cluster, both.groups["kind"]) == ("random+popular/1", "7", ("random", "popular"))
    shown = hallusionbench.Row("VD", "map", "?", "1", image="1.png", visual_input="0", index="0_0_0_1_2_3")
    assert hallusionbench.question(shown, HERE).images == ()
    listed = mathverse.Row("1", "C: a point\nChoices:\nA:2\nB:3", "A", "multi-choice")
    assert mathverse.question(listed, HERE).choices == {"A": "2", "B": "3"}
    formula = ocrbench.Row("?", ("X y",), "Handwritten Mathematical Expression Recognition", "1.png")
    assert ocrbench.question(formula, HERE).row.dataset == "HME100k"
    assert mm_niah.answer_text(["é", 1]) == '["é", 1]'

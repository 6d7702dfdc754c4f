"""Benchmarks with open answers against the scores of their scripts and of harnesses, to the last digit."""

import importlib
import json
import pkgutil
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

import msgspec
import pytest

from tests.contract.forms import draw
from tests.tasks.declared import GOLDENS, benchmark_of, compute, golden, needs_goldens, scored, task_of, total
from vqa_client import tasks
from vqa_client.aggregates import MEAN
from vqa_client.runner import judge
from vqa_client.scoring.reply import reply_from
from vqa_client.settings.declared import BenchmarkSettings
from vqa_client.tables.forms import Place
from vqa_client.task import Source
from vqa_client.tasks import hallusionbench, mathverse, mme
from vqa_client.tasks import mathvista as mathvista_task
from vqa_client.types import Completion, Question

Case = dict[str, Any]
HERE = Place("x", 0, "test")


def asked(text: str = "?", reference: str = "x", **more: Any) -> Question:
    return Question(id="1", text=text, references=(reference,), **more)


def parts(benchmark: str, reply: str, question: Question) -> dict[str, float]:
    return judge(Completion(text=reply, finish_reason="stop"), question, task_of(benchmark))[1].parts


@needs_goldens
@pytest.mark.parametrize(
    ("file", "rows", "columns"),
    [
        ("gqa", 78, {"published": "official_raw_equality", "lmms_eval": "lmms_eval", "vlmevalkit": "vlmevalkit"}),
        (
            "countbench",
            168,
            {"lmms_eval": "lmms_countbench", "lmms_eval_qa": "lmms_countbenchqa", "vlmevalkit": "vlmevalkit"},
        ),
    ],
)
def test_the_rules_of_harnesses_are_those_of_their_code(file: str, rows: int, columns: dict[str, str]) -> None:
    cases = golden(file)
    assert len(cases) == rows
    for case in cases:
        found = parts(file, case["prediction"], asked(reference=str(case["reference"])))
        assert {name: found[name] for name in columns} == {name: case[column] for name, column in columns.items()}, case


@needs_goldens
def test_hallusionbenchs_replies_are_read_as_harnesses_read_them() -> None:
    cases = golden("hallusionbench", "reply")
    assert len(cases) == 109
    for case in cases:
        by_yes, by_no = (parts("hallusionbench", case["prediction"], asked(reference=right)) for right in ("yes", "no"))
        kit = "Yes" if by_yes["vlmevalkit"] else "No" if by_no["vlmevalkit"] else "Unknown"
        assert (kit, str(int(by_yes["lmms_eval"]))) == (case["vlmevalkit"], case["lmms_eval_intern"]), case


@needs_goldens
def test_hallusionbenchs_figures_are_the_published_ones() -> None:
    cases = golden("hallusionbench", "aggregate")
    assert len(cases) == 6
    for case in cases:
        judged, kit, lmms = [], [], []
        for row, flag in zip(case["samples"], case["expected"]["correct"], strict=True):
            fields = {name: row[name] for name in hallusionbench.Row.__struct_fields__ if name in row}
            question = hallusionbench.question(hallusionbench.Row(question="?", **fields), HERE)
            judged.append(scored(question, flag))
            found = parts("hallusionbench", row["model_prediction"], question)
            kit.append(scored(question, found["vlmevalkit"]))
            lmms.append(scored(question, found["lmms_eval"]))
        expected = case["expected"]
        names = {"aAcc": "aAcc", "qAcc": "qAcc", "fAcc": "fAcc", "easy": "easy_aAcc", "hard": "hard_aAcc"}
        for name, column in names.items():
            value = total("hallusionbench", name, judged)
            assert round(100 * (value or 0), 4) == expected[column], (name, case)
        for name, of in {"aAcc": "aAcc", "fAcc": "fAcc_kit", "qAcc": "qAcc_kit"}.items():
            value = total("hallusionbench", of, kit)
            assert 100 * (value or 0) == pytest.approx(case["vlmevalkit"]["Overall"][name], abs=1e-11)
        for name, of in {"aAcc": "aAcc", "fAcc": "fAcc_lmms", "qAcc": "qAcc"}.items():
            value = total("hallusionbench", of, lmms)
            assert value == pytest.approx(case["lmms_eval_intern_rule"][name], abs=1e-13)


@needs_goldens
def test_replies_to_mathvista_are_read_by_rule_almost_as_gpt_4_reads_them() -> None:
    rows = json.loads((GOLDENS.parent / "other" / "mathvista_output_bard.json").read_text(encoding="utf-8"))
    task, pairs = task_of("mathvista"), Counter[tuple[bool, bool]]()
    for row in rows.values():
        given = {name: row[name] for name in ("pid", "question", "answer", "question_type", "answer_type", "precision")}
        made = mathvista_task.Row(**given, image="x.png", choices=tuple(row["choices"] or ()), unit=row["unit"] or "")
        question = mathvista_task.question(made, HERE)
        _, score = judge(Completion(text=row["response"] or "", finish_reason="stop"), question, task)
        pairs[bool(score.value), row["true_false"]] += 1
    assert sum(pairs.values()) == 1000
    assert pairs[True, True] >= 330
    assert pairs[True, False] <= 2


@needs_goldens
def test_mm_vets_means_over_capabilities_are_the_published_ones() -> None:
    cases = golden("mm_vet", "aggregate")
    assert len(cases) == 32
    for case in cases:
        runs = len(next(iter(case["scores"].values())))
        figures: dict[str, list[float]] = {}
        for run in range(runs):
            questions = []
            for id, needed in case["data"].items():
                groups = {"capability": tuple(needed), "combination": "+".join(sorted(needed))}
                questions.append(scored(Question(id=id, text="?", groups=groups), case["scores"][id][run]))
            for each in benchmark_of("mmvet").totals:
                value = compute(each.value, questions, each.most).value
                if value is not None:
                    figures.setdefault(each.name, []).append(value)
            figures.setdefault("total", []).append(compute(MEAN, questions).value or 0)
        found = {name: 100 * mean(values) for name, values in figures.items()}
        wanted = {name: value for name, value in case["expected"].items() if name != "std"}
        assert found == pytest.approx(wanted, abs=0.0500001), case


@pytest.mark.parametrize(
    ("benchmark", "question", "reply", "score"),
    [
        ("gqa", asked(reference="yes"), "Yes, the door is open.", 1),
        ("gqa", asked(reference="left"), "On the left", 0),
        ("gqa", asked(reference="left"), "the left.", 1),
        ("gqa", asked(reference="two"), "2", 1),
        ("gqa", asked(reference="no"), "No.", 1),
        ("gqa", asked(reference="no"), "Not at all", 0),
        ("gqa", asked(reference="boy"), "The answer is **boy**.", 1),
        ("countbench", asked("How many cats are there?", "3"), "There are three cats.", 1),
        ("countbench", asked("How many cats are there?", "3"), "13", 0),
        ("hallusionbench", asked(reference="no"), "No, both have the same size.", 1),
        ("hallusionbench", asked(reference="yes"), "Yesterday", 0),
        ("mathvision", asked(reference="60"), "So it is \\boxed{60^\\circ}.", 1),
        ("mathvision", asked(reference="B", choices={"A": "1", "B": "2"}), "The answer is (B).", 1),
        ("mathvision", asked(reference="B", choices={"A": "1", "B": "2"}), "\\boxed{2}", 1),
        ("mathverse", asked(reference="12"), "The length is 12 cm", 1),
        ("mme", asked(reference="yes"), "Yes", 1),
        ("mmvet", Question(id="1", text="?", references=("-1<AND>-5",)), "x is -1 or -5", 1),
        ("mmvet", Question(id="1", text="?", references=("-1<AND>-5",)), "x is -1", 0.5),
        ("mmvet", Question(id="1", text="?", references=("cat", "dog<AND>7")), "a dog, 17", 0.5),
    ],
)
def test_replies_are_scored_as_people_expect(benchmark: str, question: Question, reply: str, score: float) -> None:
    task = task_of(benchmark)
    assert judge(Completion(text=reply, finish_reason="stop"), question, task)[1].value == score


@pytest.mark.parametrize(
    ("reply", "published", "lmms_eval"),
    [
        ("Yes", "yes", "yes"),
        ("  Yes, it is", None, "yes"),
        ("Nothing", "no", "no"),
        ("Not so", "no", "no"),
        ("y", None, "yes"),
        ("N.", None, "no"),
        ("", None, None),
        ("It is not", None, None),
    ],
)
def test_mmes_readers_look_at_four_characters(reply: str, published: str | None, lmms_eval: str | None) -> None:
    found = {answer: parts("mme", reply, asked(reference=answer)) for answer in ("yes", "no")}
    for name, wanted in (("published", published), ("lmms_eval", lmms_eval)):
        assert [answer for answer in found if found[answer][name]] == ([wanted] if wanted else [])


def test_mmes_own_folders_are_read(tmp_path: Path) -> None:
    apart, beside = tmp_path / "scene", tmp_path / "code_reasoning"
    for folder in (apart / "images", apart / "questions_answers_YN", beside):
        folder.mkdir(parents=True)
    lines = "Is it a lake? Please answer yes or no.\tYes\nIs it a wood? Please answer yes or no.\tNo\n"
    for folder, text in ((apart / "images", apart / "questions_answers_YN/1.txt"), (beside, beside / "1.txt")):
        (folder / "1.png").write_bytes(draw(1))
        text.write_text(lines)
    (part,) = benchmark_of("mme").load(Source(settings=BenchmarkSettings(benchmark="mme", data=tmp_path)))
    found = {(each.id, each.images, each.references) for each in part.loaded.questions}
    assert found == {
        (f"{folder.name}/1.png: {text}", (str(pictures / "1.png"),), (answer,))
        for folder, pictures in ((apart, apart / "images"), (beside, beside))
        for text, answer in (("Is it a lake?", "yes"), ("Is it a wood?", "no"))
    }


def test_mmes_points_add_up_by_task_and_pair() -> None:
    questions = []
    for task, right in {"count": [(1, 1), (1, 0)], "OCR": [(0, 0)], "code_reasoning": [(1, 1)]}.items():
        for number, scores in enumerate(right):
            for answer, score in zip(("Yes", "No"), scores, strict=True):
                row = mme.Row(f"{task}/{number}.png", "x.png", f"Is it {answer}?", answer, task)
                questions.append(scored(mme.question(row, HERE), score))
    figures = {each.name: compute(each.value, questions, each.most).value for each in benchmark_of("mme").totals}
    assert figures == {"points": 75 + 50 + 200, "perception": 125, "cognition": 200, "accuracy_plus": 0.5}


@pytest.mark.parametrize(
    ("reply", "extraction"),
    [
        ('I counted them.\nThe answer is "5 dogs".\nThe answer is "6".', "5 dogs"),
        ('The answer is "5\n6".', None),
        ('So: The answer is "a ". b".', 'a ". b'),
        ("The answer is 5.", None),
    ],
)
def test_mathvistas_rule_takes_the_quotes_of_the_first_line_that_has_them(reply: str, extraction: str | None) -> None:
    problem = mathvista_task.Row(
        pid="1", image="1.jpg", question_type="free_form", answer_type="text", answer="x", question="How many?"
    )
    assert mathvista_task.quick_extraction(reply, problem) == extraction


@pytest.mark.parametrize(
    ("kind", "precision", "using", "requiring"),
    [
        ("integer", None, "a single integer number", "an integer answer and provide the final value, e.g., 1, 2, 3"),
        (
            *("list", None, "a Python list"),
            "a Python list as an answer and provide the final list, e.g., [1, 2, 3], [1.2, 1.3, 1.4]",
        ),
        (
            *("float", 1.0, "a single floating-point number with one decimal place"),
            "a floating-point number with one decimal place and provide the final value, e.g., 1.2, 1.3, 1.4",
        ),
        (
            *("float", 2.0, "a single floating-point number with two decimal places"),
            "a floating-point number with two decimal places and provide the final value, e.g., 1.23, 1.34, 1.45",
        ),
    ],
)
def test_mathvistas_prompts_name_the_kind_of_the_answer(
    kind: str, precision: float | None, using: str, requiring: str
) -> None:
    problem = mathvista_task.Row(
        **{"pid": "1", "image": "1.jpg", "question_type": "free_form", "answer": "x", "question": "How many?"},
        answer_type=kind,
        precision=precision,
    )
    assert mathvista_task.lmms_eval(problem) == f"{problem.text}\nAnswer the question using {using}."
    ours = {"integer": "a whole number", "list": "a list of numbers in brackets"}.get(kind)
    ours = ours or f"a number rounded to {int(precision or 0)} decimals"
    prompt = task_of("mathvista").content(mathvista_task.question(problem, HERE))
    assert prompt[-1] == f"How many?\nAnswer with {ours} alone."
    read = mathvista_task.answer(reply_from(Completion(text="[1, 2]")), mathvista_task.question(problem, HERE))
    assert read.text == ("[1, 2]" if kind == "list" else None)
    assert mathvista_task._hint(problem) == f"Hint: Please answer the question requiring {requiring}, at the end."


@pytest.mark.parametrize(
    ("given", "asked_for"),
    [({}, ["How long?", "How long?"]), ({"query_wo": "Say it.", "query_cot": "Think."}, ["Say it.", "Think."])],
)
def test_mathverses_official_forms_ask_the_question_where_a_row_has_no_query(
    given: dict[str, str], asked_for: list[str]
) -> None:
    row = mathverse.Row(sample_index="1", question="How long?", answer="5 ", question_type="free-form", **given)
    question = mathverse.question(row, HERE)
    forms = [benchmark_of("mathverse").with_prompt_form(name) for name in ("official", "official_step_by_step")]
    assert [form.task().content(question) for form in forms] == [(text,) for text in asked_for]
    assert (question.references, question.cluster, question.images) == (("5",), "1", ())


def test_defaults_of_rows_are_empty_but_for_these() -> None:
    modules = [
        importlib.import_module(f"vqa_client.tasks.{each.name}") for each in pkgutil.iter_modules(tasks.__path__)
    ]
    structs = {
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, msgspec.Struct) and each.__module__ == module.__name__
    }
    defaults = {
        f"{struct.__module__.rpartition('.')[2]}.{field.name}": field.default
        for struct in structs
        for field in msgspec.structs.fields(struct)
        if isinstance(field.default, str | int | float | tuple)
    }
    assert len(defaults) > 100
    assert {name: value for name, value in defaults.items() if value} == {
        "mm_niah.options": "[None, None]",
        "mmlongbench_doc.answer_format": "None",
        "seedbench.data_type": "image",
        "slidevqa.answer": "Not answerable",
    }

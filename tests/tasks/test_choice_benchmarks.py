"""Benchmarks of choices against their published totals, breakdowns, draws and prompts."""

from dataclasses import replace as with_settings
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from tests.contract.forms import Sample, write
from tests.contract.samples import SAMPLES, write_sample
from tests.tasks.declared import benchmark_of, compute, golden, needs_goldens, scored, total
from tests.tasks.test_reading_benchmarks import sums
from vqa_client.aggregates import MEAN, Scored
from vqa_client.benchmark import Metric, Place, Replay
from vqa_client.errors import DataError
from vqa_client.runner import judge
from vqa_client.scoring.reply import reply_from
from vqa_client.settings.declared import BenchmarkSettings, ChoiceSettings
from vqa_client.task import Source
from vqa_client.tasks import aokvqa, blink, mmbench, mmmu, mmmu_pro, mmstar, realworldqa, registry, scienceqa
from vqa_client.types import Completion, Question

HERE = Place("data", 0, "test")
CHOICES = {"A": "bear", "B": "rabbit", "C": "cat"}


def metric_of(name: str, metric: str, **options: Any) -> Metric:
    return next(each for each in benchmark_of(name, **options).metrics if each.name == metric)


def read(name: str, metric: str, reply: str, question: Question) -> Scored:
    """The reply, read and scored by a metric that doesn't draw."""
    of = metric_of(name, metric)
    answer = benchmark_of(name).answer(of, reply_from(Completion(text=reply, finish_reason="stop")), question).text
    score = of.score(answer, question)
    assert score is not None
    return scored(question, score, answer)


@needs_goldens
@pytest.mark.parametrize(("metric", "column"), [("published", "expected"), ("lmms_eval", "lmms_eval_static")])
def test_mmbenchs_rotations_count_as_published(metric: str, column: str) -> None:
    for case in golden("mmbench", "circular"):
        questions = []
        for row in case["rows"]:
            given = {name: row[name] for name in ("index", "question", "answer", "category")}
            texts = {label: str(row[label]) for label in "ABCD" if row[label] is not None}
            made = mmbench.Row(image="1.png", lettered=texts, group=row["l2-category"], **given)
            questions.append(read("mmbench", metric, row["prediction"], mmbench.question(made, HERE)))
        expected = case[column]
        hits = expected["hit_by_group"].values()
        assert total("mmbench", "circular", questions) == pytest.approx(sum(hits) / len(hits))
        for name, wanted in expected.get("report", {}).items():
            if name != "Overall":
                assert total("mmbench", name.replace("-", "_"), questions) == pytest.approx(wanted), name
        if metric == "published":
            vanilla = case["expected"]["vanilla_first_rotation"]["Overall"]
            assert total("mmbench", "plain", questions) == pytest.approx(vanilla)


@needs_goldens
def test_mmstars_totals_are_the_published_ones() -> None:
    for case in golden("mmstar", "aggregate"):
        rows = [
            mmstar.Row(index=str(number), image="1.png", question="?", **{name: row[name] for name in _MMSTAR})
            for number, row in enumerate(case["rows"])
        ]
        asked = [mmstar.question(row, HERE) for row in rows]
        replies = [row["prediction"] for row in case["rows"]]
        ours, lmms = (
            [read("mmstar", metric, reply, question) for reply, question in zip(replies, asked, strict=True)]
            for metric in ("published", "lmms_eval")
        )
        assert total("mmstar", "of_1500", ours) == pytest.approx(case["expected"]["final score"])
        by_category, by_part = sums(ours, "category"), sums(ours, "part")
        for name, wanted in case["expected"].items():
            if "(" in name:
                hits, count = by_part[name.replace("(", " (", 1),]
                assert hits / count == pytest.approx(wanted)
            elif name != "final score":
                assert by_category[name,][0] / 250 == pytest.approx(wanted)
        assert total("mmstar", "by_part", lmms) == pytest.approx(case["lmms_eval"]["average"])


_MMSTAR = ("answer", "category", "l2_category")


@needs_goldens
def test_mmmus_domains_and_subjects_are_the_published_ones() -> None:
    for case in golden("mmmu", "aggregate"):
        questions = []
        for id, answer in case["answers"].items():
            truth = answer["ground_truth"]
            options = ("a", "b", "c", "d") if answer["question_type"] == "multiple-choice" else ()
            row = mmmu.Row(
                id=id, images=("1.png",), options=options, answer=tuple(truth) if isinstance(truth, list) else (truth,)
            )
            made = mmmu.question(row, HERE)
            assert isinstance(made, Question)
            questions.append(scored(made, mmmu.right_answer(case["predictions"][id], made)))
        figures = sums(questions, "subject") | {
            (f"Overall-{name}",): figure for (name,), figure in sums(questions, "domain").items()
        }
        figures["Overall",] = (sum(each.score for each in questions), len(questions))
        found = {name: {"num": n, "acc": round(right / n, 3)} for (name,), (right, n) in figures.items()}
        assert found == case["expected"]


@needs_goldens
def test_scienceqas_breakdowns_are_the_published_ones() -> None:
    groups = {
        **{f"acc_{name}": ("subject", f"{name} science") for name in ("natural", "social", "language")},
        **{f"acc_{name}": ("context", name) for name in ("has_text", "has_image", "no_context")},
        **{"acc_grade_1_6": ("grades", "1-6"), "acc_grade_7_12": ("grades", "7-12")},
    }
    for case in golden("scienceqa", "aggregate"):
        questions = []
        for id, problem in case["problems"].items():
            row = scienceqa.Row(
                id=id, question="?", options=("a",) * 5, **{**problem, "answer": str(problem["answer"])}
            )
            (made,) = scienceqa.question(row, HERE, images_only=False)
            said = "ABCDE"[case["predictions"][id]]
            questions.append(scored(made, float(said in made.references), said))
        for name, wanted in case["expected"].items():
            field, value = groups.get(name, ("topic", name.removeprefix("acc_")))
            right, n = sums(questions, field)[value,]
            if name == "acc_average":
                right, n = sum(each.score for each in questions), len(questions)
            assert (f"{100 * right / n:.2f}" if n else -1) == wanted, name


@needs_goldens
def test_aokvqas_scores_are_the_published_ones() -> None:
    published = metric_of("aokvqa", "published", asked="direct")

    def asked(case: dict[str, Any], direct: bool) -> Any:
        row = aokvqa.Row(
            question_id="1",
            image="1.jpg",
            options=tuple(case["choices"]),
            correct_choice_idx=str(case["correct_choice_idx"]),
            direct_answers=tuple(case["direct_answers"]),
            difficult_direct_answer=case["difficult_direct_answer"],
        )
        return aokvqa.question(row, HERE, direct=direct)

    def choice_score(said: str | None, question: Question) -> float:
        label = next((label for label, text in question.choices.items() if text == said), None)
        return metric_of("aokvqa", "published").score(label, question) or 0.0

    for case in golden("aokvqa", "question"):
        assert choice_score(case["prediction"], asked(case, False)) == case["expected_mc"]
        direct = asked(case, True)
        if case["expected_da"] is None:
            assert direct.reason == "difficult_direct_answer"
        else:
            assert published.score(case["prediction"], direct) == pytest.approx(case["expected_da"])
    for case in golden("aokvqa", "aggregate"):
        rows = case["dataset"]
        choices = [choice_score(case["mc"].get(row["question_id"]), asked(row, False)) for row in rows]
        easy = [row for row in rows if not row["difficult_direct_answer"]]
        directs = [published.score(case["da"].get(row["question_id"]), asked(row, True)) or 0 for row in easy]
        found = {"MC": 100 * sum(choices) / len(choices), "DA": 100 * sum(directs) / len(directs)}
        assert found == pytest.approx(case["expected"])


@needs_goldens
def test_realworldqas_rule_is_lmms_evals() -> None:
    for case in golden("realworldqa"):
        row = realworldqa.Row(question="Why?\n\nA. this\nB. that", image="1.png", answer=case["reference"])
        made = realworldqa.question(row, HERE)
        assert isinstance(made, Question)
        assert metric_of("realworldqa", "lmms_eval").score(case["prediction"], made) == case["expected"], case


@pytest.mark.parametrize(
    ("answer", "reference", "right"),
    [("2", "Two", 1), ("The left one.", "left one", 1), ("left", "right", 0), ("b", "B", 0)],
)
def test_realworldqas_open_answers_are_compared_as_words(answer: str, reference: str, right: float) -> None:
    row = realworldqa.Row(question="Why?", image="1.png", answer=reference)
    made = realworldqa.question(row, HERE)
    assert isinstance(made, Question)
    if reference == "B":
        made = replace(made, choices=CHOICES)
    assert metric_of("realworldqa", "accuracy").score(answer, made) == right


@pytest.mark.parametrize(("name", "seed"), [("mmmu", 42), ("mmmu-pro", 42), ("scienceqa", 10)])
def test_a_published_script_draws_what_it_cannot_read_in_the_order_of_the_data(name: str, seed: int) -> None:
    reading = metric_of(name, "published").read
    assert isinstance(reading, Replay)
    question = Question(id="1", text="?", references=("A",), choices=CHOICES)
    sure = "The answer is B."
    for _ in range(2):  # each report begins again
        draw, parse = Random(seed), reading.start()
        for reply in ("?", sure, "", "???"):
            said = parse(reply_from(Completion(text=reply, finish_reason="stop")), question).text
            assert said == ("B" if reply == sure else draw.choice("ABC"))


def test_totals_say_how_much_of_a_score_was_drawn() -> None:
    question = Question(id="1", text="?", references=("A",), choices=CHOICES)
    words = replace(question, choices={}, references=("six",))

    def one(asked: Question, score: float, certain: str | None) -> Scored:
        return replace(scored(asked, score, "A"), said=lambda metric: certain)

    questions = [one(question, 1, "A"), one(question, 1, None), one(question, 0, None), one(words, 1, "six")]
    assert total("mmmu", "guessed", questions) == 1 / 4
    assert total("mmmu", "expected", questions) == pytest.approx((1 + 1 / 3 + 1 / 3 + 1) / 4)
    assert compute(MEAN, questions).value == 3 / 4


@pytest.mark.parametrize(("name", "figure"), [("mmmu", "lmms_eval_all"), ("realworldqa", "vlmevalkit_all")])
def test_a_harness_that_reads_no_open_answer_counts_it_as_wrong(name: str, figure: str) -> None:
    question = Question(id="1", text="?", references=("A",), choices=CHOICES)
    words = replace(question, id="2", choices={}, references=("six",))
    questions = [replace(scored(asked, 1), said=lambda metric: "A") for asked in (question, words)]
    assert total(name, figure, questions) == 1 / 2


@pytest.mark.parametrize(
    ("name", "metric", "text", "reply", "right"),
    [
        ("mmmu", "lmms_eval", "Which?", "Answer: A\n", 1),
        ("mmmu", "lmms_eval", "Which?", "\tA", 1),
        ("mmmu-pro", "lmms_eval", "Which?", "Answer: A\n", 1),
        ("mmmu-pro", "lmms_eval", "Which?", "The answer is A.", 1),
        ("mmmu-pro", "lmms_eval", "", "The answer is A.", 0),
        ("mmmu-pro", "lmms_eval", "", "A\n", 1),
        ("mmmu-pro", "lmms_eval", "", "a", 0),
        ("mmmu-pro", "published_unguessed", "Which?", "A\n", 0),
        ("blink", "published", "Which?", " A", 0),
    ],
)
def test_lmms_eval_strips_a_reply_and_a_published_script_does_not_and_a_screenshots_is_compared_as_a_whole(
    name: str, metric: str, text: str, reply: str, right: float
) -> None:
    question = Question(id="1", text=text, references=("A",), choices=CHOICES)
    assert read(name, metric, reply, question).score == right


@pytest.mark.parametrize(
    ("reply", "references", "right"),
    [("It is six.", ("6", "six"), 1), ("six", ("7",), 0), ("The answer is A", ("six",), 1), ("six " * 9, ("six",), 0)],
)
def test_vlmevalkit_makes_choices_of_mmmus_open_questions(
    reply: str, references: tuple[str, ...], right: float
) -> None:
    question = Question(id="1", text="?", references=references)
    assert read("mmmu", "vlmevalkit", reply, question).score == right


def test_mmmu_pros_overall_is_the_mean_of_ten_choices_and_screenshots() -> None:
    def asked(setting: str) -> Question:
        row = mmmu_pro.Row(id="test_Math_1", images=("1.png",), answer="A", question="Why?", options=("x", "y"))
        return mmmu_pro.question(row, Place("test-0", 0, "test", setting))

    ten, four, vision = map(asked, mmmu_pro.SETTINGS)
    questions = [scored(ten, 1), scored(ten, 0), scored(four, 1), scored(vision, 1)]
    assert total("mmmu-pro", "overall", questions) == 3 / 4
    assert (ten.text, vision.text, len({ten.id, four.id, vision.id})) == ("Why?", "", 3)


def test_images_only_leaves_questions_without_an_image_out() -> None:
    rows = [
        scienceqa.Row(id=id, answer="0", image=image, options=("a", "b")) for id, image in (("1", None), ("2", "2"))
    ]
    found = [[made.id for row in rows for made in scienceqa.question(row, HERE, images_only=only)] for only in (0, 1)]
    assert found == [["1", "2"], ["2"]]


def test_a_direct_answer_that_three_people_gave_is_right(tmp_path: Path) -> None:
    write_sample("aokvqa", tmp_path)
    benchmark, settings = benchmark_of("aokvqa", asked="direct"), BenchmarkSettings(benchmark="aokvqa", data=tmp_path)
    (part,) = benchmark.load(Source(settings=settings))
    assert benchmark.description().metrics == {
        "accuracy": "a third for each of ten people who gave the same answer",
        "published": "the same of the whole reply, to the letter",
    }
    for question in part.loaded.questions:
        assert (question.choices, benchmark.ideal_reply(question)) == ({}, "one")
        assert benchmark.task().prompt(question) == f"{question.text}\nAnswer with a word or a short phrase."
        score = judge(Completion(text="The answer is One.", finish_reason="stop"), question, benchmark.task())[1]
        assert score.parts == {"accuracy": 1, "published": 0}


@pytest.mark.parametrize(("name", "choices", "open"), [("mmmu", 3, 1), ("realworldqa", 4, 1)])
def test_a_choice_mode_asks_no_open_question(name: str, choices: int, open: int, tmp_path: Path) -> None:
    write_sample(name, tmp_path)
    for mode, count in (("text", choices + open), ("structured", choices)):
        (part,) = benchmark_of(name, choice_mode=mode).load(
            Source(settings=BenchmarkSettings(benchmark=name, data=tmp_path))
        )
        assert part.loaded.count == count
    assert len(part.loaded.left_out["open"]) == open


def test_rotations_are_recognised_by_their_index_or_by_a_column() -> None:
    groups = []
    for index, g_index in ((7, None), (2_000_007, None), (8, 7)):
        row = mmbench.Row(index=index, g_index=g_index, image="1.png", answer="A")
        groups.append(mmbench.question(row, HERE).cluster)
    assert groups == ["7", "7", "7"]


def test_blinks_rotations_count_together() -> None:
    def asked(id: str, score: float) -> Scored:
        row = blink.Row(id=id, images=("1.png",), answer="A", task="Counting")
        return scored(blink.question(row, HERE), score)

    questions = [asked("1", 1), asked("1000001", 0), asked("2", 1), asked("val_Jigsaw_1", 1)]
    assert total("blink", "circular", questions) == 2 / 3


@pytest.mark.parametrize(
    ("question", "text", "choices"),
    [
        ("What is it?\nOptions: A: cat, B: dog", "What is it?", {"A": "cat", "B": "dog"}),
        ("What?\nOptions: (A) cat (B) dog", "What?\nOptions: (A) cat (B) dog", dict.fromkeys("ABCD", "")),
    ],
)
def test_mmstars_choices_are_taken_out_of_the_question_or_stay_there(
    question: str, text: str, choices: dict[str, str]
) -> None:
    row = mmstar.Row(index="1", image="1", answer="A", category="c", l2_category="l", question=question)
    made = mmstar.question(row, HERE)
    assert (made.text, made.choices) == (text, choices)


BLINK_TURNED = "index\tquestion\tA\tB\tanswer\tcategory\timage\n{}\tWhich?\tcat\tdog\tA\tJigsaw\t1.png\n"


@pytest.mark.parametrize("option", ["circular", "shuffle_choices"])
@pytest.mark.parametrize(("name", "turned"), [("mmbench", "1000001"), ("blink", "1000007")])
def test_choices_of_data_with_rotations_are_not_reordered(name: str, turned: str, option: str, tmp_path: Path) -> None:
    write_sample(name, tmp_path)
    split = {"mmbench": "dev", "blink": "circular"}[name]
    (tmp_path / "BLINK_circular.tsv").write_text(BLINK_TURNED.format(turned))
    settings = ChoiceSettings(benchmark=name, data=tmp_path, split=split)
    refused = registry.open_benchmark(with_settings(settings, **{option: True}))
    with pytest.raises(DataError, match=f"question '{turned}' of the data is a rotation of '{turned[-1]}'") as error:
        refused.parts(finds_images=False)
    assert error.value.hint == f"leave --{option} out: the data has the choices in every order"
    (part,) = registry.open_benchmark(settings).parts(finds_images=False)
    assert turned in [question.id for question in part.loaded.questions]


def test_a_choice_that_is_a_list_is_shown_as_it_is(tmp_path: Path) -> None:
    assert mmmu_pro.Row(images=(), answer="B", options=(["A", "B"],)).choices() == {"A": "['A', 'B']"}


@pytest.mark.parametrize("said", ["", "?", "nan", "hidden"])
def test_an_empty_hint_is_not_in_the_prompt(said: str) -> None:
    assert mmbench.Row(index=7, image="1.png", question="Why?", hint=said).text() == "Why?"


@pytest.mark.parametrize(
    ("name", "form", "said"),
    [
        *(("mmbench", 1, said) for said in ("", "?", "nan", "hidden")),
        *(("blink", 0, "hidden"), ("mmmu", 0, "?"), ("seedbench", 0, ""), ("hallusionbench", 0, ""), ("pope", 0, "")),
        *(("mathvista", 1, ""), ("mathvista", 1, None), ("charxiv", 1, ""), ("gqa", 0, None), ("mm-niah", 1, "")),
        *(("ocrbench", 0, [""]), ("textvqa", 0, []), ("docvqa", 0, [""])),
    ],
)
def test_a_hidden_answer_is_not_a_reference(name: str, form: int, said: Any, tmp_path: Path) -> None:
    answers = ("answer", "answers", "references", "gt_answer", "label")
    rows = [row | {field: said for field in row if field.rpartition(":")[2] in answers} for row in SAMPLES[name].rows]
    write(benchmark_of(name), Sample(rows=rows), form, tmp_path)
    settings = BenchmarkSettings(benchmark=name, data=tmp_path)
    (part,) = benchmark_of(name).load(Source(settings=settings))
    assert {question.references for question in part.loaded.questions} == {()}
    prompts = [
        benchmark_of(name).with_prompt_form(form).task().prompt for form in ("", *benchmark_of(name).prompt_forms)
    ]
    assert all(prompt(question) for prompt in prompts for question in part.loaded.questions)


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ({"qids": [20] * 4, "answers": ["a"] * 4}, "there is no descriptive question 20; they are 1 to 19"),
        ({"qids": [1] * 4, "answers": ["a", "", "b", "c"]}, "3 answers to 4 descriptive questions"),
    ],
)
def test_an_error_names_a_row_whose_questions_cannot_be_made(field: dict[str, Any], said: str, tmp_path: Path) -> None:
    rows = [row | field for row in SAMPLES["charxiv"].rows]
    write(benchmark_of("charxiv"), Sample(rows=rows), 1, tmp_path)
    settings = BenchmarkSettings(benchmark="charxiv", data=tmp_path)
    with pytest.raises(DataError, match=f"val.parquet: row 1: {said}"):
        benchmark_of("charxiv").load(Source(settings=settings))

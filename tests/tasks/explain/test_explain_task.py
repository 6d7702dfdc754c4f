from hashlib import sha256
from pathlib import Path

import pytest

from tests.tasks.declared import task_of
from tests.tasks.explain.samples import actx, esnlive, only, put, said, vcr_own, vqax, vqax_root
from vqa_client.errors import UsageError
from vqa_client.scoring.reply import READING_VERSION
from vqa_client.settings.own_commands import ExplainSettings
from vqa_client.tasks import explain
from vqa_client.tasks.explain import prompts
from vqa_client.tasks.explain.accuracy_grid import ROWS
from vqa_client.tasks.explain.dataset import load
from vqa_client.tasks.explain.declared import declared
from vqa_client.tasks.explain.vcr import VCR_TASKS
from vqa_client.types import Question


def question(tmp_path: Path) -> Question:
    return only(load(explain.dataset_of("vqax"), "val", vqax_root(tmp_path)).questions)


def parts(asked: Question, reply: str, *, name: str = "vqax", parser: str = "robust") -> dict[str, float]:
    task = task_of(name, parser=parser)
    completion = said(reply)
    score = task.score(task.parse(completion, asked), completion, asked)
    return score.parts | {"value": score.value}


@pytest.mark.parametrize(
    ("reply", "robust", "soft", "any_of_ten"),
    [
        ("A kettle because it steams", 1.0, 1.0, 1.0),
        ("The Kettle! because it steams", 1.0, 1.0, 1.0),
        ("pot because it steams", 0.0, 0.9, 1.0),
        ("pan because it steams", 0.0, 0.0, 0.0),
        ("because it steams", 0.0, 0.0, 0.0),
        ("", 0.0, 0.0, 0.0),
    ],
)
def test_the_most_frequent_answer_is_right_and_others_count_in_part(
    tmp_path: Path, reply: str, robust: float, soft: float, any_of_ten: float
) -> None:
    got = parts(question(tmp_path), reply)
    assert got["value"] == got["robust"] == robust
    assert got["soft_vqa"] == pytest.approx(soft)
    assert got["any_of_ten"] == any_of_ten


@pytest.mark.parametrize("answers", [("kettle",), ("kettle",) * 3])
def test_there_is_no_soft_accuracy_where_too_few_answers_keep_it_below_1(
    tmp_path: Path, answers: tuple[str, ...]
) -> None:
    root = put(tmp_path, "vqax", "val", {"1": vqax(*answers)}, images=("val2014/COCO_val2014_000000000007.jpg",))
    got = parts(only(load(explain.dataset_of("vqax"), "val", root).questions), "kettle because it steams")
    assert "soft_vqa" not in got
    assert got["any_of_ten"] == got["value"] == 1.0


def test_an_answer_in_another_script_counts_in_part_too(tmp_path: Path) -> None:
    root = put(tmp_path, "vqax", "val", {"1": vqax(*["寿司"] * 10)}, images=("val2014/COCO_val2014_000000000007.jpg",))
    got = parts(only(load(explain.dataset_of("vqax"), "val", root).questions), "寿司 because it is on rice")
    assert got["soft_vqa"] == got["value"] == 1.0


def test_published_readings_are_scored_beside_ours_and_may_be_the_headline(tmp_path: Path) -> None:
    root = put(tmp_path, "actx", "test", {"1": actx()}, images=("mpi/015601864.jpg",))
    asked = only(load(explain.dataset_of("actx"), "test", root).questions)
    reply = "playing guitar because he strums"
    assert parts(asked, reply, name="actx") == {
        "robust": 1.0,
        "published": 0.0,
        "published_latest": 1.0,
        "explained": 1.0,
        "value": 1.0,
    }
    assert parts(asked, reply, name="actx", parser="published")["value"] == 0.0
    assert task_of("actx", parser="published").headline == "published"
    assert task_of("actx", parser="published").parse(said(reply), asked).text == "playing"


@pytest.mark.parametrize(
    ("reply", "status", "rationale"),
    [
        ("kettle because it steams", "ok", "it steams"),
        ("kettle", "ok", None),
        ("", "empty", None),
        ("because it steams", "unparsed", "it steams"),
        ("because it steams\nAnswer: kettle", "unparsed", "it steams answer: kettle"),
    ],
)
def test_a_published_reading_without_an_answer_has_a_status(
    tmp_path: Path, reply: str, status: str, rationale: str | None
) -> None:
    answer = task_of("vqax", parser="published").parse(said(reply), question(tmp_path))
    assert (answer.status, answer.rationale) == (status, rationale)
    assert (answer.text is None) == (status != "ok")


def test_whether_there_is_an_explanation_is_a_metric_of_its_own(tmp_path: Path) -> None:
    asked = question(tmp_path)
    assert parts(asked, "kettle because it steams")["explained"] == 1.0
    assert parts(asked, "kettle")["explained"] == 0.0
    assert parts(asked, "kettle", parser="published")["explained"] == 0.0


def test_a_label_is_scored_by_the_words_before_because(tmp_path: Path) -> None:
    root = put(tmp_path, "esnlive", "test", [esnlive()], images=("flickr30k/3416050.jpg",))
    asked = only(load(explain.dataset_of("esnlive"), "test", root).questions)
    got = parts(asked, "This is not an entailment; neutral because unknown", name="esnlive")
    assert (got["robust"], got["published"], got["published_latest"]) == (1.0, 0.0, 0.0)


def test_the_prompt_comes_before_the_image_and_names_the_form(tmp_path: Path) -> None:
    task = task_of("vqax")
    text, image = task.content(question(tmp_path))
    assert isinstance(text, str)
    assert image == 1
    assert "<answer> because <explanation>" in text
    assert text.endswith("Question: What stands on the stove?")


@pytest.mark.parametrize(("mode", "examples"), [("zero", 0), ("1shot", 1), ("3shot", 3)])
@pytest.mark.parametrize("name", explain.EXPLAIN_TASKS)
def test_a_prompt_mode_shows_that_many_examples(tmp_path: Path, name: str, mode: str, examples: int) -> None:
    text = task_of(name, prompt_mode=mode).prompt(question(tmp_path))
    assert text.count("\nAnswer: ") == examples


WORDINGS = {
    "VQAX": "a2d262ec7c03",
    "ACTX": "6657984e8a9c",
    "ESNLIVE": "90fdf5706d0f",
    "FREE": "a600ff7586e4",
    "Q2A": "2746b44552dc",
    "QA2R": "08a462d20f61",
    "Q2AR": "53c19485b04e",
}
"""The beginning of the SHA-256 of each whole prompt: with another prompt it is another run."""


@pytest.mark.parametrize("name", WORDINGS)
def test_prompts_stay_letter_by_letter(name: str) -> None:
    extra = {"reasons": {"C": "c", "D": "d"}, "given_answer": "a"}
    asked = Question(id="1", text="Why?", choices={"A": "a", "B": "b"}, references=("A",), extra=extra)
    whole = prompts.prompt(asked, getattr(prompts, name), "3shot")
    assert sha256(whole.encode()).hexdigest()[:12] == WORDINGS[name], whole


def test_a_dataset_has_the_title_of_its_row_in_the_grid() -> None:
    assert tuple(explain.dataset_of(name).title for name in explain.EXPLAIN_TASKS) == ROWS
    settings = ExplainSettings(task="actx", parser="published")
    assert declared(settings, explain.dataset_of("actx")).measure == "accuracy by the published parser"


def test_only_visual_entailment_has_examples_by_default() -> None:
    assert {name: explain.dataset_of(name).prompt_mode for name in explain.EXPLAIN_TASKS} == {
        "vqax": "zero",
        "actx": "zero",
        "esnlive": "3shot",
        "vcr": "zero",
    }
    modes = {mode: ExplainSettings(task="esnlive", prompt_mode=mode) for mode in (None, "zero")}
    asked = {mode: declared(settings, explain.dataset_of("esnlive")) for mode, settings in modes.items()}
    assert {mode: benchmark.identity["prompt_mode"] for mode, benchmark in asked.items()} == {
        None: "3shot",
        "zero": "zero",
    }


@pytest.mark.parametrize("name", ["vqax", "actx", "esnlive"])
def test_the_replies_of_the_examples_are_read_as_an_answer_and_an_explanation(tmp_path: Path, name: str) -> None:
    benchmark = explain.dataset_of(name)
    for _, reply in benchmark.wording.examples:
        answer = task_of(name).parse(said(reply), question(tmp_path))
        assert (answer.status, f"{answer.text} because {answer.rationale}") == ("ok", reply)


@pytest.mark.parametrize("mode", VCR_TASKS)
def test_the_replies_of_vcrs_examples_are_read_in_every_mode(tmp_path: Path, mode: str) -> None:
    images = ("vcr1images/lsmdc_1/x@0.jpg",)
    asked = only(
        load(
            explain.dataset_of("vcr", mode),
            "val",
            put(tmp_path, "vcr", "val", [vcr_own()], file="VCR/val.jsonl", images=images),
        ).questions
    )
    for _, reply in VCR_TASKS[mode].wording.examples:
        answer = task_of("vcr", vcr_mode=mode).parse(said(reply), asked)
        assert answer.status == "ok"
        assert answer.text == (reply.partition(" because ")[0] if mode != "q2ar" else reply)


def test_scoring_names_all_that_reading_depends_on() -> None:
    assert task_of("vcr", vcr_mode="q2a", parser="published").scoring == {
        "benchmark": "vcr",
        "parsing": "published",
        "vcr_mode": "q2a",
        "version": f"{READING_VERSION}.3",
    }


def test_unknown_parsings_and_prompt_modes_are_refused() -> None:
    with pytest.raises(UsageError, match="--parser is 'head'; it must be one of robust, published, published_latest"):
        task_of("vqax", parser="head")
    with pytest.raises(UsageError, match="--prompt_mode is '2shot'"):
        task_of("vqax", prompt_mode="2shot")

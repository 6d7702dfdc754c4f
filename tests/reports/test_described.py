"""The meaning of a run's figures from its run file, and the sentence on the published score."""

import msgspec
import pytest
from msgspec.structs import replace

from tests.reports.sample_records import needle
from tests.tasks.declared import benchmark_of
from vqa_client.reports.summary import description_of, gap_words, summarise
from vqa_client.scoring.reply import READING_VERSION
from vqa_client.task import Breakdown, Description


@pytest.mark.parametrize(
    ("task", "scoring", "words"),
    [
        ("vqa2", {"version": "1"}, "VQA accuracy (ten answers)"),
        ("mc", {"parser": "longbench"}, "accuracy by the longbench parser"),
        ("mc", {"choice_mode": "logprob"}, "accuracy by --choice_mode logprob"),
        ("vqax", {"parsing": "seed"}, "accuracy by the seed parser"),
        ("niah", {"case_sensitive": "false"}, "accuracy by containment"),
        ("", {}, "accuracy"),
    ],
)
def test_an_accuracy_of_an_earlier_version_names_its_measure(task: str, scoring: dict[str, str], words: str) -> None:
    assert description_of({"task": task}, scoring, {}).measure == words


@pytest.mark.parametrize(
    ("task", "unit", "question_type"),
    [
        ("vqa2", "image", "question_type"),
        ("mc", "question", "domain"),
        ("niah", "document", "domain"),
        ("vqax", "image", "answer_kind"),
        ("actx", "image", ""),
    ],
)
def test_the_descriptions_of_earlier_versions_are_those_declared_today(
    task: str, unit: str, question_type: str
) -> None:
    old, today = description_of({"task": task}, {}, {}), benchmark_of(task).description()
    assert old.headline == ("containment" if task == "niah" else "")
    assert (old.unit, old.question_type) == (today.unit, today.question_type) == (unit, question_type)


def test_documents_are_broken_down_by_steps_in_their_order() -> None:
    breakdowns = benchmark_of("mc").description().breakdowns
    assert [(each.field, each.order, each.crossed_with, each.steps) for each in breakdowns] == [
        ("difficulty", ("easy", "medium", "hard"), "length", False),
        ("length", ("short", "medium", "long"), "", False),
        ("context_length", ("<8k", "8k-16k", "16k-24k", "24k-32k", "32k-48k", "48k-64k", ">=64k"), "", True),
        ("needle_depth", (), "context_length", True),
    ]


def test_a_declaration_is_read_back_as_it_was_written() -> None:
    today = benchmark_of("niah").description()
    kept = {"benchmark": msgspec.json.decode(msgspec.json.encode(today))}
    assert description_of({"task": "niah"}, {}, kept) == today


def test_a_benchmark_without_a_version_of_its_own_has_the_first() -> None:
    assert benchmark_of("chartqa").task().scoring == {"version": f"{READING_VERSION}.1"}


def test_a_run_file_with_another_kind_of_description_is_read_as_an_old_one() -> None:
    assert description_of({"task": "niah"}, {}, {"benchmark": 3}).unit == "document"


READ = {
    "robust": "answers as our parser reads them",
    "published": "as the published script reads them",
    "published_latest": "as that script's last version reads them",
}
EXPLAINED = {"explained": "replies with an explanation"}
SAID = {
    "mc": {
        "robust": "answers as our parser reads them",
        "longbench": "as LongBench-v2's own script reads them",
        "published": "as the published script reads them",
    },
    "niah": {
        "containment": "the reference is in the answer, without thoughts",
        "published": "the reference is in the whole reply, as published",
        "strict": "as a word of its own that the answer stands by",
        "n_numbers": "numbers in the answer",
    },
    "vqa2": {
        "normalised": "VQA accuracy (ten answers), all normalised",
        "official": "the same as the official evaluator has it",
        "simple": "published framework: right or wrong",
        "enhanced": "published framework: partial credit",
        "simple_whole_word": "right or wrong, by whole words",
        "enhanced_whole_word": "partial credit, by whole words",
    },
    "vqax": READ
    | {"soft_vqa": "by how many of ten people say so", "any_of_ten": "as one of ten people says"}
    | EXPLAINED,
    "actx": READ | EXPLAINED,
    "esnlive": READ | EXPLAINED,
    "vcr": READ | EXPLAINED,
}


@pytest.mark.parametrize("name", SAID)
def test_every_metric_of_the_benchmarks_has_a_meaning_in_words(name: str) -> None:
    assert benchmark_of(name).description().metrics == SAID[name]


@pytest.mark.parametrize(
    ("headline", "score", "published", "words"),
    [
        ("containment", 0.0, 1.0, "published - containment = +100.00 points: references that are only in thoughts"),
        ("containment", 1.0, 0.0, "-100.00 points: references that are only in the field of the reasoning"),
        ("relaxed", 1.0, 0.0, "published - relaxed = -100.00 points"),
        ("containment", 1.0, 1.0, ""),
    ],
)
def test_a_published_score_that_differs_is_named(headline: str, score: float, published: float, words: str) -> None:
    record = needle("d", 0, right=True, depth="0-20%")
    found = gap_words(summarise([replace(record, parts={headline: score, "published": published})]).parts, headline)
    assert words in found
    assert bool(words) == bool(found)
    assert gap_words(summarise([record]).parts, headline) == ""


def test_values_of_a_field_have_the_declared_order() -> None:
    of = Description(headline="x", breakdowns=(Breakdown("size", ("small", "large")),))
    assert (of.order("size"), of.order("colour"), of.order("level")) == (("small", "large"), (), ("clean",))

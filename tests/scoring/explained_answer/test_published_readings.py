"""The published readings with their faults: tests compare with the script, not with what is right."""

import json
from pathlib import Path
from typing import Any

import pytest

from vqa_client.scoring.published.explained_answer import READINGS, published, published_latest, published_line
from vqa_client.scoring.short_answers import normalise

GOLDEN = Path(__file__).parents[4] / "shared" / "data" / "seed001_nle" / "postprocess_golden.json"
TASKS = {"VQA-X": "vqax", "ACT-X": "actx", "ESNLI-VE": "esnlive", "VCR": "vcr"}


def golden() -> Any:
    if not GOLDEN.is_file():
        pytest.skip("the golden file is not here")
    return json.loads(GOLDEN.read_bytes())


@pytest.mark.parametrize("title", TASKS)
def test_the_described_version_gives_the_golden_lines(title: str) -> None:
    cases = golden()["cases"]
    assert len(cases) == 34
    assert [published_line(TASKS[title], case["text"]) for case in cases] == [
        case["seed_time"][title] for case in cases
    ]


@pytest.mark.parametrize("task", ["vqax", "actx"])
def test_the_described_version_gives_the_golden_cells(task: str) -> None:
    for case in golden()["cases"]:
        assert list(published(task, case["text"])) == case["seed_time"][f"csv_split_{task}_of_result"], case["text"]


@pytest.mark.parametrize("title", TASKS)
def test_the_last_version_gives_the_golden_answers_and_explanations(title: str) -> None:
    whole = golden()
    for case in whole["cases"]:
        wanted = case["head"][title]["with_explanation"]
        read = published_latest(TASKS[title], case["text"], whole["vcr_choices"])
        assert read == (wanted["answer"], wanted["explanation"]), case["text"]


def test_answers_are_normalised_as_in_the_golden_file() -> None:
    for case in golden()["cases"]:
        assert normalise(case["text"]) == case["head"]["normalize_answer"]


@pytest.mark.parametrize(
    ("task", "reply", "seed_reads", "head_reads"),
    [
        ("vqax", "Two red buses because I see them.", ("two red", "i see them"), ("two red buses", "i see them")),
        ("vqax", "7:15 because of the clock", ("7 15", "of the clock"), ("7", "15 because of the clock")),
        ("actx", "fly fishing because of the rod", ("fly", "of the rod"), ("fly fishing", "of the rod")),
        ("actx", "Rowing Because of oars", ("unknown", "explanation missing"), ("rowing", "of oars")),
        ("esnlive", "Not entailment because x", ("entailment", "x"), ("entailment", "x")),
        ("esnlive", "It's neutral, who knows", ("neutral", "who knows"), ("neutral", "who knows")),
        ("vcr", "[B] because x", ("[b]", "x"), ("unknown", "x")),
        ("vcr", "B: because x", ("b:", "x"), ("he waves.", "x")),
        ("vcr", "E because x", ("e", "x"), ("unknown", "x")),
    ],
)
def test_their_faults_are_kept(task: str, reply: str, seed_reads: tuple[str, str], head_reads: tuple[str, str]) -> None:
    choices = ["She sits.", "He waves.", "They go.", "It rains."]
    assert READINGS["published"](task, reply, choices) == seed_reads
    assert READINGS["published_latest"](task, reply, choices) == head_reads

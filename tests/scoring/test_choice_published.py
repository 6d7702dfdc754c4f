"""The published readings are kept with their faults: a test here says what the scripts do, not what is right."""

import json
from pathlib import Path

import pytest

from vqa_client.scoring.published.choice_readers import READINGS, first_letter, longbench

GOLDEN = Path(__file__).parents[3] / "shared" / "data" / "seed002_longbench" / "mc_parser_golden.json"


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("The answer is C", "C"),
        ("(b)", "B"),
        ("（Ｄ） or （D）", "D"),
        ("c", "C"),
        ("Answer:because", "B"),
        ("A look at the chart shows it is D.", "A"),
        ("Apples", "A"),
        ("I'd pick B", "D"),
        ("Neither", None),
        ("E", None),
        ("", None),
        ("<think>A</think> D", "D"),
        ("A</think>", None),
        ("<think>B", "B"),
        ("one</think>B</think>C", "B"),
    ],
)
def test_the_page_image_script_takes_the_first_letter_that_stands_alone(reply: str, letter: str | None) -> None:
    assert first_letter(reply)[0] == letter


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("The correct answer is (A)", "A"),
        ("The correct answer is B.", "B"),
        ("**The correct answer is (C)**", "C"),
        ("The correct answer is **D**", "D"),
        ("The correct answer is Denmark", "D"),
        ("The correct answer is A. No: The correct answer is (B)", "B"),
        ("the correct answer is (A)", None),
        ("The correct answer is: A", None),
        ("The correct answer is (E)", None),
        ("A", None),
        ("", None),
    ],
)
def test_longbench_reads_its_own_sentence_only(reply: str, letter: str | None) -> None:
    assert longbench(reply)[0] == letter


def test_the_rule_that_read_is_named() -> None:
    assert [first_letter(reply) for reply in ("B", "ANSWER:Because", "Apples", "x")] == [
        ("B", "letter"),
        ("B", "cue"),
        ("A", "first character"),
        (None, ""),
    ]
    assert longbench("The correct answer is (B)") == ("B", "sentence with brackets")
    assert longbench("The correct answer is B") == ("B", "sentence")


def test_the_readings_are_known_by_name() -> None:
    assert {"published": first_letter, "longbench": longbench} == READINGS


def test_both_readings_agree_with_the_scripts_own_outputs() -> None:
    if not GOLDEN.is_file():
        pytest.skip("the outputs of the published scripts are not part of this repository")
    cases = json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"]
    assert len(cases) > 20
    read = [(case["output"], first_letter(case["output"])[0] or "", longbench(case["cleaned"])[0]) for case in cases]
    assert read == [(case["output"], case["seed_extract"], case["longbench_v2_official"]) for case in cases]

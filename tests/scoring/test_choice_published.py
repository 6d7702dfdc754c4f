"""The published readings are kept with their faults: a test here says what the scripts do, not what is right."""

import json
from pathlib import Path

import pytest

from vqa_client.scoring.published import choice_readers as readers
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


OPTIONS = {"A": "bear", "B": "rabbit", "C": "cat"}
REFUSALS = (
    *("Sorry, I can't help with images of people yet.", "I can't process this file."),
    *("I'm sorry, but without the image provided", "Cannot determine the answer"),
)
CUES = (
    *("the answer is", "the correct answer is", "correct answer is", "the best answer is", "best answer is"),
    *("the correct option is", "correct option is", "the best option is", "best option is", "the choice is"),
    *("choice is", "the correct choice is", "correct choice is", "I choose", "I select", "I pick", "My answer is"),
    *("my choice is", "옵션", "정답은", "답은", "답:", "答案是", "答案为", "选", "答えは"),
)
FORMS = ("D", "D.", "D,", "D:", "D)", "D).", "(D)", "(D).", ":D", ":D,", ":D.", ":D)", ":D).")
READ: list[tuple[readers.ReadLabel, dict[str | None, tuple[str, ...]]]] = [
    (
        readers.kit_label,
        {
            "Z": (*REFUSALS, "one Z"),
            "B": (
                *("B.", "(B)", "[B]", "B,x", "B:x", "B;x", "B!x", "*B*", "#B", "{B}", "B one two three"),
                "The answer is **B and no other of all these",
            ),
            None: (
                *("xB", "A Failed to obtain answer via API", "B one two three four", "A one two three four Z"),
                "The answer is D and no other of all these",
            ),
        },
    ),
    (readers.kit, {"B": ("some rabbit of 26 letters.",), None: ("some rabbit of 27 letters..",)}),
    (
        readers.lmms_mcq,
        {
            "C": (
                *(f"answer is C, A; {cue} C, I think" for cue in CUES),
                *("Not (A); answer is C, I think", "the answer is B, C (B) x"),
            ),
            "A": ("(A) x B. y", "so A. x B: y", "so A: x B) y", "so A) x B y", "A x B", "so A: xB"),
            "B": ("Ax (B) y", "xAyBz", '"B"', "so ,B.,", "In B, the answer is A or B then"),
        },
    ),
    (
        readers.lmms_mmbench,
        {
            "D": tuple(f"I think {form} fits" for form in FORMS),
            "A": ("A red dog",),
            "C": ("A cat is there",),
            None: ("A big red dog", "Failed to obtain answer via API B"),
        },
    ),
    (
        readers.lmms_vstar,
        {
            "B": ("Because",),
            "C": ("I say OPTION: C", "I say choice is c", "no (C)", "x c. y", "x c] y", "x c) y", "x c", "zzC"),
            None: ("zzCC",),
        },
    ),
    (readers.scienceqa, {"C": ("The answer is C.",), None: ("The answer is D.", "The answer is B. The answer is C.")}),
    (readers.mmstar, {"B": ("b", "(b", "option b", "the answer is b", "option\nb"), None: ("is b", "the answer is d")}),
    (
        readers.mmmu,
        {
            "A": ("so (A) B C", "B not A or"),
            "B": ("B,", "B.", "B!", "B?", "B;", "B:", "'B'"),
            "C": ("the one that shows a cat",),
            None: ("it shows a cat", "Bx"),
        },
    ),
    (readers.mmmu_pro, {"B": ("Answer: A B",), "C": ("Answer: x\nAnswer: C",)}),
    (readers.lmms_mmmu, {"B": ("xA (B)x",), "C": ("A B. C", "it is xC.")}),
    (readers.blink, {"A": ("(A)\n\nx",), "B": ("(B)", "B", "(A) or (B)\n\n(B)"), None: ("(A)\n\n(A) (B)",)}),
    (readers.lmms_blink, {"B": ("( b",), None: ("1",)}),
    (readers.lmms_ai2d, {"B": ("B. cat", "b!"), None: ("cat",)}),
    (readers.lmms_scienceqa, {"B": ("b", "B. cat"), None: ("b. cat",)}),
]


@pytest.mark.parametrize(("read", "replies"), READ, ids=[read.__name__ for read, _ in READ])
def test_a_scorers_reader_reads_each_of_its_forms(
    read: readers.ReadLabel, replies: dict[str | None, tuple[str, ...]]
) -> None:
    found = {reply: read(reply, OPTIONS) for each in replies.values() for reply in each}
    assert found == {reply: label for label, each in replies.items() for reply in each}

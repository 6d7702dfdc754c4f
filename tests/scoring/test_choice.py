"""How `read_choice` reads replies of each kind; the tables are the specification.

Each line of `choice_rows.jsonl` is a reply and its label, or null; without choices, these are `VEHICLES`.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.scoring import choice_languages
from tests.scoring.choice_label_sets import VEHICLES
from vqa_client.scoring.choices.choice import RULES, read_choice
from vqa_client.scoring.choices.grammar import CUES, ROWS
from vqa_client.types import Answer, Completion


def read(reply: str, choices: dict[str, str] = VEHICLES, finish_reason: str | None = None) -> Answer:
    return read_choice(Completion(text=reply, finish_reason=finish_reason), choices)


REPLIES = [
    json.loads(line) for line in Path(__file__).with_name("choice_rows.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("row", REPLIES, ids=lambda row: f"{row['set']}: {row['reply'][:60]}")
def test_a_reply_is_read_as_its_row_says(row: dict[str, Any]) -> None:
    answer = read(row["reply"], row.get("choices", VEHICLES), row.get("finish_reason"))
    assert (answer.text, answer.status == "ok") == (row["label"], row["label"] is not None)
    assert (answer.status, answer.rule) == (row.get("status", answer.status), row.get("rule", answer.rule))
    assert row.get("status") != "ambiguous" or len(answer.rivals) > 1


@pytest.mark.parametrize("language", choice_languages.GIVEN)
def test_everyday_sentences_of_a_language_give_or_deny_a_choice(language: str) -> None:
    given, denied = (
        [sentence.strip() for sentence in table[language].split("|")]
        for table in (choice_languages.GIVEN, choice_languages.DENIED)
    )
    assert [(sentence, read(sentence).text) for sentence in given if read(sentence).text != "C"] == []
    assert [(sentence, read(sentence).text) for sentence in denied if read(sentence).text is not None] == []


@pytest.mark.parametrize(
    ("sentences", "letter"), [(choice_languages.MORE_GIVEN, "C"), (choice_languages.MORE_DENIED, None)]
)
def test_longer_sentences_of_many_languages_are_read(sentences: tuple[str, ...], letter: str | None) -> None:
    assert [(sentence, read(sentence).text) for sentence in sentences if read(sentence).text != letter] == []


def test_an_answer_before_an_invented_question_counts_in_a_truncated_reply() -> None:
    assert read("tram\n\nQuestion: Which floats?\nAnswer: It", finish_reason="length").text == "C"
    assert read("I see rails.\n\nQuestion: Which", finish_reason="length").status == "truncated"


@pytest.mark.parametrize(
    ("reply", "rule", "rivals"),
    [
        ("The answer is B.", "answer", ()),
        ("\\boxed{B}", "marked", ()),
        ("\\boxed{blue car}", "marked text", ()),
        ("B", "own line", ()),
        ("B is correct.", "subject", ()),
        ("I choose B.", "commitment", ()),
        ("Therefore, B.", "conclusion", ()),
        ("The answer is A. Wait, no, B.", "correction", ("A",)),
        ("Not A but B", "contrast", ()),
        ("The answer is A.\n\nFinal answer: C", "answer", ("A",)),
        ("The answer is the tram.", "answer text", ()),
        ("tram", "exact text", ()),
        ("C. tram", "leading label", ()),
        ("Output: C", "field", ()),
        ("A. red bus\nB. blue car ✓\nC. tram\nD. ferry", "tick", ()),
        ("D. ferry\n\n- A. red bus: not mentioned.\n- C. tram: contradicted.", "label before list", ()),
        ("A. red bus\nB. blue car\nC. tram\nD. ferry\n\nC. tram", "label after list", ()),
        ("Answer: A\nAnswer: B\nAnswer: C\nAnswer: D\nAnswer: A\nAnswer: B", "loop", ("A", "B", "C", "D")),
        ("It is a tram.", "text", ()),
        ("Looking at it, **C** fits.", "emphasis", ()),
        ("The sign says 1995 (C).", "brackets", ()),
        ("The tallest one is (B) the blue one over there", "predicate", ()),
        ("Answer: A or B", "answer", ("A", "B")),
        ("Answer: E", "answer", ()),
        ("I saw (B), then something else", "", ("B",)),
    ],
)
def test_an_answer_names_its_rule_and_its_rivals(reply: str, rule: str, rivals: tuple[str, ...]) -> None:
    answer = read(reply)
    assert (answer.rule, answer.rivals) == (rule, rivals)


def test_two_choices_with_one_text_are_ambiguous() -> None:
    answer = read("a tram", {"A": "tram", "B": "Tram.", "C": "bus"})
    assert (answer.text, answer.status, answer.rivals) == (None, "ambiguous", ("A", "B"))


def test_a_label_beats_a_choice_whose_text_is_that_letter() -> None:
    swapped = {"A": "B", "B": "C", "C": "A"}
    assert read("B", swapped).text == "B"
    assert read("The answer is B.", swapped).text == "B"


def test_a_question_without_choices_has_no_answer() -> None:
    assert read("B", {}).status == "unparsed"


def test_regex_characters_in_labels_are_literal() -> None:
    odd = {"(a)": "red bus", "b.": "blue car", "c*": "tram", "": "nothing"}
    assert read("The answer is b.", odd).status in {"ok", "unparsed"}
    assert read("zzz", odd).text is None


def test_every_phrase_belongs_to_one_row() -> None:
    phrases = [phrase.strip() for cue in CUES for phrase in cue.words.replace("\n", "|").split("|") if phrase.strip()]
    assert len(phrases) == len(set(phrases)) == len(ROWS)


def test_only_declarations_count_in_a_truncated_reply() -> None:
    undeclared = [
        "tram",
        "C. tram",
        "Look: **C** fits.",
        "The sign says 1995 (C).",
        "It runs on rails. C.",
        "It is a tram.",
    ]
    assert {read(reply).text for reply in undeclared} == {"C"}
    assert {read(reply, finish_reason="length").status for reply in undeclared} == {"truncated"}
    assert read("The answer is C. It", finish_reason="length").text == "C"
    assert RULES[0].name == "declaration"


def test_verdicts_are_searched_only_if_two_words_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take longer to look for than all else that is read of an ordinary reply."""
    looked: list[object] = []
    monkeypatch.setattr("vqa_client.scoring.choices.declared.judged_right", looked.append)
    texts = {"A": "a slow car", "B": "a slow bus", "C": "a slow tram"}
    assert read("The correct answer is (B).", texts).text == "B"
    assert not looked
    read("A is wrong. B is right.", texts)
    assert looked

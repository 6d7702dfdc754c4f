import pytest

from tests.scoring.explained_answer.replies import said
from vqa_client.scoring.explained_answer import read_letter, read_reason, read_two_letters

CHOICES = {
    "A": "No, <det1> lives far off.",
    "B": "She waits for <det0>.",
    "C": "He hides because of the dog",
    "D": "They leave.",
}
REASONS = {"E": "A dog barks.", "F": "The door is open.", "G": "It rains.", "H": "Her coat is on."}


@pytest.mark.parametrize(
    ("reply", "letter", "rationale"),
    [
        ("B because she looks at the clock", "B", "she looks at the clock"),
        ("(B) because she looks", "B", "she looks"),
        ("b because she looks", "B", "she looks"),
        ("B. She waits because she looks", "B", "she looks"),
        ("The answer is (D) because A and B are wrong", "D", "A and B are wrong"),
        ("C. He hides because of the dog because it barks", "C", "it barks"),
        ("He hides because of the dog because it barks", "C", "it barks"),
        ("He hides because of the dog", "C", None),
        ("D", "D", None),
        ("The answer is A. The street is wet.", "A", None),
        ("Answer: D\nExplanation: coats are on", "D", "coats are on"),
        ("Because it rains, the answer is (A).", "A", "it rains, the answer is (A)."),
    ],
)
def test_the_letter_before_the_explanation_answers(reply: str, letter: str, rationale: str | None) -> None:
    answer = read_letter(said(reply), CHOICES)
    assert (answer.text, answer.rationale, answer.status) == (letter, rationale, "ok")


@pytest.mark.parametrize(
    ("reply", "status"),
    [("", "empty"), ("because x", "unparsed"), ("A or B because x", "ambiguous"), ("yes because x", "unparsed")],
)
def test_no_letter_is_guessed(reply: str, status: str) -> None:
    assert read_letter(said(reply), CHOICES).status == status
    assert read_letter(said(reply), CHOICES).text is None


@pytest.mark.parametrize(
    "reply",
    ["G", "(G)", "The reason is G.", "Reason: G", "The best rationale is G.", "Rationale G", "The explanation is (G)."],
)
def test_the_letter_of_a_reason_has_several_headings_and_its_text_is_the_explanation(reply: str) -> None:
    answer = read_reason(said(reply), REASONS)
    assert (answer.text, answer.rationale, answer.status) == ("G", "It rains.", "ok")


@pytest.mark.parametrize("reply", ["The reason is a dog at the door", "There is no good reason", "G or H"])
def test_no_reason_is_guessed(reply: str) -> None:
    answer = read_reason(said(reply), REASONS)
    assert (answer.text, answer.rationale) == (None, None)


@pytest.mark.parametrize(
    "reply",
    [
        "B because G",
        "(B) because (G)",
        "B because G. It rains.",
        "Answer: B\nReason: G",
        "The answer is B, and the reason is G.",
        "B because reason G",
        '{"answer": "B", "rationale": "G"}',
        '```json\n{"answer": "B", "reason": "G"}\n```',
        '{"answer": "B because G"}',
        "<answer>B</answer><rationale>G</rationale>",
        "\\boxed{B} because \\boxed{G}",
        "\\boxed{B, G}",
        "B, G",
        "(B) (G).",
        "B and G",
    ],
)
def test_one_reply_gives_both_letters(reply: str) -> None:
    answer = read_two_letters(said(reply), CHOICES, REASONS)
    assert (answer.text, answer.rationale, answer.status) == ("B because G", "It rains.", "ok")


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("B because her shoes are red", "unparsed"),
        ("G", "unparsed"),
        ("", "empty"),
        ("B because E or F", "ambiguous"),
        ("GB", "unparsed"),
    ],
)
def test_one_letter_of_two_is_not_an_answer(reply: str, status: str) -> None:
    answer = read_two_letters(said(reply), CHOICES, REASONS)
    assert (answer.text, answer.status) == (None, status)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.linear_time import RATIO, growth
from tests.scoring.explained_answer.replies import said
from vqa_client.scoring.explained_answer import LABELS, read_label


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("entailment because a man is outside", "entailment"),
        ("Contradictory because she is indoors", "contradiction"),
        ("It contradicts the image because she is indoors", "contradiction"),
        ("Entails. Because ...", "entailment"),
        ("The hypothesis is entailed because x", "entailment"),
        ("The label is NEUTRAL because we can't tell", "neutral"),
        ("This is not an entailment; neutral because unknown", "neutral"),
        ("neutral because the caption entails nothing", "neutral"),
        ("neutral because it is no contradiction", "neutral"),
        ("not entailment but contradiction because x", "contradiction"),
        ("It's neutral, not entailment, because x", "neutral"),
        ("neither entailment nor contradiction because x", "neutral"),
        ("not entailed and not contradicted because x", "neutral"),
        ("It doesn't contradict the image, so entailment because x", "entailment"),
        ("non-entailment: contradiction because x", "contradiction"),
        ("entailment rather than neutral because x", "entailment"),
        ("Entailment, the man is outside", "entailment"),
        ("neutral", "neutral"),
        ("Contradiction. This is no entailment.", "contradiction"),
        ("Because it rains, the answer is contradiction.", "contradiction"),
        ("It seems so because it rains. Label: entailment", "entailment"),
        ("Hypothesis: A man sleeps.\nAnswer: neutral because x", "neutral"),
        ("entailment? No: neutral because x", "neutral"),
        ("entailment because x\n\nHypothesis: Two men sit.\nAnswer: contradiction because y", "entailment"),
    ],
)
def test_the_words_before_because_decide_and_a_denied_label_does_not_count(reply: str, label: str) -> None:
    answer = read_label(said(reply))
    assert (answer.text, answer.status) == (label, "ok")


@pytest.mark.parametrize(
    ("reply", "status", "rivals"),
    [
        ("entailment or neutral because x", "ambiguous", ("entailment", "neutral")),
        ("not entailment because x", "unparsed", ("contradiction", "neutral")),
        ("yes because the caption entails it", "unparsed", ()),
        ("neutralised because x", "unparsed", ()),
        ("because it is red", "unparsed", ()),
        ("", "empty", ()),
        ("The hypothesis", "unparsed", ()),
        ("anything but entailment because x", "unparsed", ("contradiction", "neutral")),
        ("It is impossible that this is a contradiction because x", "unparsed", ("entailment", "neutral")),
    ],
)
def test_nothing_is_guessed(reply: str, status: str, rivals: tuple[str, ...]) -> None:
    answer = read_label(said(reply))
    assert (answer.text, answer.status, answer.rivals) == (None, status, rivals)


def test_the_explanation_is_kept_with_the_label() -> None:
    assert read_label(said("neutral because anyone may sit there")).rationale == "anyone may sit there"
    assert read_label(said("Entailment, the man is outside")).rationale == "the man is outside"


@given(st.sampled_from(LABELS), st.text())
def test_no_explanation_changes_the_label(label: str, explanation: str) -> None:
    assert read_label(said(f"{label} because x {explanation}")).text == label


@given(st.text())
def test_a_text_is_one_of_the_labels(text: str) -> None:
    answer = read_label(said(text))
    assert (answer.text in LABELS) == (answer.status == "ok")


@pytest.mark.parametrize("piece", ["not entailment ", "because the answer is "])
def test_a_runaway_reply_is_read_in_linear_time(piece: str) -> None:
    took = growth(lambda text: read_label(said(text)), piece, 20_000 * len(piece), limit=2_000)
    assert took.ratio < RATIO
    assert took.whole < 2_000

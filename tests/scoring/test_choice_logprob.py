"""The label with the highest probability: spellings add up, ties and thoughts decide nothing."""

from math import exp, fsum, isclose, log
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vqa_client.scoring.choices.labels import LOOKALIKES
from vqa_client.scoring.choices.modes import label_probabilities, read_first_token, thinks, weights
from vqa_client.types import Answer, Completion

LABELS = ("A", "B", "C", "D")
TOKENS = st.one_of(
    st.sampled_from(["A", " A", "(A", "B", "\nB", "C.", "D)", "**D", "a", "The", "<think>", "AB", "", " ", "\u2581C"]),
    st.text(alphabet=st.characters(max_codepoint=0x2FF), max_size=3),
)
FIRST = st.dictionaries(TOKENS, st.floats(min_value=-40, max_value=0), max_size=20)


def of(**probabilities: float) -> dict[str, float]:
    return {token: log(probability) for token, probability in probabilities.items()}


def read(first_token: dict[str, float] | None, reasoning: str | None = None) -> Answer:
    return read_first_token(Completion(text="", first_token=first_token, reasoning=reasoning), LABELS)


def test_the_most_probable_label_is_the_answer_even_if_another_token_is_likelier() -> None:
    answer = read(of(The=0.6, B=0.2, A=0.1))
    assert (answer.status, answer.text, answer.rule) == ("ok", "B", "first token")
    assert answer.probabilities == {"A": 0.1, "B": 0.2}


def test_the_spellings_of_a_label_add_up() -> None:
    answer = read({"A": log(0.3), " B": log(0.2), "B": log(0.15), "(C": log(0.1), "\u2581D": log(0.05)})
    assert answer.text == "B"
    assert answer.probabilities == {"A": 0.3, "B": 0.35, "C": 0.1, "D": 0.05}


@pytest.mark.parametrize("token", ["c", "Ｃ", "ｃ", "(c", "**C", "С", "「C", " c.", "ĠC", "▁c", "$C"])
def test_small_full_width_and_lookalike_letters_count_for_their_label(token: str) -> None:
    answer = read({token: -0.1, "A": -3.0})
    assert (answer.status, answer.text) == ("ok", "C")
    assert answer.probabilities == pytest.approx({"A": exp(-3), "C": exp(-0.1)}, rel=1e-5)


def test_letters_that_differ_only_in_case_are_two_labels() -> None:
    assert label_probabilities({"a": log(0.25), "A": log(0.5)}, ("a", "A")) == pytest.approx({"a": 0.25, "A": 0.5})


@pytest.mark.parametrize(
    ("first", "status", "text"),
    [
        ({"So": -0.5, "Got": -0.8, "C": -12.0}, "unparsed", None),
        (of(The=0.9, A=0.05, B=0.04), "unparsed", None),
        (of(The=0.8, A=0.06, B=0.05), "ok", "A"),
        (of(Let=0.95, A=0.02, B=0.02, C=0.005), "unparsed", None),
    ],
)
def test_prose_first_is_not_a_label(first: dict[str, float], status: str, text: str | None) -> None:
    answer = read(first)
    assert (answer.status, answer.text) == (status, text)
    assert answer.rule == ("first token" if text else "prose first")
    assert answer.probabilities


@pytest.mark.parametrize("token", ["An", "AB", "The", "E", "", "  ", "A1", "no A"])
def test_a_token_that_is_not_a_label_counts_for_no_label(token: str) -> None:
    assert label_probabilities({token: -0.1}, LABELS) == {}
    assert read({token: -0.1}) == Answer(status="unparsed", rule="first token")


def test_two_labels_that_tie_are_an_ambiguity() -> None:
    answer = read({"A": -1.25, "C": -1.25, "B": -3.0})
    assert (answer.status, answer.text, answer.rivals) == ("ambiguous", None, ("A", "C"))
    assert answer.probabilities["A"] == answer.probabilities["C"]


def test_without_logprobs_there_is_no_answer() -> None:
    assert read(None) == Answer(status="unparsed", rule="no logprobs")
    assert read({}) == Answer(status="unparsed", rule="first token")
    assert read({"A": -9999.0}).status == "unparsed"


@pytest.mark.parametrize(
    "token", ["<think>", "<think", "\n<think>", "<|channel|>", "[THINK]", "<seed:think>", "◁think▷", "<unused94>"]
)
def test_a_token_of_a_thought_is_not_an_answer(token: str) -> None:
    first = {token: -0.1, "B": -3.0}
    assert thinks(Completion(text="", first_token=first))
    assert read(first) == Answer(status="unparsed", rule="reasoning first")
    assert read({"B": -0.1}, reasoning="Let me see").rule == "reasoning first"


def test_an_unlikely_token_of_a_thought_does_not_matter() -> None:
    assert read({"<think>": -9.0, "B": -0.1}).text == "B"


@given(first=FIRST, reasoning=st.none() | st.text(max_size=3))
@settings(max_examples=400, deadline=None)
def test_no_label_is_made_up_and_none_beats_the_answer(first: dict[str, float], reasoning: str | None) -> None:
    answer = read(first, reasoning)
    assert (answer.status == "ok") == (answer.text is not None)
    assert set(answer.probabilities) <= set(LABELS)
    if answer.text is not None:
        assert answer.probabilities[answer.text] == max(answer.probabilities.values())
        assert any(answer.text in normalize("NFKC", token).upper().translate(LOOKALIKES) for token in first)
        assert fsum(answer.probabilities.values()) >= 0.1 * (1 - 1e-5)
    if answer.status == "ambiguous":
        assert len(answer.rivals) > 1


@given(first=FIRST, order=st.permutations(LABELS))
@settings(max_examples=200, deadline=None)
def test_renaming_the_labels_renames_the_answer(first: dict[str, float], order: list[str]) -> None:
    to = str.maketrans("".join(LABELS) + "abcd", "".join(order) + "".join(order).lower())
    renamed: dict[str, float] = {token.translate(to): logprob for token, logprob in first.items()}
    before, after = read(first), read(renamed)
    assert after.status == before.status
    assert after.text == (before.text.translate(to) if before.text else None)


@given(first=FIRST, right=st.sampled_from(LABELS))
@settings(max_examples=200, deadline=None)
def test_weights_are_shares_that_add_up(first: dict[str, float], right: str) -> None:
    found = weights(read(first).probabilities, right, LABELS)
    shares = [weights(read(first).probabilities, label, LABELS) for label in LABELS]
    if found is None:
        return
    assert isclose(sum(each.right for each in shares if each), 1.0)
    assert found.right <= found.top
    assert 0.0 <= found.margin <= found.top <= 1.0 + 1e-12
    assert 0.0 <= found.brier <= 1.0
    assert 0.0 < found.mass <= 1.0


def test_weights_against_figures_worked_out_by_hand() -> None:
    found = weights({"A": 0.4, "B": 0.2, "D": 0.2}, "B", LABELS)
    assert found is not None
    assert (found.mass, found.right, found.top, found.margin) == pytest.approx((0.8, 0.25, 0.5, 0.25))
    assert found.brier == pytest.approx((0.25 + 0.5625 + 0 + 0.0625) / 2)
    assert weights({}, "A", LABELS) is None


def test_probabilities_keep_six_digits_however_small() -> None:
    assert read({"A": -0.1, "B": -30.0}).probabilities["B"] == pytest.approx(exp(-30.0), rel=1e-5)

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.linear_time import cpu_s
from tests.scoring.explanation_metrics.samples import everything, explained
from vqa_client.scoring.explanation_metrics.coco import BLEU_NAMES, Explained, bleu, cider, common_length, rouge

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=12)
TEXTS = WORDS.map(" ".join)
QUESTIONS = st.builds(
    lambda text, references: explained(text, *references),
    TEXTS,
    st.lists(TEXTS.filter(bool), min_size=1, max_size=3),
)


def _bleu(question: Explained) -> list[float]:
    (values,) = bleu([question], [[0]])
    return [values[name].each[0] or 0.0 for name in BLEU_NAMES]


def _rouge(question: Explained) -> float:
    (values,) = rouge([question], [[0]])
    return values["ROUGE_L"].each[0] or 0.0


def _cider(*questions: Explained) -> list[float]:
    (values,) = cider(questions, everything(questions))
    return [value or 0.0 for value in values["CIDEr"].each]


def test_bleu_clips_by_the_reference_that_has_a_word_most_often() -> None:
    one, two, *_ = _bleu(explained("the the the the", "the cat", "the dog and the"))
    assert one == pytest.approx(2 / 4)
    assert two == pytest.approx(0, abs=1e-6)


def test_bleu_punishes_an_explanation_shorter_than_its_closest_reference() -> None:
    assert _bleu(explained("a b", "a b c d", "a b c d e f g h"))[0] == pytest.approx(math.exp(1 - 4 / 2))


def test_of_two_equally_close_references_bleu_takes_the_shorter() -> None:
    assert _bleu(explained("a b c", "a b", "a b c d"))[0] == pytest.approx(1)


def test_bleu_of_a_corpus_is_not_the_mean_of_its_questions() -> None:
    questions = [explained("a b c d", "a b c d"), explained("x", "y z")]
    (values,) = bleu(questions, everything(questions))
    assert values["Bleu_1"].value == pytest.approx(4 / 5 * math.exp(1 - 6 / 5))
    assert values["Bleu_1"].each == pytest.approx([1, 0], abs=1e-6)


def test_rouge_takes_the_best_precision_and_the_best_recall_of_any_reference() -> None:
    precision, recall = 3 / 4, 1 / 1
    expected = (1 + 1.44) * precision * recall / (recall + 1.44 * precision)
    assert _rouge(explained("a b c d", "a b c x y z", "d")) == pytest.approx(expected)


def test_cider_gives_rarer_ngrams_more_weight() -> None:
    questions = [explained("a x", "a x"), explained("a y", "a z"), explained("c d", "c d"), explained("q", "e f")]
    first, second, third, fourth = _cider(*questions)
    assert first == pytest.approx(10 * 2 / 4)
    assert 0 < second < first
    assert third == pytest.approx(first)
    assert fourth == 0


def test_cider_of_a_known_pair() -> None:
    # N = 2, every n-gram is in one question: weights are log 2; unigrams a b c against a b d e: 2 / sqrt(3 * 4),
    # bigrams 1 / sqrt(2 * 3); the lengths differ by one bigram.
    value, _ = _cider(explained("a b c", "a b d e"), explained("x", "y"))
    assert value == pytest.approx(10 / 4 * (2 / math.sqrt(12) + 1 / math.sqrt(6)) * math.exp(-1 / 72))


def test_cider_of_a_corpus_of_one_question_is_zero() -> None:
    assert _cider(explained("a b c d e", "a b c d e")) == [0]


@given(question=QUESTIONS)
def test_bleu_and_rouge_are_between_0_and_1(question: Explained) -> None:
    for value in (*_bleu(question), _rouge(question)):
        assert 0 <= value <= 1 + 1e-9


@given(questions=st.lists(QUESTIONS, min_size=1, max_size=6))
def test_cider_is_between_0_and_10(questions: list[Explained]) -> None:
    for value in _cider(*questions):
        assert 0 <= value <= 10 + 1e-9


@given(text=st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), min_size=4, max_size=12).map(" ".join), other=TEXTS)
def test_a_copy_of_a_reference_scores_1(text: str, other: str) -> None:
    question = explained(text, text, other or "a")
    assert _bleu(question) == pytest.approx([1, 1, 1, 1])
    assert _rouge(question) == pytest.approx(1)


@given(questions=st.lists(QUESTIONS, min_size=1, max_size=6))
def test_an_explanation_without_words_scores_0(questions: list[Explained]) -> None:
    silent = explained("", *questions[0].references)
    assert _bleu(silent) == [0, 0, 0, 0]
    assert _rouge(silent) == 0
    assert _cider(silent, *questions)[0] == 0


@given(first=WORDS, second=WORDS)
def test_the_common_length_is_that_of_the_table_of_all_prefixes(first: list[str], second: list[str]) -> None:
    assert common_length(first, second) == length_by_table(first, second)


def length_by_table(first: list[str], second: list[str]) -> int:
    row = [0] * (len(second) + 1)
    for token in first:
        above, row = row, [0]
        for at, other in enumerate(second):
            row.append(above[at] + 1 if token == other else max(above[at + 1], row[at]))
    return row[-1]


def test_two_texts_of_20_000_words_take_no_more_than_four_tables_of_1_000() -> None:
    words = [f"w{number * 7919 % 5003}" for number in range(20_000)]
    table_s = cpu_s(lambda: length_by_table(words[:1_000], words[:1_000]))
    assert common_length(words, words) == 20_000
    assert common_length(words, words[::-1]) > 0
    assert min(cpu_s(lambda: common_length(words, words[::-1])) for _ in range(2)) < 4 * table_s

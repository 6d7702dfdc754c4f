import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.linear_time import RATIO, growth
from tests.scoring.explained_answer.replies import said
from vqa_client.scoring.explained_answer import read_phrase, read_sentence


@pytest.mark.parametrize(
    ("reply", "answer", "rationale"),
    [
        ("yes because the kerb is wet", "yes", "the kerb is wet"),
        ("yes Because it is wet", "yes", "it is wet"),
        ("rain\nbecause clouds", "rain", "clouds"),
        ("Yes, BECAUSE it is wet.", "Yes", "it is wet."),
        ("the answer is yes because of x because of y", "yes", "of x because of y"),
        ("10:30 because the clock says so", "10:30", "the clock says so"),
        ("3.5 because of the sign", "3.5", "of the sign"),
        ("(B) because she smiles", "B", "she smiles"),
        ("playing guitar because he strums", "playing guitar", "he strums"),
        ("black and white because no colour is left", "black and white", "no colour is left"),
        ("ice-cream because it's cold!", "ice-cream", "it's cold!"),
        ("no parking because the sign says so", "no parking", "the sign says so"),
        ("No, he is not because he sits", "No", "he sits"),
        ("Yes the man smiles because he won", "Yes", "he won"),
        ("yes, since it is wet", "yes", "it is wet"),
        ("red due to the paint", "red", "the paint"),
        ("Yes. The sky is blue", "Yes", "The sky is blue"),
        ("yes\nExplanation: it is wet because of rain", "yes", "it is wet because of rain"),
        ("**Answer:** tennis\n\n**Explanation:** he holds a racket", "tennis", "he holds a racket"),
        ("**Yes** because *she* smiles", "Yes", "*she* smiles"),
        ("`4` **because** there are four", "4", "there are four"),
        ("ASSISTANT: A dog because it has a tail", "A dog", "it has a tail"),
        ("He is tired because he yawns", "tired", "he yawns"),
        ("<think>no, because it is dark</think>yes because it's lit", "yes", "it's lit"),
        ("Question: What?\nAnswer: red because x\n\nQuestion: Who?\nAnswer: Ann because y", "red", "x"),
        ("yes because:\n- one\n- two", "yes", "- one\n- two"),
        ("yes because it costs $5 – or “more”", "yes", "it costs $5 – or “more”"),
        ("St. Louis", "St. Louis", None),
        ("Yes.", "Yes", None),
        ("unknown", "unknown", None),
        ("<yes> because <it is wet>", "yes", "it is wet"),
        ("<yes because it is wet>", "yes", "it is wet"),
        ("yes because a < b and c > d", "yes", "a < b and c > d"),
        ("yes (because it is wet)", "yes", "it is wet"),
        ("yes <because> it is wet", "yes", "it is wet"),
        ("Sure! Here is the answer:\n\nAnswer: yes\nExplanation: it is wet", "yes", "it is wet"),
        ("1. Answer: yes\n2. Explanation: it is wet", "yes", "it is wet"),
        ("Explanation: it is wet!\nAnswer: yes", "yes", "it is wet!"),
        ("yes (because it is wet).", "yes", "it is wet"),
        ("yes (because a) the road shines.", "yes", "a) the road shines."),
        ("yes because it is wet (very)", "yes", "it is wet (very)"),
        ("-2 because of the frost", "-2", "of the frost"),
        ("- 2 because of the pair", "2", "of the pair"),
        ("Wii (game) because of the remote", "Wii (game)", "of the remote"),
        ("(two) because of the pair", "two", "of the pair"),
        ("Question: is it wet? Answer: yes because it shines", "yes", "it shines"),
        ("yes because", "yes", None),
        ('{"answer": "yes", "explanation": "because it is wet"}', "yes", "it is wet"),
        (
            '```json\n{"answer": "yes", "explanation": "it is wet because of rain"}\n```',
            "yes",
            "it is wet because of rain",
        ),
        ('{"answer": "yes because it is wet"}', "yes", "it is wet"),
        ('{"answer": "yes", "reason": "it is w', "yes", "it is w"),
        ('{"answer": "yes because", "reason": "it is wet"}', "yes", "it is wet"),
        ('{"answer": "yes, it is wet", "reason": "it rained"}', "yes", "it is wet"),
        ("<answer>yes</answer><explanation>it is wet</explanation>", "yes", "it is wet"),
        ("<answer>yes because it is wet</answer>", "yes", "it is wet"),
        ("<answer>yes</answer> because it is wet", "yes", "it is wet"),
        ("\\boxed{yes} because it is wet", "yes", "it is wet"),
        ("It shines. So the answer is \\boxed{yes}.", "yes", "It shines."),
        ("**yes** because it is wet", "yes", "it is wet"),
        ("<mm:think>no?</mm:think>yes because it is wet", "yes", "it is wet"),
        ("becausement", "becausement", None),
        ("{'answer': 'yes', 'explanation': 'it is wet because of rain'}", "yes", "it is wet because of rain"),
        ('{"response": {"answer": "yes", "explanation": "wet because of rain"}}', "yes", "wet because of rain"),
        ("<explanation>wet because of rain</explanation><answer>yes</answer>", "yes", "wet because of rain"),
        ("### Answer\nyes\n\n### Explanation\nwet because of rain", "yes", "wet because of rain"),
        ("**Answer**\nyes\n\n**Explanation**\nwet because of rain", "yes", "wet because of rain"),
        ("- **Answer**: yes\n- **Explanation**: wet because of rain", "yes", "wet because of rain"),
        ("Explanation: wet because of rain\nAnswer: yes", "yes", "wet because of rain"),
        ("yes because it is wet\nQuestion: is it cold?\nAnswer: no because", "yes", "it is wet"),
    ],
)
def test_the_answer_is_before_the_first_because_and_the_explanation_after_it(
    reply: str, answer: str, rationale: str | None
) -> None:
    read = read_phrase(said(reply))
    assert (read.text, read.rationale, read.status) == (answer, rationale, "ok")


@pytest.mark.parametrize(
    ("reply", "finish_reason", "status"),
    [
        ("", "stop", "empty"),
        (" \n ", "stop", "empty"),
        ("", "length", "truncated"),
        ("<think>well, the man", "length", "truncated"),
        ("<think>well, the man", "stop", "truncated"),
        ("a man on a", "length", "truncated"),
        ("because it is red", "stop", "unparsed"),
        ("... because it is red", "stop", "unparsed"),
        ("the answer is because it is red", "stop", "unparsed"),
        ("A man in a coat stands in a field and looks at sheep", "stop", "unparsed"),
        ("I'm sorry, but I can't assist with that.", "stop", "refused"),
        ("I cannot help with that request because it names a person", "stop", "refused"),
        ("yes because", "content_filter", "refused"),
        ("yes because", "PROHIBITED_CONTENT", "refused"),
        ("a man on a", "MAX_TOKENS", "truncated"),
        ("Przykro mi, ale nie mogę w tym pomóc.", "stop", "refused"),
    ],
)
def test_a_reply_without_an_answer_has_a_status_and_no_text(reply: str, finish_reason: str, status: str) -> None:
    read = read_phrase(said(reply, finish_reason))
    assert (read.text, read.status) == (None, status)


def test_an_explanation_without_an_answer_is_kept() -> None:
    assert read_phrase(said("because it is red")).rationale == "it is red"


def test_an_explanation_cut_by_the_token_limit_leaves_the_answer_whole() -> None:
    read = read_phrase(said("yes because the kerb and the", "length"))
    assert (read.text, read.rationale, read.status) == ("yes", "the kerb and the", "ok")


def test_a_sentence_may_be_the_answer_with_its_names_in_angle_brackets() -> None:
    read = read_sentence(said("No, <det1> lives far off because <det0> waves goodbye."))
    assert (read.text, read.rationale) == ("No, <det1> lives far off", "<det0> waves goodbye.")
    assert read_sentence(said("The answer is: he waves because x")).text == "he waves"
    assert read_sentence(said("because x")).status == "unparsed"
    assert read_sentence(said("")).status == "empty"


_WORDS = st.lists(st.sampled_from(["red", "two", "buses", "10:30", "3.5", "on", "grass"]), min_size=1, max_size=3)
_REASON = st.text(st.characters(categories=["L", "N", "Zs"], include_characters="\n,.'$-"), min_size=1).filter(
    lambda text: any(letter.isalnum() for letter in text)
)


@given(_WORDS, st.sampled_from(["because", "Because", "BECAUSE"]), st.sampled_from([" ", "\n", "  ", ", "]), _REASON)
def test_a_joined_answer_and_explanation_are_split_again(words: list[str], because: str, gap: str, reason: str) -> None:
    answer = " ".join(words)
    read = read_phrase(said(f"{answer}{gap}{because} x{reason}"))
    assert read.text == answer
    assert read.rationale == f"x{reason}".strip()


@given(st.text(), st.sampled_from(["stop", "length", None]))
def test_only_a_reply_that_is_ok_has_a_text(text: str, finish_reason: str | None) -> None:
    for read in (read_phrase, read_sentence):
        answer = read(said(text, finish_reason or ""))
        assert (answer.text is not None) == (answer.status == "ok")
        assert answer.text != ""


@pytest.mark.parametrize("piece", [" ", "because ", "answer:*", ", as", "Question: ", ".", "\n", "the a-", "not yes ("])
def test_a_runaway_reply_is_read_in_linear_time(piece: str) -> None:
    def read(text: str) -> None:
        read_phrase(said(f"{text}x"))
        read_sentence(said(f"{text}x"))

    took = growth(read, piece, 200_000, limit=2_000)
    assert took.ratio < RATIO
    assert took.whole < 2_000

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.scoring.vqa_normalise import evalai, normalised, on_one_line, plainest, vlmevalkit, without_punctuation


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,000 red-blue", "1000 redblue"),
        ("red-blue", "red blue"),
        ("red - blue", "red blue"),
        ("U.S.", "us"),
        ("a.m.", "am"),
        ("3.5", "3.5"),
        (".5", ".5"),
        ("5.", "5"),
        ("-1", "1"),
        ("no.1", "no.1"),
        ("10:30", "10:30"),
        ("$5 & 20%", "$5 & 20%"),
        ("1,000 - 2,000", "1000 2000"),
        ("Two dogs", "2 dogs"),
        ("None", "0"),
        ("eleven", "eleven"),
        ("The the A an", ""),
        ("isnt it", "isn't it"),
        ("shouldntve", "shouldntve"),
        ("shouldnt've", "shouldn't've"),
        ("shouldn'tve", "shouldn't've"),
        ("YALL'D'VE", "y'all'd've"),
        ("ow's'at", "'ow's'at"),
        ("somebody'd", "somebodyd"),
        ("Ive", "ive"),
        ("theyve whatve wouldve", "they've what've would've"),
        ("hed theyd youd", "he'd they'd you'd"),
        ("hed've y'alld've", "he'd've y'all'd've"),
        ("hes thats wheres somebodys", "he's that's where's somebody's"),
        ("youll wholl", "you'll who'll"),
        ("theyre youre", "they're you're"),
        ("cant dont arent", "can't don't aren't"),
        ("twas oclock maam", "'twas o'clock ma'am"),
        ("", ""),
    ],
)
def test_an_answer_is_normalised(text: str, expected: str) -> None:
    assert normalised(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ｒｅｄ　ｃａｒ！～", "red car ~"),
        ("٣ ２ ｄｏｇｓ。", "3 2 dogs"),
        ("“a” ‘b’", "'b'"),
        ("किताब।", "किताब"),
        ("赤、青؟ ۵؛", "赤 青 5"),
        ("plain.", "plain"),
    ],
)
def test_marks_and_digits_of_other_scripts_are_those_of_ascii(text: str, expected: str) -> None:
    assert plainest(text) == expected


@pytest.mark.parametrize(
    ("text", "challenge", "kit"),
    [
        ("The dog's, 1,000?", "dog 's 1000", "dog's 1000"),
        ("it's\tnew\nhere", "it 's new here", "it's new here"),
        ("Isnt 5. No. ", "isn't 5 no", "isn't 5. no"),
    ],
)
def test_the_challenges_and_vlmevalkit_normalise_differently(text: str, challenge: str, kit: str) -> None:
    assert (evalai(text), vlmevalkit(text)) == (challenge, kit)


def test_only_the_first_32_full_stops_are_removed() -> None:
    assert normalised("." * 40) == "." * 8


def test_a_mark_next_to_a_space_is_removed_and_becomes_a_space_otherwise() -> None:
    assert without_punctuation("a/b") == "a b"
    assert without_punctuation("a/ b/c") == "a bc"


def test_line_feeds_and_tabs_are_spaces() -> None:
    assert on_one_line("\n a\tb\n") == "a b"


@given(
    st.lists(st.sampled_from(["isnt", "yalld've", "two", "a", "The", "somebody'd", "none", "it's"]) | st.text("ab'"))
)
def test_a_text_without_marks_needs_only_one_pass(words: list[str]) -> None:
    once = normalised(" ".join(words))
    assert normalised(once) == once


@given(st.sampled_from(["yes", "2", "tennis racket", "isn't", "y'all'd've", "3.5", "10:30", "$5"]))
def test_a_normalised_answer_does_not_change(text: str) -> None:
    assert normalised(text) == text

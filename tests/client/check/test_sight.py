"""Whether a server sees images, judged by its replies to two pictures."""

import pytest

from tests.client.check.playing import refused, said
from vqa_client.client.probing.asks import ProbeReply
from vqa_client.client.probing.findings import colour_in, sight_finding, sight_of
from vqa_client.types import Status

ALIVE = "the server answers probes and completes nothing: look at its log, and start it again"
BARE = said("I see no image", tokens=20)


@pytest.mark.parametrize(
    ("first", "second", "sight"),
    [
        ("red", "blue", "colours"),
        ("The square is **Red**.", "Blue!", "colours"),
        ("red", "red", "same"),
        ("red or blue", "red or blue", "same"),
        ("blue", "red", "differs"),
        ("a square", "another square", "differs"),
    ],
)
def test_only_the_right_colour_of_both_pictures_counts_as_seen(first: str, second: str, sight: str) -> None:
    assert sight_of([said(first), said(second)], None, BARE) == sight


def test_a_server_that_counts_no_tokens_for_the_picture_is_blind() -> None:
    assert sight_of([said("red", tokens=20), said("red", tokens=20)], None, BARE) == "blind"
    assert sight_of([said("B", tokens=20), said("B", tokens=20)]) == "blind"
    assert sight_of([said("B", tokens=20), said("B", tokens=84)], None, BARE) == "blind"


def test_the_same_answer_to_both_pictures_without_token_counts_is_not_sight() -> None:
    assert sight_of([said("B", tokens=None), said("B", tokens=None)]) == "same"


def test_a_server_that_only_reads_text_sees() -> None:
    cant = said("I can't find that on the pages.", tokens=9)
    assert sight_of([cant, cant], said("The secret code is 4821."), said("?", tokens=9)) == "text"


def test_a_colour_in_the_reasoning_counts_if_the_answer_is_empty() -> None:
    thinking = [said("", reasoning=f"I see a {colour} square", finish="length") for colour in ("red", "blue")]
    assert sight_of(thinking) == "colours"


def test_a_refusal_does_not_show_that_the_server_is_blind() -> None:
    assert sight_of([refused(503, "busy"), said("blue")]) == "unknown"
    assert refused(503, "busy").text == ""
    assert refused(503, "busy " * 99).error == "HTTP 503: " + "busy " * 40


@pytest.mark.parametrize(
    ("text", "colour"),
    [("reddish", None), ("Grey.", "gray"), ("red, not blue", None), ("", None), ("a RED one", "red")],
)
def test_a_colour_counts_as_a_separate_word_and_only_alone(text: str, colour: str | None) -> None:
    assert colour_in(text) == colour


@pytest.mark.parametrize(
    ("status", "message", "hint"),
    [
        (500, "EngineCore encountered an issue.", ALIVE),
        (404, "no", "--model names a model that it serves; is --base_url right?"),
        (400, "unknown Model", "--model names a model that it serves; is --base_url right?"),
        (400, "image_url is not supported", "see what the server's log says of this request"),
    ],
)
def test_no_reply_is_unusable_and_says_why(status: int, message: str, hint: str) -> None:
    found = sight_finding([refused(status, message)] * 2, None, None)
    assert (found.level, found.hint) == ("unusable", hint)
    assert found.text == f"no reply to a question about a picture: HTTP {status}: {message}"


@pytest.mark.parametrize("status", ["timeout", "connection"])
def test_without_any_reply_the_servers_log_may_say_why(status: Status) -> None:
    assert sight_finding([ProbeReply(refusal="lost", status=status)] * 2, None, None).hint == ALIVE


@pytest.mark.parametrize(
    ("colours", "code", "bare", "level", "text", "hint"),
    [
        (("red", "blue"), None, 20, "ok", "sees images: 'red' and 'blue' of a red and of a blue square", ""),
        (
            *(("?", "?"), "The secret code is 4821.", 20, "note"),
            "reads a drawn code, and says '?' and '?' of a red and of a blue square",
            "",
        ),
        (
            *(("blue", "red"), None, 20, "warning"),
            "'blue' and 'red' of a red and of a blue square; 84 prompt tokens with the picture, 20 without",
            "a weak model, or pictures that reach it damaged: look at a few answers before a long run",
        ),
        (
            *(("red", "red"), None, None, "warning"),
            "gives the same answer for both images: 'red' and 'red' of a red and of a blue square; "
            "84 prompt tokens with the picture, an unknown number of without",
            "is it a vision-language model? its answers would be guesses from the text",
        ),
        (
            *(("red", "red"), None, 84, "unusable"),
            "does not see images: 'red' and 'red' of a red and of a blue square; "
            "84 prompt tokens with the picture, 84 without",
            "is it a vision-language model, was it started with its projector, does the path take images?",
        ),
    ],
)
def test_the_sight_of_a_server_is_reported_with_its_answers(
    colours: tuple[str, str], code: str | None, bare: int | None, level: str, text: str, hint: str
) -> None:
    found = sight_finding([said(each) for each in colours], said(code) if code else None, said("?", tokens=bare))
    assert (found.level, found.text, found.hint) == (level, text, hint)

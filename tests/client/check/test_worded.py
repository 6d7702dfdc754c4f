"""The whole text and hint of each finding, also of those that no whole check meets."""

from collections.abc import Callable
from functools import partial

import httpx2
import pytest

from tests.client.check.playing import refused, said
from vqa_client.client.check.examine import canary_finding, forms_finding, proxy_finding
from vqa_client.client.check.sizes import image_limit_finding, sizes_finding
from vqa_client.client.probing.asks import ProbeReply
from vqa_client.client.probing.findings import Finding
from vqa_client.client.probing.identity import Evidence, identity_findings
from vqa_client.client.probing.parameters import (
    PARAMETERS,
    effect_of,
    parameter_findings,
    reasoning_finding,
    usage_finding,
    uuid_finding,
)

SEEN, NO = said("red"), refused(400, "no")
LATE = ProbeReply(refusal="no reply", status="timeout")
TOO_MANY = refused(400, "At most 1 image(s) may be provided in one request.")
AGAIN = "run with --max_workers 1, or another version of the server: more workers would lower the score"
LAST = "ask a question about the last page of a document before a long run"


def cached() -> ProbeReply:
    reply = said("red")
    reply.body["usage"]["prompt_tokens_details"] = {"cached_tokens": 1}  # type: ignore[index]
    return reply


def context(tokens: int | None, max_tokens: int) -> Finding:
    card = {"id": "m"} if tokens is None else {"id": "m", "max_model_len": tokens}
    every = identity_findings(SEEN, Evidence(cards=(card,)), "m", max_tokens)
    return next(each for each in every if each.name == "context_length")


def of(found: Finding | None) -> tuple[str, str, str]:
    assert found is not None
    return found.level, found.text, found.hint


def sizes(small: int, large: int) -> Finding:
    return sizes_finding({256: said("x", tokens=small), 512: said("x", tokens=large)}, 20)


BASE, OTHER = httpx2.URL("http://user:secret@h/v1"), httpx2.URL("http://h/")
ROWS: list[tuple[Callable[[], Finding | None], str, str, str]] = [
    (lambda: uuid_finding(NO, SEEN), "note", "an image with a uuid is refused (HTTP 400: no)", ""),
    (
        lambda: uuid_finding(SEEN, refused(500, "Cache miss for image")),
        "note",
        "known, but the server keeps no images",
        "",
    ),
    (lambda: uuid_finding(SEEN, NO), "note", "images can't be named by uuid (HTTP 400: no)", ""),
    (lambda: uuid_finding(SEEN, said("blue")), "note", "ignored: without its bytes an image is not seen", ""),
    (lambda: uuid_finding(SEEN, said("red", tokens=9)), "note", "ignored: without its bytes an image is not seen", ""),
    (lambda: uuid_finding(SEEN, SEEN), "ok", "an image sent once can be named by its uuid", ""),
    (lambda: usage_finding([SEEN, SEEN]), "ok", "counted", ""),
    (lambda: usage_finding([SEEN, cached()]), "ok", "counted, cached tokens too", ""),
    (
        lambda: usage_finding([SEEN, said("red", tokens=None)]),
        "note",
        "the server counts no tokens, so they can't show a dropped image",
        "",
    ),
    (lambda: reasoning_finding([SEEN]), "ok", "none", ""),
    (lambda: reasoning_finding([SEEN, said("", reasoning="hm")]), "ok", "in the field reasoning", ""),
    (lambda: reasoning_finding([said("", reasoning_content="hm")]), "ok", "in the field reasoning_content", ""),
    *(
        (
            partial(reasoning_finding, [SEEN, said(f"hm {mark} red")]),
            "warning",
            "thoughts come inside the answer's text",
            "start the server with its --reasoning-parser, so that they are separated",
        )
        for mark in ("<think>", "</think>")
    ),
    (lambda: context(None, 9), "note", "not reported", ""),
    (lambda: context(2048, 2047), "ok", "2,048 tokens of prompt and reply", ""),
    (
        lambda: context(2048, 2048),
        "warning",
        "2,048 tokens, and replies may have 2,048",
        "lower max_tokens in the config, or raise the server's max-model-len",
    ),
    (lambda: sizes_finding({256: said("x", tokens=None)}, 20), "note", "the server counts no prompt tokens", ""),
    (lambda: sizes(1_020, 1_520), "ok", "1,000 at 256 px, 1,500 at 512 px", ""),
    (
        lambda: sizes(1_020, 1_519),
        "warning",
        "1,000 at 256 px, 1,499 at 512 px: images larger than about 256 x 256 are shrunk before the model sees them",
        "small text is lost: raise the processor's max_pixels where the server is started, or send crops",
    ),
    (
        lambda: sizes_finding({256: said("x", tokens=84), 512: NO}, 20),
        "note",
        "64 at 256 px, 512 x 512 is refused (HTTP 400: no)",
        "",
    ),
    (lambda: image_limit_finding(64, said("x", tokens=84), 20), "ok", "64 or more images in one prompt", ""),
    (
        lambda: image_limit_finding(64, said("x", tokens=83), 20),
        "warning",
        "64 images cost 63 prompt tokens: are some of them dropped?",
        LAST,
    ),
    (lambda: image_limit_finding(16, said("x"), 20), "note", "16 small images in one prompt; more are too long", ""),
    (
        lambda: canary_finding([SEEN, said("blue")], [SEEN, said("blue")]),
        "ok",
        "2 answers are the same alone and all at once",
        "",
    ),
    (lambda: canary_finding([SEEN, SEEN], [SEEN, SEEN]), "note", "unknown: every picture gets the same answer", ""),
    (
        lambda: canary_finding([SEEN, said("blue")], [SEEN, NO]),
        "warning",
        "1 of 2 questions fail when sent at once (HTTP 400: no)",
        "lower --max_workers",
    ),
    (
        lambda: canary_finding([SEEN, said("blue")], [said("blue"), said("blue")]),
        "unusable",
        "1 of 2 answers change when sent at once, 1 of them to another question's answer: 'red' becomes 'blue'",
        AGAIN,
    ),
    (
        lambda: canary_finding([SEEN, said("blue")], [said("green"), said("blue")]),
        "unusable",
        "1 of 2 answers change when sent at once: 'red' becomes 'green'",
        AGAIN,
    ),
    (lambda: forms_finding(BASE, OTHER, SEEN), "ok", "http://h/v1 answers; without /v1 it answers too", ""),
    (lambda: forms_finding(OTHER, BASE, NO), "ok", "http://h/ answers; with /v1 it doesn't (HTTP 400: no)", ""),
    (lambda: proxy_finding(None), "ok", "none", ""),
    (lambda: parameter_findings({"n": NO}, SEEN, frozenset())[0], "note", "refused (HTTP 400: no)", ""),
    (
        lambda: parameter_findings({"n": NO}, SEEN, frozenset({"n"}))[0],
        "warning",
        "refused (HTTP 400: no)",
        "the config sends it",
    ),
    (
        lambda: parameter_findings({"n": LATE}, SEEN, frozenset({"n"}))[0],
        "note",
        "not reported (no reply)",
        "",
    ),
]


@pytest.mark.parametrize(("found", "level", "text", "hint"), ROWS)
def test_the_words_of_each_finding(found: Callable[[], Finding | None], level: str, text: str, hint: str) -> None:
    assert of(found()) == (level, text, hint)


def test_a_limit_is_worded_in_the_singular_and_in_the_plural() -> None:
    one = image_limit_finding(64, TOO_MANY, 20)
    assert of(one)[:2] == ("warning", "1 image in one prompt at most")
    assert of(one)[2]
    many = refused(400, "At most 16 image(s) may be provided in one request.")
    assert of(image_limit_finding(64, many, 20)) == ("note", "16 images in one prompt at most", "")
    assert image_limit_finding(64, NO, 20) is None


def test_findings_have_their_names() -> None:
    names = {found.name for made, *_ in ROWS if (found := made()) is not None}
    assert names == {
        *("address", "answers_under_load", "context_length", "image_limit"),
        *("parameter n", "picture_tokens_by_size", "proxy", "reasoning", "usage", "uuid"),
    }


CUT = said("", finish="length")
EFFECTS: list[tuple[str, ProbeReply, ProbeReply, str]] = [
    ("stop", SEEN, said("r"), "honoured"),
    ("stop", SEEN, SEEN, "ignored"),
    ("stop", SEEN, CUT, "unclear"),
    ("stop", said(""), SEEN, "unclear"),
    ("max_tokens", SEEN, CUT, "honoured"),
    ("max_tokens", SEEN, said("r"), "honoured"),
    ("max_tokens", SEEN, SEEN, "ignored"),
    ("max_tokens", said("red", tokens=None), SEEN, "unclear"),
    ("n", SEEN, SEEN, "ignored"),
    *((name, SEEN, said("zebra"), "honoured") for name in ("structured_outputs", "guided_choice")),
    *((name, SEEN, SEEN, "ignored") for name in ("structured_outputs", "guided_choice", "response_format")),
    *((name, SEEN, CUT, "unclear") for name in ("structured_outputs", "guided_choice", "response_format")),
    ("response_format", SEEN, said(' {"answer"'), "honoured"),
    *((name, SEEN, said("red", tokens=80), "honoured") for name in ("chat_template_kwargs", "mm_processor_kwargs")),
    *(
        (name, SEEN, SEEN, effect)
        for name, effect in (("enable_thinking", "unclear"), ("mm_processor_kwargs", "ignored"))
    ),
    ("mm_processor_kwargs", SEEN, said("red", tokens=None), "unclear"),
    ("logprobs", SEEN, SEEN, "ignored"),
    ("an unknown field", SEEN, SEEN, "ignored"),
    ("an unknown field", SEEN, NO, "refused"),
    ("an unknown field", SEEN, LATE, "unclear"),
]


@pytest.mark.parametrize(("name", "plain", "reply", "effect"), EFFECTS)
def test_a_reply_shows_the_effect_of_a_field(name: str, plain: ProbeReply, reply: ProbeReply, effect: str) -> None:
    assert effect_of(PARAMETERS[name], plain, reply) == effect

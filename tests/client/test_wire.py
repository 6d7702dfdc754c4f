"""Replies as they come over the wire: what is a completion and what is a failure."""

import json

import pytest

from vqa_client.client.wire import NotACompletion, read_reply
from vqa_client.types import Completion

REPLACED = "\ufffd"


def reply(**message: object) -> bytes:
    finish = message.pop("finish_reason", "stop")
    usage = message.pop("usage", {"prompt_tokens": 7, "completion_tokens": 2})
    return (
        json.dumps({"choices": [{"message": message, "finish_reason": finish}], "usage": usage})
        .replace("Infinity", "1e999")
        .encode()
    )


def read(body: bytes, status: int = 200, content_type: str = "application/json") -> Completion:
    return read_reply(status, content_type, body)


def refused(body: bytes, status: int = 200, content_type: str = "application/json") -> NotACompletion:
    with pytest.raises(NotACompletion) as caught:
        read(body, status, content_type)
    return caught.value


def test_a_plain_reply_gives_text_and_counts() -> None:
    completion = read(reply(content="B"))
    assert (completion.text, completion.finish_reason) == ("B", "stop")
    assert (completion.prompt_tokens, completion.completion_tokens) == (7, 2)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, (None, None)),
        ({}, (None, None)),
        ({"prompt_tokens": 7180, "total_tokens": 7193}, (7180, None)),
        ({"prompt_tokens": "many", "completion_tokens": -1}, (None, None)),
        ({"prompt_tokens": 1e300, "completion_tokens": 10**12}, (None, None)),
        ({"prompt_tokens": float("inf"), "completion_tokens": 7}, (None, 7)),
        ("free", (None, None)),
    ],
)
def test_a_missing_token_count_is_none_and_never_zero(usage: object, expected: tuple[object, object]) -> None:
    completion = read(reply(content="B", usage=usage))
    assert (completion.prompt_tokens, completion.completion_tokens) == expected


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content", "thinking", "reasoning_details"])
@pytest.mark.parametrize("told", ["so the answer is C", [{"type": "reasoning.text", "text": "so the answer is C"}]])
def test_reasoning_is_read_from_every_field(field: str, told: object) -> None:
    completion = read(reply(content=None, **{field: told}))
    assert (completion.text, completion.reasoning) == ("", "so the answer is C")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        *(("stop", "stop"), ("length", "length"), ("max_tokens", "length"), ("MAX_TOKENS", "length"), ("eos", "eos")),
        *((None, None), ("", None), ({}, None), ("STOP", "STOP"), ("SAFETY", "SAFETY")),
        ({"type": "length", "length": 64}, "length"),
    ],
)
def test_finish_reasons_are_kept_and_cuts_have_one_name(given: object, kept: object) -> None:
    assert read(reply(content="B", finish_reason=given)).finish_reason == kept


@pytest.mark.parametrize(
    "content",
    [["C"], {"type": "text", "text": "C"}, [{"type": "text", "text": {"value": "C", "annotations": []}}]],
)
def test_content_is_read_in_every_form_of_its_parts(content: object) -> None:
    assert read(reply(content=content)).text == "C"


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "The answer"}, {"type": "text", "text": " is B"}, {"type": "other"}]
    assert read(reply(content=parts)).text == "The answer is B"


@pytest.mark.parametrize(
    ("part", "thought"),
    [
        ({"type": "reasoning", "text": "A?"}, "A?"),
        ({"type": "reasoning_text", "text": "A?"}, "A?"),
        ({"type": "thinking", "thinking": "A?"}, "A?"),
        ({"type": "thinking", "thinking": [{"type": "text", "text": "A?"}]}, "A?"),
        ({"type": "reasoning", "summary": [{"type": "summary_text", "text": "A?"}]}, "A?"),
        ({"type": "text", "thought": True, "text": "A?"}, "A?"),
        ({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "A?"}]}, "A?"),
        ({"type": "reasoning_content", "reasoning_content": "A?"}, "A?"),
        ({"type": "THINKING", "thinking": "A?"}, "A?"),
        ({"type": "redacted_thinking", "data": "c2Vr"}, None),
        ({"type": "text", "thought": False, "text": ""}, None),
    ],
)
def test_parts_that_are_thought_are_not_said(part: dict[str, object], thought: str | None) -> None:
    completion = read(reply(content=[part, {"type": "output_text", "text": "C"}]))
    assert (completion.text, completion.reasoning) == ("C", thought)


@pytest.mark.parametrize(
    ("message", "finish_reason"),
    [
        ({"content": None, "refusal": "I can't help with A."}, "refusal"),
        ({"content": [{"type": "refusal", "refusal": "I can't help with A."}]}, "refusal"),
        ({"content": None, "refusal": "I can't help with A.", "finish_reason": "content_filter"}, "content_filter"),
    ],
)
def test_a_refusal_field_is_a_refusal(message: dict[str, object], finish_reason: str) -> None:
    completion = read(reply(**message))
    assert (completion.text, completion.finish_reason) == ("I can't help with A.", finish_reason)


FILTER = {"code": "content_filter", "message": "filtered"}
FILTERED = {"message": None, "finish_reason": "content_filter"}


@pytest.mark.parametrize(
    ("body", "finish_reason"),
    [
        ({"choices": [FILTERED]}, "content_filter"),
        ({"choices": [{"message": None, "finish_reason": "RECITATION"}]}, "RECITATION"),
        ({"choices": [{"message": None, "finish_reason": "MAX_TOKENS"}]}, "length"),
        ({"error": FILTER}, "content_filter"),
        ({"error": FILTER, "choices": [{"message": {"content": "B"}, "finish_reason": "stop"}]}, "content_filter"),
        ({"error": {"message": "stopped"}, "choices": [FILTERED]}, "content_filter"),
        ({"error": {"message": "stopped", "choices": [FILTERED]}}, "content_filter"),
        (
            {"error": {"code": 400, "innererror": {"code": "ResponsibleAIPolicyViolation"}}},
            "ResponsibleAIPolicyViolation",
        ),
    ],
)
def test_a_filter_or_a_limit_without_a_message_is_a_reply_without_text(body: object, finish_reason: str) -> None:
    completion = read(json.dumps(body).encode())
    assert (completion.text, completion.reasoning, completion.finish_reason) == ("", None, finish_reason)


@pytest.mark.parametrize(
    ("word", "status", "retry"),
    [
        ("insufficient_system_resource", "server_error", True),
        ("overloaded", "server_error", True),
        ("error", "bad_response", False),
        ("ABORT", "bad_response", False),
    ],
)
def test_a_reply_that_the_server_gave_up_is_no_answer(word: str, status: str, retry: bool) -> None:
    failure = refused(reply(content="The tram could be", finish_reason=word))
    assert (failure.verdict.status, failure.verdict.retry) == (status, retry)
    assert word in failure.message


def test_tool_calls_without_text_are_no_answer() -> None:
    assert refused(reply(content=None, finish_reason="tool_calls")).verdict.status == "bad_response"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<html><title>Sign in</title></html>", "text/html"),
        (b"<html>", "application/json"),
        (b"", ""),
        (b"[]", "application/json"),
        (b"null", "application/json"),
        (b'{"choices": []}', "application/json"),
        (b'{"choices": null}', "application/json"),
        (b'{"choices": [{"message": null}]}', "application/json"),
        (b'{"choices": [{}]}', "application/json"),
        (b'"B"', "application/json"),
        (b'{"choices": "B"}', "application/json"),
    ],
)
def test_http_200_without_a_completion_is_a_bad_response_that_shows_its_start(body: bytes, content_type: str) -> None:
    failure = refused(body, content_type=content_type)
    assert failure.verdict.status == "bad_response"
    assert not failure.verdict.retry
    assert "HTTP 200" in failure.message
    assert (content_type or "no content type") in failure.message


@pytest.mark.parametrize(
    ("error", "status", "retry"),
    [
        ({"message": "Provider returned error", "code": 429}, "rate_limited", True),
        ({"message": "Provider returned error", "code": "502"}, "server_error", True),
        ({"message": "This model's maximum context length is 2048 tokens.", "code": 400}, "too_long", False),
        ("overloaded", "server_error", True),
        ({"message": "odd", "code": "insufficient_quota"}, "server_error", True),
        ({"message": "odd", "code": 7}, "server_error", True),
    ],
)
def test_an_error_inside_http_200_is_classified_by_its_own_code(error: object, status: str, retry: bool) -> None:
    verdict = refused(json.dumps({"choices": None, "error": error}).encode()).verdict
    assert (verdict.status, verdict.retry) == (status, retry)


@pytest.mark.parametrize(
    "body",
    [
        b'{"choices":[{"message":{"content":"B"},"logprobs":{"x":NaN},"finish_reason":"stop"}]}',
        b'{"choices":[{"message":{"content":"B\\ud800"},"finish_reason":"stop"}]}',
        b'{"choices":[{"message":{"content":"B\xff"},"finish_reason":"stop"}]}',
    ],
)
def test_a_slip_in_the_json_loses_no_answer(body: bytes) -> None:
    completion = read(body)
    assert completion.text.startswith("B")
    completion.text.encode()


def test_deep_nesting_is_a_bad_response() -> None:
    assert refused(b"[" * 100_000).verdict.status == "bad_response"


@pytest.mark.parametrize("half", ["\ud835", "\udc00\ud835"])
@pytest.mark.parametrize("field", ["content", "reasoning"])
def test_half_a_surrogate_pair_is_replaced_by_the_character_that_says_so(half: str, field: str) -> None:
    completion = read(reply(**{"content": "A", field: f"The answer is (B). {half} x \U0001d400"}))
    said = completion.text if field == "content" else completion.reasoning
    assert said == f"The answer is (B). {REPLACED * len(half)} x \U0001d400"

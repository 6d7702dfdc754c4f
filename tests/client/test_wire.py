"""Replies are read as completions or as failures."""

import json
from typing import Any

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
    assert (completion.prompt_tokens, completion.completion_tokens, completion.model) == (7, 2, "")


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, (None, None)),
        ({}, (None, None)),
        ({"prompt_tokens": 7180, "total_tokens": 7193}, (7180, None)),
        ({"prompt_tokens": "many", "completion_tokens": -1}, (None, None)),
        ({"prompt_tokens": 1e300, "completion_tokens": 10**12}, (None, None)),
        ({"prompt_tokens": 10**9, "completion_tokens": 10**9 - 1}, (None, 10**9 - 1)),
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
def test_parts_that_are_reasoning_are_not_the_answer(part: dict[str, object], thought: str | None) -> None:
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


@pytest.mark.parametrize(
    ("body", "finish_reason"),
    [
        ({"choices": [{"message": None, "finish_reason": "RECITATION"}]}, "RECITATION"),
        ({"choices": [{"message": None, "finish_reason": "MAX_TOKENS"}]}, "length"),
        ({"choices": [{"finish_reason": "length"}]}, "length"),
    ],
)
def test_a_filter_or_a_limit_without_a_message_is_a_reply_without_text(body: object, finish_reason: str) -> None:
    completion = read(json.dumps(body).encode())
    assert (completion.text, completion.reasoning, completion.finish_reason) == ("", None, finish_reason)


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("insufficient_system_resource", "server_error"),
        ("overloaded", "server_error"),
        ("error", "bad_response"),
        ("ABORT", "bad_response"),
    ],
)
def test_a_reply_that_the_server_aborted_is_retried(word: str, status: str) -> None:
    failure = refused(reply(content="The tram could be", finish_reason=word))
    assert (failure.verdict.status, failure.verdict.retry) == (status, True)
    assert word in failure.message


def test_tool_calls_without_text_are_not_an_answer() -> None:
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
    assert failure.verdict.retry
    assert "HTTP 200" in failure.message
    assert (content_type or "no content type") in failure.message


@pytest.mark.parametrize(
    ("error", "status", "retry"),
    [
        ({"message": "Provider returned error", "code": 429}, "rate_limited", True),
        ({"message": "Provider returned error", "code": "502"}, "server_error", True),
        ({"message": "This model's maximum context length is 2048 tokens.", "code": 400}, "too_long", False),
        ("overloaded", "server_error", True),
        ({"message": "odd", "code": "insufficient_quota"}, "rejected", False),
        ({"message": "odd", "code": "rate_limit_exceeded"}, "rate_limited", True),
        ({"message": "odd", "status": "RESOURCE_EXHAUSTED"}, "rate_limited", True),
        ({"message": "odd", "code": "model_not_found"}, "rejected", False),
        ({"message": "odd", "type": "authentication_error"}, "rejected", False),
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
        b'{"choices":[{"message":{"content":"B\n"},"finish_reason":"stop"}]}',
        b'{"choices":[{"message":{"content":"B"},"finish_reason":"stop"}]}\0',
        b'data: {"choices":[{"delta":{"content":[{"type":"text","text":"B"}]},"finish_reason":"stop"}]}\n\n',
    ],
)
def test_a_fault_in_the_json_loses_no_answer(body: bytes) -> None:
    completion = read(body)
    assert completion.text.startswith("B")
    completion.text.encode()


ERRORS: list[tuple[object, str]] = [
    ([{"error": {"code": 429, "message": "Resource exhausted"}}], "rate_limited"),
    ([{"error": {"code": 503, "message": "The model is overloaded", "status": "UNAVAILABLE"}}], "server_error"),
    ({"object": "error", "code": 404, "message": "the model m does not exist"}, "rejected"),
    ({"code": 402, "message": "credits"}, "rejected"),
    ({"statusCode": 429, "message": "slow down"}, "rate_limited"),
    ({"error": {"message": "Insufficient credits"}}, "rejected"),
    ({"object": "error", "message": "no"}, "server_error"),
]


@pytest.mark.parametrize(("body", "status"), ERRORS)
@pytest.mark.parametrize("lead", ["", "\ufeff", ": PROCESSING\n\n: PROCESSING\n\n"])
def test_an_error_inside_http_200_is_found_in_every_wrapping(body: object, status: str, lead: str) -> None:
    assert refused(lead.encode() + json.dumps(body).encode()).verdict.status == status


FILTERED: list[tuple[int, object]] = [
    (400, {"error": {"message": "filtered by the content policy", "code": "content_filter"}}),
    (400, {"error": {"message": "no", "code": "content_policy_violation", "type": "invalid_request_error"}}),
    (400, {"error": {"message": "no", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
    (400, {"code": "DataInspectionFailed", "message": "Input data may contain inappropriate content."}),
    (400, {"error": {"code": "data_inspection_failed", "message": "no"}}),
    (400, {"error": {"code": "1301", "message": "系统检测到输入或生成内容可能包含不安全或敏感内容"}}),
    (400, {"error": {"code": "InputImageSensitiveContentDetected", "message": "no"}}),
    (400, {"error": {"message": "Your request was rejected as a result of our safety system."}}),
    (400, {"error": {"message": "Output blocked by content filtering policy"}}),
    (403, {"error": {"code": 403, "message": "no", "metadata": {"raw": '{"error":{"code":"moderation_blocked"}}'}}}),
    (403, {"error": {"message": "m requires moderation and your input was flagged"}}),
    (451, {"error": {"message": "no", "type": "content_policy"}}),
    (500, {"error": {"choices": [{"finish_reason": "content_filter", "message": {"content": None}}]}}),
    (200, {"error": {"message": "filtered", "code": "content_filter"}}),
    (200, {"error": {"choices": [{"finish_reason": "content_filter", "message": {"content": ""}}]}}),
    (200, {"choices": [{"message": None, "finish_reason": "content_filter"}]}),
    (200, {"error": {"code": "content_filter"}, "choices": [{"message": {"content": "B"}, "finish_reason": "stop"}]}),
    (200, {"error": {"message": "stopped"}, "choices": [{"message": None, "finish_reason": "content_filter"}]}),
    (200, {"choices": [{"error": {"code": 403, "message": "flagged by the provider's moderation"}}]}),
    (200, {"choices": [], "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}),
    (200, {"choices": None, "base_resp": {"status_code": 1026, "status_msg": "new_sensitive"}}),
    (400, {"error": {"message": "Content Exists Risk", "type": "invalid_request_error"}}),
    (400, {"error": {"code": "sensitive_words_detected", "message": "no"}}),
    (400, {"message": "blocked output: please try again"}),
    (200, [{"error": {"code": 400, "message": "no", "status": "SAFETY"}}]),
]


@pytest.mark.parametrize(("http_status", "body"), FILTERED)
def test_a_filters_refusal_is_known_in_every_providers_form(http_status: int, body: object) -> None:
    completion = read_reply(http_status, "application/json", json.dumps(body).encode())
    assert (completion.text, completion.finish_reason) == ("", "content_filter")


@pytest.mark.parametrize(
    "message",
    [
        "Your account was flagged for violating our usage policies",
        "This organization has been blocked for safety policy violations",
        "unrecognized request argument: safety_settings",
    ],
)
def test_an_error_about_an_account_or_a_parameter_is_not_a_filters_refusal(message: str) -> None:
    assert refused(json.dumps({"error": {"message": message}}).encode(), 400).verdict.status == "rejected"


GOOD = b'{"choices":[{"message":{"content":"B"},"finish_reason":"stop"}]}'


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbf" + GOOD,
        GOOD.decode().encode("utf-16"),
        b": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n" + GOOD,
        b"\n \r\n\n" + GOOD,
        b": keep-alive\r\n\r\n" + GOOD,
        b"[" + GOOD + b"]",
    ],
    ids=["mark", "utf-16", "comments", "blank lines", "crlf", "list of one"],
)
def test_text_around_the_json_loses_no_answer(body: bytes) -> None:
    assert read(body).text == "B"


@pytest.mark.parametrize("http_status", [200, 201, 203])
def test_every_success_with_a_completion_is_read(http_status: int) -> None:
    assert read_reply(http_status, "application/json", GOOD).text == "B"


def events(*chunks: object, end: str = "data: [DONE]\n\n", between: str = "\n\n") -> bytes:
    said = [f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk)}{between}" for chunk in chunks]
    return ("".join(said) + end).encode()


def delta(content: object = None, finish_reason: str | None = None, **more: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": {"content": content, **more}, "finish_reason": finish_reason}]}


STREAMS = [
    events(delta("It is"), delta(" B"), delta(None, "stop")),
    events(delta("It is"), delta(" B", "stop"), end=""),
    events(delta("It is B", "stop"), end="", between=""),
    events(delta("It is"), delta(" B", "stop")).replace(b"data: ", b"data:"),
    events(delta([{"type": "text", "text": "It is"}]), delta(" B", "stop")),
    events(delta("It is"), delta(" B")),
    b"\xef\xbb\xbf: wait\n\n" + events(delta("", role="assistant"), delta("It is B", "stop"), between="\r\n\r\n"),
    events(delta("It is"), delta(" B", "stop"), between="\n"),
    events({"choices": [{"message": {"content": "It is B"}, "finish_reason": "stop"}]}),
    events(json.dumps(delta("It is B", "stop"), indent=1).replace("\n", "\ndata: ")),
    events(delta("It is B", "stop"), {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}),
]


@pytest.mark.parametrize("body", STREAMS)
def test_a_stream_that_was_not_requested_is_joined(body: bytes) -> None:
    completion = read(body)
    assert completion.text == "It is B"
    assert completion.finish_reason in ("stop", None)


def test_all_fields_of_a_stream_are_read() -> None:
    logprobs = {"content": [{"token": "B", "logprob": -0.1, "top_logprobs": []}]}
    first = {
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": "B"}, "logprobs": logprobs, "finish_reason": "stop"}],
    }
    other = {"choices": [{"index": 1, "delta": {"content": "another choice"}, "finish_reason": "stop"}]}
    usage = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
    completion = read(events(delta(None, reasoning_content="Hm"), first, other, delta(None, "length"), usage))
    assert (completion.text, completion.reasoning, completion.finish_reason) == ("B", "Hm", "length")
    assert (completion.prompt_tokens, completion.completion_tokens, completion.model) == (7, 3, "m")
    assert completion.first_token == {"B": -0.1}
    refusal = read(events(delta(None, refusal="I ca"), delta(None, "stop", refusal="n't.")))
    assert (refusal.text, refusal.finish_reason) == ("I can't.", "refusal")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (events(delta("It is"), end=""), "bad_response"),
        (events({}, end=""), "bad_response"),
        (events("not JSON"), "bad_response"),
        (events(delta("It"), {"error": {"message": "overloaded", "code": 503}}, end=""), "server_error"),
        (events({"error": {"message": "slow down", "code": 429}}, end=""), "rate_limited"),
    ],
)
def test_a_stream_that_was_cut_is_retried(body: bytes, status: str) -> None:
    verdict = refused(body).verdict
    assert (verdict.status, verdict.retry) == (status, True)


def test_deep_nesting_is_a_bad_response() -> None:
    assert refused(b"[" * 100_000).verdict.status == "bad_response"


@pytest.mark.parametrize(("depth", "text"), [(21, "B"), (22, "")])
def test_a_text_inside_too_many_lists_is_not_read(depth: int, text: str) -> None:
    content: Any = "B"
    for _ in range(depth):
        content = [content]
    assert read(reply(content=content)).text == text


@pytest.mark.parametrize("half", ["\ud835", "\udc00\ud835"])
@pytest.mark.parametrize("field", ["content", "reasoning"])
def test_half_a_surrogate_pair_is_replaced_by_the_replacement_character(half: str, field: str) -> None:
    completion = read(reply(**{"content": "A", field: f"The answer is (B). {half} x \U0001d400"}))
    said = completion.text if field == "content" else completion.reasoning
    assert said == f"The answer is (B). {REPLACED * len(half)} x \U0001d400"

"""The table from a server's refusal to the outcome of the question."""

import json

import pytest

from tests.linear_time import RATIO, growth
from vqa_client.client.failures import Verdict, codes_of, error_message, judge, words_of
from vqa_client.client.wire import NotACompletion, read_reply
from vqa_client.types import PERMANENT

TOO_LONG = "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 tokens."
TABLE = [
    *((http_status, TOO_LONG, "too_long", False) for http_status in (200, 400, 413, 422, 500, 501)),
    (400, "Input length (4888) exceeds model's maximum context length (2048).", "too_long", False),
    (
        400,
        "request (5413 tokens) exceeds the available context size (2048 tokens), try increasing it",
        "too_long",
        False,
    ),
    (400, "Protected conversation exceeds the available context budget.", "too_long", False),
    (500, "The prompt is too long for this model", "too_long", False),
    (400, "The input token count (1200000) exceeds the maximum number of tokens allowed.", "too_long", False),
    (400, "Input length 9000 exceeds the maximum length 8192", "too_long", False),
    (400, "The input (9000 tokens) is longer than the model's context length (8192 tokens).", "too_long", False),
    (400, "Please reduce the length of the messages or completion.", "too_long", False),
    (400, "Range of input length should be [1, 30720]", "too_long", False),
    (400, "Could not process image", "bad_image", False),
    (400, "Unable to process input image. Please retry.", "bad_image", False),
    (400, "Provided image is not valid.", "bad_image", False),
    (400, "The image data you provided does not represent a valid image.", "bad_image", False),
    (400, "At least one of the image dimensions exceed max allowed size: 8000 pixels", "bad_image", False),
    (400, "image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes", "bad_image", False),
    (400, "the input image exceeds the maximum size of 20MB", "bad_image", False),
    (400, "The input image size 9000 exceeds the model limit", "bad_image", False),
    (400, "Request has too many input tokens: 9000", "too_long", False),
    (500, "Rate limit: too many tokens per minute (TPM)", "server_error", True),
    (429, "Request too large: reduce the length of the messages", "rate_limited", True),
    (400, "max_tokens=100000 cannot be greater than max_model_len=2048.", "rejected", False),
    (400, "At most 1 image(s) may be provided in one request.", "too_many_images", False),
    (400, "At most 16 image(s) may be provided in one prompt. (parameter=image)", "too_many_images", False),
    (400, "Failed to load image: cannot identify image file <_io.BytesIO object>", "bad_image", False),
    (500, "Generation failed: Failed to load image from data:image/png;base64,aGVs: no", "bad_image", False),
    (500, "An unexpected error occurred: image file is truncated", "bad_image", False),
    (400, "Failed to load image or audio file", "bad_image", False),
    (400, "Non-base64 digit found", "bad_image", False),
    (400, "temperature must be non-negative", "rejected", False),
    (400, "content_filter\nno", "refused", False),
    (451, "responsible_ai_policy_violation\nno", "refused", False),
    (403, "data_inspection_failed\nno", "refused", False),
    (400, "moderation_blocked\nno", "refused", False),
    (400, "prohibited_content\nno", "refused", False),
    (400, "spii\nno", "refused", False),
    (400, "The response was stopped by Azure's content management policy", "refused", False),
    (400, "it may contain inappropriate content", "refused", False),
    (400, "rejected by the safety system", "refused", False),
    (400, "This prompt was flagged under our usage policy", "refused", False),
    (400, "Content Exists Risk", "refused", False),
    (400, "your account was blocked for a violation of our policy", "rejected", False),
    (401, "bad key", "rejected", False),
    (404, "The model `x` does not exist.", "rejected", False),
    (413, "Request Entity Too Large", "rejected", False),
    (422, "validation error", "rejected", False),
    (429, "slow down", "rate_limited", True),
    (500, "EngineDeadError", "server_error", True),
    (501, "data URL not base64", "rejected", False),
    (400, "Failed to load model: Config not found at .", "rejected", False),
    (500, "Cannot load local files without `--allowed-local-media-path`.", "rejected", False),
    (400, "file:// URLs are not allowed unless --media-path is specified", "rejected", False),
    (500, "Generation failed: [metal_kernel] No Metal back-end.", "rejected", False),
    (500, "An unexpected error occurred: Unsupported response_format type: 'yaml'", "rejected", False),
    (500, "Failed to parse messages: type must be string, but is null", "rejected", False),
    (503, "Failed to load model, trying again", "server_error", True),
    (502, "Bad Gateway", "server_error", True),
    (503, "The engine is currently busy and cannot accept new requests.", "server_error", True),
    (504, "Gateway Timeout", "server_error", True),
    (529, "overloaded", "server_error", True),
    (307, "", "rejected", False),
    (402, "Insufficient credits", "rejected", False),
    (407, "Proxy Authentication Required", "rejected", False),
    (451, "Unavailable For Legal Reasons", "rejected", False),
    (429, "You exceeded your current quota, please check your plan and billing details.", "rate_limited", True),
    (500, "upstream authentication service did not answer", "server_error", True),
]

CAUSES = [
    *((http_status, "Invalid API key", "key") for http_status in (200, 400, 402, 403, 404, 422)),
    (400, "API key not valid. Please pass a valid API key.", "key"),
    (400, "INVALID_ARGUMENT\nAPI_KEY_INVALID\nno", "key"),
    (400, "authentication_error\nno", "key"),
    (400, "Incorrect API key provided: sk-1", "key"),
    (401, "no", "key"),
    (402, "no", "credits"),
    (400, "Your credit balance is too low to access the API.", "credits"),
    (403, "insufficient_quota\nno", "credits"),
    (429, "insufficient_quota\nYou exceeded your current quota", "credits"),
    (200, "Insufficient balance", "credits"),
    (400, "The model `m` does not exist or you do not have access to it.", "model"),
    (400, "model_not_found\nno", "model"),
    (400, "m is an unknown model", "model"),
    (404, "The requested model 'm' was not found", "model"),
    (407, "no", "proxy"),
]


@pytest.mark.parametrize(("http_status", "words", "cause"), CAUSES)
def test_the_hint_names_the_cause_and_the_question_is_not_settled(http_status: int, words: str, cause: str) -> None:
    verdict = judge(http_status, words)
    assert (verdict.status, verdict.status in PERMANENT) == ("rejected", False)
    assert cause in verdict.hint


@pytest.mark.parametrize("http_status", range(300, 600))
def test_a_status_without_words_never_settles_a_question(http_status: int) -> None:
    assert judge(http_status, "no").status not in PERMANENT


@pytest.mark.parametrize("word", ["flagged ", "blocked safety ", "model ", "a content ", "api key ", "moderation "])
def test_long_messages_are_judged_quickly(word: str) -> None:
    took = growth(lambda text: judge(400, words_of([], text)), word, 100_000 * len(word), limit=200)
    assert took.ratio < RATIO
    assert took.whole < 200


@pytest.mark.parametrize(("http_status", "message", "status", "retry"), TABLE)
def test_status_and_words_decide_what_a_refusal_means(http_status: int, message: str, status: str, retry: bool) -> None:
    verdict = judge(http_status, message)
    assert (verdict.status, verdict.retry) == (status, retry)


@pytest.mark.parametrize(
    "words",
    [
        *(
            "Loading model",
            "model loading",
            "Model is loading",
            "The model is still being loaded",
            "model loaded later",
        ),
        *("the server is not ready", "not yet ready"),
    ],
)
def test_a_server_that_loads_its_model_is_waited_for(words: str) -> None:
    assert judge(503, words) == Verdict("server_error", retry=True, loading=True)
    assert not judge(500, words).loading
    assert not judge(504, words).loading


WAYS_OUT = [
    (400, TOO_LONG, "raise the server's max-model-len, or send less: --max_pages, --max_pixels"),
    (400, "max_tokens is too large", "lower max_tokens in the config, or raise the server's max-model-len"),
    (400, "output reservation", "lower max_tokens in the config, or raise the server's max-model-len"),
    (400, "too many images", "raise the server's --limit-mm-per-prompt, or use --max_pages"),
    (400, "invalid image", "the server can't decode the image; --image_format png re-encodes it"),
    (400, "image size exceeds it", "the server takes no image of that size: --max_pixels"),
    (401, "no", "the server refuses the key: --api_key or VQA_CLIENT_API_KEY"),
    (402, "no", "the account has no credits left: add some, or use another --api_key"),
    (400, "unknown model", ": --model (vqa2, explain: --model_name) names the one that it serves"),
    (500, "file:// URLs are not allowed", "(vLLM: --allowed-local-media-path): drop --file_urls"),
    (
        500,
        "Unsupported response_format",
        "the server can't constrain a reply to that format: leave response_format out",
    ),
]


@pytest.mark.parametrize(("http_status", "words", "way_out"), WAYS_OUT)
def test_a_refusal_has_a_hint(http_status: int, words: str, way_out: str) -> None:
    assert judge(http_status, words).hint.endswith(way_out)


@pytest.mark.parametrize("http_status", [404, 413])
def test_a_large_body_that_a_gateway_refuses_is_named_with_its_size(http_status: int) -> None:
    assert "8.0 MB" in judge(http_status, "Not Found", 8_000_000).hint
    assert "MB" not in judge(http_status, "Not Found", 1_000).hint


WORDS = "prompt too long"


@pytest.mark.parametrize(
    "body",
    [
        {"object": "error", "message": WORDS, "code": 400},
        {"error": {"message": WORDS}},
        {"error": WORDS},
        {"detail": WORDS},
        {"errors": [], "message": WORDS},
        {"title": WORDS},
        {"error_description": WORDS},
    ],
)
def test_the_servers_message_is_found_in_every_form(body: dict[str, object]) -> None:
    assert error_message(json.dumps(body).encode()) == WORDS


def test_validation_errors_keep_their_locations() -> None:
    body = {"detail": [{"loc": ["body", "max_tokens"], "msg": "not an integer"}, {"loc": ["body", "n"], "msg": "no"}]}
    assert error_message(json.dumps(body).encode()) == "body.max_tokens: not an integer; body.n: no"


def test_the_message_of_a_page_is_its_title_and_plain_text_is_kept() -> None:
    assert (
        error_message(b"<html><head><title> 502 Bad Gateway </title></head><body>x</body></html>") == "502 Bad Gateway"
    )
    assert error_message(b"upstream connect error") == "upstream connect error"
    assert error_message(b"") == ""
    assert error_message(b'\xff {"error": 7}') == '\ufffd {"error": 7}'
    assert error_message(b'{"error": 7}') == '{"error": 7}'


def test_an_echoed_image_is_removed() -> None:
    message = error_message(json.dumps({"detail": f"no: data:image/png;base64,{'QUJD' * 5000}: end"}).encode())
    assert message == "no: data:<image>: end"
    assert error_message(b"QUJD" * 5000) == "<base64>"


def test_a_long_refusal_is_read_to_a_limit_and_judged_by_both_ends() -> None:
    assert len(error_message(b"ab " * 10_000)) == 20_000
    assert judge(400, words_of(["odd", "blocklist"], "no")).status == "refused"
    for start, status in ((0, "too_many_images"), (1_985, "too_many_images"), (1_986, "rejected"), (3_000, "rejected")):
        words, others = "too many images", "x" * start
        for message in ((others + words).ljust(6_000, "x"), (words + others).rjust(6_000, "x")):
            assert judge(400, words_of([], message)).status == status


@pytest.mark.parametrize(("wraps", "found"), [(8, ["x"]), (9, [])])
def test_codes_are_found_at_a_limited_depth(wraps: int, found: list[str]) -> None:
    for wrap in (lambda inner: {"a": inner}, lambda inner: [inner, 0]):
        body: object = {"code": "x"}
        for _ in range(wraps):
            body = wrap(body)
        assert codes_of(json.dumps(body).encode()) == found
    assert codes_of(json.dumps([{"code": str(number)} for number in range(60)]).encode()) == [*map(str, range(50))]
    assert len(codes_of(json.dumps([[{"code": 1}] * 40] * 2).encode())) == 50


CODED = (
    *("code", "type", "status", "reason", "finish_reason", "finishReason", "native_finish_reason", "stop_reason"),
    *("blockReason", "block_reason", "error_code", "errorCode", "err_code", "statusCode", "status_code", "status_msg"),
)


@pytest.mark.parametrize("key", CODED)
def test_a_filters_code_is_known_under_every_providers_key(key: str) -> None:
    body = json.dumps({"error": {"message": "no", key: "content_filter"}})
    assert read_reply(400, "application/json", body.encode()).finish_reason == "content_filter"


NAMED = {"billing_x": 402, "Throttled": 429, "unauthorized": 401, "PermissionDenied": 403, "NotFound": 404}


@pytest.mark.parametrize("code", NAMED)
def test_a_code_in_words_is_judged_as_its_http_status(code: str) -> None:
    with pytest.raises(NotACompletion, match=r"^odd$") as caught:
        read_reply(200, "application/json", json.dumps({"code": code, "message": "odd"}).encode())
    assert caught.value.verdict == judge(NAMED[code], "odd")

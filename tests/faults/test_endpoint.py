"""Replies that are not answers: each gets the right status, and none counts as the model's answer."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.script import Script
from tests.fakes.words import (
    ABSENT,
    COUNTED,
    answer,
    barrier,
    body_of,
    by_question,
    close_without_reply,
    context_limit,
    early_413_while_uploading,
    empty_body,
    error,
    first_n,
    first_n_of_each,
    html,
    http_200_error,
    image_limit,
    json_reply,
    max_body,
    oracle,
    reset,
    text_only_tokens,
    usage_block,
    while_uploading,
)
from tests.faults.questions import Notes, Questions, noise_png

PROVIDER = {"message": "Provider returned error", "code": 502}
KINDS = ("vllm", "mlx-vlm", "llamacpp", "plain")


def said(**choice: Any) -> dict[str, Any]:
    """A choice whose message is empty."""
    return {"index": 0, "message": {"role": "assistant", "content": ""}, **choice}


@pytest.mark.parametrize(
    "play",
    [
        http_200_error(429),
        http_200_error(502),
        json_reply({"choices": None, "error": {"message": "busy", "code": "429"}}),
        json_reply({"choices": [], "error": PROVIDER}),
        json_reply({"error": {"message": "overloaded", "type": "overloaded_error"}}),
        json_reply({"error": "Provider returned error"}),
        json_reply({"id": "x", "error": {"message": "timed out", "status": 504}, "usage": None}),
    ],
)
async def test_an_error_in_the_body_of_a_success_is_asked_again(
    play: Script, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server(first_n_of_each(2, play, oracle(of.replies())))
    records = await of.ask(server)
    assert [(r["status"], r["attempts"], r["score"]) for r in records.values()] == [("ok", 3, 1.0)] * 2
    assert len(server.chats) == 6


@pytest.mark.parametrize(
    "play",
    [
        json_reply({"choices": [said(finish_reason=None)], "error": PROVIDER}),
        json_reply({"choices": [said(finish_reason="error", error=PROVIDER)]}),
        json_reply({"object": "error", "message": "Too many requests", "code": 429}),
        json_reply({"choices": [said(message={"content": "The ans"}, finish_reason="error", error=PROVIDER)]}),
    ],
    ids=["beside_an_empty_choice", "inside_a_choice", "flat", "after_half_a_reply"],
)
async def test_an_error_beside_or_inside_a_choice_is_asked_again(
    play: Script, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    server = fault_server(first_n_of_each(1, play, oracle(of.replies())))
    records = await of.ask(server)
    assert (records["q0"]["status"], records["q0"]["attempts"]) == ("ok", 2)


@pytest.mark.parametrize(
    ("code", "status", "requests"),
    [
        (429, "rate_limited", 3),
        (502, "server_error", 3),
        (400, "rejected", 1),
        (401, "rejected", 1),
        (404, "rejected", 1),
    ],
)
async def test_an_error_in_the_body_of_a_success_ends_as_what_its_code_says(
    code: int, status: str, requests: int, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    server = fault_server(http_200_error(code, "Provider returned error"))
    (record,) = (await of.ask(server, max_retries=2)).values()
    assert (record["status"], record["output"], record["attempts"]) == (status, None, requests)
    assert record["error"]["message"] == "Provider returned error"
    assert len(server.chats) == requests


@pytest.mark.parametrize(
    ("play", "words"),
    [
        (html(200, "Sign in to continue"), ("200", "text/html", "Sign in to continue")),
        (body_of(b"<html><body>It works!</body></html>"), ("200", "application/json", "It works!")),
        (empty_body(200), ("200", "application/json")),
        (body_of(b"null"), ("200", "application/json")),
        (body_of(b"[1, 2]"), ("200", "application/json")),
        (body_of(b'"B"'), ("200", "application/json", "B")),
        (body_of(b'{"choices": [{"message": {"content": "B'), ("200", "application/json", "choices")),
        (body_of(b"OK", content_type="text/plain"), ("200", "text/plain", "OK")),
        (json_reply({"id": "x", "choices": []}), ("200", "no choices")),
        (json_reply({"choices": [{"finish_reason": "stop"}]}), ("200", "no choices")),
        (body_of(b"data: {}\n\n", content_type="text/event-stream"), ("200", "text/event-stream", "data:")),
    ],
)
async def test_a_success_that_is_not_a_completion_is_a_bad_response_that_names_what_was_received(
    play: Script, words: tuple[str, ...], tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    server = fault_server(by_question({"[[q1]]": play}, oracle(of.replies())))
    records = await of.ask(server)
    assert [r["status"] for r in sorted(records.values(), key=lambda r: r["question_id"])] == [
        "ok",
        "bad_response",
        "ok",
    ]
    message = records["q1"]["error"]["message"]
    assert all(word in message for word in words), message
    assert len(message) < 400
    assert (records["q1"]["output"], records["q1"]["score"]) == (None, 0.0)


@pytest.mark.parametrize(
    "glitch",
    [
        empty_body(200),
        empty_body(201),
        empty_body(204),
        json_reply({"choices": []}),
        json_reply({"choices": None}),
        html(200, "One moment"),
        json_reply([{"error": {"code": 429, "message": "Resource exhausted"}}]),
        body_of(b'data: {"choices": [{"delta": {"content": "cut"}}]}\n\n', content_type="text/event-stream"),
    ],
    ids=["empty", "201", "204", "no choices", "null", "page", "429 in a list", "cut stream"],
)
async def test_one_glitch_of_a_success_is_repeated(glitch: Script, tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server(first_n_of_each(1, glitch, oracle(of.replies())))
    records = await of.ask(server, max_retries=2, check=False)
    assert [(r["status"], r["attempts"], r["score"]) for r in records.values()] == [("ok", 2, 1.0)] * 2


@pytest.mark.parametrize("engine", ["direct", "httpx2"])
@pytest.mark.parametrize(
    "lead", [b"\xef\xbb\xbf", b": OPENROUTER PROCESSING\n\n", b"\r\n"], ids=["mark", "comment", "blank line"]
)
async def test_what_stands_before_the_json_is_the_same_to_both_engines(
    lead: bytes, engine: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    body = lead + b'{"choices": [{"message": {"content": "(A)"}, "finish_reason": "stop"}]}'
    (record,) = (await of.ask(fault_server(body_of(body)), engine=engine, check=False)).values()
    assert (record["status"], record["answer"], record["attempts"]) == ("ok", "A", 1)


@pytest.mark.parametrize("status", [500, 502, 503, 504, 520, 408])
@pytest.mark.parametrize("shape", ["html", "text"])
async def test_a_gateways_page_is_a_passing_fault(
    status: int, shape: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    server = fault_server(first_n_of_each(1, error(status, "Bad Gateway", shape=shape), oracle(of.replies())))
    (record,) = (await of.ask(server)).values()
    assert (record["status"], record["attempts"]) == ("ok", 2)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_question_too_long_for_the_server_is_asked_once_and_named(
    kind: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 4)
    of.change("q2", question="[[q2]] " + "word " * 2000)
    server = fault_server(context_limit(300, oracle(of.replies())), kind=kind)
    records = await of.ask(server, model="tiny-vlm")
    assert {name: r["status"] for name, r in records.items() if r["status"] != "ok"} == {"q2": "too_long"}
    assert "max-model-len" in records["q2"]["error"]["hint"]
    assert len(server.chats) == 4
    assert {status: n for status, n in of.report()["status_counts"].items() if n} == {"ok": 3, "too_long": 1}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_document_of_too_many_pages_is_asked_once_and_named(
    kind: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 4, pages=2)
    for name in ("q0", "q1", "q3"):
        of.page(name, 2).unlink()
    server = fault_server(image_limit(1, oracle(of.replies())), kind=kind)
    records = await of.ask(server, model="tiny-vlm")
    assert {name: r["status"] for name, r in records.items() if r["status"] != "ok"} == {"q2": "too_many_images"}
    assert "limit-mm-per-prompt" in records["q2"]["error"]["hint"]
    assert "max_pages" in records["q2"]["error"]["hint"]
    assert len(server.chats) == 4


@pytest.mark.parametrize(
    "shape", ["vllm", "openai", "flat", "nested", "string", "detail", "detail_list", "text", "html"]
)
async def test_an_error_says_the_same_in_every_shape(shape: str, tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 1)
    words = "This model's maximum context length is 16384 tokens & you asked for more."
    server = fault_server(error(400, words, shape=shape))
    (record,) = (await of.ask(server)).values()
    message = record["error"]["message"].replace("&amp;", "&").replace("&#x27;", "'")
    assert message.removeprefix("body.messages: ") == words
    assert (record["status"], record["error"]["http_status"], len(server.chats)) == ("too_long", 400, 1)


async def test_an_error_pages_title_is_read_as_a_browser_reads_it(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 1)
    server = fault_server(error(400, "model's limit & more", shape="html"))
    (record,) = (await of.ask(server)).values()
    assert record["error"]["message"] == "model's limit & more"


async def test_the_body_of_an_error_is_kept_beside_its_message(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 1)
    server = fault_server(error(400, "no", shape="openai", param="messages[0]", code="odd_code"))
    (record,) = (await of.ask(server)).values()
    assert record["error"]["message"] == "no"
    assert "odd_code" in record["error"]["body"]
    assert "messages[0]" in record["error"]["body"]


async def test_an_endless_error_is_cut_and_never_brings_the_image_back(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    of.page("q0").write_bytes(noise_png(100, 100))
    server = fault_server(lambda received: error(400, f"bad {received.images[0].url} " + "and so on " * 10_000))
    (record,) = (await of.ask(server)).values()
    assert record["error"]["message"].startswith("bad data:<image> and so on")
    assert len(json.dumps(record["error"])) < 5_000
    assert len(of.lines()[0]) < 10_000


@pytest.mark.parametrize(
    ("script", "most_requests"),
    [
        (max_body(1 << 20, error(404, "Not Found")), 1),
        (max_body(1 << 20, html(413, "413 Request Entity Too Large")), 1),
        (max_body(1 << 20, error(400, "Invalid request")), 1),
        (early_413_while_uploading(1 << 20), 1),
        (early_413_while_uploading(1 << 20, reads_on=False), 3),  # the reset may overtake the 413
        (while_uploading(1 << 20, reset()), 3),  # the first of them on a connection that might be stale
        (while_uploading(1 << 20, close_without_reply()), 3),
    ],
    ids=["404", "413", "400", "early_413", "early_413_and_reset", "reset", "closed"],
)
async def test_a_body_too_large_for_a_gateway_is_reported_and_not_sent_forever(
    script: Any, most_requests: int, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    of.page("q1").write_bytes(noise_png(700, 600))
    server = fault_server(script)
    records = await of.ask(server, max_workers=1)
    assert [records[name]["status"] for name in of.ids] == ["ok", "rejected", "ok"]
    failed = records["q1"]
    assert failed["request_bytes"] > 1 << 20
    assert "1.7 MB" in failed["error"]["message"] + failed["error"]["hint"]
    assert "max_pixels" in failed["error"]["hint"].replace("-", "_")
    assert len(server.chats) <= 2 + most_requests


async def test_a_large_body_is_not_sent_once_for_each_idle_connection(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 9)
    of.page("q8").write_bytes(noise_png(700, 600))
    server = fault_server(while_uploading(1 << 20, reset(), then=first_n(8, (barrier(8), "B"), then="B")))
    records = await of.ask(server, max_workers=8)
    assert records["q8"]["status"] == "rejected"
    assert len(server.chats) <= 8 + 2 * 2  # twice, each time on an idle connection and on a fresh one


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (ABSENT, (None, None)),
        (None, (None, None)),
        ({}, (None, None)),
        ({"prompt_tokens": 7180, "total_tokens": 7193}, (7180, None)),
        ({"prompt_tokens": None, "completion_tokens": 13}, (None, 13)),
        ({"prompt_tokens": "many", "completion_tokens": -1}, (None, None)),
        ([7180, 13], (None, None)),
        (usage_block(0, 0), (0, 0)),
    ],
)
async def test_token_counts_that_a_server_leaves_out_are_unknown_and_not_zero(
    usage: Any, tokens: tuple[int | None, int | None], tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server(by_question({"[[q0]]": answer("A", usage=usage)}, answer("B", usage=usage_block(100, 10))))
    records = await of.ask(server)
    assert records["q0"]["status"] == "ok"
    assert (records["q0"]["prompt_tokens"], records["q0"]["completion_tokens"]) == tokens
    report = of.report()
    for name, known, other in zip(("prompt_tokens", "completion_tokens"), tokens, (100, 10), strict=True):
        assert report[name] == {"total": other + (known or 0), "n": 1 + (known is not None)}


@pytest.mark.parametrize("finish_reason", [None, "", ABSENT])
async def test_a_reply_without_a_finish_reason_is_kept_and_none_is_invented(
    finish_reason: Any, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    server = fault_server(answer("A", finish_reason=finish_reason))
    (record,) = (await of.ask(server)).values()
    assert (record["status"], record["answer"], record["finish_reason"]) == ("ok", "A", None)
    assert of.report()["results"][0]["finish_reason"] is None


@pytest.mark.parametrize("word", ["length", "max_tokens", "max_output_tokens", "model_length"])
async def test_every_word_for_a_cut_reply_counts_as_cut(word: str, tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    script = by_question(
        {"[[q0]]": answer("The axis shows that", finish_reason=word)}, answer("B", finish_reason="eos")
    )
    records = await of.ask(fault_server(script))
    assert (records["q0"]["status"], records["q1"]["status"]) == ("truncated", "ok")
    report = of.report()
    assert (report["n_truncated"], report["without_truncated"]["n"]) == (1, 1)


@pytest.mark.parametrize("word", ["tool_calls", "function_call", "error", "abort"])
async def test_a_reply_of_no_text_that_did_not_stop_by_itself_is_a_bad_response(
    word: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    server = fault_server(answer(None, finish_reason=word, message={"tool_calls": [call]}))
    (record,) = (await of.ask(server)).values()
    assert (record["status"], record["answer"]) == ("bad_response", None)
    assert word in record["error"]["message"]


@pytest.mark.parametrize(("usage", "doubts"), [(text_only_tokens, 1), (COUNTED, 0), (None, 0)])
async def test_a_server_that_never_looks_at_the_images_is_doubted_once(
    usage: Any, doubts: int, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 8, pages=3)
    notes = Notes()
    await of.ask(fault_server(answer("B", usage=usage)), progress=notes)
    assert len(notes.about("token", "see images")) == doubts

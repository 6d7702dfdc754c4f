"""`--stream`: the same records, with the time to the first token; a broken stream is a failed attempt."""

import json
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.words import (
    answer,
    body_of,
    chunked,
    close_mid_body,
    connection_close,
    first_n_of_each,
    trickle,
    until_close,
)
from tests.faults.questions import Notes, Questions
from vqa_client.client.streamed import first_text_end
from vqa_client.evaluation import arun

FIRST = {"model": "tiny-vlm", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
USAGE = {"choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 4}}


def said(text: str, finish_reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish_reason}]}


def stream(*chunks: dict[str, Any], done: bool = True) -> bytes:
    events = [json.dumps(chunk) for chunk in chunks] + ["[DONE]"] * done
    return "".join(f"data: {event}\n\n" for event in events).encode()


WHOLE = stream(FIRST, said("The answer"), said(" is"), said(" B"), said("", "stop"), USAGE)
CUT = stream(FIRST, said("The answer"), done=False)
EVENTS = "text/event-stream"


@pytest.mark.parametrize("engine", ["direct", "httpx2"])
async def test_a_stream_gives_the_same_record_and_the_time_to_its_first_token(
    engine: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of, plain = Questions(tmp_path / "a", 3), Questions(tmp_path / "b", 3)
    server = fault_server((trickle(len(WHOLE) // 8, 0.02), body_of(WHOLE, content_type=EVENTS)))
    notes = Notes()
    await arun(of.settings(server.base_url, stream=True, engine=engine, check=False), progress=notes)
    assert all(chat.json["stream"] is True for chat in server.chats[-3:])
    usage = {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34}
    await plain.ask(fault_server(answer("The answer is B", usage=usage)))
    times = ("latency_s", "request_bytes", "ttft_s", "crc", "image_stamps", "run")  # the log's first line names the run
    both = [sorted(each.records(), key=itemgetter("question_id")) for each in (of, plain)]
    runs = [[record.pop("run") for record in records if "run" in record] for records in both]  # whichever came first
    assert runs[0] == runs[1]
    for record, other in zip(*both, strict=True):
        assert 0.04 < record["ttft_s"] < record["latency_s"]  # the first token is in the third piece
        assert {k: v for k, v in record.items() if k not in times} == {k: v for k, v in other.items() if k not in times}
    start = of.run_file()["sessions"][0]
    assert start["ttft_s"]["median"] > 0.04
    assert start["reply_tokens_per_s"]["median"] > 0
    assert [name for name in plain.run_file()["sessions"][0] if "ttft" in name or "per_s" in name] == []
    assert notes.about("time to the first token: 0.")
    assert of.run_file()["identity"] == plain.run_file()["identity"]


@pytest.mark.parametrize(
    "broken",
    [
        (body_of(CUT, content_type=EVENTS),),
        (until_close(), body_of(CUT, content_type=EVENTS)),
        (connection_close(), body_of(CUT, content_type=EVENTS)),
        (chunked(), close_mid_body(), body_of(WHOLE, content_type=EVENTS)),
        (body_of(stream(FIRST, {"error": {"message": "engine died", "code": 500}}), content_type=EVENTS),),
    ],
)
async def test_a_broken_stream_is_requested_again(
    broken: Sequence[Any], tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server(first_n_of_each(1, broken, then=body_of(WHOLE, content_type=EVENTS)))
    records = await of.ask(server, stream=True, check=False)
    assert [(record["status"], record["output"], record["attempts"]) for record in records.values()] == [
        ("ok", "The answer is B", 2)
    ] * 2


@pytest.mark.parametrize(
    ("body", "end"),
    [
        (WHOLE, WHOLE.index(b"answer") + len(b'answer"}, "finish_reason": null}]}')),
        (stream(FIRST, {"choices": [{"delta": {"reasoning_content": "Hm"}}]}), -len(b"\n\ndata: [DONE]\n\n")),
        (b'data:{"choices":[{"delta":{"content":"B"}}]}\r\n\r\n', -3),
        (b": comment\n\ndata: not JSON\n\ndata: [1]\n\n", None),
        (b'{"choices": [{"message": {"content": "B"}}]}', None),
        (b"", None),
    ],
)
def test_the_first_token_is_where_the_first_text_ends(body: bytes, end: int | None) -> None:
    assert first_text_end(body) == (None if end is None else end % len(body))

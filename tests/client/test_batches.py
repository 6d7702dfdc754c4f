"""A server that answers in batches: an error in one question fails its batch, and finally only that question."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

import vqa_client
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import oracle
from tests.runs.sample import Sample
from vqa_client.client.body import Dialect
from vqa_client.client.chat import ChatClient
from vqa_client.client.endpoint import Endpoint, headers_for
from vqa_client.client.limits import BatchGate, Outage, Patience
from vqa_client.client.retry import Limits
from vqa_client.client.routes import Route, Routes
from vqa_client.errors import QuestionFailed
from vqa_client.model_config import ModelSettings
from vqa_client.types import Request

POISON = "Failed to load image from data:image/png"


class Batches:
    """Answers the requests of a short moment together, with the temperature of the first one."""

    def __init__(self) -> None:
        self.batches: list[list[dict[str, Any]]] = []
        self._open: list[tuple[dict[str, Any], asyncio.Future[httpx2.Response]]] = []

    async def handle(self, request: httpx2.Request) -> httpx2.Response:
        answered: asyncio.Future[httpx2.Response] = asyncio.get_running_loop().create_future()
        self._open.append((json.loads(await request.aread()), answered))
        if len(self._open) == 1:
            asyncio.get_running_loop().call_later(0.01, self._answer)
        return await answered

    def _answer(self) -> None:
        batch, self._open = self._open, []
        self.batches.append([asked for asked, _ in batch])
        fails = any("poison" in _text(asked) for asked, _ in batch)
        for asked, answered in batch:
            said = {"choices": [{"message": {"content": _text(asked)}, "finish_reason": "stop"}]}
            answered.set_result(
                httpx2.Response(500, json={"detail": f"Generation failed: {POISON}"})
                if fails
                else httpx2.Response(200, json=said)
            )

    def client(self, *, max_retries: int = 2) -> ChatClient:
        base = httpx2.URL("http://server/v1")
        route = Route(Endpoint(base, httpx2.MockTransport(self.handle), headers_for(base, None)))
        route.gate = BatchGate()
        return ChatClient(
            Routes([route], outage=Outage(_never, Patience(1.0))),
            ModelSettings(model_name="m", max_tokens=9, temperature=0.0, timeout=5.0),
            limits=Limits(max_retries, 5.0, 1.0),
            note=print,
            dialect=Dialect(),
        )


def _text(asked: dict[str, Any]) -> str:
    return str(asked["messages"][0]["content"][-1]["text"])


async def _never(patience_s: float) -> None:
    raise AssertionError("the server was there")


async def _outcome(client: ChatClient, request: Request) -> str:
    try:
        return (await client.complete(request)).text
    except QuestionFailed as failed:
        return failed.status


async def test_only_the_question_with_the_error_fails() -> None:
    server = Batches()
    client = server.client()
    asked = [f"q{number}" for number in range(12)]
    asked[5] = "poison"
    said = await asyncio.gather(*(_outcome(client, Request(content=(text,))) for text in asked))
    assert said == [text if text != "poison" else "bad_image" for text in asked]
    guilty = [batch for batch in server.batches if "poison" in map(_text, batch)]
    assert [len(batch) for batch in guilty] == [12, 1]


async def test_requests_with_different_fields_never_share_a_batch() -> None:
    server = Batches()
    client = server.client()
    requests = [Request(content=(f"q{n}",), parameters={"logprobs": True} if n % 3 else {}) for n in range(30)]
    said = await asyncio.gather(*(_outcome(client, request) for request in requests))
    assert said == [f"q{n}" for n in range(30)]
    assert all(len({"logprobs" in asked for asked in batch}) == 1 for batch in server.batches)
    assert sum(map(len, server.batches)) == 30


@pytest.mark.parametrize(("kind", "together"), [("mlx-vlm", True), ("vllm", False)])
async def test_a_server_that_answers_in_batches_is_known_by_its_header(
    kind: str, together: bool, tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[BatchGate] = []

    class Counted(BatchGate):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr("vqa_client.client.servers.BatchGate", Counted)
    of = Sample(tmp_path, 4)
    server = fault_server(oracle(of.replies()), kind=kind)
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    assert report.summary.overall.correct == 4
    assert bool(made) is together

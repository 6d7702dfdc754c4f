"""Every recorded reply of three real servers, sent over a socket to the client of a run."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.script import Reply, Script
from tests.fakes.server import FaultServer
from tests.fakes.words import chunked, close_without_reply
from tests.servers.recorded import EXPECTED, Expected, Failed, Said
from vqa_client.client.chat import ChatClient
from vqa_client.client.session import open_session
from vqa_client.errors import QuestionFailed
from vqa_client.model_config import ModelSettings
from vqa_client.settings.run import RunSettings
from vqa_client.types import Request

WIRE = Path(__file__).parents[3] / "shared" / "data" / "wire"
NO_REPLIES = frozenset({"_summary", "concurrency"})
OF_THE_CONNECTION = frozenset({"connection", "content-length", "date", "keep-alive", "server", "transfer-encoding"})
SAMPLES = [(folder, probe) for folder, probes in EXPECTED.items() for probe in probes]

pytestmark = pytest.mark.skipif(not WIRE.is_dir(), reason="the samples of real servers' replies are not here")


def response_of(folder: str, probe: str) -> dict[str, Any]:
    response: dict[str, Any] = json.loads((WIRE / folder / f"{probe}.json").read_text("utf-8"))["response"]
    return response


def body_of(response: dict[str, Any]) -> bytes:
    """The bytes of a body that was recorded as JSON, as text, or as the lines of a stream."""
    body = response.get("body", "".join(f"{event['line']}\n\n" for event in response.get("events", ())))
    if "events" in response and not body.startswith("data:"):
        body = body.strip()
    return (body if isinstance(body, str) else json.dumps(body)).encode()


def replayed(response: dict[str, Any]) -> Script:
    """The reply as the server sent it, chunked if it was chunked."""
    if response["status"] is None:
        return close_without_reply()
    headers = {name.lower(): value for name, value in response["headers"].items()}
    own = tuple((name, value) for name, value in headers.items() if name not in OF_THE_CONNECTION)
    reply = Reply(status=response["status"], body=body_of(response), headers=own)
    return (chunked(64), reply) if "transfer-encoding" in headers else reply


def words_of(body: Any) -> str:
    """The server's error message, from the three places where these servers put it."""
    if not isinstance(body, dict):
        return ""
    error = body.get("error") or body.get("detail")
    words = error.get("message") if isinstance(error, dict) else error
    return words if isinstance(words, str) else ""


@asynccontextmanager
async def asker(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ChatClient]:
    """The client of a run that retries once."""
    monkeypatch.setattr("vqa_client.client.retry.BASE_S", 0.001)
    monkeypatch.setattr("vqa_client.client.servers.FIRST_LOOK_S", 0.01)
    settings = RunSettings(base_url=server.base_url, api_key=None, max_retries=1, wait_for_server=5.0)
    model = ModelSettings(model_name="tiny-vlm", max_tokens=16, timeout=10.0)
    async with open_session(settings, model, note=lambda text: None) as session:
        yield session.chat


async def outcome(chat: ChatClient) -> tuple[Expected, QuestionFailed | None]:
    try:
        heard = await chat.complete(Request(content=("what color is the shape?",)))
    except QuestionFailed as failed:
        return Failed(failed.status, failed.hint or "", failed.attempts), failed
    counts = heard.prompt_tokens, heard.completion_tokens
    return Said(heard.text, *counts, heard.finish_reason, heard.reasoning), None  # type: ignore[arg-type]


@pytest.mark.parametrize(("folder", "probe"), SAMPLES)
async def test_a_recorded_reply_has_its_expected_outcome(
    folder: str, probe: str, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, response = EXPECTED[folder][probe], response_of(folder, probe)
    async with asker(fault_server(replayed(response)), monkeypatch) as chat:
        found, failed = await outcome(chat)
    if isinstance(expected, Failed) and isinstance(found, Failed) and expected.hint in found.hint:
        found = found._replace(hint=expected.hint)
    assert found == expected
    if failed is not None:
        check_the_servers_words(failed, response)


def check_the_servers_words(failed: QuestionFailed, response: dict[str, Any]) -> None:
    """A failure has the server's message and HTTP status, and no part of an image that the server echoed."""
    if response["status"] is None:
        return
    assert failed.http_status == response["status"]
    said = words_of(response.get("body"))
    assert without_image(said)[:1500] in str(failed)
    assert re.search(r"[A-Za-z0-9+/]{400}|;base64,\w", f"{failed} {failed.body}") is None


def without_image(words: str) -> str:
    """The words before an image: the client replaces the image."""
    return words.partition("data:")[0]


def test_the_table_has_every_sample() -> None:
    recorded = {(path.parent.name, path.stem) for path in WIRE.glob("*/*.json") if path.stem not in NO_REPLIES}
    assert recorded == set(SAMPLES)

"""`--engine openai`: the SDK signs requests; bodies, statuses, attempts and records equal the direct engine's."""

import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.script import Reply, Script
from tests.fakes.words import answer, close_without_reply, error, hang, html, only_path
from tests.faults.questions import Questions
from vqa_client.client.body import Body, Upload
from vqa_client.client.messages import Target
from vqa_client.client.sdk import SdkTransport
from vqa_client.client.url import written_forms
from vqa_client.errors import ServerUnusable, UsageError

FILTERED = "Your request was rejected by the content filter."
REPLIES: dict[str, tuple[Script, str]] = {
    "an answer": (answer("B"), "ok"),
    "429": (error(429, "Slow down"), "rate_limited"),
    "500": (error(500, "Broken"), "server_error"),
    "a refusal": (error(400, FILTERED, shape="openai", code="content_filter"), "refused"),
    "too long": (error(400, "This model's maximum context length is 10 tokens.", shape="openai"), "too_long"),
    "no reply": (hang(), "timeout"),
    "a closed connection": (close_without_reply(), "connection"),
    "a page": (html(200), "bad_response"),
}
OF_THE_MOMENT = {"latency_s", "crc"}


@pytest.mark.parametrize(("play", "status"), REPLIES.values(), ids=REPLIES)
async def test_bodies_statuses_and_records_equal_those_of_the_direct_engine(
    play: Script, status: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1, pages=2)
    server = fault_server(play)
    found, bodies = [], []
    for engine in ("direct", "openai"):
        of.output, before = tmp_path / engine, len(server.chats)
        given: dict[str, Any] = {"max_retries": 1, "check": False, "model": "tiny-vlm"}
        given["timeout"] = 1.0 if status == "timeout" else 60.0
        [record] = (await of.ask(server, engine=engine, api_key="of-me", **given)).values()
        if record["status"] == "connection":
            del record["error"]["message"]  # httpx2 words it differently
        found.append({key: value for key, value in record.items() if key not in OF_THE_MOMENT})
        bodies.append([chat.body for chat in server.chats[before:]])
        assert {chat.headers["authorization"] for chat in server.chats[before:]} == {"Bearer of-me"}
        assert not [chat for chat in server.chats[before:] if "transfer-encoding" in chat.headers]
    assert (found[1]["status"], bodies[1]) == (status, bodies[0])
    assert found[1] == found[0]


SIGNED: dict[str, tuple[str, dict[str, Any], dict[str, str | None]]] = {
    "no key": ("/v1", {}, {"authorization": None, "api-key": None}),
    "a header": ("/v1", {"header": ("api-key=mine",)}, {"authorization": None, "api-key": "mine"}),
    "a deployment": ("/openai/deployments/x", {"api_key": "of-me"}, {"authorization": None, "api-key": "of-me"}),
    "a login": ("/openai/deployments/x", {}, {"authorization": "Bearer token-of-login", "api-key": None}),
}


@pytest.fixture
def _login(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fake azure-identity."""

    class DefaultAzureCredential:
        async def close(self) -> None:
            pass

    async def token() -> str:
        if os.environ.get("LOGIN") == "fails":
            raise RuntimeError("\nlogged out\nfor long")
        return "token-of-login"

    def provider(credential: Any, scope: str) -> Any:
        assert scope == "https://cognitiveservices.azure.com/.default"
        return token

    module: Any = ModuleType("azure.identity.aio")
    module.DefaultAzureCredential = DefaultAzureCredential
    module.get_bearer_token_provider = provider
    monkeypatch.setitem(sys.modules, "azure.identity.aio", module)
    for name in ("azure", "azure.identity"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for name in ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


FOUND_KEY = 'of/azure+"9=='
ECHOES: dict[str, tuple[int, str]] = {
    "an answer's error": (200, json.dumps({"error": {"message": f"bad credentials: Bearer {FOUND_KEY}"}})),
    "in JSON": (401, json.dumps({"error": {"message": f"not {FOUND_KEY}"}})),
    "in JSON with escaped slashes": (401, json.dumps({"error": {"message": f"not {FOUND_KEY}"}}).replace("/", "\\/")),
    "in an address": (401, f"not ?key={quote(FOUND_KEY, safe='')}"),
    "in an address with slashes": (403, f"not ?key={quote(FOUND_KEY)}"),
    "as it is": (500, f"not {FOUND_KEY}"),
    "in a redirection": (302, f"https://other/?k={quote(FOUND_KEY, safe='')}"),
}


@pytest.mark.usefixtures("_login")
@pytest.mark.parametrize(("status", "echo"), ECHOES.values(), ids=ECHOES)
async def test_a_key_that_the_sdk_finds_is_removed_from_replies(
    status: int, echo: str, tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", FOUND_KEY)
    of, path = Questions(tmp_path, 1), "/openai/deployments/x"
    reply = Reply(status=status, body=echo.encode(), headers=(("location", echo),) if status == 302 else ())
    server = fault_server(only_path(f"{path}/chat/completions", then=reply))
    base_url = f"{server.origin}{path}?api-version=2024-10-21"
    given: dict[str, Any] = {"engine": "openai", "check": False, "model": "tiny-vlm", "max_retries": 0}
    try:
        [record] = (await of.ask(base_url, **given)).values()
        told = json.dumps(record)
    except ServerUnusable as error:
        told = f"{error} {error.hint}"
    assert server.chats[0].headers["api-key"] == FOUND_KEY
    assert "<key>" in told, told
    assert not [form for form in written_forms([FOUND_KEY]) if form in told or json.dumps(form)[1:-1] in told]


@pytest.mark.usefixtures("_login")
@pytest.mark.parametrize(("path", "given", "sent"), SIGNED.values(), ids=SIGNED)
async def test_each_cloud_gets_the_key_in_its_form_and_no_record_contains_it(
    path: str, given: dict[str, Any], sent: dict[str, str | None], tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)

    def echoes(received: Received) -> Script:
        return error(400, f"not {received.headers.get('authorization')} {received.headers.get('api-key')}")

    server = fault_server(only_path(f"{path}/chat/completions", then=echoes))
    base_url = f"{server.origin}{path}?api-version=2024-10-21"
    [record] = (await of.ask(base_url, engine="openai", check=False, model="tiny-vlm", **given)).values()
    [chat] = server.chats
    assert {name: chat.headers.get(name) for name in sent} == sent
    assert chat.path == f"{path}/chat/completions?api-version=2024-10-21"
    assert record["status"] == "rejected"
    written = b"".join(file.read_bytes() for file in of.output.iterdir())
    assert not [value for value in sent.values() if value and value.rpartition(" ")[2].encode() in written]


async def test_bedrock_is_signed_by_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "of-aws")
    seen: list[httpx2.Request] = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(403, content=b"not of-aws")

    base = httpx2.URL("https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1")
    async with SdkTransport(base, httpx2.MockTransport(reply), None, signed=False) as transport:
        target = Target("POST", base.copy_with(path="/openai/v1/chat/completions"), [])
        upload = Upload(Body([b'{"a"', b":1}"]), lambda: None)
        response = await transport.handle_async_request(target.request(upload, 5))
    assert (seen[0].headers["authorization"], seen[0].content) == ("Bearer of-aws", b'{"a":1}')
    assert (response.status_code, response.content) == (403, b"not <key>")


@pytest.mark.usefixtures("_login")
async def test_a_login_that_gives_no_token_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGIN", "fails")
    base = httpx2.URL("https://x.openai.azure.com/openai/v1")
    async with SdkTransport(base, httpx2.MockTransport(lambda _: httpx2.Response(200)), None, signed=False) as wire:
        with pytest.raises(httpx2.ConnectError, match=r"^the login gave no token: logged out$"):
            await wire.handle_async_request(httpx2.Request("GET", f"{base}/models"))


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1", "--api_key, or the cloud's own login"),
        ("https://gateway/openai/deployments/x", "add ?api-version=2024-10-21 to it, quoted"),
    ],
)
def test_what_the_sdk_lacks_for_an_address_is_named(address: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "OPENAI_API_VERSION"):
        monkeypatch.delenv(name, raising=False)
    key = "k" if "gateway" in address else None
    monkeypatch.setitem(sys.modules, "botocore", None)  # AWS's own login
    with pytest.raises(UsageError, match=r"^--engine openai: \S") as caught:
        SdkTransport(httpx2.URL(address), httpx2.MockTransport(lambda _: httpx2.Response(200)), key, signed=False)
    assert caught.value.hint == hint


async def test_a_missing_package_or_login_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    of = Questions(tmp_path, 1)
    with pytest.raises(UsageError) as caught:
        await of.ask("https://x.openai.azure.com", engine="openai")
    assert str(caught.value) == "--engine openai: the address needs a key or a login"
    assert caught.value.hint == "--api_key, or a login: pip install azure-identity aiohttp"
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(UsageError) as caught:
        await of.ask("http://127.0.0.1:9/v1", engine="openai")
    assert str(caught.value) == "--engine openai needs the openai package"
    assert "vqa-client[openai]" in caught.value.hint

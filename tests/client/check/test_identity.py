"""A server's kind, version, models and context length, and its address."""

import asyncio
import socket
from typing import Any

import httpx2
import pytest

from tests.client.check.playing import endpoint_playing, refused, said
from vqa_client.client.check.examine import (
    Connected,
    connections_finding,
    forms_finding,
    other_form,
    proxy_finding,
    try_connections,
)
from vqa_client.client.probe import Served, wait_for_server
from vqa_client.client.probing.findings import Finding
from vqa_client.client.probing.identity import Evidence, identity_findings, kind_of


def found(name: str, *, model: str = "m", max_tokens: int = 64, **evidence: Any) -> Finding:
    every = identity_findings(said("B"), Evidence(**evidence), model, max_tokens)
    return next(finding for finding in every if finding.name == name)


@pytest.mark.parametrize(
    ("owner", "kind"),
    [
        *(("vllm", "vllm"), ("sglang", "sglang"), ("lmdeploy", "lmdeploy"), ("llamacpp", "llama.cpp")),
        *(("library", "ollama"), ("vqa-client", "page-reader"), ("me", "unknown")),
    ],
)
def test_a_server_without_a_header_is_known_by_its_model_card(owner: str, kind: str) -> None:
    cards = ({"id": "m", "owned_by": owner},)
    for version, kept in (("1.2", "1.2"), (7, None)):
        assert kind_of(said("B"), Evidence(cards=cards, version={"version": version})) == (kind, kept)


@pytest.mark.parametrize(
    ("cards", "loaded", "tokens"),
    [
        ([], None, None),
        ([{"id": "a", "max_model_len": 8}], "a", 8),
        ([{"id": "a", "max_model_len": 8}, {"id": "b"}], None, None),
        ([{"id": "a", "max_model_len": 8}, {"id": "b", "max_model_len": 9, "loaded": True}], "b", 9),
        ([{"id": "a", "max_model_len": 8, "root": "r"}, {"id": "second name", "root": "r"}], "a", 8),
        ([{"id": "adapter", "parent": "a", "root": "x"}, {"id": "a", "max_model_len": 8}], "a", 8),
    ],
)
def test_the_models_that_a_server_lists_may_show_which_it_serves(
    cards: list[dict[str, Any]], loaded: str | None, tokens: int | None
) -> None:
    served = Served(base=httpx2.URL("http://h/v1"), cards=tuple(cards))
    assert (served.loaded, served.context_length, served.in_batches) == (loaded, tokens, False)
    assert served.models == tuple(card["id"] for card in cards)


async def test_a_server_that_is_waited_for_is_noted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqa_client.client.probe.POLL_S", 0.001)
    refused, notes = iter((True, True, True)), list[str]()

    def play(_: dict[str, Any], request: httpx2.Request) -> httpx2.Response:
        if next(refused, False):
            raise httpx2.ConnectError("refused")
        return httpx2.Response(200, json={"data": [{"id": "m"}]})

    endpoint = endpoint_playing(play)
    served = await wait_for_server(endpoint, [endpoint.base], patience_s=60, note=notes.append, model_is_named=True)
    assert served.models == ("m",)
    assert notes == ["waiting up to 60 s for http://server/v1: nothing listens on server:80"]


@pytest.mark.parametrize(("loaded", "level"), [("b", "warning"), ("", "ok"), (7, "ok"), (["b"], "ok")])
def test_the_health_of_a_server_may_name_the_loaded_model(loaded: object, level: str) -> None:
    assert found("models", cards=({"id": "m"},), health={"loaded_model": loaded}).level == level


def test_a_model_that_is_not_listed_is_a_warning() -> None:
    listed = found("models", model="x", cards=({"id": "y"},))
    assert (listed.level, listed.text) == ("warning", "lists y, and not x")
    assert listed.hint == "name a listed one with --model, or start the server with this served-model-name"
    shown = [found("models", model="1", cards=tuple({"id": str(number)} for number in range(n))).text for n in (5, 6)]
    assert shown == ["0, 1, 2, 3, 4", "0, 1, 2, 3, 4, ..."]
    assert found("models").text == "none listed"


def test_the_hint_names_the_loaded_model() -> None:
    cards = ({"id": "a", "loaded": False}, {"id": "b", "loaded": True})
    assert found("models", model="b", cards=cards).level == "ok"
    other = found("models", model="a", cards=cards)
    assert (other.level, other.text) == ("warning", "b is loaded; a is not")
    assert other.hint == "unknown loads another model for any request that names one, and drops this one: name b"
    assert found("models", model="b", cards=cards[1:]).text == "b (loaded)"


@pytest.mark.parametrize(
    ("card", "health", "max_tokens", "level", "value"),
    [
        ({"max_model_len": 2048}, {}, 64, "ok", 2048),
        ({"meta": {"n_ctx": 4096}}, {}, 64, "ok", 4096),
        ({}, {"effective_context_limit": None, "loaded_context_size": 512}, 64, "ok", 512),
        ({"max_model_len": 0}, {"effective_context_limit": 1024, "loaded_context_size": 512}, 64, "ok", 1024),
        ({}, {"effective_context_limit": 0, "loaded_context_size": 512}, 64, "ok", 512),
        ({"max_model_len": 2048}, {}, 8192, "warning", 2048),
        ({"max_model_len": "many", "meta": "none"}, {}, 64, "note", None),
    ],
)
def test_the_context_length_is_compared_with_the_config(
    card: dict[str, Any], health: dict[str, Any], max_tokens: int, level: str, value: int | None
) -> None:
    cards = ({"id": "another", "max_model_len": 99}, {"id": "m", **card})
    context = found("context_length", cards=cards, health=health, max_tokens=max_tokens)
    assert (context.level, context.value) == (level, value)


@pytest.mark.parametrize(
    ("base", "other"),
    [
        ("http://h:8000/v1", "http://h:8000/"),
        ("http://h:8000/", "http://h:8000/v1"),
        ("http://h/api/v1", "http://h/api"),
        ("http://h/openai/deployments/x?api-version=1", "http://h/openai/deployments/x/v1?api-version=1"),
    ],
)
def test_the_other_form_of_an_address(base: str, other: str) -> None:
    assert str(other_form(httpx2.URL(base))) == other


def test_the_form_that_answers_is_reported_without_a_password() -> None:
    base = httpx2.URL("http://me:secret@h/v1")
    told = forms_finding(base, other_form(base), refused(404, "Not Found"))
    assert told.text == "http://h/v1 answers; without /v1 it doesn't (HTTP 404: Not Found)"
    assert proxy_finding("http://me:secret@proxy:3128").text == "http://proxy:3128"


def test_a_first_address_without_a_server_is_a_warning() -> None:
    tried = [Connected(address="::1", error="Connection refused"), Connected(address="127.0.0.1", took_s=0.001)]
    told = "::1: Connection refused, 127.0.0.1: 1 ms"
    hint = "other programs may try ::1 first and wait; 127.0.0.1 instead of localhost is sure"
    assert connections_finding("localhost", tried) == Finding(name="connection", level="warning", text=told, hint=hint)
    assert connections_finding("localhost", tried[::-1]).level == "ok"
    assert connections_finding("localhost", [Connected(address="127.0.0.1", took_s=0.7)]).level == "warning"
    unknown = Finding(name="connection", level="warning", text="nowhere.invalid is not known here")
    assert connections_finding("nowhere.invalid", []) == unknown


async def test_a_connection_is_tried_to_each_address_of_the_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        (good,) = await try_connections(httpx2.URL(f"http://127.0.0.1:{port}/v1"))
    assert (good.address, good.error) == ("127.0.0.1", "")
    (bad,) = await try_connections(httpx2.URL(f"http://127.0.0.1:{port}/v1"))
    assert "refused" in bad.error.lower()


async def test_a_connection_that_does_not_open_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def too_late(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr("vqa_client.client.check.examine.CONNECT_S", 60.0)  # finding the address is within it, too
    monkeypatch.setattr(asyncio, "open_connection", too_late)
    (tried,) = await try_connections(httpx2.URL("http://127.0.0.1:1/v1"))
    assert tried == Connected(address="127.0.0.1", error="no connection within 60 s")


async def test_an_ipv6_address_in_brackets_is_tried_as_it_is() -> None:
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    with listener:
        (tried,) = await try_connections(httpx2.URL(f"http://[::1]:{listener.getsockname()[1]}/v1"))
    assert (tried.address, tried.error) == ("::1", "")

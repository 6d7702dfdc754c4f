"""Options of every request mean the same as a config's fields."""

import os
from pathlib import Path
from typing import Any

import httpx2
import pytest

from vqa_client.client.body import Dialect, RequestTemplate
from vqa_client.client.endpoint import Endpoint, headers_for
from vqa_client.client.session import addressed, named_model, open_session, reused
from vqa_client.errors import ServerUnusable, UsageError
from vqa_client.model_config import ModelSettings
from vqa_client.runs.plan import described_settings, model_identity
from vqa_client.settings.own_commands import McSettings
from vqa_client.settings.reports import CompareSettings
from vqa_client.settings.request import RequestOptions

GIVEN: dict[str, Any] = {
    "temperature": 0.5,
    "max_tokens": 77,
    "top_p": 0.9,
    "seed_model": 3,
    "presence_penalty": 1.5,
    "prompt": "{question} {choices}",
    "thinking": "off",
    "extra_body": ("top_k=20", "chat_template_kwargs.mode=fast", "stop=[1]"),
}
CONFIG = ModelSettings(
    model_name="m",
    max_tokens=77,
    temperature=0.5,
    presence_penalty=1.5,
    prompt_template="{question} {choices}",
    thinking="off",
    extra_body={"top_p": 0.9, "seed": 3, "top_k": 20, "chat_template_kwargs": {"mode": "fast"}, "stop": [1]},
)


def mc(**given: Any) -> McSettings:
    return McSettings(data=Path("data.json"), output=Path("out"), **given)


def test_a_run_is_the_same_by_options_and_by_a_config() -> None:
    by_line, by_config = mc(model="m", **GIVEN), mc()
    model = named_model(by_line, None)
    assert model is not None
    assert model_identity(model, by_line) == model_identity(CONFIG, by_config)


def test_a_configs_address_and_timeout_count_unless_an_option_gives_them() -> None:
    config = ModelSettings(model_name="m", max_tokens=5, timeout=9.0, base_url="http://config/v1")
    line = {"base_url": "http://line/v1", "timeout": 3.0, "model": "x"}
    for given, address, timeout, name in (({}, "http://config/v1", 9.0, "m"), (line, "http://line/v1", 3.0, "x")):
        settings = mc(**given)
        model = named_model(settings, config)
        assert model is not None
        assert (addressed(settings, config).base_url, model.timeout, model.model_name) == (address, timeout, name)
    for bare in (None, CONFIG):
        settings = mc()
        assert addressed(settings, bare) is settings
    served = named_model(mc(), None, "served")
    assert (named_model(mc(), None), served and served.model_name) == (None, "served")


async def test_a_key_that_may_not_list_models_is_enough_if_the_model_is_named() -> None:
    wire = httpx2.MockTransport(lambda _: httpx2.Response(403, json={"error": {"message": "no"}}))
    settings = mc(base_url="http://server/v1", api_key="k")
    async with open_session(settings, CONFIG, note=print, transport=wire) as session:
        assert (session.model.model_name, session.server["models"]) == ("m", [])
    with pytest.raises(ServerUnusable, match=r"^http://server/v1 refuses the key \(HTTP 403\): no$"):
        async with open_session(settings, None, note=print, transport=wire):
            pass


async def test_a_prompts_own_limit_of_tokens_is_noted_where_it_changes() -> None:
    wire = httpx2.MockTransport(lambda _: httpx2.Response(200, json={"data": [{"id": "m"}]}))
    notes = list[str]()
    async with open_session(mc(base_url="http://a/v1"), CONFIG, 16, note=notes.append, transport=wire) as session:
        assert reused(session, mc(), CONFIG, 16, note=notes.append) is session
        usual = reused(session, mc(), CONFIG, None, note=notes.append)
        assert (usual.chat, usual.prompt_limit) == (session.chat, None)
        other = reused(usual, mc(model="z"), CONFIG, 8, note=notes.append)
        assert (other.model.model_name, other.prompt_limit) == ("z", 8)
    of_prompt = "(the benchmark's prompt), temperature 0.5"
    assert notes == [
        f"model m at http://a/v1, max_tokens 16 {of_prompt}",
        "model m, max_tokens 77, temperature 0.5",
        f"model z, max_tokens 8 {of_prompt}",
    ]


def test_options_replace_fields_of_the_config_and_leave_the_others() -> None:
    model = named_model(mc(temperature=0.0, extra_body=("top_k=5",)), CONFIG)
    assert model is not None
    assert (model.temperature, model.max_tokens) == (0.0, 77)
    assert model.extra_body == {**(CONFIG.extra_body or {}), "top_k": 5}


@pytest.mark.parametrize(
    ("form", "sent"),
    [
        ("chat_template_kwargs", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("enable_thinking", {"enable_thinking": False}),
        ("reasoning_effort", {"reasoning_effort": "none"}),
    ],
)
def test_thinking_is_switched_in_the_form_of_the_server(form: str, sent: dict[str, object]) -> None:
    model = ModelSettings(model_name="m", max_tokens=5, thinking="off")
    template = RequestTemplate(model, Dialect(thinking=form))
    assert template.parameters == {"max_tokens": 5, **sent}


def test_blank_space_around_a_header_is_not_sent() -> None:
    given = RequestOptions(header=(" api-key = a b ", "x-other=c\r\n"))
    assert given.headers == {"api-key": "a b", "x-other": "c"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"extra_body": ("top_k",)}, "--extra_body 'top_k' has no value"),
        ({"extra_body": ("model=x",)}, "--extra_body sets model"),
        *(
            ({"extra_body": (body,)}, "--extra_body is nested too deeply")
            for body in ("x=" + "[" * 100_000, "x=" + "[" * 900 + "]" * 900, "a" + ".a" * 100_000 + "=1")
        ),
        ({"header": ("api-key: x",)}, "--header 'api-key' has no value"),
        ({"header": ("a b=c",)}, "can't be sent"),
        ({"header": ("a=c\r\nd: e",)}, "can't be sent"),
        ({"temperature": -1.0}, "--temperature is -1.0"),
        ({"top_p": 1.5}, "from 0 to 1"),
        ({"max_tokens": 0}, "--max_tokens is 0"),
        ({"thinking": "maybe"}, "on, off, auto"),
    ],
)
def test_a_field_that_can_not_be_sent_is_refused_by_its_name(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        mc(**given)
    assert "nested" not in said or caught.value.hint == "give fewer brackets or dots"


@pytest.mark.parametrize(
    ("own", "sent"),
    [
        ({"api-key": "azure-1"}, {"api-key": "azure-1"}),
        ({"x-goog-api-key": "google-1"}, {"x-goog-api-key": "google-1"}),
        ({"authorization": "Bearer token-1"}, {"Authorization": "Bearer token-1"}),
        ({"Authorization": "token-1"}, {"Authorization": "token-1"}),
        ({"x-team": "vision"}, {"x-team": "vision", "Authorization": "Bearer key-of-api"}),
        ({"user-agent": "mine"}, {"User-Agent": "mine", "Authorization": "Bearer key-of-api"}),
    ],
)
def test_a_key_in_a_header_replaces_the_bearer_token(own: dict[str, str], sent: dict[str, str]) -> None:
    base = httpx2.URL("http://h/v1")
    headers = headers_for(base, "key-of-api", own)
    assert headers == headers_for(base, None) | sent
    shown = Endpoint(base, httpx2.MockTransport(lambda request: httpx2.Response(200)), headers).redacted(str(own))
    assert not any(key in shown for key in ("azure-1", "google-1", "token-1"))


def test_a_header_is_sent_and_nowhere_recorded() -> None:
    import httpx2

    settings = mc(header=("api-key=secret-1",))
    assert headers_for(httpx2.URL("http://h/v1"), None, settings.headers)["api-key"] == "secret-1"
    assert "secret-1" not in f"{settings!r}{described_settings(settings)}"


def test_a_tilde_is_the_home_folder_in_every_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "HOME", "/home/me")
    assert mc(images="~/pages").images == Path("/home/me/pages")
    assert CompareSettings(("~/a", Path("~/b"))).runs == (Path("/home/me/a"), Path("/home/me/b"))  # type: ignore[arg-type]


def test_a_batch_may_take_hours_or_days() -> None:
    windows = {"36h": 36, "7d": 168}
    assert {window: mc(batch=True, batch_window=window).batch_hours for window in windows} == windows

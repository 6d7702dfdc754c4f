"""A request's bytes: their order, their content, and their length before they are read."""

import base64
import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from vqa_client.client.body import THINKING, Dialect, RequestTemplate, by_bytes, by_name
from vqa_client.model_config import ModelSettings
from vqa_client.types import Example, Image, Request


def picture(data: bytes, mime: str = "image/png") -> Image:
    return Image(name="x", mime=mime, sha256="", size_bytes=len(data), data=data)


MODEL = ModelSettings(model_name='org/"model"', max_tokens=5, temperature=0.0, extra_body={"top_k": 1, "none": None})


@given(st.lists(st.binary(max_size=50), max_size=4), st.text(max_size=200))
def test_the_body_is_the_request_for_any_images_and_any_prompt(files: list[bytes], prompt: str) -> None:
    body = RequestTemplate(MODEL, Dialect()).body(Request(content=(*(picture(data) for data in files), prompt)))
    raw = b"".join(body.pieces())
    assert len(raw) == body.size_bytes
    request = json.loads(raw)
    *images, text = request["messages"][0]["content"]
    urls = [image["image_url"]["url"] for image in images]
    assert [base64.b64decode(url.removeprefix("data:image/png;base64,")) for url in urls] == files
    assert text == {"type": "text", "text": prompt}
    assert {key: request[key] for key in request if key != "messages"} == {
        "model": 'org/"model"',
        "max_tokens": 5,
        "temperature": 0.0,
        "top_k": 1,
    }


def test_a_body_can_be_sent_again() -> None:
    body = RequestTemplate(MODEL, Dialect()).body(Request(content=(picture(b"abcdef"), "?")))
    assert b"".join(body.pieces()) == b"".join(body.pieces())


def test_a_lone_surrogate_in_a_prompt_is_replaced() -> None:
    body = RequestTemplate(MODEL, Dialect()).body(Request(content=("a\ud800b",)))
    assert json.loads(b"".join(body.pieces()))["messages"][0]["content"][0]["text"] == "a?b"


@pytest.mark.parametrize("temperature", [None, 0.0, 0.7])
def test_a_setting_of_none_is_not_sent(temperature: float | None) -> None:
    model = ModelSettings(model_name="m", max_tokens=5, temperature=temperature)
    request = json.loads(b"".join(RequestTemplate(model, Dialect()).body(Request(content=("?",))).pieces()))
    assert ("temperature" in request) == (temperature is not None)
    assert "presence_penalty" not in request


@pytest.mark.parametrize("switch", ["on", "off"])
@pytest.mark.parametrize("kind", ["vllm", "mlx-vlm", "ollama", "unknown", ""])
def test_thinking_is_switched_by_the_field_of_the_server(kind: str, switch: Literal["on", "off"]) -> None:
    model = ModelSettings(model_name="m", max_tokens=5, thinking=switch)
    dialect = Dialect(thinking=THINKING[kind]) if kind in THINKING else Dialect()
    request = json.loads(b"".join(RequestTemplate(model, dialect).body(Request(content=("?",))).pieces()))
    fields = {
        "mlx-vlm": {"enable_thinking": switch == "on"},
        "ollama": {"reasoning_effort": "medium" if switch == "on" else "none"},
        "unknown": {"reasoning_effort": "medium" if switch == "on" else "none"},
    }
    usual = {"chat_template_kwargs": {"enable_thinking": switch == "on"}}
    assert {name: request[name] for name in request if name not in ("model", "messages", "max_tokens")} == fields.get(
        kind, usual
    )


@pytest.mark.parametrize(
    ("dialect", "sent"),
    [
        (Dialect(), {"max_tokens": 3, "temperature": 0.7}),
        (Dialect(max_tokens_name="max_completion_tokens", send_temperature=False), {"max_completion_tokens": 3}),
    ],
)
def test_a_requests_own_settings_are_sent_in_the_servers_form(dialect: Dialect, sent: dict[str, object]) -> None:
    model = ModelSettings(model_name="m", max_tokens=5, temperature=0.0, presence_penalty=0.5)
    own = Request(content=("?",), parameters={"max_tokens": 3, "temperature": 0.7})
    request = json.loads(b"".join(RequestTemplate(model, dialect).body(own).pieces()))
    assert {name: request[name] for name in request if name not in ("model", "messages")} == {
        "presence_penalty": 0.5,
        **sent,
    }


@pytest.mark.parametrize("name", ["", "n1"])
def test_an_image_with_an_address_is_sent_by_it(name: str) -> None:
    image = replace(picture(b"x"), address="https://host/a.png")
    body = RequestTemplate(MODEL, Dialect()).body(Request(content=(image, "?")), [by_bytes(image, name)])
    [part, _] = json.loads(b"".join(body.pieces()))["messages"][0]["content"]
    named = {"uuid": name} if name else {}
    assert part == {"type": "image_url", "image_url": {"url": "https://host/a.png"}, **named}


def test_a_stream_is_requested_with_its_counts_of_tokens() -> None:
    request = json.loads(b"".join(RequestTemplate(MODEL, Dialect(stream=True)).body(Request(content=("?",))).pieces()))
    assert (request["stream"], request["stream_options"]) == (True, {"include_usage": True})


def test_a_dialect_renames_the_limit_and_describes_that() -> None:
    dialect = Dialect(max_tokens_name="max_completion_tokens", send_temperature=False)
    request = json.loads(b"".join(RequestTemplate(MODEL, dialect).body(Request(content=("?",))).pieces()))
    assert request["max_completion_tokens"] == 5
    assert "max_tokens" not in request
    assert "temperature" not in request
    assert dialect.described() == ["max_completion_tokens instead of max_tokens", "temperature not sent"]
    assert Dialect().described() == []


ONE, TWO = picture(b"one"), picture(b"\xff\xd8two", "image/jpeg")
SENT_ONE, SENT_TWO = (
    {"type": "image_url", "image_url": {"url": f"data:{of.mime};base64,{base64.b64encode(of.data or b'').decode()}"}}
    for of in (ONE, TWO)
)


def said(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def user(*content: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


SHAPES: list[tuple[Request, list[dict[str, Any]]]] = [
    (Request(content=("?",)), [user(said("?"))]),
    (Request(content=(ONE, "?")), [user(SENT_ONE, said("?"))]),
    (Request(content=(ONE, TWO, "?")), [user(SENT_ONE, SENT_TWO, said("?"))]),
    (Request(content=("?", ONE)), [user(said("?"), SENT_ONE)]),
    (Request(content=(ONE,)), [user(SENT_ONE)]),
    (Request(content=("a", ONE, "b", TWO, "c")), [user(said("a"), SENT_ONE, said("b"), SENT_TWO, said("c"))]),
    (Request(content=(TWO, "a", TWO)), [user(SENT_TWO, said("a"), SENT_TWO)]),
    (Request(content=("?",), system='Be "brief"\n'), [{"role": "system", "content": 'Be "brief"\n'}, user(said("?"))]),
    (
        Request(content=(ONE, "?"), examples=(Example(content=("e",), reply="r"),)),
        [user(said("e")), {"role": "assistant", "content": "r"}, user(SENT_ONE, said("?"))],
    ),
    (
        Request(
            content=("?", TWO), examples=(Example(content=(ONE, "e"), reply=""), Example(content=("f", TWO), reply="s"))
        ),
        [
            *(user(SENT_ONE, said("e")), {"role": "assistant", "content": ""}),
            *(user(said("f"), SENT_TWO), {"role": "assistant", "content": "s"}),
            user(said("?"), SENT_TWO),
        ],
    ),
    (
        Request(content=("a", ONE, "b"), system="s", examples=(Example(content=(TWO, "e"), reply="r"),)),
        [
            {"role": "system", "content": "s"},
            *(user(SENT_TWO, said("e")), {"role": "assistant", "content": "r"}),
            user(said("a"), SENT_ONE, said("b")),
        ],
    ),
    (
        Request(content=("\ud800", ONE), system="\ud800"),
        [{"role": "system", "content": "?"}, user(said("?"), SENT_ONE)],
    ),
]


@pytest.mark.parametrize(("request_", "messages"), SHAPES)
def test_messages_are_the_json_of_the_parts_in_order(request_: Request, messages: list[dict[str, Any]]) -> None:
    body = RequestTemplate(MODEL, Dialect()).body(request_)
    raw = b"".join(body.pieces())
    assert len(raw) == body.size_bytes
    assert json.loads(raw) == {
        "model": 'org/"model"',
        "messages": messages,
        "max_tokens": 5,
        "temperature": 0.0,
        "top_k": 1,
    }


@pytest.mark.parametrize(("request_", "messages"), SHAPES)
def test_images_sent_by_name_keep_their_places(request_: Request, messages: list[dict[str, Any]]) -> None:
    ways = [by_name(of.mime) for of in request_.images]
    raw = b"".join(RequestTemplate(MODEL, Dialect()).body(request_, ways).pieces())
    named = {
        json.dumps(sent): {"type": "image_url", "image_url": None, "uuid": of.mime}
        for sent, of in ((SENT_ONE, ONE), (SENT_TWO, TWO))
    }
    for message in messages:
        if message["role"] == "user":
            message = {**message, "content": [named.get(json.dumps(part), part) for part in message["content"]]}
        assert message in json.loads(raw)["messages"]


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_a_requests_own_limit_has_the_name_that_the_server_accepts(name: str) -> None:
    template = RequestTemplate(MODEL, Dialect(max_tokens_name=name))
    raw = b"".join(template.body(Request(content=("?",), parameters={"max_tokens": 3})).pieces())
    assert {key: value for key, value in json.loads(raw).items() if key.startswith("max")} == {name: 3}

"""A request's bytes: their order, their length before they are read, and nothing else changed."""

import base64
import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.client.body import Dialect, RequestTemplate
from vqa_client.model_config import ModelSettings
from vqa_client.types import Image, Request


def encode(image: Image) -> Iterator[bytes]:
    data = image.data or b""
    for start in range(0, len(data), 3):
        yield base64.b64encode(data[start : start + 3])


def picture(data: bytes, mime: str = "image/png") -> Image:
    return Image(name="x", mime=mime, sha256="", size_bytes=len(data), data=data)


MODEL = ModelSettings(model_name='org/"model"', max_tokens=5, temperature=0.0, extra_body={"top_k": 1, "none": None})


@given(st.lists(st.binary(max_size=50), max_size=4), st.text(max_size=200))
def test_the_body_is_the_request_whatever_images_and_prompt_hold(files: list[bytes], prompt: str) -> None:
    body = RequestTemplate(MODEL, Dialect(), encode).body(
        Request(images=tuple(picture(data) for data in files), text=prompt)
    )
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


def test_a_body_can_be_walked_again() -> None:
    body = RequestTemplate(MODEL, Dialect(), encode).body(Request(images=(picture(b"abcdef"),), text="?"))
    assert b"".join(body.pieces()) == b"".join(body.pieces())


def test_a_lone_surrogate_in_a_prompt_is_replaced_and_not_fatal() -> None:
    body = RequestTemplate(MODEL, Dialect(), encode).body(Request(text="a\ud800b"))
    assert json.loads(b"".join(body.pieces()))["messages"][0]["content"][0]["text"] == "a?b"


@pytest.mark.parametrize("temperature", [None, 0.0, 0.7])
def test_what_is_not_set_is_not_sent(temperature: float | None) -> None:
    model = ModelSettings(model_name="m", max_tokens=5, temperature=temperature)
    request = json.loads(b"".join(RequestTemplate(model, Dialect(), encode).body(Request(text="?")).pieces()))
    assert ("temperature" in request) == (temperature is not None)
    assert "presence_penalty" not in request


def test_a_dialect_renames_the_limit_and_says_so() -> None:
    dialect = Dialect(max_tokens_name="max_completion_tokens", send_temperature=False)
    request = json.loads(b"".join(RequestTemplate(MODEL, dialect, encode).body(Request(text="?")).pieces()))
    assert request["max_completion_tokens"] == 5
    assert "max_tokens" not in request
    assert "temperature" not in request
    assert dialect.described() == ["max_completion_tokens instead of max_tokens", "temperature not sent"]
    assert Dialect().described() == []

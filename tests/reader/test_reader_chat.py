from http import HTTPStatus

import pytest
from reader.chat import RequestError, parse

from tests.reader.asking import chat

PIXEL = "data:image/png;base64,AAAA"


def failed(body, **settings):
    with pytest.raises(RequestError) as caught:
        parse(body, limit_images=settings.get("limit_images", 9))
    return caught.value


def test_text_and_images_come_out_in_order():
    request = parse(chat("What?", b"one", b"two"), limit_images=2)
    assert request.prompt == "What?"
    assert request.images == (b"one", b"two")


def test_the_last_user_message_is_the_prompt_and_earlier_pages_stay_known():
    body = chat("First?", b"one")
    body["messages"] = [
        {"role": "system", "content": "Be brief."},
        *body["messages"],
        {"role": "assistant", "content": None},
        {"role": "user", "content": "Second?"},
    ]
    request = parse(body, limit_images=2)
    assert (request.prompt, request.images) == ("Second?", (b"one",))


def test_an_image_url_may_be_a_plain_string():
    body = chat("What?")
    body["messages"][0]["content"].append({"type": "image_url", "image_url": PIXEL})
    assert parse(body, limit_images=1).images == (b"\0\0\0",)


def test_too_many_images_are_refused_in_the_words_of_vllm():
    error = failed(chat("What?", b"1", b"2", b"3"), limit_images=2)
    assert str(error) == "At most 2 image(s) may be provided in one prompt."
    assert error.param == "image"


@pytest.mark.parametrize(
    ("address", "message", "status"),
    [
        ("https://example.org/a.png", "Failed to load image: 'https://example.org/a.png' is not a data URL", 400),
        ("file:///etc/passwd", "Failed to load image: 'file:///etc/passwd' is not a data URL", 400),
        ("data:image/png;base64", "Failed to load image: ", 400),
        ("data:image/png;base64,AA*A", "Failed to load image: ", 400),
        ("data:image/png;base64,AAA", "Failed to load image: ", 400),
        ("data:image/png,AAAA", "Only base64 data URLs are supported for now.", 501),
    ],
)
def test_an_address_that_holds_no_image_is_refused(address, message, status):
    error = failed(chat("What?", address))
    assert str(error).startswith(message)
    assert error.status == status


@pytest.mark.parametrize(
    ("change", "field", "status"),
    [
        ({"stream": True}, "stream", HTTPStatus.BAD_REQUEST),
        ({"n": 2}, "n", HTTPStatus.BAD_REQUEST),
        ({"model": "other"}, "model", HTTPStatus.NOT_FOUND),
        ({"messages": []}, "messages", HTTPStatus.BAD_REQUEST),
        ({"messages": "hello"}, "messages", HTTPStatus.BAD_REQUEST),
        ({"messages": ["hello"]}, "messages", HTTPStatus.BAD_REQUEST),
        ({"messages": [{"role": "user", "content": 7}]}, "content", HTTPStatus.BAD_REQUEST),
        ({"messages": [{"role": "user", "content": ["text"]}]}, "content", HTTPStatus.BAD_REQUEST),
        ({"messages": [{"role": "user", "content": [{"type": "audio"}]}]}, "content", HTTPStatus.BAD_REQUEST),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "image", HTTPStatus.BAD_REQUEST),
    ],
)
def test_what_the_server_can_not_do_names_the_field(change, field, status):
    error = failed(chat("What?") | change)
    assert (error.param, error.status) == (field, status)


def test_settings_of_real_models_are_taken_and_have_no_effect():
    body = chat("What?") | {"temperature": 0.7, "max_tokens": 8, "stream": False, "n": 1, "top_k": 20}
    assert parse(body, limit_images=1).prompt == "What?"

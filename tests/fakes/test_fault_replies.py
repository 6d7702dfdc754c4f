import time
from email.utils import parsedate_to_datetime
from io import BytesIO

import pytest
from PIL import Image

from tests.fakes.asking import PNG, ask, asked, chat_body, connected, data_url, get
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import (
    ABSENT,
    answer,
    bad_image,
    body_of,
    busy,
    context_limit,
    echo_authorization_in_400,
    empty_body,
    engine_dead,
    error,
    html,
    http_200_error,
    ignores_images,
    image_limit,
    json_reply,
    looks_at_images,
    only_model,
    redirect,
    require_key,
    retry_after,
    tokens_by_pixels,
)


def picture(*colours: str, side: int = 32) -> str:
    """A data URL of equal vertical bands."""
    image = Image.new("RGB", (side, side))
    width = side // len(colours)
    for number, colour in enumerate(colours):
        image.paste(colour, (number * width, 0, (number + 1) * width, side))
    held = BytesIO()
    image.save(held, "PNG")
    return data_url(held.getvalue())


def test_an_answer_has_text_usage_and_the_model_that_was_asked_for(fault_server: StartsServers) -> None:
    heard = ask(fault_server(), "x" * 40, [data_url(PNG)]).json
    assert heard["model"] == "tiny-vlm"
    assert heard["choices"][0]["message"]["content"] == "B"
    assert heard["choices"][0]["finish_reason"] == "stop"
    assert heard["usage"] == {"prompt_tokens": 8 + 11 + 64, "completion_tokens": 1, "total_tokens": 84}


def test_any_field_of_an_answer_can_be_replaced_or_left_out(fault_server: StartsServers) -> None:
    server = fault_server()
    server.script = answer(None, reasoning="so", finish_reason="length", usage=None)
    heard = ask(server).json
    assert heard["choices"][0]["message"]["content"] is None
    assert heard["choices"][0]["message"]["reasoning"] == "so"
    assert (heard["choices"][0]["finish_reason"], heard["usage"]) == ("length", None)
    server.script = answer("B", finish_reason=ABSENT, usage=ABSENT, message={"tool_calls": []}, extra={"id": 7})
    heard = ask(server).json
    assert "finish_reason" not in heard["choices"][0]
    assert "usage" not in heard
    assert (heard["choices"][0]["message"]["tool_calls"], heard["id"]) == ([], 7)
    server.script = answer(lambda received: received.prompt[::-1], usage={"prompt_tokens": 7180})
    heard = ask(server, "abc").json
    assert (heard["choices"][0]["message"]["content"], heard["usage"]) == ("cba", {"prompt_tokens": 7180})


ERRORS = {
    "vllm": {"error": {"message": "m", "type": "BadRequestError", "param": None, "code": 400}},
    "openai": {"error": {"message": "m", "type": "BadRequestError", "param": None, "code": None}},
    "llamacpp": {"error": {"code": 400, "message": "m", "type": "BadRequestError"}},
    "flat": {"object": "error", "message": "m", "type": "BadRequestError", "param": None, "code": 400},
    "nested": {"error": {"message": "m"}},
    "string": {"error": "m"},
    "detail": {"detail": "m"},
    "detail_list": {"detail": [{"type": "value_error", "loc": ["body", "messages"], "msg": "m", "input": None}]},
}


@pytest.mark.parametrize("shape", ERRORS)
def test_errors_come_in_every_known_shape(shape: str, fault_server: StartsServers) -> None:
    heard = ask(fault_server(error(400, "m", shape=shape)))
    assert (heard.status, heard.json) == (400, ERRORS[shape])


def test_errors_may_be_text_or_a_page(fault_server: StartsServers) -> None:
    text = ask(fault_server(error(500, "Internal Server Error", shape="text")))
    assert (text.body, text.headers["content-type"]) == (b"Internal Server Error", "text/plain; charset=utf-8")
    assert b"<title>no &lt;way&gt;</title>" in ask(fault_server(error(502, "no <way>", shape="html"))).body


def test_an_error_without_a_shape_has_that_of_the_servers_kind(fault_server: StartsServers) -> None:
    bodies = {kind: ask(fault_server(error(400, "m"), kind=kind)).json for kind in ("vllm", "mlx-vlm", "plain")}
    assert bodies == {"vllm": ERRORS["vllm"], "mlx-vlm": ERRORS["detail"], "plain": ERRORS["openai"]}


def test_a_hint_when_to_come_back_is_a_number_a_date_or_milliseconds(fault_server: StartsServers) -> None:
    server = fault_server(retry_after(429, "2"))
    assert (ask(server).status, ask(server).headers["retry-after"]) == (429, "2")
    server.script = retry_after(503, date_in_s=30)
    before_s = time.time()
    moment = parsedate_to_datetime(ask(server).headers["retry-after"]).timestamp()
    assert before_s + 29 <= moment <= time.time() + 31
    server.script = retry_after(ms=300)
    heard = ask(server)
    assert heard.headers["retry-after-ms"] == "300"
    assert "retry-after" not in heard.headers


def test_a_success_may_be_none(fault_server: StartsServers) -> None:
    server = fault_server(http_200_error(429))
    assert ask(server).json == {"choices": None, "error": {"message": "Provider returned error", "code": 429}}
    server.script = html(200, "Sign in")
    heard = ask(server)
    assert (heard.status, heard.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"<title>Sign in</title>" in heard.body
    server.script = html(200, content_type="application/json")
    assert ask(server).headers["content-type"] == "application/json"
    server.script = empty_body()
    assert (ask(server).status, ask(server).body) == (200, b"")
    server.script = body_of(b'{"choices": [', 200)
    assert ask(server).body == b'{"choices": ['
    server.script = json_reply({"choices": []})
    assert ask(server).json == {"choices": []}
    server.script = redirect("http://127.0.0.1:9/")
    assert (ask(server).status, ask(server).headers["location"]) == (307, "http://127.0.0.1:9/")


def test_mlx_vlm_echoes_the_whole_image_it_cannot_decode(fault_server: StartsServers) -> None:
    url = data_url(b"no image at all")
    heard = ask(fault_server(bad_image(), kind="mlx-vlm"), images=[url])
    assert heard.status == 500
    assert heard.json["detail"].startswith(f"Generation failed: Failed to load image from {url}: ")
    other = ask(fault_server(bad_image("An unexpected error occurred: {url}"), kind="mlx-vlm"), images=[url])
    assert other.json == {"detail": f"An unexpected error occurred: {url}"}
    vllm = ask(fault_server(bad_image()), images=[url])
    assert (vllm.status, vllm.json["error"]["message"][:22]) == (400, "Failed to load image: ")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("vllm", "maximum context length is 50 tokens"),
        ("mlx-vlm", "exceeds the available context budget"),
        ("llamacpp", "exceeds the available context size (50 tokens)"),
        ("plain", "maximum context length is 50 tokens"),
    ],
)
def test_a_prompt_too_long_is_refused_in_the_kinds_words(kind: str, words: str, fault_server: StartsServers) -> None:
    server = fault_server(context_limit(50), kind=kind)
    assert ask(server).status == 200
    heard = ask(server, "x" * 1000)
    assert heard.status == 400
    assert words in heard.body.decode()


def test_too_many_images_are_refused(fault_server: StartsServers) -> None:
    server = fault_server(image_limit(1))
    assert ask(server, images=[data_url(PNG)]).status == 200
    heard = ask(server, images=[data_url(PNG)] * 2)
    assert (heard.status, heard.json["error"]["param"]) == (400, "image")
    assert heard.json["error"]["message"].startswith("At most 1 image(s) may be provided in one prompt.")


def test_another_model_is_refused(fault_server: StartsServers) -> None:
    server = fault_server(only_model("right"))
    assert "The model `tiny-vlm` does not exist" in ask(server).json["error"]["message"]
    assert ask(server, model="right").status == 200


@pytest.mark.parametrize(("kind", "health"), [("vllm", 200), ("mlx-vlm", 401), ("llamacpp", 200)])
def test_a_key_is_required_where_the_kind_requires_it(kind: str, health: int, fault_server: StartsServers) -> None:
    server = fault_server(require_key("K"), kind=kind)
    assert (ask(server).status, get(server, "/v1/models").status, get(server, "/health").status) == (401, 401, health)
    assert get(server, "/v1/models", {"authorization": "Bearer K"}).status == 200
    with connected(server) as connection:
        assert asked(connection, chat_body(), headers={"authorization": "Bearer K"}).status == 200


def test_credentials_may_be_given_away(fault_server: StartsServers) -> None:
    server = fault_server(echo_authorization_in_400())
    with connected(server) as connection:
        heard = asked(connection, headers={"authorization": "Bearer SECRET-XYZ"})
    assert heard.status == 400
    assert heard.body.count(b"SECRET-XYZ") == 2


def test_a_dead_engine_leaves_the_front_end_well(fault_server: StartsServers) -> None:
    server = fault_server(engine_dead())
    assert (get(server, "/health").status, get(server, "/v1/models").status, ask(server).status) == (200, 200, 500)
    assert ask(fault_server(busy())).status == 503


def test_a_seeing_server_names_the_colour_that_is_there(fault_server: StartsServers) -> None:
    server = fault_server(looks_at_images())
    image = picture("red", "blue")
    assert ask(server, "Which colour is on the right?", [image]).text == "blue"
    assert ask(server, "Which colour is the LEFT half?", [image]).text == "red"
    assert ask(server, "Which colours?", [image]).text == "red and blue"
    assert ask(server, "Which colour is on the right?").text == "I can't see any image."


def test_a_blind_server_counts_the_same_tokens_with_and_without_an_image(fault_server: StartsServers) -> None:
    server = fault_server(ignores_images())
    assert ask(server).json["usage"] == ask(server, images=[data_url(PNG)]).json["usage"]
    assert ask(fault_server()).json["usage"] != ask(fault_server(), images=[data_url(PNG)]).json["usage"]


def test_tokens_grow_with_pixels_up_to_a_cap(fault_server: StartsServers) -> None:
    server = fault_server(answer(usage=tokens_by_pixels(1024, cap_pixels=256 * 256)))
    counted = [ask(server, "", [picture("red", side=side)]).json["usage"]["prompt_tokens"] for side in (128, 256, 512)]
    assert counted == [9 + 16, 9 + 64, 9 + 64]

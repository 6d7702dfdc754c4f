import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.asking import ask, data_url, get
from tests.fakes.fixtures import StartsServers
from tests.fakes.script import Script
from tests.fakes.words import answer, bad_image, context_limit, image_limit, only_model, require_key

SAMPLES = Path(__file__).parents[3] / "shared" / "data" / "wire"
NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
NO_IMAGE = "data:image/png;base64,aGVsbG8sIHRoaXMgaXMgdGV4dA=="
LONG = "what color is the shape? " * 400
MLX_BAD_IMAGE = (
    "An unexpected error occurred: Failed to load image from {url}: "
    "cannot identify image file <_io.BytesIO object at 0x7f>"
)

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples of real servers' replies are not here")


def sample(folder: str, probe: str) -> tuple[int, str, Any]:
    """Status, content type and body of a real server's reply."""
    reply = json.loads((SAMPLES / folder / f"{probe}.json").read_text("utf-8"))["response"]
    return reply["status"], reply["headers"].get("content-type", ""), reply["body"]


def without_numbers(content: Any) -> str:
    """A body as text in which no number matters."""
    return NUMBER.sub("N", json.dumps(content, sort_keys=True))


def keys(content: Any) -> set[str]:
    """The paths of all keys in a body."""
    if isinstance(content, list):
        return set().union(*(keys(item) for item in content))
    if not isinstance(content, dict):
        return set()
    return {f"{key}.{deeper}" for key, value in content.items() for deeper in keys(value) | {""}}


REFUSALS: dict[tuple[str, str], tuple[Script, str, list[str], dict[str, str]]] = {
    ("vllm", "bad_not_image"): (bad_image(), "", [NO_IMAGE], {}),
    ("vllm", "ctx_text"): (context_limit(2048), LONG, [], {}),
    ("vllm", "chat_images40"): (image_limit(16), "", [NO_IMAGE] * 40, {}),
    ("vllm", "unknown_model"): (only_model("tiny-vlm"), "", [], {"model": "no/such-model"}),
    ("vllm-reasoning-key-wrong", "chat_image"): (require_key("sekret"), "", [NO_IMAGE], {}),
    ("mlx-vlm", "bad_not_image"): (bad_image(MLX_BAD_IMAGE), "", [NO_IMAGE], {}),
    ("mlx-vlm", "ctx_text"): (context_limit(2048), LONG, [], {}),
    ("mlx-vlm-key-wrong", "chat_image"): (require_key("sekret"), "", [NO_IMAGE], {}),
    ("llamacpp", "bad_not_image"): (bad_image(), "", [NO_IMAGE], {}),
    ("llamacpp", "ctx_text"): (context_limit(2048), LONG, [], {}),
}


def kind_of(folder: str) -> str:
    """The kind of server that a folder of samples is of."""
    return next(kind for kind in ("vllm", "mlx-vlm", "llamacpp") if folder.startswith(kind))


@pytest.mark.parametrize(("folder", "probe"), REFUSALS)
def test_refusals_are_those_of_the_real_server(folder: str, probe: str, fault_server: StartsServers) -> None:
    script, prompt, images, fields = REFUSALS[folder, probe]
    heard = ask(fault_server(script, kind=kind_of(folder)), prompt, images, **fields)
    status, content_type, content = sample(folder, probe)
    assert (heard.status, heard.headers["content-type"]) == (status, content_type)
    assert without_numbers(heard.json) == without_numbers(content)


@pytest.mark.parametrize("kind", ["vllm", "mlx-vlm", "llamacpp"])
def test_a_completion_has_no_field_that_the_real_servers_lacks(kind: str, fault_server: StartsServers) -> None:
    heard = ask(fault_server(answer("red"), kind=kind), "", [data_url(b"x")]).json
    _, _, content = sample(kind, "chat_image")
    assert keys(heard) <= keys(content)
    assert heard["choices"][0]["message"] == content["choices"][0]["message"]


@pytest.mark.parametrize("kind", ["vllm", "mlx-vlm", "llamacpp"])
@pytest.mark.parametrize(
    ("path", "probe"),
    [
        ("/v1/models", "models"),
        ("/health", "root_health"),
        ("/version", "root_version"),
        ("/v1/nope", "unknown_path"),
        ("/v1/chat/completions", "chat_get"),
    ],
)
def test_endpoints_are_those_of_the_real_server(kind: str, path: str, probe: str, fault_server: StartsServers) -> None:
    heard = get(fault_server(kind=kind), path)
    status, content_type, content = sample(kind, probe)
    assert (heard.status, heard.body == b"") == (status, content == "")
    if status == 200 and heard.body:
        assert heard.headers["content-type"].partition(";")[0] == content_type.partition(";")[0]
        assert keys(heard.json) <= keys(content)
    elif heard.body:
        assert heard.json == content

"""`vqa-client check` against real servers: what it says of each."""

import json
from typing import Any

import pytest

from tests.servers.real.commands import command
from tests.servers.real.serving import CONTEXT_TOKENS, MOST_IMAGES, RealServer

MLX_CONTEXT_TOKENS = 4096
"""What the model itself has; mlx-vlm was told no less."""
HONOURED = {
    "vllm": {"stop", "n", "structured_outputs", "response_format", "logprobs", "max_completion_tokens"},
    "mlx-vlm": {"logprobs", "enable_thinking"},
}
IGNORED = {
    "vllm": {"guided_choice", "an unknown field"},
    "mlx-vlm": {"stop", "n", "structured_outputs", "max_completion_tokens", "an unknown field"},
}


@pytest.fixture(scope="module")
def told(server: RealServer) -> dict[str, Any]:
    ended = command("check", "--base_url", server.base_url, "--model", server.model, "--json", "--timeout", "120")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


def test_the_check_finds_a_usable_server(server: RealServer, told: dict[str, Any]) -> None:
    assert told["usable"], told["verdict"]
    kept = told["fingerprint"]
    assert kept["kind"] == server.kind
    assert kept["version"] == {"vllm": "0.32.0", "mlx-vlm": "0.7.10"}[server.kind]
    assert kept["sight"] == "colours"
    assert kept["answers_under_load"] == "same"
    assert kept["picture_tokens"] > 16


def test_the_check_finds_the_limits(server: RealServer, told: dict[str, Any]) -> None:
    kept = told["fingerprint"]
    limits = {"vllm": (CONTEXT_TOKENS, MOST_IMAGES), "mlx-vlm": (MLX_CONTEXT_TOKENS, None)}
    assert (kept.get("context_length"), kept.get("image_limit")) == limits[server.kind]


def test_the_check_tells_what_is_honoured_and_what_is_ignored(server: RealServer, told: dict[str, Any]) -> None:
    found = told["fingerprint"]["parameters"]
    assert {name for name, effect in found.items() if effect == "honoured"} >= HONOURED[server.kind]
    assert {name for name, effect in found.items() if effect == "ignored"} >= IGNORED[server.kind]

"""`vqa-client check` with real servers: its results for each."""

import json
from typing import Any

import pytest

from tests.servers.real.commands import command
from tests.servers.real.serving import CONTEXT_TOKENS, MOST_IMAGES, RealServer

MLX_CONTEXT_TOKENS = 4096
"""The model's own context; mlx-vlm was started without a smaller limit."""
HONOURED = {
    "vllm": {"stop", "n", "structured_outputs", "response_format", "logprobs", "max_completion_tokens"},
    "mlx-vlm": {"logprobs", "enable_thinking"},
}
IGNORED = {
    "vllm": {"guided_choice", "an unknown field"},
    "mlx-vlm": {"stop", "n", "structured_outputs", "max_completion_tokens", "an unknown field"},
}


@pytest.fixture(scope="module")
def checked(server: RealServer) -> dict[str, Any]:
    ended = command("check", "--base_url", server.base_url, "--model", server.model, "--json", "--timeout", "120")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    checked: dict[str, Any] = json.loads(ended.stdout)
    return checked


def test_the_check_finds_a_usable_server(server: RealServer, checked: dict[str, Any]) -> None:
    assert checked["usable"], checked["verdict"]
    fingerprint = checked["fingerprint"]
    assert fingerprint["kind"] == server.kind
    assert fingerprint["version"] == {"vllm": "0.32.0", "mlx-vlm": "0.7.10"}[server.kind]
    assert fingerprint["sight"] == "colours"
    assert fingerprint["answers_under_load"] == "same"
    assert fingerprint["picture_tokens"] > 16


def test_the_check_finds_the_limits(server: RealServer, checked: dict[str, Any]) -> None:
    fingerprint = checked["fingerprint"]
    limits = {"vllm": (CONTEXT_TOKENS, MOST_IMAGES), "mlx-vlm": (MLX_CONTEXT_TOKENS, None)}
    assert (fingerprint.get("context_length"), fingerprint.get("image_limit")) == limits[server.kind]


def test_the_check_finds_honoured_and_ignored_fields(server: RealServer, checked: dict[str, Any]) -> None:
    effects = checked["fingerprint"]["parameters"]
    assert {name for name, effect in effects.items() if effect == "honoured"} >= HONOURED[server.kind]
    assert {name for name, effect in effects.items() if effect == "ignored"} >= IGNORED[server.kind]

"""The replies of three real servers to the fields of a check, judged as the check does."""

import json
from pathlib import Path
from typing import Any

import pytest

from vqa_client.client.check.sizes import image_limit_finding
from vqa_client.client.probe import cards_of
from vqa_client.client.probing.asks import ProbeReply, parse_reply
from vqa_client.client.probing.findings import sight_finding
from vqa_client.client.probing.identity import Evidence, context_length, kind_of, loaded_model
from vqa_client.client.probing.parameters import PARAMETERS, effect_of, parameter_findings, reasoning_finding

WIRE = Path(__file__).parents[4] / "shared" / "data" / "wire"
SERVERS = ("vllm", "mlx-vlm", "llamacpp")
pytestmark = pytest.mark.skipif(not WIRE.is_dir(), reason=f"the wire samples are not at {WIRE}")


def sample(server: str, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((WIRE / server / f"{name}.json").read_text("utf-8"))
    return content


def reply_of(server: str, name: str) -> ProbeReply:
    response = sample(server, name)["response"]
    return parse_reply(response["status"], response["headers"], json.dumps(response["body"]).encode())


def body_of(server: str, name: str) -> dict[str, Any]:
    body = sample(server, name)["response"]["body"]
    return body if isinstance(body, dict) else {}


def evidence_of(server: str) -> Evidence:
    return Evidence(
        cards=cards_of(body_of(server, "models")),
        health=body_of(server, "root_health"),
        version=body_of(server, "root_version"),
    )


@pytest.mark.parametrize(
    ("server", "kind", "version", "context", "loaded"),
    [
        ("vllm", "vllm", "0.32.0", 2048, None),
        ("mlx-vlm", "mlx-vlm", "0.7.10", 4096, "/models"),
        ("llamacpp", "llama.cpp", "b0-unknown", 2048, None),
    ],
)
def test_the_kind_version_and_context_of_each_server_are_found(
    server: str, kind: str, version: str, context: int, loaded: str | None
) -> None:
    evidence = evidence_of(server)
    assert kind_of(reply_of(server, "chat_image"), evidence) == (kind, version)
    assert context_length(evidence, "tiny-vlm") == context
    assert loaded_model(evidence) == loaded


@pytest.mark.parametrize("server", SERVERS)
def test_one_reply_shows_the_kind_and_the_version(server: str) -> None:
    alone = kind_of(reply_of(server, "chat_image"), Evidence())
    assert alone == kind_of(reply_of(server, "chat_image"), evidence_of(server))


@pytest.mark.parametrize(
    ("parameter", "plain", "asked", "effects"),
    [
        ("stop", "chat_full", "chat_stop", ("honoured", "ignored", "honoured")),
        ("max_completion_tokens", "chat_full", "chat_max_completion_tokens", ("honoured", "ignored", "honoured")),
        ("n", "chat_image", "chat_n3", ("honoured", "ignored", "honoured")),
        ("n", "chat_image", "chat_n3_greedy", ("refused", "ignored", "honoured")),
        ("structured_outputs", "chat_image", "chat_structured_choice_odd", ("honoured", "ignored", "ignored")),
        ("guided_choice", "chat_image", "chat_guided_choice_odd", ("ignored", "ignored", "ignored")),
        ("response_format", "chat_image", "chat_json_schema", ("honoured", "refused", "honoured")),
        ("chat_template_kwargs", "chat_image", "chat_thinking", ("honoured", "unclear", "honoured")),
        ("enable_thinking", "chat_image", "chat_thinking_top", ("unclear", "honoured", "unclear")),
        ("mm_processor_kwargs", "chat_image", "chat_mm_kwargs", ("refused", None, "refused")),
        ("top_logprobs", "chat_image", "chat_logprobs", ("honoured", None, "honoured")),
        ("top_logprobs", "chat_image", "chat_image", ("ignored", "ignored", "ignored")),
        ("an unknown field", "chat_image", "chat_unknown_param", ("ignored", "ignored", "ignored")),
    ],
)
def test_an_ignored_field_differs_from_an_honoured_one(
    parameter: str, plain: str, asked: str, effects: tuple[str | None, ...]
) -> None:
    for server, effect in zip(SERVERS, effects, strict=True):
        if effect is None:
            continue
        # mlx-vlm ignores `stop`, so its reply to that probe is the reply of all three without it
        unlimited = reply_of("mlx-vlm", "chat_stop") if plain == "chat_full" else reply_of(server, plain)
        fields = dict(sample(server, asked)["request"]["body"])
        fields.setdefault(parameter, 5)
        found = effect_of(PARAMETERS[parameter], unlimited, reply_of(server, asked), fields)
        assert (server, found) == (server, effect)


@pytest.mark.parametrize(("server", "ignored"), [("vllm", "enable_thinking"), ("mlx-vlm", "chat_template_kwargs")])
def test_if_one_name_of_the_switch_works_the_other_is_ignored(server: str, ignored: str) -> None:
    replies = {
        "chat_template_kwargs": reply_of(server, "chat_thinking"),
        "enable_thinking": reply_of(server, "chat_thinking_top"),
    }
    found = parameter_findings(replies, reply_of(server, "chat_image"), frozenset({ignored}))
    assert {finding.name: finding.value for finding in found} == {
        f"parameter {name}": "ignored" if name == ignored else "honoured" for name in replies
    }
    assert [finding.name for finding in found if finding.level == "warning"] == [f"parameter {ignored}"]


def test_the_limit_of_images_is_read_from_the_refusal() -> None:
    found = image_limit_finding(40, reply_of("vllm", "chat_images40"), 20)
    assert found is not None
    assert found.value == 16


@pytest.mark.parametrize("server", ["mlx-vlm", "llamacpp"])
def test_many_images_with_token_counts_are_accepted(server: str) -> None:
    found = image_limit_finding(12, reply_of(server, "chat_images12"), 20)
    assert found is not None
    assert (found.level, found.value) == ("note", None)


@pytest.mark.parametrize("server", SERVERS)
def test_a_prompt_that_is_too_long_is_not_a_limit_of_images(server: str) -> None:
    assert image_limit_finding(64, reply_of(server, "ctx_images"), 20) is None


def test_reasoning_is_found_in_its_field_or_in_the_text() -> None:
    assert reasoning_finding([reply_of("vllm-reasoning-key-sekret", "chat_thinking")]).value == "reasoning"
    assert reasoning_finding([reply_of("mlx-vlm", "chat_thinking_top")]).value == "reasoning"
    inside = reasoning_finding([reply_of("vllm", "chat_thinking")])
    assert (inside.level, inside.value) == ("warning", "text")
    assert reasoning_finding([reply_of("llamacpp", "chat_image")]).value is None


def test_an_unknown_model_is_unusable_and_has_a_hint() -> None:
    found = sight_finding([reply_of("vllm", "unknown_model")] * 2, None, None)
    assert found.level == "unusable"
    assert "does not exist" in found.text
    assert "--model" in found.hint

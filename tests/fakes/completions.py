"""Good replies of each kind of server, and their token counts."""

from collections.abc import Callable, Mapping
from enum import Enum
from io import BytesIO
from typing import Any, TypeAlias

from tests.fakes.received import Received

CREATED_UNIX_S = 1_795_821_541
MESSAGE_TOKENS, CHARACTERS_PER_TOKEN, TOKENS_PER_IMAGE = 8, 4, 64


class Mark(Enum):
    """Values that JSON lacks."""

    ABSENT = "the field is not there at all"
    COUNTED = "the field is worked out from the request and the text"


ABSENT, COUNTED = Mark.ABSENT, Mark.COUNTED
Usage: TypeAlias = Mark | Mapping[str, Any] | Callable[[Received], Mapping[str, Any]] | None


def tokens_in(text: str | None) -> int:
    """Tokens of a text: a quarter of its characters, and one."""
    return 1 + len(text or "") // CHARACTERS_PER_TOKEN


def prompt_tokens(received: Received) -> int:
    """Tokens of a request: 8, its text's, and 64 for each image of any size."""
    return MESSAGE_TOKENS + tokens_in(received.prompt) + TOKENS_PER_IMAGE * len(received.images)


def usage_block(prompt: int, completion: int) -> dict[str, int]:
    """A usage block that adds up."""
    return {"prompt_tokens": prompt, "total_tokens": prompt + completion, "completion_tokens": completion}


def text_only_tokens(received: Received) -> Mapping[str, Any]:
    """Usage of a server that never looked at the images."""
    return usage_block(MESSAGE_TOKENS + tokens_in(received.prompt), 2)


def tokens_by_pixels(
    pixels_per_token: int = 1024, cap_pixels: int | None = None
) -> Callable[[Received], Mapping[str, Any]]:
    """Usage that grows with the images' pixels, up to a cap per image: a server that shrinks larger images."""
    from PIL import Image

    def count(received: Received) -> Mapping[str, Any]:
        sizes = [Image.open(BytesIO(image.data)).size for image in received.images]
        pixels = [min(width * height, cap_pixels or width * height) for width, height in sizes]
        images = sum(-(-area // pixels_per_token) for area in pixels)
        return usage_block(MESSAGE_TOKENS + tokens_in(received.prompt) + images, 2)

    return count


def completion(
    received: Received,
    text: str | None,
    *,
    reasoning: str | None,
    finish_reason: str | Mark | None,
    usage: Usage,
    message: Mapping[str, Any],
    extra: Mapping[str, Any],
) -> dict[str, Any]:
    """A chat completion in the shape of the server's kind; fields marked ABSENT are left out."""
    own_message, own_choice, own_top = SHAPES[received.kind](reasoning)
    choice = {
        "index": 0,
        "message": _present({"role": "assistant", "content": text, **own_message, **message}),
        "finish_reason": finish_reason,
        **own_choice,
    }
    asked = received.json if isinstance(received.json, dict) else {}
    content = {
        "id": f"chatcmpl-{received.number:016x}",
        "object": "chat.completion",
        "created": CREATED_UNIX_S,
        "model": asked.get("model"),
        "choices": [_present(choice)],
        "usage": _usage(received, text, reasoning, usage),
        **own_top,
        **extra,
    }
    return _present(content)


def _usage(received: Received, text: str | None, reasoning: str | None, usage: Usage) -> Any:
    if usage is COUNTED:
        return usage_block(prompt_tokens(received), tokens_in(text) + (tokens_in(reasoning) if reasoning else 0))
    return usage(received) if callable(usage) else usage


def _present(content: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if value is not ABSENT}


Shape: TypeAlias = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]


def _vllm(reasoning: str | None) -> Shape:
    message = dict.fromkeys(("refusal", "annotations", "audio", "function_call"))
    choice = dict.fromkeys(("logprobs", "stop_reason", "token_ids", "routed_experts"))
    top = {"service_tier": None, "system_fingerprint": "vllm-0.32.0-e66bd131", "metrics": None}
    return {**message, "reasoning": reasoning}, choice, top


def _mlx_vlm(reasoning: str | None) -> Shape:
    message = dict.fromkeys(("reasoning_content", "tool_calls", "tool_call_id", "name"))
    return (
        {**message, "reasoning": reasoning},
        {"logprobs": None},
        {"timings": {"prompt_ms": 36.5, "predicted_ms": 3.2}},
    )


def _llamacpp(reasoning: str | None) -> Shape:
    message = {"reasoning_content": reasoning} if reasoning else {}
    return message, {}, {"system_fingerprint": "b0-unknown", "timings": {"cache_n": 0, "prompt_ms": 0.3}}


def _plain(reasoning: str | None) -> Shape:
    return {"reasoning_content": reasoning} if reasoning else {}, {}, {}


SHAPES: dict[str, Callable[[str | None], Shape]] = {
    "vllm": _vllm,
    "mlx-vlm": _mlx_vlm,
    "llamacpp": _llamacpp,
    "plain": _plain,
}

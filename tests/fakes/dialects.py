"""The refusals of vLLM 0.32, mlx-vlm 0.7.10, llama.cpp and hosted services in their own words."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.fakes.script import Reply
from tests.fakes.shapes import Fault, shaped
from tests.fakes.wire_form import Header

VLLM_INTERNAL = "InternalServerError"
LLAMACPP_INVALID = "invalid_request_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of server: its error shape, the headers of every reply, the paths it takes chats at, its refusals."""

    shape: str
    headers: tuple[Header, ...]
    chat_paths: tuple[str, ...] = ("/v1/chat/completions",)
    closes_on_error: bool = False
    faults: Mapping[str, Fault] = field(default_factory=dict)


BOTH_PATHS = ("/v1/chat/completions", "/chat/completions")
NOT_FOUND = Fault(status=404, message="Not Found", shape="detail")
NOT_ALLOWED = Fault(status=405, message="Method Not Allowed", shape="detail")

VLLM: dict[str, Fault] = {
    "not_found": NOT_FOUND,
    "method_not_allowed": NOT_ALLOWED,
    "wrong_key": Fault(status=401, message="Unauthorized", shape="string"),
    "unknown_model": Fault(
        status=404,
        message="The model `{model}` does not exist. Valid aliases: {served}.",
        type="NotFoundError",
        param="model",
    ),
    "too_long": Fault(
        status=400,
        message="This model's maximum context length is {limit} tokens. However, your prompt contains at least "
        "{tokens} input tokens, which exceeds this limit even without any output tokens. Please reduce the length of "
        "the input prompt. (parameter=input_tokens, value={tokens})",
        param="input_tokens",
    ),
    "too_many_images": Fault(
        status=400,
        message="At most {limit} image(s) may be provided in one prompt. (parameter=image)",
        param="image",
    ),
    "bad_image": Fault(status=400, message="Failed to load image: cannot identify image file <_io.BytesIO object>"),
    "loading": Fault(status=503, message="The model is still loading.", type="ServiceUnavailableError"),
    "busy": Fault(
        status=503,
        message="The engine is currently busy and cannot accept new requests. Please try again later.",
        type="ServiceUnavailableError",
    ),
    "engine_dead": Fault(
        status=500,
        message="EngineCore encountered an issue. See stack trace (above) for the root cause.",
        type=VLLM_INTERNAL,
    ),
}
MLX_VLM: dict[str, Fault] = {
    "not_found": NOT_FOUND,
    "method_not_allowed": NOT_ALLOWED,
    "wrong_key": Fault(status=401, message="Invalid API key"),
    "unknown_model": Fault(status=400, message="Failed to load model: Cannot find {model} on the local disk."),
    "too_long": Fault(status=400, message="Protected conversation exceeds the available context budget."),
    "bad_image": Fault(
        status=500,
        message="Generation failed: Failed to load image from {url}: cannot identify image file "
        "<_io.BytesIO object at 0x7f67ac34f470>",
    ),
    "engine_dead": Fault(status=500, message="Generation failed: [METAL] Command buffer execution failed."),
    "batch_failed": Fault(status=500, message="Generation failed: Failed to load image from {url}: broken"),
}
LLAMACPP: dict[str, Fault] = {
    "not_found": Fault(status=404, message="File Not Found", type="not_found_error"),
    "method_not_allowed": Fault(status=404, message="File Not Found", type="not_found_error"),
    "wrong_key": Fault(status=401, message="Invalid API Key", type="authentication_error"),
    "too_long": Fault(
        status=400,
        message="request ({tokens} tokens) exceeds the available context size ({limit} tokens), try increasing it",
        type="exceed_context_size_error",
    ),
    "bad_image": Fault(status=400, message="Failed to load image or audio file", type=LLAMACPP_INVALID),
    "loading": Fault(status=503, message="Loading model", type="unavailable_error"),
    "engine_dead": Fault(status=500, message="Compute error.", type="server_error"),
}
PLAIN: dict[str, Fault] = {
    "not_found": Fault(status=404, message="Invalid URL ({method} {path})", type=LLAMACPP_INVALID),
    "method_not_allowed": Fault(status=405, message="Not allowed to {method} on {path}", type=LLAMACPP_INVALID),
    "wrong_key": Fault(
        status=401, message="Incorrect API key provided.", type=LLAMACPP_INVALID, code="invalid_api_key"
    ),
    "unknown_model": Fault(
        status=404,
        message="The model `{model}` does not exist or you do not have access to it.",
        type=LLAMACPP_INVALID,
        code="model_not_found",
    ),
    "too_long": Fault(
        status=400,
        message="This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens} "
        "tokens. Please reduce the length of the messages.",
        type=LLAMACPP_INVALID,
        param="messages",
        code="context_length_exceeded",
    ),
    "too_many_images": Fault(
        status=400, message="Too many images in request. Maximum is {limit}.", type=LLAMACPP_INVALID
    ),
    "bad_image": Fault(
        status=400,
        message="You uploaded an unsupported image. Please make sure your image is valid.",
        type=LLAMACPP_INVALID,
        code="image_parse_error",
    ),
    "loading": Fault(status=503, message="Loading model", type="server_error"),
    "busy": Fault(
        status=503, message="The engine is currently overloaded, please try again later", type="server_error"
    ),
    "engine_dead": Fault(
        status=500, message="The server had an error while processing your request.", type="server_error"
    ),
}

KINDS: dict[str, Kind] = {
    "vllm": Kind(shape="vllm", headers=(("server", "uvicorn"),), faults=VLLM),
    "mlx-vlm": Kind(shape="detail", headers=(("server", "mlx_vlm/0.7.10"),), chat_paths=BOTH_PATHS, faults=MLX_VLM),
    "llamacpp": Kind(
        shape="llamacpp",
        headers=(("server", "llama.cpp"), ("keep-alive", "timeout=5, max=100")),
        chat_paths=BOTH_PATHS,
        closes_on_error=True,
        faults=LLAMACPP,
    ),
    "plain": Kind(shape="openai", headers=(), faults=PLAIN),
}


def refusal(
    kind: str, name: str, *, message: str | None = None, headers: tuple[Header, ...] = (), **facts: Any
) -> Reply:
    """A kind's message for a fault (or `message`) in its shape; if it has none, that of the plain kind."""
    own = KINDS[kind].faults
    fault = own.get(name) or PLAIN.get(name) or VLLM[name]
    shape = fault.shape or KINDS[kind].shape
    counts = {"n_prompt_tokens": facts.get("tokens"), "n_ctx": facts.get("limit")}
    more = counts if shape == "llamacpp" and "tokens" in facts else {}
    said = (message or fault.message).format_map(facts)
    return shaped(replace(fault, message=said, shape=shape, more=more), headers)

"""What the client should make of each recorded reply of real servers, as a table."""

from typing import NamedTuple

from vqa_client.types import Status


class Said(NamedTuple):
    """A completion: its text, its two token counts, its finish reason and its reasoning."""

    text: str
    prompt_tokens: int | None
    completion_tokens: int | None
    finish: str = "stop"
    reasoning: str | None = None


class Failed(NamedTuple):
    """A failure: its status, its hint, and the attempts of a client that may retry once."""

    status: Status
    hint: str = ""
    attempts: int = 1


Expected = Said | Failed

RED = Said("red", 36, 2)
CUT = Said("red because the", 40, 3, finish="length")
WHOLE = Said("red because the image shows a red triangle.", 40, 10)
FOUR = Said("4", 234, 2)
YES, TWO, BLACK, YELLOW, GRAY = (
    Said("yes", 12, 2),
    Said("2", 17, 2),
    Said("black", 36, 2),
    Said("yellow", 36, 2),
    Said("gray", 992, 2),
)
THOUGHT = Said("red", 38, 13, reasoning="the image shows a red triangle.")
THOUGHT_ALOUD = Said("the image shows a red triangle.\n</think>\n\nred", 38, 13)
THOUGHT_APART = Said("\n\nred", 38, 13, reasoning="the image shows a red triangle.\n")
STILL_THINKING = Said("", 38, 4, finish="length", reasoning="the image shows a")
STILL_THINKING_ALOUD = Said("the image shows a", 38, 4, finish="length")
HOT = Said("con\ufffdxt\ufffdent\ufffd phrasebeb5l\ufffd!ircletyorm", 36, 16, finish="length")
BLANKS = Said("{" + "\n" * 39, 36, 40, finish="length")

REJECTED = Failed("rejected")
WRONG_KEY = Failed("rejected", hint="--api_key")
NO_PATH = Failed("rejected", hint="--base_url")
NO_MODEL = Failed("rejected", hint="has no such model: --model ")
NO_ROOM = Failed("rejected", hint="lower max_tokens")
NO_FILES = Failed("rejected", hint="--file_urls")
NO_FORMAT = Failed("rejected", hint="response_format")
BAD_IMAGE = Failed("bad_image", hint="--image_format")
TOO_LONG = Failed("too_long", hint="max-model-len")
TOO_MANY = Failed("too_many_images", hint="--limit-mm-per-prompt")
NO_CHAT = Failed("bad_response", attempts=2)
FAULT = Failed("server_error", attempts=2)
LOST = Failed("connection", attempts=3)  # once more because the connection may have been closed before
RED_TOLD = Said("red", None, None)
CUT_TOLD = Said("red because the", None, None, "length")
PIECES = "the image shows a red triangle.\n"
THOUGHT_TOLD = Said(f"{PIECES}</think>\n\nred", None, None)

SERVERS = ("vllm", "mlx-vlm", "llamacpp")
# fmt: off
BY_PROBE: dict[str, tuple[Expected, Expected, Expected]] = {
    # images in many forms
    "chat_image": (RED, RED, RED),
    "chat_image_text_first": (RED, RED, RED),
    "chat_image_url_string": (REJECTED, REJECTED, BAD_IMAGE),
    "chat_input_image": (REJECTED, RED, REJECTED),
    "chat_detail": (RED, RED, RED),
    "chat_wrong_mime": (RED, RED, RED),
    "chat_bmp": (RED, RED, RED),
    "chat_gif": (RED, RED, RED),
    "chat_palette": (RED, RED, RED),
    "chat_rgba": (RED, RED, RED),
    "chat_cmyk_jpeg": (RED, RED, RED),
    "chat_tiff": (RED, RED, BAD_IMAGE),
    "chat_webp": (RED, RED, BAD_IMAGE),
    "chat_gray": (BLACK, BLACK, BLACK),
    "chat_16bit": (YELLOW, YELLOW, BLACK),
    "chat_1x1": (Said("gray", 24, 2), Said("gray", 24, 2), Said("gray", 29, 2)),
    "chat_1x300": (BAD_IMAGE, BAD_IMAGE, Said("black", 39, 2)),
    "chat_big_image": (GRAY, GRAY, TOO_LONG),
    "chat_max_pixels": (GRAY, Said("gray", 254, 2), TOO_LONG),
    "chat_mm_kwargs": (REJECTED, GRAY, TOO_LONG),
    "chat_images3": (Said("yellow", 76, 2), Said("yellow", 76, 2), Said("yellow", 76, 2)),
    "chat_images12": (FOUR, FOUR, FOUR),
    "chat_images40": (TOO_MANY, Said("4", 738, 2), Said("4", 738, 2)),
    "chat_interleaved": (Said("yellow", 67, 2), Said("yellow", 67, 2), Said("yellow", 67, 2)),
    # broken images
    "bad_base64": (BAD_IMAGE, BAD_IMAGE, BAD_IMAGE),
    "bad_not_image": (BAD_IMAGE, BAD_IMAGE, BAD_IMAGE),
    "bad_truncated": (BAD_IMAGE, BAD_IMAGE, BAD_IMAGE),
    "bad_empty_data": (BAD_IMAGE, BAD_IMAGE, BAD_IMAGE),
    "bad_empty_url": (REJECTED, BAD_IMAGE, BAD_IMAGE),
    "bad_path": (REJECTED, RED, BAD_IMAGE),
    "bad_file_url": (NO_FILES, BAD_IMAGE, NO_FILES),
    "bad_http_url": (FAULT, BAD_IMAGE, FAULT),  # the other machine may answer the next time
    # texts, turns and roles
    "chat_text": (Said(" rectangle.", 20, 3), Said("rectangle.", 20, 3), Said(" rectangle.", 20, 3)),
    "chat_system": (Said("red", 51, 2), Said("red", 51, 2), Said("red", 51, 2)),
    "chat_system_list": (Said("red", 51, 2), Said("red", 51, 2), Said("red", 51, 2)),
    "chat_multiturn": (Said("yellow", 73, 2), Said("yellow", 73, 2), Said("yellow", 73, 2)),
    "assistant_prefill": (
        Said(" image shows a red triangle.\n\n\n\nred", 37, 12),
        Said("red", 44, 5),
        Said("the image shows a red triangle.\n\n\n\nred", 37, 12),
    ),
    "bad_image_token_in_text": (TWO, TWO, TWO),
    "bad_role": (Said("2", 15, 2), REJECTED, Said("2", 15, 2)),
    "bad_content_type": (REJECTED, REJECTED, REJECTED),
    "bad_text_null": (Said("triangle", 30, 2), REJECTED, REJECTED),
    "content_empty": (YES, REJECTED, YES),
    "content_null": (REJECTED, REJECTED, YES),
    # parameters
    "chat_no_max_tokens": (RED, RED, RED),
    "chat_max_tokens_length": (CUT, CUT, CUT),
    "chat_max_completion_tokens": (CUT, WHOLE, CUT),
    "chat_stop": (Said("red", 40, 2), WHOLE, Said("red", 40, 2)),
    "chat_n3": (Said("red", 36, 6), RED, RED),
    "chat_n3_greedy": (REJECTED, RED, RED),
    "chat_seed": (RED, RED, RED),
    "chat_penalties": (RED, RED, RED),
    "chat_extra_sampling": (RED, RED, RED),
    "chat_unknown_param": (RED, RED, RED),
    "chat_user_metadata": (RED, RED, RED),
    "chat_logprobs": (RED, RED, RED),
    "chat_logprobs_21": (REJECTED, RED, RED),
    "chat_top_logprobs_only": (REJECTED, RED, REJECTED),
    "bad_max_tokens0": (REJECTED, NO_ROOM, Said("red", 36, 1, finish="length")),
    "bad_max_tokens_neg": (REJECTED, NO_ROOM, RED),
    "bad_max_tokens_str": (REJECTED, REJECTED, REJECTED),
    "bad_n0": (REJECTED, RED, REJECTED),
    "bad_temperature": (REJECTED, HOT, RED),
    # forms of the reply
    "chat_structured_choice": (RED, RED, RED),
    "chat_structured_choice_odd": (Said("orange", 36, 5), RED, RED),
    "chat_structured_regex": (RED, RED, RED),
    "chat_guided_choice": (RED, RED, RED),
    "chat_guided_choice_odd": (RED, RED, RED),
    "chat_json_object": (BLANKS, NO_FORMAT, Said("{\n\n\n\n}", 36, 19)),
    "chat_json_schema": (BLANKS, NO_FORMAT, Said('{\n\n"answer"\n\n\t\t\t:\n\n"green"\n\n \t}', 36, 36)),
    "chat_response_format_bad": (REJECTED, NO_FORMAT, REJECTED),
    # thinking
    "chat_thinking": (THOUGHT_ALOUD, RED, THOUGHT_ALOUD),
    "chat_thinking_top": (RED, THOUGHT, RED),
    "chat_reasoning_effort": (THOUGHT_ALOUD, THOUGHT, RED),
    "chat_thinking_cut": (STILL_THINKING_ALOUD, STILL_THINKING, STILL_THINKING_ALOUD),
    # too much for the context
    "ctx_text": (TOO_LONG, TOO_LONG, TOO_LONG),
    "ctx_images": (TOO_LONG, TOO_LONG, TOO_LONG),
    "ctx_stream": (TOO_LONG, TOO_LONG, TOO_LONG),
    "ctx_max_tokens": (NO_ROOM, RED, RED),
    # models, and invalid requests
    "unknown_model": (NO_MODEL, NO_MODEL, RED),
    "empty_model": (RED, NO_MODEL, RED),
    "no_model": (RED, REJECTED, RED),
    "no_messages": (REJECTED, REJECTED, REJECTED),
    "empty_messages": (REJECTED, FAULT, Said("yes", 5, 2)),  # "list index out of range" names no fault of the request
    "empty_body": (REJECTED, REJECTED, REJECTED),
    "bad_json": (REJECTED, REJECTED, REJECTED),
    # streams that were not requested: joined and read
    "stream": (RED_TOLD, RED_TOLD, RED_TOLD),
    "stream_usage": (RED, RED, RED),
    "stream_usage_continuous": (RED, RED, RED),
    "stream_logprobs": (RED_TOLD, RED_TOLD, RED_TOLD),
    "stream_thinking": (THOUGHT_TOLD, Said("red", None, None, reasoning=PIECES), THOUGHT_TOLD),
    "stream_length": (CUT_TOLD, CUT_TOLD, LOST),
    "stream_bad_image": (BAD_IMAGE, BAD_IMAGE, BAD_IMAGE),
    "stream_unknown_model": (NO_MODEL, NO_MODEL, RED_TOLD),
    # what other paths answer
    "chat_get": (REJECTED, REJECTED, NO_PATH),
    "completions": (NO_CHAT, NO_PATH, NO_CHAT),
    "responses": (NO_CHAT, NO_CHAT, NO_CHAT),
    "models": (NO_CHAT, NO_CHAT, NO_CHAT),
    "models_unknown": (NO_PATH, NO_PATH, NO_PATH),
    "unknown_path": (NO_PATH, NO_PATH, NO_PATH),
    "tokenize": (NO_CHAT, NO_PATH, NO_CHAT),
    "root_health": (NO_CHAT, NO_CHAT, NO_CHAT),
    "root_load": (NO_CHAT, NO_PATH, NO_PATH),
    "root_metrics": (NO_CHAT, NO_CHAT, REJECTED),
    "root_ping": (NO_CHAT, NO_PATH, NO_PATH),
    "root_version": (NO_CHAT, NO_PATH, NO_PATH),
}
BY_FOLDER: dict[str, dict[str, Expected]] = {
    "vllm-reasoning-key-sekret": {  # the model did not think, so the server takes its answer for its thoughts
        "chat_image": Said("", 36, 2, reasoning="red"),
        "chat_images3": TOO_MANY,
        "chat_reasoning_effort": THOUGHT_APART,
        "chat_structured_choice": Said("", 36, 2, reasoning="red"),
        "chat_thinking": THOUGHT_APART,
        "chat_thinking_cut": STILL_THINKING,
        **dict.fromkeys(("models", "root_health", "root_metrics"), NO_CHAT),
        "stream": Said("", None, None, reasoning="red"),
        "stream_thinking": Said("\n\nred", None, None, reasoning=PIECES),
    },
    "vllm-reasoning-key-wrong": {
        **dict.fromkeys(("chat_image", "chat_images3", "chat_reasoning_effort", "chat_structured_choice"), WRONG_KEY),
        **dict.fromkeys(("chat_thinking", "chat_thinking_cut", "models", "stream", "stream_thinking"), WRONG_KEY),
        **dict.fromkeys(("root_health", "root_metrics"), NO_CHAT),
    },
    "mlx-vlm-key-sekret": {
        "chat_image": RED,
        "chat_logprobs": RED,
        **dict.fromkeys(("models", "root_health"), NO_CHAT),
        "stream": RED_TOLD,
    },
    "mlx-vlm-key-wrong": dict.fromkeys(("chat_image", "chat_logprobs", "models", "root_health", "stream"), WRONG_KEY),
}
# fmt: on

EXPECTED: dict[str, dict[str, Expected]] = {
    **{server: {probe: row[at] for probe, row in BY_PROBE.items()} for at, server in enumerate(SERVERS)},
    **BY_FOLDER,
}
"""The expected outcome of each sample, by its folder and its probe."""

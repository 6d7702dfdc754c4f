"""What a server's refusal means: one table from status and words to what became of the question."""

import html
import re
from http import HTTPStatus
from typing import Any

import msgspec

from vqa_client.errors import UNDECODABLE
from vqa_client.types import Status

BODY_CHARACTERS = 2_000
READ_CHARACTERS = 20_000
"""So much of a refusal is looked at; what is kept is cut after the key is taken out, so that no half of it stays."""
MEGABYTE = 1_000_000


class Verdict(msgspec.Struct, frozen=True):
    """The status of a question that got this reply, whether asking again may help, and the way out.

    `loading` means that the server has no model yet: waiting is not charged to the question.
    """

    status: Status
    retry: bool = False
    hint: str = ""
    loading: bool = False


_LOWER_MAX_TOKENS = Verdict("rejected", hint="lower max_tokens in the config, or raise the server's max-model-len")
_TOO_LONG = Verdict("too_long", hint="raise the server's max-model-len, or send less: --max_pages, --max_pixels")
_TOO_MANY = Verdict("too_many_images", hint="raise the server's --limit-mm-per-prompt, or use --max_pages")
_LOADING = Verdict("server_error", retry=True, loading=True)
_BAD_IMAGE = Verdict("bad_image", hint="the server can't decode the image; --image_format png re-encodes it")
_NO_MODEL = Verdict(
    "rejected", hint="the server has no such model: --model (vqa2, explain: --model_name) names the one that it serves"
)
_NO_FILES = Verdict(
    "rejected", hint="the server may read no files (vLLM: --allowed-local-media-path): drop --file_urls"
)
_NO_FORMAT = Verdict("rejected", hint="the server can't hold a reply to that format: leave response_format out")

WORDS: tuple[tuple[re.Pattern[str], Verdict], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), verdict)
    for pattern, verdict in (
        (r"max_(completion_)?tokens\W?=?\W?\d* (cannot be greater|is too large)|output reservation", _LOWER_MAX_TOKENS),
        (r"(maximum|available|model'?s)( \w+)? context (length|size|window)|context budget", _TOO_LONG),
        (r"context_length_exceeded|exceed_context_size|longer than the maximum model length", _TOO_LONG),
        (r"loading model|model (is )?(still |currently )?(being )?load(ing|ed)\b|not (yet )?ready", _LOADING),
        (r"(prompt|input|request)( \([^)]*\))? is too long", _TOO_LONG),
        (r"at most \d+ (image|multi-?modal|mm)|too many images|limit[-_]mm[-_]per[-_]prompt", _TOO_MANY),
        (r"(number of|maximum of|up to) (\d+ )?images?\b.*(exceed|limit|allowed)", _TOO_MANY),
        (r"(failed|unable|cannot|can't|could not|couldn't) (to )?(load|identify|decode) (the )?image", _BAD_IMAGE),
        (r"image file is truncated|(invalid|unsupported) image|image (format|type) (is )?not supported", _BAD_IMAGE),
        (r"base64[- ]encoded string|non-base64 digit|invalid base64", _BAD_IMAGE),
        (r"absolute aspect ratio|failed to apply \w*processor", _BAD_IMAGE),
        (r"failed to load model", _NO_MODEL),
        (r"local files without|file:// urls are not allowed", _NO_FILES),
        (r"unsupported response_format|no metal back-?end", _NO_FORMAT),
        (r"failed to parse messages", Verdict("rejected")),
    )
)  # fmt: skip
"""Words decide before the status does: 500 is what mlx-vlm answers to a broken image and to a format that takes a GPU,
vLLM to a file that it may not read, llama.cpp to a message without text; repeating it would fail again."""

SPEAKING_CODES = frozenset({400, 413, 422, 500, 501})
"""Statuses whose words say more than they do; a busy or a rate-limiting server may speak of requests and sizes too."""
LOADING_CODES = frozenset({503})
_BUSY = Verdict("server_error", retry=True)
CODES: dict[int, Verdict] = {
    401: Verdict("rejected", hint="the server refuses the key: --api_key or VQA_CLIENT_API_KEY"),
    403: Verdict("rejected", hint="the server refuses the key or the model: --api_key, --model"),
    404: Verdict("rejected", hint="the server knows no such path or model: --base_url, --model"),
    408: _BUSY,
    409: _BUSY,
    413: Verdict("rejected", hint="the body is larger than the server or its gateway takes: --max_pixels, --max_pages"),
    425: _BUSY,
    429: Verdict("rate_limited", retry=True),
    501: Verdict("rejected"),
    505: Verdict("rejected"),
}


def judge(http_status: int, message: str, size_bytes: int = 0) -> Verdict:
    """Classify a reply that is no completion; `size_bytes` is the length of the request's body."""
    verdict = _judge(http_status, message)
    if verdict.status == "rejected" and size_bytes > MEGABYTE and http_status in (400, 404, 413):
        hint = f"{verdict.hint + '; ' if verdict.hint else ''}the body was {size_bytes / MEGABYTE:.1f} MB: "
        return msgspec.structs.replace(verdict, hint=hint + "a gateway's limit may be below that, try --max_pixels")
    return verdict


def _judge(http_status: int, message: str) -> Verdict:
    for pattern, verdict in WORDS:
        if http_status in (LOADING_CODES if verdict.loading else SPEAKING_CODES) and pattern.search(message):
            return verdict
    if http_status in CODES:
        return CODES[http_status]
    if http_status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return _BUSY
    if http_status >= HTTPStatus.BAD_REQUEST:
        return Verdict("rejected")
    if http_status >= HTTPStatus.MULTIPLE_CHOICES:
        return Verdict("rejected", hint="the server redirects elsewhere: give that address as --base_url")
    return Verdict("bad_response")


def error_message(body: bytes) -> str:
    """The server's own words, whatever shape it wrapped them in, without any echo of an image."""
    text = body[:READ_CHARACTERS].decode("utf-8", "replace")
    try:
        found = _message_in(msgspec.json.decode(body))
    except UNDECODABLE:
        found = _page_title(text)
    return without_images(found or text).strip()


def excerpt(body: bytes) -> str:
    """The start of a body, without any echo of an image."""
    return without_images(body[:READ_CHARACTERS].decode("utf-8", "replace"))


def without_images(text: str) -> str:
    """Cut data URLs, which servers echo whole, and other long runs of base64 out of a text."""
    text = re.sub(r"data:[\w/+.-]*;base64,[A-Za-z0-9+/=_-]*", "data:<image>", text)
    return re.sub(r"[A-Za-z0-9+/]{400,}={0,2}", "<base64>", text)


def _message_in(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "; ".join(filter(None, map(_message_in, value)))
    if not isinstance(value, dict):
        return ""
    for key in ("error", "message", "detail", "msg", "error_description", "title", "choices"):
        inner = value.get(key)
        if inner:
            place = ".".join(map(str, value["loc"])) + ": " if isinstance(value.get("loc"), list) else ""
            return place + _message_in(inner)
    return ""


def _page_title(text: str) -> str:
    if "<" not in text[:200]:
        return ""
    title = re.search(r"<title[^>]*>([^<]*)", text, re.IGNORECASE)
    return " ".join(html.unescape(title.group(1)).split()) if title else ""

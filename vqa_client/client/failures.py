"""Classify a server's refusal, by a table from its HTTP status and words to the outcome of the question."""

import html
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from http import HTTPStatus
from itertools import islice
from typing import Any

import msgspec

from vqa_client.client.streamed import completion_in_events
from vqa_client.errors import UNDECODABLE
from vqa_client.types import Status

BODY_CHARACTERS = 2_000
READ_CHARACTERS = 20_000
"""The part of a refusal that is read; it is cut again only after the key was removed, so that no half key is left."""
MEGABYTE = 1_000_000
CODE_KEYS = frozenset(
    {"code", "type", "status", "reason", "finish_reason", "finishreason", "native_finish_reason", "stop_reason"}
    | {"blockreason", "block_reason", "error_code", "errorcode", "err_code", "statuscode", "status_code", "status_msg"}
)
DEEPEST, READ_ITEMS = 8, 50
_FLAGS = re.IGNORECASE | re.MULTILINE
_LEAD = re.compile(r"(?:\s|:[^\n]*\n)+")
"""Blank lines, and comments of a stream of events, which gateways send to keep a connection alive."""


class Verdict(msgspec.Struct, frozen=True):
    """The status of a question that got this reply, whether a retry may help, and a hint for the user.

    `loading`: the server is still loading the model, and waiting for it isn't charged to the question.
    """

    status: Status
    retry: bool = False
    hint: str = ""
    loading: bool = False


GLITCH = Verdict("bad_response", retry=True)
LOST = Verdict("connection", retry=True)
FAULTS: frozenset[Status] = frozenset({"server_error", "connection"})
"""Statuses that, with timeouts, count as a fault of the server."""
CROWDED = frozenset({503, 529})
"""HTTP statuses of a server with too many requests."""
_LOWER_MAX_TOKENS = Verdict("rejected", hint="lower max_tokens in the config, or raise the server's max-model-len")
_TOO_LONG = Verdict("too_long", hint="raise the server's max-model-len, or send less: --max_pages, --max_pixels")
_TOO_MANY = Verdict("too_many_images", hint="raise the server's --limit-mm-per-prompt, or use --max_pages")
_LOADING = Verdict("server_error", retry=True, loading=True)
_BAD_IMAGE = Verdict("bad_image", hint="the server can't decode the image; --image_format png re-encodes it")
_BAD_SIZE = Verdict("bad_image", hint="the server takes no image of that size: --max_pixels")
_FILTERED = Verdict("refused")
_NO_KEY = Verdict("rejected", hint="the server refuses the key: --api_key or VQA_CLIENT_API_KEY")
_NO_CREDITS = Verdict("rejected", hint="the account has no credits left: add some, or use another --api_key")
_NO_MODEL = Verdict(
    "rejected", hint="the server has no such model: --model (vqa2, explain: --model_name) names the one that it serves"
)
_NO_FILES = Verdict(
    "rejected", hint="the server may read no files (vLLM: --allowed-local-media-path): drop --file_urls"
)
_NO_FORMAT = Verdict("rejected", hint="the server can't constrain a reply to that format: leave response_format out")
_OF_A_PROMPT = r"^(?!.*\b(account|organi[sz]ation|subscription|project)\b).*"
"""Starts a pattern for a line about the prompt; a line about a blocked account is not about a question."""

SPEAKING = frozenset({200, 400, 413, 422, 500, 501})
"""HTTP statuses whose words decide; a busy server also mentions requests and sizes, but with other statuses."""
FILTERING = SPEAKING | {403, 451}
REFUSING = frozenset({200, 400, 402, 403, 404, 422})
"""HTTP statuses of gateways for a wrong key, an unknown model or an empty account."""
WORDS: tuple[tuple[frozenset[int], str, Verdict], ...] = (
    (SPEAKING, r"max_(completion_)?tokens\W?=?\W?\d* (cannot be greater|is too large)", _LOWER_MAX_TOKENS),
    (SPEAKING, r"output reservation", _LOWER_MAX_TOKENS),
    (SPEAKING, r"(maximum|available|model'?s)( \w+)? context (length|size|window)|context budget", _TOO_LONG),
    (SPEAKING, r"context_length_exceeded|exceed_context_size|longer than the maximum model length", _TOO_LONG),
    (SPEAKING, r"(prompt|input|request)( \([^)]*\))? is too long|longer than the model'?s context", _TOO_LONG),
    (SPEAKING, r"\b(prompt|input)( (?!image)\w+){0,3}( \([^)]*\)| \d+)? exceeds (the )?(max|model|limit)", _TOO_LONG),
    (SPEAKING, r"reduce the length of (the|your) (messages|prompt|input)", _TOO_LONG),
    (SPEAKING, r"^(?!.*(\brate\b|\bper (minute|day)|please wait|later)).*too many (input )?tokens", _TOO_LONG),
    (SPEAKING, r"range of input length|inputs` must have less than", _TOO_LONG),
    (SPEAKING, r"at most \d+ (image|multi-?modal|mm)|too many images|limit[-_]mm[-_]per[-_]prompt", _TOO_MANY),
    (SPEAKING, r"(number of|maximum of|up to) (\d+ )?images?\b.*(exceed|limit|allowed)", _TOO_MANY),
    (SPEAKING, r"(failed|unable|can(no|')t|could(n't| not)) (to )?(load|identify|decode) (the )?image", _BAD_IMAGE),
    (SPEAKING, r"image file is truncated|(invalid|unsupported) image", _BAD_IMAGE),
    (SPEAKING, r"image (format|type) (is )?not supported", _BAD_IMAGE),
    (
        SPEAKING,
        r"(could not|unable to|can(no|')t|failed to) (process|read|open|parse)( the| this| input)* image",
        _BAD_IMAGE,
    ),
    (SPEAKING, r"image( \w+){0,3} (is not|isn't) (a )?valid\b|not (represent )?a valid image", _BAD_IMAGE),
    (
        SPEAKING,
        r"(decode|corrupt(ed)?) (the )?image|image( \w+)? (is|appears|seems)( to be)? (corrupt|empty|damaged)",
        _BAD_IMAGE,
    ),
    (SPEAKING, r"image (dimensions|size)( \d+)? exceeds?|image exceeds|image length and width do not meet", _BAD_SIZE),
    (SPEAKING, r"base64[- ]encoded string|non-base64 digit|invalid base64", _BAD_IMAGE),
    (SPEAKING, r"absolute aspect ratio|failed to apply \w*processor", _BAD_IMAGE),
    (SPEAKING, r"failed to load model", _NO_MODEL),
    (SPEAKING, r"local files without|file:// urls are not allowed", _NO_FILES),
    (SPEAKING, r"unsupported response_format|no metal back-?end", _NO_FORMAT),
    (SPEAKING, r"failed to parse messages", Verdict("rejected")),
    (frozenset({503}), r"loading model|model (is )?((still|currently) )?(being )?load(ing|ed)\b", _LOADING),
    (frozenset({503}), r"not (yet )?ready", _LOADING),
    (FILTERING, r"^(\w*content_?(filter|policy)\w*|responsible_?ai\w*|\w*data_?inspection_?failed)$", _FILTERED),
    (FILTERING, r"^(\w*sensitive_?content\w*|\w*moderation(_blocked)?|\w*guardrail\w*|invalid_prompt)$", _FILTERED),
    (FILTERING, r"^((image_|output_)?safety|prohibited_content|blocklist|spii|recitation)$", _FILTERED),
    (FILTERING, _OF_A_PROMPT + r"content[ _-]?(filter|management polic|moderation|polic)", _FILTERED),
    (FILTERING, _OF_A_PROMPT + r"(inappropriate|prohibited|sensitive|unsafe|harmful)[ _]content", _FILTERED),
    (FILTERING, _OF_A_PROMPT + r"(safety|moderation) (system|filter|check)|敏感|不安全|违规内容", _FILTERED),
    (FILTERING, _OF_A_PROMPT + r"(flagged|blocked|violat).*(polic|guideline|safety|moderat|guardrail)", _FILTERED),
    (FILTERING, _OF_A_PROMPT + r"moderation.*flagged|content exists risk|blocked output", _FILTERED),
    (REFUSING, r"(incorrect|invalid|missing|expired|wrong|no) (api[ _-]?key|credentials|access token)", _NO_KEY),
    (REFUSING, r"api[ _-]?key.{0,30} (invalid|incorrect|expired|missing|required|revoked|not )", _NO_KEY),
    (REFUSING, r"invalid_api_key|api_key_invalid|^(unauthenticated|unauthorized)|authentication", _NO_KEY),
    (REFUSING | {429}, r"insufficient[ _](balance|credit|fund|quota)|credit balance|余额不足|欠费", _NO_CREDITS),
    (REFUSING, r"not enough (balance|credit|fund)|out of credits|payment required|billing|arrear", _NO_CREDITS),
    (REFUSING, r"model[^.\n]* (does not exist|(was |is )?not (found|available|served|a valid model))", _NO_MODEL),
    (REFUSING, r"(no such|unknown|invalid|unrecognized) model\b|model_not_found", _NO_MODEL),
)
"""The words of a refusal decide before its status: HTTP 500 is mlx-vlm's reply to a broken image and to a format that
needs a GPU, vLLM's to a file that it may not read, and llama.cpp's to a message without text. A retry would fail again.

Each code of an error is on its own line. Only words about the question settle it: too long, too many images, bad
images, or a filter's refusal, which is an answer. The first refusal compiles the patterns: most runs have none.
"""

_BUSY = Verdict("server_error", retry=True)
CODES: dict[int, Verdict] = {
    401: _NO_KEY,
    402: _NO_CREDITS,
    403: Verdict("rejected", hint="the server refuses the key or the model: --api_key, --model"),
    404: Verdict("rejected", hint="the server knows no such path or model: --base_url, --model"),
    407: Verdict("rejected", hint="the proxy wants a name and a password: http://NAME:PASSWORD@HOST:PORT"),
    408: _BUSY,
    409: _BUSY,
    413: Verdict("rejected", hint="the body is larger than the server or its gateway takes: --max_pixels, --max_pages"),
    425: _BUSY,
    429: Verdict("rate_limited", retry=True),
    501: Verdict("rejected"),
    505: Verdict("rejected"),
}
STATUS_OF_CODE = (
    (r"^(insufficient_\w+|payment_required|billing\w*)$", 402),
    (r"^(rate_?limit\w*|resource_?exhausted|too_?many_?requests|throttl\w*)$", 429),
    (r"^(unauthenticated|unauthorized|invalid_api_key|authentication_error)$", 401),
    (r"^(permission_?denied|forbidden)$", 403),
    (r"^\w*not_?found$", 404),
)
"""HTTP statuses of errors in an HTTP 200, by the word of their code."""


def judge(http_status: int, words: str, size_bytes: int = 0) -> Verdict:
    """Classify a reply that is not a completion.

    `words` are the server's codes and its message, from `words_of`; `http_status` is 200 for an error in an HTTP 200
    that names no other status. `size_bytes` is the length of the request's body.
    """
    verdict = _verdict(http_status, words)
    if verdict.status == "rejected" and size_bytes > MEGABYTE and http_status in (400, 404, 413):
        hint = f"{verdict.hint + '; ' if verdict.hint else ''}the body was {size_bytes / MEGABYTE:.1f} MB: "
        return msgspec.structs.replace(verdict, hint=hint + "a gateway's limit may be below that, try --max_pixels")
    return verdict


def _verdict(http_status: int, words: str) -> Verdict:
    for statuses, pattern, verdict in WORDS:
        if http_status in statuses and re.search(pattern, words, _FLAGS):
            return verdict
    if http_status in CODES:
        return CODES[http_status]
    if http_status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return _BUSY
    if http_status >= HTTPStatus.BAD_REQUEST:
        return Verdict("rejected")
    if http_status >= HTTPStatus.MULTIPLE_CHOICES:
        return Verdict("rejected", hint="the server redirects elsewhere: give that address as --base_url")
    return _BUSY  # an error in an HTTP 200


def lenient_json(body: bytes) -> Any:
    """Decode JSON as gateways send it: with a byte-order mark, NaN, stray bytes, bare line feeds, comments before it,
    NULs after it, in a list, or as events.

    Raises one of UNDECODABLE.
    """
    text = body.decode(json.detect_encoding(body), "replace").rstrip("\0")
    lead = _LEAD.match(text)
    try:
        value = json.loads(text[lead.end() :] if lead else text, strict=False)
    except ValueError:
        return completion_in_events(text)
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def error_message(body: bytes) -> str:
    """The server's own message, from any of the known forms, without any echo of an image."""
    text = body[:READ_CHARACTERS].decode("utf-8", "replace")
    try:
        message = _message_in(lenient_json(body))
    except UNDECODABLE:
        message = _page_title(text)
    return without_images(message or text).strip()


def hidden_status(codes: Iterable[str]) -> int:
    """The HTTP status of an error in an HTTP 200; 200 if its codes name no status."""
    for code in codes:
        if code.isdecimal() and len(code) == 3 and code[0] in "45":
            return int(code)
        for pattern, http_status in STATUS_OF_CODE:
            if re.match(pattern, code, _FLAGS):
                return http_status
    return 200


def words_of(codes: Iterable[str], message: str) -> str:
    """The text for `judge`: each code on its own line, then both ends of the message."""
    if len(message) > 2 * BODY_CHARACTERS:
        message = message[:BODY_CHARACTERS] + message[-BODY_CHARACTERS:]
    return "\n".join([*codes, message])


def codes_of(body: bytes) -> list[str]:
    """The codes, types and finish reasons at any depth of an error: gateways wrap their provider's error."""
    try:
        return list(islice(_codes_in(lenient_json(body)), READ_ITEMS))
    except UNDECODABLE:
        return []


def _codes_in(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str | int) and not isinstance(inner, bool) and key.lower() in CODE_KEYS:
                yield str(inner)
            elif depth < DEEPEST:
                yield from _codes_in(inner, depth + 1)
    elif isinstance(value, list) and depth < DEEPEST:
        for inner in value[:READ_ITEMS]:
            yield from _codes_in(inner, depth + 1)
    elif isinstance(value, str) and value[:1] == "{" and depth < DEEPEST:
        with suppress(*UNDECODABLE):
            yield from _codes_in(msgspec.json.decode(value), depth + 1)


def excerpt(body: bytes) -> str:
    """The start of a body, without any echo of an image."""
    return without_images(body[:READ_CHARACTERS].decode("utf-8", "replace"))


def without_images(text: str) -> str:
    """Remove data URLs, which servers echo whole, and other long runs of base64 from a text."""
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
    title = re.search(r"<title[^<>]*>([^<]*)", text, re.IGNORECASE)
    return " ".join(html.unescape(title.group(1)).split()) if title else ""

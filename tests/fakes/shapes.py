"""Error bodies in the shapes of known servers and gateways."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from tests.fakes.script import Reply
from tests.fakes.wire_form import reason

JSON_TYPE, TEXT_TYPE, HTML_TYPE = "application/json", "text/plain; charset=utf-8", "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An error, and its shape ("" is the kind's own); `type`, `param`, `code` are used if the shape has them."""

    status: int
    message: str
    type: str = "BadRequestError"
    param: str | None = None
    code: str | None = None
    shape: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)


def page(title: str, text: str = "") -> str:
    """A small HTML page, as a proxy would serve it."""
    body = f"<center><h1>{escape(title)}</h1></center><hr><center>{escape(text or 'gateway')}</center>"
    return f"<html>\r\n<head><title>{escape(title)}</title></head>\r\n<body>\r\n{body}\r\n</body>\r\n</html>\r\n"


def _vllm(fault: Fault) -> dict[str, Any]:
    error = {"message": fault.message, "type": fault.type, "param": fault.param, "code": fault.status}
    return {"error": {**error, **fault.more}}


def _openai(fault: Fault) -> dict[str, Any]:
    error = {"message": fault.message, "type": fault.type, "param": fault.param, "code": fault.code}
    return {"error": {**error, **fault.more}}


def _llamacpp(fault: Fault) -> dict[str, Any]:
    return {"error": {"code": fault.status, "message": fault.message, "type": fault.type, **fault.more}}


def _flat(fault: Fault) -> dict[str, Any]:
    return {
        "object": "error",
        "message": fault.message,
        "type": fault.type,
        "param": fault.param,
        "code": fault.status,
        **fault.more,
    }


def _detail_list(fault: Fault) -> dict[str, Any]:
    place = fault.param or "messages"
    return {"detail": [{"type": "value_error", "loc": ["body", place], "msg": fault.message, "input": None}]}


SHAPES: dict[str, tuple[str, Callable[[Fault], Any]]] = {
    "vllm": (JSON_TYPE, _vllm),
    "openai": (JSON_TYPE, _openai),
    "llamacpp": ("application/json; charset=utf-8", _llamacpp),
    "flat": (JSON_TYPE, _flat),
    "nested": (JSON_TYPE, lambda fault: {"error": {"message": fault.message}}),
    "string": (JSON_TYPE, lambda fault: {"error": fault.message}),
    "detail": (JSON_TYPE, lambda fault: {"detail": fault.message}),
    "detail_list": (JSON_TYPE, _detail_list),
    "text": (TEXT_TYPE, lambda fault: fault.message),
    "html": (HTML_TYPE, lambda fault: page(fault.message or f"{fault.status} {reason(fault.status)}")),
}


def shaped(fault: Fault, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    """The reply with the fault in its shape."""
    content_type, build = SHAPES[fault.shape]
    content = build(fault)
    body = content if isinstance(content, str) else json.dumps(content, separators=(",", ":"))
    return Reply(status=fault.status, body=body.encode(), headers=(("content-type", content_type), *headers))

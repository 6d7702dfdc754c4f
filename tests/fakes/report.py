"""The server's log over HTTP, for a server in its own process."""

import json
from collections.abc import Callable
from typing import Any

from tests.fakes.log import Log
from tests.fakes.received import Received

PROMPT_LIMIT = 2000


def _reply(content: Any) -> bytes:
    body = json.dumps(content).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _request(received: Received) -> dict[str, Any]:
    names = ("number", "connection", "turn", "method", "path", "size_bytes", "started_s", "received_s")
    outcome = ("status", "answered_s", "hung_up", "in_flight")
    images = [{"mime": image.mime, "sha256": image.sha256, "size_bytes": image.size_bytes} for image in received.images]
    facts = {name: getattr(received, name) for name in (*names, *outcome)}
    return {**facts, "prompt": received.prompt[:PROMPT_LIMIT], "headers": dict(received.headers), "images": images}


REPORTS: dict[str, Callable[[Log], bytes]] = {
    "/_fake/counts": lambda log: _reply({**log.counts, "in_flight": log.in_flight}),
    "/_fake/violations": lambda log: _reply(log.violations),
    "/_fake/requests": lambda log: _reply([_request(received) for received in log.requests]),
}
"""Paths for GET, which are neither counted nor listed."""

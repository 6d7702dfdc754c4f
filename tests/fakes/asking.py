"""A plain client on the standard library, for tests of servers: one request, or raw bytes."""

import base64
import json
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPSConnection
from typing import Any

from tests.fakes.server import FaultServer

TIMEOUT_S = 60.0
WHILES_S = (0.15, 1.5, 15.0)
"""The seconds for which a server is away; longer ones follow if a busy machine looked too late."""
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="
)
"""One transparent pixel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A reply; header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body's content."""
        return json.loads(self.body)

    @property
    def text(self) -> str | None:
        """What the model said."""
        content: str | None = self.json["choices"][0]["message"]["content"]
        return content


def data_url(image: bytes, mime: str = "image/png") -> str:
    """An image as a data URL."""
    return f"data:{mime};base64,{base64.b64encode(image).decode()}"


def chat_body(prompt: str = "What is it?", images: Sequence[str] = (), **fields: Any) -> bytes:
    """A chat request with image URLs before the text; `fields` are added to it."""
    parts: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url}} for url in images]
    content = [*parts, {"type": "text", "text": prompt}] if parts else prompt
    return json.dumps({"model": "tiny-vlm", "messages": [{"role": "user", "content": content}], **fields}).encode()


@contextmanager
def connected(
    server: FaultServer, timeout_s: float = TIMEOUT_S, ca_file: str | None = None
) -> Iterator[HTTPConnection]:
    """One connection to a server."""
    address = (server.host, server.port)
    if ca_file:
        connection: HTTPConnection = HTTPSConnection(
            *address, timeout=timeout_s, context=ssl.create_default_context(cafile=ca_file)
        )
    else:
        connection = HTTPConnection(*address, timeout=timeout_s)
    try:
        yield connection
    finally:
        connection.close()


def asked(
    connection: HTTPConnection,
    body: bytes | None = None,
    *,
    method: str = "POST",
    path: str = "/v1/chat/completions",
    headers: Mapping[str, str] | None = None,
) -> Heard:
    """Ask on an open connection."""
    if method == "POST" and body is None:
        body = chat_body()
    connection.request(method, path, body, {"content-type": "application/json", **(headers or {})})
    reply = connection.getresponse()
    received = reply.read()
    return Heard(
        status=reply.status, headers={name.lower(): value for name, value in reply.getheaders()}, body=received
    )


def ask(server: FaultServer, prompt: str = "What is it?", images: Sequence[str] = (), **fields: Any) -> Heard:
    """Ask one question on a connection of its own."""
    with connected(server) as connection:
        return asked(connection, chat_body(prompt, images, **fields), path=server.state.chat_paths[0])


def get(server: FaultServer, path: str, headers: Mapping[str, str] | None = None) -> Heard:
    """Get something on a connection of its own."""
    with connected(server) as connection:
        return asked(connection, method="GET", path=path, headers=headers)


def request_bytes(body: bytes | None = None, *headers: str, path: str = "/v1/chat/completions") -> bytes:
    """The bytes of a chat request; a content-length among `headers` replaces the true one."""
    body = chat_body() if body is None else body
    lines = [f"POST {path} HTTP/1.1", "host: test", "content-type: application/json", *headers]
    if not any(line.startswith(("content-length", "transfer-encoding")) for line in headers):
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@contextmanager
def plugged(server: FaultServer, timeout_s: float = TIMEOUT_S) -> Iterator[socket.socket]:
    """A bare socket to a server."""
    with socket.create_connection((server.host, server.port), timeout=timeout_s) as sock:
        yield sock


def read_to_end(sock: socket.socket) -> bytes:
    """Read until the server closes; ConnectionResetError if it resets."""
    return b"".join(iter(lambda: sock.recv(65536), b""))


def speak(server: FaultServer, data: bytes) -> bytes:
    """Send bytes, then read until the server closes."""
    with plugged(server) as sock:
        sock.sendall(data)
        return read_to_end(sock)

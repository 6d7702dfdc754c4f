"""The loopback server of `view` and `label`: only a browser that knows its address sees pages and writes to it."""

import contextlib
import secrets
import socket
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from vqa_client.errors import UsageError
from vqa_client.html.page import policy
from vqa_client.html.viewer import JSON, NOT_THERE, HttpReply

LOOPBACK = "127.0.0.1"
_NAMES = frozenset({LOOPBACK, "localhost"})
"""Hosts that a browser may ask for; another name that leads here is an attack (DNS rebinding)."""
_LONGEST_S = 30.0
"""The longest wait for a request, and for its reply to be taken."""
MOST_WAITING = 64
"""The most connections without a request, which browsers keep open for the next one; then the oldest is closed."""
_MOST_SENT_BYTES = 1 << 20
"""The largest body that a page may send."""
_IMAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


class ServedPages(Protocol):
    """What is served; both methods are called from several threads."""

    def answer(self, path: str) -> HttpReply:
        """The reply to an address below the root."""

    def take(self, path: str, body: bytes) -> HttpReply:
        """Keep the JSON that a page sends to an address below the root."""


class ReportServer(ThreadingHTTPServer):
    """Serves pages below a path that can't be guessed; raises UsageError if the port is taken."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, pages: ServedPages, port: int) -> None:
        self.pages = pages
        self._waiting: dict[socket.socket, float] = {}
        self.root = f"/{secrets.token_urlsafe(9)}/"
        try:
            super().__init__((LOOPBACK, port), _Answers)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(
                f"--port {port} can't be used: {reason}", hint="choose another --port; 0: any that is free"
            ) from None

    def start_waiting(self, connection: socket.socket) -> None:
        """Note that a connection waits for its next request; of too many, the one that waited longest is closed."""
        self._waiting[connection] = time.monotonic()
        for oldest in list(self._waiting)[:-MOST_WAITING]:
            self._hang_up(oldest)

    def stop_waiting(self, connection: socket.socket) -> None:
        """Note that a connection's request has come, or that the connection has ended."""
        self._waiting.pop(connection, None)

    def service_actions(self) -> None:
        """Close connections that have waited too long, even if a request is arriving slowly; called twice a second."""
        for connection, since_s in list(self._waiting.items()):
            if time.monotonic() - since_s > _LONGEST_S:
                self._hang_up(connection)

    def _hang_up(self, connection: socket.socket) -> None:
        self.stop_waiting(connection)
        with contextlib.suppress(OSError):  # its thread then sees the end and closes it
            connection.shutdown(socket.SHUT_RDWR)

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.server_address[1]}{self.root}"

    def inside(self, path: str, host: str) -> str | None:
        """The part of a requested path below the root; None for a foreign host or path."""
        if host.rpartition(":")[0] not in _NAMES or not path.startswith(self.root):
            return None
        return path.removeprefix(self.root).partition("?")[0]


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits 40 ms until its head is acknowledged
    timeout = _LONGEST_S
    server: ReportServer

    def handle_one_request(self) -> None:
        """Read a request and reply to it."""
        self.server.start_waiting(self.connection)
        try:
            super().handle_one_request()
        except ConnectionError:  # the reader has left
            self.close_connection = True

    def parse_request(self) -> bool:
        parsed = super().parse_request()
        self.server.stop_waiting(self.connection)
        return parsed

    def finish(self) -> None:
        self.server.stop_waiting(self.connection)
        super().finish()

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.server.inside(self.path, self.headers.get("Host", ""))
        self._send(NOT_THERE if path is None else self.server.pages.answer(path))

    def do_POST(self) -> None:
        """Take what our own page sends; a browser names the sending page, and other sites' are refused."""
        host, size = self.headers.get("Host", ""), self.headers.get("Content-Length", "")
        path = self.server.inside(self.path, host)
        ours = self.headers.get("Origin") == f"http://{host}" and self.headers.get("Content-Type") == JSON
        if path is None or not ours or not size.isdecimal() or int(size) > _MOST_SENT_BYTES:
            self.close_connection = True  # the body is left unread
            return self._send(NOT_THERE)
        body = self.rfile.read(int(size))
        return self._send(self.server.pages.take(path, body))

    def _send(self, reply: HttpReply) -> None:
        self.send_response(reply.status)
        headers = {
            "Content-Type": reply.kind,
            "Content-Length": str(len(reply.body)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": policy(live=True) if reply.kind.startswith("text/html") else _IMAGE_POLICY,
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }
        for name, value in (headers | ({"Location": reply.location} if reply.location else {})).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    def log_message(self, format: str, *args: object) -> None:
        """Don't log requests to the terminal."""

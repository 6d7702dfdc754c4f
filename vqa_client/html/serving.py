"""The loopback server of `view`: whoever knows its address reads the reports, and nobody else."""

import secrets
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from vqa_client.errors import UsageError
from vqa_client.html.page import policy
from vqa_client.html.viewer import NOT_THERE, Reply, Viewer

LOOPBACK = "127.0.0.1"
_NAMES = frozenset({LOOPBACK, "localhost"})
"""Hosts that a browser may have asked for; another one's name that leads here is an attack on the reader."""
_LONGEST_S = 30.0
_OF_IMAGES = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


class ReportServer(ThreadingHTTPServer):
    """Serves the runs of one place below a path that can't be guessed; raises UsageError for a port that is taken."""

    daemon_threads = True

    def __init__(self, place: Path, port: int) -> None:
        self.viewer = Viewer(place)
        self.root = f"/{secrets.token_urlsafe(9)}/"
        try:
            super().__init__((LOOPBACK, port), _Answers)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"--port {port} can't be used: {reason}", hint="give another, or 0 for any") from None

    @property
    def address(self) -> str:
        """The address to open."""
        return f"http://{LOOPBACK}:{self.server_address[1]}{self.root}"

    def reply(self, path: str, host: str) -> Reply:
        """The reply to a whole path that was asked for at a host."""
        if host.rpartition(":")[0] not in _NAMES or not path.startswith(self.root):
            return NOT_THERE
        return self.viewer.answer(path.removeprefix(self.root).partition("?")[0])


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _LONGEST_S
    server: ReportServer

    def do_GET(self) -> None:
        reply = self.server.reply(self.path, self.headers.get("Host", ""))
        self.send_response(reply.status)
        headers = {
            "Content-Type": reply.kind,
            "Content-Length": str(len(reply.body)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": policy(live=True) if reply.kind.startswith("text/html") else _OF_IMAGES,
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }
        for name, value in (headers | ({"Location": reply.location} if reply.location else {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal is the reader's."""

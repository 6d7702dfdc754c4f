"""Words for the form of the next reply on the wire; in a sequence they come before it."""

from dataclasses import dataclass, replace
from typing import Any

from tests.fakes.script import Action, Exchange


@dataclass(frozen=True, slots=True)
class InForm(Action):
    """Change the form of the next reply."""

    changes: dict[str, Any]

    async def perform(self, exchange: Exchange) -> None:
        """Change it."""
        exchange.form = replace(exchange.form, **self.changes)


def trickle(bytes_at_a_time: int = 8, every_s: float = 0.4, *, head_too: bool = False) -> Action:
    """Write the body (and the head, if asked) in small pieces with a pause between them."""
    return InForm({"piece_bytes": bytes_at_a_time, "every_s": every_s, "head_too": head_too})


def chunked(chunk_bytes: int = 16) -> Action:
    """Transfer-Encoding: chunked instead of Content-Length."""
    return InForm({"chunk_bytes": chunk_bytes})


def connection_close() -> Action:
    """Send `connection: close`, and close."""
    return InForm({"close": True})


def http_1_0() -> Action:
    """HTTP/1.0 without Content-Length: the body ends where the connection does."""
    return InForm({"version": "HTTP/1.0", "sends_length": False, "close": True})


def until_close() -> Action:
    """HTTP/1.1 without any length: the body ends where the connection does."""
    return InForm({"sends_length": False, "close": True})


def wrong_content_length(off_by: int = 10) -> Action:
    """A Content-Length that is too large by `off_by` bytes, or too small if negative; nothing is closed."""
    return InForm({"length_error": off_by})


def huge_headers(bytes_each: int = 100_000, lines: int = 1) -> Action:
    """More headers than a client should accept."""
    return InForm({"padding": (lines, bytes_each)})


def close_mid_body(after_bytes: int = -1) -> Action:
    """Close after that many bytes of the body (-1: half of it)."""
    return InForm({"cut_bytes": after_bytes, "after_cut": "close"})


def reset_mid_body(after_bytes: int = -1) -> Action:
    """Reset the connection after that many bytes of the body (-1: half of it)."""
    return InForm({"cut_bytes": after_bytes, "after_cut": "reset"})


def hang_mid_body(after_bytes: int = -1) -> Action:
    """Send nothing after that many bytes of the body (-1: half of it), and keep the connection."""
    return InForm({"cut_bytes": after_bytes, "after_cut": "hang"})

"""The form of a reply on the wire: correct by default, or faulty in many ways."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

Header = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireForm:
    """The form of the next reply.

    `length_error` is added to Content-Length; `chunk_bytes` > 0 sends chunks of that size; `cut_bytes` stops after that
    many bytes of the body (-1: half of it) and then does `after_cut`; `piece_bytes` > 0 writes that many bytes at once
    and waits `every_s` after each piece.
    """

    version: str = "HTTP/1.1"
    close: bool = False
    sends_length: bool = True
    length_error: int = 0
    chunk_bytes: int = 0
    padding: tuple[int, int] = (0, 0)
    cut_bytes: int | None = None
    after_cut: Literal["close", "reset", "hang"] = "close"
    piece_bytes: int = 0
    every_s: float = 0.0
    head_too: bool = False

    def head(self, status: int, headers: Iterable[Header], body_bytes: int, *, close: bool) -> bytes:
        """The status line and headers, with the empty line after them."""
        lines = [f"{self.version} {status} {reason(status)}".rstrip()]
        lines += [f"{name}: {value}" for name, value in (*headers, *self._framing(body_bytes), *self._padding())]
        if close:
            lines.append("connection: close")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")

    def framed(self, body: bytes) -> bytes:
        """The bytes after the head."""
        size = self.chunk_bytes
        if not size:
            return body
        chunks = (body[start : start + size] for start in range(0, len(body), size))
        return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"

    def cut(self, body: bytes) -> bytes:
        """The part of the framed body that is sent."""
        if self.cut_bytes is None:
            return body
        return body[: len(body) // 2 if self.cut_bytes < 0 else self.cut_bytes]

    def pieces(self, head: bytes, body: bytes) -> Sequence[bytes]:
        """The pieces that are written, in order."""
        if not self.piece_bytes:
            return (head + body,)
        slow = head + body if self.head_too else body
        cuts = [slow[start : start + self.piece_bytes] for start in range(0, len(slow), self.piece_bytes)]
        return cuts if self.head_too else (head, *cuts)

    def _framing(self, body_bytes: int) -> tuple[Header, ...]:
        if self.chunk_bytes:
            return (("transfer-encoding", "chunked"),)
        return (("content-length", str(body_bytes + self.length_error)),) if self.sends_length else ()

    def _padding(self) -> list[Header]:
        lines, size_bytes = self.padding
        return [(f"x-padding-{number}", "p" * size_bytes) for number in range(lines)]


def reason(status: int) -> str:
    """The status's reason phrase, "" if there is none."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""

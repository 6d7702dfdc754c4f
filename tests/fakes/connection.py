"""One connection's life: request after request, each received, judged and played."""

from contextlib import aclosing, suppress
from itertools import count
from time import monotonic
from typing import Protocol

from tests.fakes.bodies import read_chat, strict_json
from tests.fakes.ledger import Ledger
from tests.fakes.line import Host, Line, Play
from tests.fakes.playing import perform
from tests.fakes.received import Received
from tests.fakes.replies import error
from tests.fakes.report import REPORTS
from tests.fakes.requests import Head, Malformed, body_pieces, read_head
from tests.fakes.site import Site
from tests.fakes.wire import HungUp, Wire

SLOW_PIECE_BYTES = 1 << 14
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
TOKENIZE, FILES, BATCHES = "/tokenize", "/v1/files", "/v1/batches"
"""These take other things than messages."""
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Server(Host, Protocol):
    """What a connection asks of its server."""

    idle_close_s: float | None
    parses_bodies: bool

    @property
    def site(self) -> Site:
        """Kind and script as they are now."""


async def converse(wire: Wire, connection: int, server: Server) -> None:
    """Serve requests until either side ends the connection."""
    ledger = server.ledger
    try:
        for turn in count(1):
            head = await read_head(wire, server.idle_close_s)
            if head is None:
                return
            if head.path in REPORTS:
                await wire.send(REPORTS[head.path](ledger))
            elif not await _serve(wire, head, _received(head, ledger, connection, turn, server), server):
                return
    except Malformed as fault:
        ledger.violates(f"connection {connection}: {fault}")
        with suppress(HungUp):
            await wire.send(BAD_REQUEST)
    except HungUp:
        return


def _received(head: Head, ledger: Ledger, connection: int, turn: int, server: Server) -> Received:
    return Received(
        number=ledger.next_number(),
        connection=connection,
        turn=turn,
        kind=server.site.kind,
        method=head.method,
        path=head.path,
        headers=head.headers,
        started_s=monotonic(),
        declared_bytes=head.length_bytes,
    )


async def _serve(wire: Wire, head: Head, received: Received, server: Server) -> bool:
    """Receive the body and play; whether the connection stays open."""
    site, ledger = server.site, server.ledger
    dialect = site.dialect
    line = Line(
        wire=wire, received=received, host=server, headers=dialect.headers, closes_on_error=dialect.closes_on_error
    )
    ledger.begins(received)
    try:
        given_up = await _receive(wire, head, received, server, site)
        if given_up is not None:
            line.keep_open = False
        await _play(site, received, line, given_up)
    except HungUp:
        ledger.hangs_up(received)
        line.keep_open = False
    finally:
        ledger.ends(received)
    return line.keep_open


async def _play(site: Site, received: Received, line: Line, given_up: Play | None) -> None:
    try:
        await perform(site.play(received) if given_up is None else given_up, line)
    except (HungUp, OSError):
        raise
    except Exception as fault:  # the script is the test's own code: whatever it raises has to reach the test
        site.ledger.violates(f"request {received.number}: the script raised {fault!r}")
        line.manner = type(line.manner)(close=True)
        await perform(error(500, f"the script raised {fault!r}"), line)


async def _receive(wire: Wire, head: Head, received: Received, server: Server, site: Site) -> Play | None:
    """Take the body in; the play of the upload rule where that gives it up."""
    upload, ledger = site.upload, server.ledger
    piece_bytes = SLOW_PIECE_BYTES if upload and upload.bytes_per_s else 1 << 18
    kept = bytearray() if server.parses_bodies else None
    if head.headers.get("expect", "").lower() == "100-continue":
        await wire.send(CONTINUE)
    try:
        async with aclosing(body_pieces(wire, head, piece_bytes)) as pieces:
            async for piece in pieces:
                received.size_bytes += len(piece)
                if kept is not None:
                    kept += piece
                if upload and upload.gives_up(received):
                    return upload.play
                if upload and upload.bytes_per_s:
                    await wire.pause(len(piece) / upload.bytes_per_s)
    except HungUp:
        _judge_cut(kept, received, ledger)
        raise
    received.received_s = monotonic()
    _judge(head, bytes(kept) if kept is not None else None, received, ledger)
    ledger.complete(received)
    if wire.unread:
        ledger.violates(f"request {received.number}: more bytes follow before the reply")
    return None


def _judge(head: Head, body: bytes | None, received: Received, ledger: Ledger) -> None:
    faults = [*head.faults]
    if body is not None and received.route == FILES:
        received.body = body
    elif body is not None and received.route.startswith(BATCHES):
        received.json = strict_json(body) if body else None
    elif body is not None and received.method == "POST":
        chat = read_chat(body)
        received.body, received.json = body, chat.json
        received.prompt, received.images = chat.prompt, chat.images
        if received.route != TOKENIZE or chat.json is None:
            faults += chat.faults
    for fault in faults:
        ledger.violates(f"request {received.number}: {fault}")


def _judge_cut(body: bytearray | None, received: Received, ledger: Ledger) -> None:
    """A client may leave while it uploads; a whole body with a larger Content-Length is another matter."""
    if body and not read_chat(bytes(body)).faults:
        told = f"Content-Length {received.declared_bytes} for a body of {len(body)} bytes"
        ledger.violates(f"request {received.number}: {told}")

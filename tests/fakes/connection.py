"""One connection: receives, checks and answers request after request."""

from contextlib import aclosing, suppress
from itertools import count
from time import monotonic
from typing import Protocol

from tests.fakes.bodies import read_chat, strict_json
from tests.fakes.endpoints import ServerState
from tests.fakes.log import Log
from tests.fakes.performing import perform
from tests.fakes.received import Received
from tests.fakes.replies import error
from tests.fakes.report import REPORTS
from tests.fakes.requests import Head, Malformed, body_pieces, read_head
from tests.fakes.script import Exchange, Host, Script
from tests.fakes.wire import HungUp, Wire

SLOW_PIECE_BYTES = 1 << 14
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
TOKENIZE, FILES, BATCHES = "/tokenize", "/v1/files", "/v1/batches"
"""Paths of requests without messages."""
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Server(Host, Protocol):
    """What a connection needs from its server."""

    idle_close_s: float | None
    parses_bodies: bool

    @property
    def state(self) -> ServerState:
        """The present kind and script."""


async def converse(wire: Wire, connection: int, server: Server) -> None:
    """Serve requests until either side ends the connection."""
    log = server.log
    try:
        for turn in count(1):
            head = await read_head(wire, server.idle_close_s)
            if head is None:
                return
            if head.path in REPORTS:
                await wire.send(REPORTS[head.path](log))
            elif not await _serve(wire, head, _received(head, log, connection, turn, server), server):
                return
    except Malformed as fault:
        log.violates(f"connection {connection}: {fault}")
        with suppress(HungUp):
            await wire.send(BAD_REQUEST)
    except HungUp:
        return


def _received(head: Head, log: Log, connection: int, turn: int, server: Server) -> Received:
    return Received(
        number=log.next_number(),
        connection=connection,
        turn=turn,
        kind=server.state.kind,
        method=head.method,
        path=head.path,
        headers=head.headers,
        started_s=monotonic(),
        declared_bytes=head.length_bytes,
    )


async def _serve(wire: Wire, head: Head, received: Received, server: Server) -> bool:
    """Receive the body and run the script; returns whether the connection stays open."""
    state, log = server.state, server.log
    dialect = state.dialect
    exchange = Exchange(
        wire=wire, received=received, host=server, headers=dialect.headers, closes_on_error=dialect.closes_on_error
    )
    log.begins(received)
    try:
        given_up = await _receive(wire, head, received, server, state)
        if given_up is not None:
            exchange.keep_open = False
        await _perform(state, received, exchange, given_up)
    except HungUp:
        log.hangs_up(received)
        exchange.keep_open = False
    finally:
        log.ends(received)
    return exchange.keep_open


async def _perform(state: ServerState, received: Received, exchange: Exchange, given_up: Script | None) -> None:
    try:
        await perform(state.script_for(received) if given_up is None else given_up, exchange)
    except (HungUp, OSError):
        raise
    except Exception as fault:  # the script is the test's own code, so its errors must reach the test
        state.log.violates(f"request {received.number}: the script raised {fault!r}")
        exchange.form = type(exchange.form)(close=True)
        await perform(error(500, f"the script raised {fault!r}"), exchange)


async def _receive(wire: Wire, head: Head, received: Received, server: Server, state: ServerState) -> Script | None:
    """Receive the body; returns the script of the upload rule if that stops the upload."""
    upload, log = state.upload, server.log
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
                    return upload.script
                if upload and upload.bytes_per_s:
                    await wire.pause(len(piece) / upload.bytes_per_s)
    except HungUp:
        _judge_cut(kept, received, log)
        raise
    received.received_s = monotonic()
    _judge(head, bytes(kept) if kept is not None else None, received, log)
    log.complete(received)
    if wire.unread:
        log.violates(f"request {received.number}: more bytes follow before the reply")
    return None


def _judge(head: Head, body: bytes | None, received: Received, log: Log) -> None:
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
        log.violates(f"request {received.number}: {fault}")


def _judge_cut(body: bytearray | None, received: Received, log: Log) -> None:
    """A client may leave while it uploads; but a whole body with a larger Content-Length is a violation."""
    if body and not read_chat(bytes(body)).faults:
        told = f"Content-Length {received.declared_bytes} for a body of {len(body)} bytes"
        log.violates(f"request {received.number}: {told}")

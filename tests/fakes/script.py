"""One exchange for a script: the request, the connection, and the actions between."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol, TypeAlias

from tests.fakes.log import Log
from tests.fakes.received import Received
from tests.fakes.wire import Wire
from tests.fakes.wire_form import Header, WireForm


class Action(ABC):
    """One action of a server on a request."""

    @abstractmethod
    async def perform(self, exchange: "Exchange") -> None:
        """Do it."""


Choose: TypeAlias = Callable[[Received], "Script"]
"""A function that chooses a script by the request."""
Script: TypeAlias = Action | str | Choose | Sequence["Script"]
"""An action, a text to answer, a sequence of these, or a function of the request."""


class Host(Protocol):
    """What an action needs from its server."""

    log: Log
    released: asyncio.Event

    def restart(self, down_s: float = 0.0) -> None:
        """Drop every connection and refuse new ones for some seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Action):
    """A status, headers in addition to those of every reply, and a body."""

    status: int = 200
    body: bytes = b""
    headers: tuple[Header, ...] = ()

    async def perform(self, exchange: "Exchange") -> None:
        """Write it in the exchange's form."""
        await exchange.reply(self)


def json_reply(content: Any, status: int = 200, headers: tuple[Header, ...] = ()) -> Reply:
    """Reply with any JSON content."""
    body = json.dumps(content, separators=(",", ":")).encode()
    return Reply(status=status, body=body, headers=(("content-type", "application/json"), *headers))


class Exchange:
    """One request on its connection; `finished` once a reply was written or the connection ended."""

    def __init__(
        self, *, wire: Wire, received: Received, host: Host, headers: tuple[Header, ...], closes_on_error: bool
    ) -> None:
        self.wire = wire
        self.received = received
        self.host = host
        self.form = WireForm()
        self.finished = False
        self.keep_open = received.headers.get("connection", "").lower() != "close"
        self._headers = headers
        self._closes_on_error = closes_on_error

    async def reply(self, reply: Reply) -> None:
        """Write a reply; the connection stays open unless its form, the client or the kind of server ends it."""
        form = self.form
        if form.close or (self._closes_on_error and reply.status >= 400):
            self.keep_open = False
        head = form.head(reply.status, (*self._headers, *reply.headers), len(reply.body), close=not self.keep_open)
        self.finished = True
        self.received.status = reply.status
        *first, last = form.pieces(head, form.cut(form.framed(reply.body)))
        for piece in first:
            await self.wire.send(piece)
            await self.wire.pause(form.every_s)
        # The log is updated before the client sees the end, so that a test never finds it unfinished.
        if form.cut_bytes is None:
            self.received.answered_s = monotonic()
        if form.after_cut != "hang":
            self.host.log.ends(self.received)
        await self.wire.send(last)
        if form.cut_bytes is not None:
            await self.end(form.after_cut)

    async def end(self, how: str) -> None:
        """End the connection: "close" it, "reset" it, or "hang" until the peer ends it."""
        self.finished, self.keep_open = True, False
        if how == "hang":
            await self.wire.pause(None)
        elif how == "reset":
            self.wire.reset()
        else:
            self.wire.close()

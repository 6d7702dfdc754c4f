"""Words for actions before, after or instead of a reply."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from tests.fakes.received import Received
from tests.fakes.replies import answer
from tests.fakes.script import Action, Choose, Exchange, Reply, Script
from tests.fakes.wire import HungUp

LINGER_S = 5.0


@dataclass(frozen=True, slots=True)
class Delay(Action):
    """Wait, unless the client leaves."""

    seconds: float | None

    async def perform(self, exchange: Exchange) -> None:
        """Wait."""
        await exchange.wire.pause(self.seconds)


@dataclass(frozen=True, slots=True)
class End(Action):
    """End the connection."""

    how: str

    async def perform(self, exchange: Exchange) -> None:
        """End it."""
        await exchange.end(self.how)


@dataclass(frozen=True, slots=True)
class Raw(Action):
    """Write any bytes, then close."""

    data: bytes

    async def perform(self, exchange: Exchange) -> None:
        """Write them."""
        await exchange.wire.send(self.data)
        await exchange.end("close")


@dataclass(frozen=True, slots=True)
class Drain(Action):
    """Read and drop what the client sends, for some seconds or until it leaves."""

    seconds: float

    async def perform(self, exchange: Exchange) -> None:
        """Read on."""
        with suppress(HungUp, TimeoutError):
            async with asyncio.timeout(self.seconds):
                while True:
                    await exchange.wire.take()


@dataclass(frozen=True, slots=True)
class Hold(Action):
    """Wait for `server.release()`."""

    async def perform(self, exchange: Exchange) -> None:
        """Wait."""
        await exchange.wire.until(exchange.host.released, None)


@dataclass(frozen=True, slots=True)
class Barrier(Action):
    """Wait until `n` requests wait here, then release them all."""

    n: int
    timeout_s: float
    waiting: list[asyncio.Event] = field(default_factory=list)

    async def perform(self, exchange: Exchange) -> None:
        """Wait for the others."""
        turn = asyncio.Event()
        self.waiting.append(turn)
        if len(self.waiting) >= self.n:
            for other in self.waiting:
                other.set()
            self.waiting.clear()
        try:
            await exchange.wire.until(turn, self.timeout_s)
        finally:
            with suppress(ValueError):
                self.waiting.remove(turn)


@dataclass(frozen=True, slots=True)
class Queue(Action):
    """Serve `n` requests at once, each for some seconds; the others queue."""

    n: int
    seconds: float
    notices: bool
    places: list[asyncio.Semaphore] = field(default_factory=list)

    async def perform(self, exchange: Exchange) -> None:
        """Wait for a place, and keep it while served."""
        if not self.places:
            self.places.append(asyncio.Semaphore(self.n))  # in the server's own loop
        async with self.places[0]:
            await (exchange.wire.pause(self.seconds) if self.notices else asyncio.sleep(self.seconds))


@dataclass(frozen=True, slots=True)
class Behind(Action):
    """Write the reply, then more bytes: those given, or the same reply again."""

    reply: Reply
    data: bytes | None
    after_s: float | None

    async def perform(self, exchange: Exchange) -> None:
        """Write both, in one piece or one after the other."""
        exchange.finished, exchange.received.status = True, self.reply.status
        exchange.host.log.ends(exchange.received)
        head = exchange.form.head(self.reply.status, self.reply.headers, len(self.reply.body), close=False)
        first = head + self.reply.body
        more = first if self.data is None else self.data
        if self.after_s is None:
            await exchange.wire.send(first + more)
            return
        await exchange.wire.send(first)
        await asyncio.sleep(self.after_s)
        with suppress(HungUp):
            await exchange.wire.send(more)


@dataclass(frozen=True, slots=True)
class Restart(Action):
    """Drop all connections, including this one, and refuse new ones for a while."""

    down_s: float

    async def perform(self, exchange: Exchange) -> None:
        """Restart."""
        exchange.finished, exchange.keep_open = True, False
        exchange.host.restart(self.down_s)


@dataclass(frozen=True, slots=True)
class Violate(Action):
    """Record a violation: the script has no reply for the request."""

    text: str

    async def perform(self, exchange: Exchange) -> None:
        """Note it."""
        exchange.host.log.violates(self.text)


@dataclass(frozen=True, slots=True)
class Neighbour(Action):
    """Answer with the text of another request, if one was in flight meanwhile."""

    text_of: Callable[[Received], str]
    hold_s: float

    async def perform(self, exchange: Exchange) -> None:
        """Answer."""
        log, received = exchange.host.log, exchange.received
        before = [other for other in log.neighbours(received) if other.is_chat and other.received_s]
        await exchange.wire.pause(self.hold_s)
        after = [other for other in log.neighbours(received) if other.is_chat and other.received_s]
        whose = (*after, *before, received)[0]
        await answer(self.text_of(whose))(received).perform(exchange)


def delay(seconds: float) -> Action:
    """Wait before the next action."""
    return Delay(seconds)


def hang() -> Action:
    """Send nothing, and keep the connection until the client leaves."""
    return Delay(None)


def close_without_reply() -> Action:
    """Close the connection without an answer."""
    return End("close")


def reset() -> Action:
    """Reset the connection without an answer."""
    return End("reset")


def invalid_http(data: bytes = b"\x16\x03\x01 this is no HTTP\r\n\r\n") -> Action:
    """Answer with bytes that are not HTTP, and close."""
    return Raw(data)


def drain(seconds: float = LINGER_S) -> Action:
    """Read and drop what the client still sends."""
    return Drain(seconds)


def hold() -> Action:
    """Wait until the test calls `server.release()`."""
    return Hold()


def barrier(n: int, timeout_s: float = 60.0) -> Action:
    """Wait until `n` requests are here at once, or until the time is up."""
    return Barrier(n, timeout_s)


def queue(n: int, seconds: float, *, notices: bool = True) -> Action:
    """Serve `n` at once; with `notices` off the server continues to work for clients that have left."""
    return Queue(n, seconds, notices)


def answer_twice(text: str | Callable[[Received], str], *, after_s: float | None = None) -> Choose:
    """Answer twice on one connection, in one piece or some seconds apart."""
    return lambda received: Behind(answer(text)(received), None, after_s)


def answer_then_bytes(data: bytes, text: str | Callable[[Received], str], *, after_s: float | None = None) -> Choose:
    """Answer, then send these bytes."""
    return lambda received: Behind(answer(text)(received), data, after_s)


def restart(down_s: float = 0.0) -> Action:
    """The server dies with this request and comes back on the same port."""
    return Restart(down_s)


def stale_keepalive(then: Script = ()) -> Choose:
    """Close without reply when a second request arrives on a connection."""
    return lambda received: End("close") if received.turn > 1 else then

"""One accepted connection: reads with back-pressure, writes with drain, and notices when the peer leaves."""

import asyncio
import contextlib
import socket
import struct
from typing import cast

BUFFER_BYTES = 1 << 18
FINISH_S = 1.0


class HungUp(Exception):
    """The peer ended the connection too early."""


class Wire(asyncio.Protocol):
    """A socket for scripts; reading stops while `BUFFER_BYTES` are unread, so that uploads are slowed."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.transport: asyncio.Transport | None = None
        self.gone = asyncio.Event()
        self.lost = asyncio.Event()
        self._buffer = bytearray()
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._paused = self._aborted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the transport."""
        self.transport = cast(asyncio.Transport, transport)
        if self._aborted:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Buffer what came."""
        self._buffer += data
        if len(self._buffer) >= BUFFER_BYTES and self.transport and not self.transport.is_closing():
            self.transport.pause_reading()
            self._paused = True
        self._arrived.set()

    def eof_received(self) -> None:
        """A peer that stops sending counts as gone; the transport closes itself."""
        self._peer_is_gone()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wake the waiting task."""
        self._peer_is_gone()
        self.lost.set()

    def pause_writing(self) -> None:
        """The peer reads too slowly."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The peer has caught up."""
        self._writable.set()

    async def take(self, limit_bytes: int = BUFFER_BYTES) -> bytearray:
        """Read at least one byte and at most `limit_bytes`; HungUp if the peer sends no more."""
        await self.arrival()
        if len(self._buffer) <= limit_bytes:
            piece, self._buffer = self._buffer, bytearray()
        else:
            piece = self._buffer[:limit_bytes]
            del self._buffer[:limit_bytes]
        if self._paused and len(self._buffer) < BUFFER_BYTES:
            self._paused = False
            if self.transport and not self.transport.is_closing():
                self.transport.resume_reading()
        return piece

    async def take_until(self, mark: bytes, limit_bytes: int = BUFFER_BYTES) -> bytes:
        """Read up to and including `mark`; ValueError if it isn't within the limit, HungUp if it never comes."""
        while (end := self._buffer.find(mark)) < 0:
            if len(self._buffer) >= limit_bytes:
                raise ValueError(f"no {mark!r} within {limit_bytes} bytes")
            if self.gone.is_set():
                raise HungUp
            self._arrived.clear()
            await self._arrived.wait()
        return bytes(await self.take(end + len(mark)))

    @property
    def unread(self) -> bool:
        """Whether there are unread bytes."""
        return bool(self._buffer)

    async def send(self, data: bytes) -> None:
        """Write, and wait until the peer has read enough; HungUp if it is gone."""
        if self.gone.is_set() or not self.transport:
            raise HungUp
        self.transport.write(data)
        if not self._writable.is_set():
            await self.until(self._writable, None)

    async def until(self, event: asyncio.Event, timeout_s: float | None) -> None:
        """Wait for the event or until the time is up; HungUp if the peer leaves before."""
        waits = {asyncio.ensure_future(event.wait()), asyncio.ensure_future(self.gone.wait())}
        try:
            await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if self.gone.is_set():
            raise HungUp

    async def pause(self, seconds: float | None) -> None:
        """Wait for some seconds (None: for ever); HungUp if the peer leaves meanwhile."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.gone.wait()
            raise HungUp

    async def arrival(self) -> None:
        """Wait for the next bytes without reading them; HungUp if the peer sends no more."""
        while not self._buffer:
            if self.gone.is_set():
                raise HungUp
            self._arrived.clear()
            await self._arrived.wait()

    async def finish(self) -> None:
        """Close in order and wait for the end; a peer that doesn't read the rest is dropped."""
        if self.transport is None:
            self.sock.close()
            return
        self.transport.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FINISH_S):
                await self.lost.wait()
        self.transport.abort()
        await self.lost.wait()

    def close(self) -> None:
        """Send what is buffered, then close in order."""
        if self.transport:
            self.transport.close()

    def reset(self) -> None:
        """End the connection with a TCP reset."""
        with contextlib.suppress(OSError):
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.abort()

    def abort(self) -> None:
        """End the connection at once, or as soon as it is set up."""
        self._aborted = True
        if self.transport:
            self.transport.abort()

    def _peer_is_gone(self) -> None:
        self.gone.set()
        self._arrived.set()
        self._writable.set()

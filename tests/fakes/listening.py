"""Accepts a server's connections, in the server's own loop."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Coroutine
from typing import Any

from tests.fakes.log import Log
from tests.fakes.wire import Wire

BACKLOG = 1024
Converse = Callable[[Wire, int], Coroutine[Any, Any, None]]


def bind(host: str, port: int, receive_buffer_bytes: int | None = None) -> socket.socket:
    """A bound socket that doesn't listen yet: its port is taken, and refuses. OSError when it is taken already."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if receive_buffer_bytes:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        listener.bind((host, port))
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


class Listening:
    """A listening socket and its open connections; `rebind` gives a new socket on the same port."""

    def __init__(
        self, converse: Converse, log: Log, *, tls: ssl.SSLContext | None, rebind: Callable[[], socket.socket]
    ) -> None:
        self._converse = converse
        self._log = log
        self._tls = tls
        self._rebind = rebind
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._wires: set[Wire] = set()
        self._opening: asyncio.TimerHandle | None = None

    def open(self, listener: socket.socket, after_s: float = 0.0) -> None:
        """Accept connections, after a while in which they are refused."""
        self._listener = listener
        if after_s:
            self._opening = self._loop.call_later(after_s, self._listen)
        else:
            self._listen()

    def drop(self) -> None:
        """Reset every connection."""
        for wire in self._wires:
            wire.reset()

    def restart(self, down_s: float) -> None:
        """Reset every connection and refuse new ones for a while, from the moment that this returns."""
        self._shut()
        self.drop()
        self.open(self._rebind(), down_s)

    async def close(self) -> None:
        """Close the socket and all connections."""
        self._shut()
        for wire in self._wires:
            wire.abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for wire in self._wires:  # connections whose task was cancelled before its first step
            wire.sock.close()

    def _listen(self) -> None:
        self._opening = None
        self._listener.listen(BACKLOG)
        self._loop.add_reader(self._listener, self._accept)

    def _shut(self) -> None:
        if self._opening:
            self._opening.cancel()
        self._loop.remove_reader(self._listener)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # the client has left, or there is no free descriptor: tried again at once
            while True:
                sock, _ = self._listener.accept()
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                wire = Wire(sock)
                self._wires.add(wire)
                task = self._loop.create_task(self._connection(wire, self._log.opened()))
                self._tasks.add(task)
                task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._log.violates(f"the fault server itself failed: {error!r}")

    async def _connection(self, wire: Wire, number: int) -> None:
        try:
            await self._loop.connect_accepted_socket(lambda: wire, wire.sock, ssl=self._tls)
        except OSError:
            self._log.count("handshakes_failed")
            self._wires.discard(wire)
            wire.sock.close()
            return
        try:
            await self._converse(wire, number)
        finally:
            await wire.finish()
            self._wires.discard(wire)

"""A real HTTP/1.1 server in its own thread that misbehaves exactly as its script says."""

import asyncio
import os
import socket
import ssl
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from tests.fakes.connection import converse
from tests.fakes.dialects import KINDS
from tests.fakes.endpoints import CHAT, ServerState
from tests.fakes.listening import Listening, bind
from tests.fakes.log import Log
from tests.fakes.received import Received
from tests.fakes.script import Script

START_TIMEOUT_S, STOP_TIMEOUT_S = 60.0, 60.0


class FaultServer:
    """A server for tests: a context manager, or `start()` and `stop()`; every property may be read from any thread.

    `kind` is "vllm", "mlx-vlm", "llamacpp" or "plain"; `start_after_s` refuses connections for that long;
    `idle_close_s` closes an idle connection; without `keep_bodies` the log keeps prompts and digests alone, without
    `parse_bodies` bodies are counted and dropped; `receive_buffer_bytes` makes clients feel a slow reader sooner.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        kind: str = "vllm",
        host: str = "127.0.0.1",
        port: int = 0,
        tls: bool = False,
        start_after_s: float = 0.0,
        idle_close_s: float | None = None,
        models: tuple[str, ...] = ("tiny-vlm",),
        max_model_len: int = 2048,
        keep_bodies: bool = True,
        parse_bodies: bool = True,
        receive_buffer_bytes: int | None = None,
    ) -> None:
        if kind not in KINDS:
            raise ValueError(f"kind {kind!r}; known: {', '.join(KINDS)}")
        self.script = script
        self.kind, self.host, self.port = kind, host, port
        self.models, self.max_model_len = models, max_model_len
        self.idle_close_s = idle_close_s
        self.parses_bodies = parse_bodies
        self.log = Log(keep_bodies=keep_bodies)
        self.released = asyncio.Event()
        self._start_after_s = start_after_s
        self._receive_buffer_bytes = receive_buffer_bytes
        self._wants_tls = tls
        self._folder: TemporaryDirectory[str] | None = None
        self._tls: ssl.SSLContext | None = None
        self._thread: threading.Thread | None = None
        self._started = threading.Event()

    def start(self) -> Self:
        """Bind, and serve from now on (or after `start_after_s`); OSError if the port is taken."""
        listener = self._bind()
        self.port = listener.getsockname()[1]
        self.leave_port = weakref.finalize(self, os.close, self._bind().detach())  # kept while the server is down
        if self._wants_tls:
            from tests.fakes.certificates import server_context

            self._folder = TemporaryDirectory()
            self._tls = server_context(self._ca_path)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main(listener)), name="fault-server")
        self._thread.start()
        if not self._started.wait(START_TIMEOUT_S):
            raise TimeoutError("the fault server's thread doesn't come up")
        return self

    def stop(self) -> None:
        """Drop every connection and end the thread; a second call does nothing."""
        if self._thread:
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(STOP_TIMEOUT_S)
            if self._thread.is_alive():
                raise TimeoutError("the fault server's thread doesn't end")
            self._thread = None
        if self._folder:
            self._folder.cleanup()
            self._folder = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def state(self) -> ServerState:
        """The present kind, script and models."""
        return ServerState(
            kind=self.kind,
            script=self.script,
            models=self.models,
            max_model_len=self.max_model_len,
            log=self.log,
        )

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}"

    @property
    def base_url(self) -> str:
        """The address for a client: the origin and the path before /chat/completions."""
        return self.origin + self.state.chat_paths[0].removesuffix(CHAT)

    @property
    def ca_file(self) -> str:
        """The PEM file of the authority that signed the certificate; a server without TLS has none."""
        return str(self._ca_path)

    @property
    def requests(self) -> list[Received]:
        """All requests so far."""
        return self.log.requests

    @property
    def chats(self) -> list[Received]:
        """The requests that asked for a completion, without probes."""
        return [received for received in self.requests if received.is_chat]

    @property
    def violations(self) -> list[str]:
        """The rules that the client broke, and the errors that the script raised."""
        return self.log.violations

    @property
    def counts(self) -> Counter[str]:
        """requests, connections_opened, handshakes_failed, body_bytes, hung_up, status_N and the two peaks."""
        return self.log.counts

    @property
    def connections_opened(self) -> int:
        """Accepted connections, those that failed in the TLS handshake too."""
        return self.counts["connections_opened"]

    @property
    def in_flight_peak(self) -> int:
        """The most requests in flight at once, from the head's arrival to the reply's end."""
        return self.counts["in_flight_peak"]

    def wait_until(self, holds: Callable[[], bool], timeout_s: float = 60.0) -> None:
        """Block until it is true; TimeoutError with the counts if it isn't in time."""
        if not self.log.wait_until(holds, timeout_s):
            raise TimeoutError(f"it doesn't hold after {timeout_s} s: {dict(self.counts)}")

    def wait_for_requests(self, n: int, timeout_s: float = 60.0) -> None:
        """Block until the heads of `n` requests have arrived."""
        self.wait_until(lambda: len(self.requests) >= n, timeout_s)

    def release(self) -> None:
        """Release all requests in `hold()`, now and later."""
        self._do(self.released.set)

    def restart(self, down_s: float = 0.0) -> None:
        """Reset every connection and refuse new ones for `down_s`; returns when that is done; the log continues."""
        self._do(lambda: self._listening.restart(down_s))

    def drop_connections(self) -> None:
        """Reset every connection and continue to listen."""
        self._do(self._listening.drop)

    @property
    def _ca_path(self) -> Path:
        if not self._folder:
            raise AttributeError("a server without TLS has no CA file")
        return Path(self._folder.name) / "ca.pem"

    def _do(self, work: Callable[[], None]) -> None:
        """Run it in the server's thread and wait for its end."""
        if threading.current_thread() is self._thread:
            work()
            return
        done: Future[None] = Future()

        def work_there() -> None:
            try:
                work()
            except OSError as error:
                done.set_exception(error)
            else:
                done.set_result(None)

        self._loop.call_soon_threadsafe(work_there)
        done.result(STOP_TIMEOUT_S)

    def _bind(self) -> socket.socket:
        return bind(self.host, self.port, self._receive_buffer_bytes)

    async def _main(self, listener: socket.socket) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        self._listening = Listening(
            lambda wire, number: converse(wire, number, self), self.log, tls=self._tls, rebind=self._bind
        )
        self._listening.open(listener, self._start_after_s)
        self._started.set()
        await self._stopping.wait()
        await self._listening.close()


if __name__ == "__main__":
    from tests.fakes.__main__ import main

    main()

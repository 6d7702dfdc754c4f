"""The log of a server: written by its own thread, read by any."""

import threading
from collections import Counter
from collections.abc import Callable

from tests.fakes.received import Received


class Log:
    """Requests, connections and violations of one server's life; every reader gets a copy."""

    def __init__(self, *, keep_bodies: bool = True) -> None:
        self._changed = threading.Condition()
        self._keep_bodies = keep_bodies
        self._requests: list[Received] = []
        self._violations: list[str] = []
        self._active: dict[int, Received] = {}
        self._uploading: set[int] = set()
        self._counts: Counter[str] = Counter()

    def opened(self) -> int:
        """Count a connection and give its number."""
        with self._changed:
            self._counts["connections_opened"] += 1
            self._changed.notify_all()
            return self._counts["connections_opened"]

    def count(self, name: str, by: int = 1) -> None:
        """Add to a counter."""
        with self._changed:
            self._counts[name] += by
            self._changed.notify_all()

    def next_number(self) -> int:
        """Add a request whose head has arrived; returns its number."""
        with self._changed:
            self._counts["requests"] += 1
            return self._counts["requests"]

    def begins(self, received: Received) -> None:
        """Record a head whose body is still arriving."""
        with self._changed:
            self._requests.append(received)
            self._active[received.number] = received
            self._uploading.add(received.number)
            self._peak("in_flight_peak", len(self._active))
            self._peak("uploads_peak", len(self._uploading))
            self._changed.notify_all()

    def complete(self, received: Received) -> None:
        """Record that the body has arrived."""
        with self._changed:
            self._uploading.discard(received.number)
            received.in_flight = len(self._active)
            self._changed.notify_all()

    def ends(self, received: Received) -> None:
        """Record that the request was answered or dropped; a second call does nothing."""
        with self._changed:
            if self._active.pop(received.number, None) is None:
                return
            self._uploading.discard(received.number)
            self._counts["body_bytes"] += received.size_bytes
            self._counts[f"status_{received.status}"] += 1
            if not self._keep_bodies:
                received.drop_body()
            self._changed.notify_all()

    def hangs_up(self, received: Received) -> None:
        """Record that the client left before its reply."""
        received.hung_up = True
        self.count("hung_up")

    def violates(self, text: str) -> None:
        """Record that the client or the script broke a rule."""
        with self._changed:
            self._violations.append(text)
            self._changed.notify_all()

    def neighbours(self, received: Received) -> list[Received]:
        """The other requests in flight."""
        with self._changed:
            return [other for number, other in self._active.items() if number != received.number]

    def wait_until(self, holds: Callable[[], bool], timeout_s: float) -> bool:
        """Block until `holds()` is true, checked after each change; False if the time is up first."""
        with self._changed:
            return self._changed.wait_for(holds, timeout_s)

    @property
    def requests(self) -> list[Received]:
        """All requests in the order of their heads."""
        with self._changed:
            return list(self._requests)

    @property
    def violations(self) -> list[str]:
        """All violations."""
        with self._changed:
            return list(self._violations)

    @property
    def in_flight(self) -> int:
        """The number of requests that are being received or served."""
        with self._changed:
            return len(self._active)

    @property
    def counts(self) -> Counter[str]:
        """Every counter by its name."""
        with self._changed:
            return Counter(self._counts)

    def _peak(self, name: str, value: int) -> None:
        self._counts[name] = max(self._counts[name], value)

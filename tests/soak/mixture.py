"""The server of a soak: draws passing faults at random, at a pace for the wanted duration."""

import time
from random import Random

from tests.fakes.received import Received
from tests.fakes.script import Script
from tests.fakes.words import (
    body_of,
    busy,
    chunked,
    close_mid_body,
    close_without_reply,
    connection_close,
    delay,
    empty_body,
    engine_dead,
    error,
    hang,
    hang_mid_body,
    html,
    http_1_0,
    http_200_error,
    huge_headers,
    invalid_http,
    question_id,
    reset,
    reset_mid_body,
    retry_after,
    stale_keepalive,
    trickle,
    until_close,
    wrong_content_length,
)
from tests.soak import benchmark

LONGEST_DELAY_S = 3.0
"""Well below the client's time for a question."""
OVERFLOWING = "length too small"
INSTEAD: dict[str, tuple[float, Script]] = {
    "500": (1.0, error(500)),
    "502 page": (1.0, html()),
    "503": (1.0, error(503, "overloaded")),
    "503 loading": (0.1, error(503, "the model is loading")),
    "busy": (0.5, busy()),
    "engine dead": (0.5, engine_dead()),
    "429": (0.5, error(429, "slow down")),
    "429 in seconds": (0.2, retry_after(429, "0.2")),
    "429 in milliseconds": (0.2, retry_after(429, ms=150)),
    "429 with a date": (0.1, retry_after(429, date_in_s=1.0)),
    "429 with junk": (0.2, retry_after(429, "soon")),
    "200 that hides a 429": (0.5, http_200_error(429)),
    "200 that hides a 500": (0.5, http_200_error(500)),
    "200 with a page": (0.3, html(200, "Sign in")),
    "200 with nothing": (0.3, empty_body()),
    "200 with half a JSON": (0.3, body_of(b'{"choices": [{"mess')),
    "200 without choices": (0.3, body_of(b'{"choices": null}')),
    "nested beyond reason": (0.1, body_of(b"[" * 50_000)),
    "closed": (1.0, close_without_reply()),
    "reset": (1.0, reset()),
    "no HTTP": (0.5, invalid_http()),
    "silence": (0.1, hang()),
}
"""What is sent instead of the reply, with shares in per cent."""
AROUND: dict[str, tuple[float, Script]] = {
    "closed in the body": (0.5, close_mid_body()),
    "reset in the body": (0.5, reset_mid_body()),
    "silent in the body": (0.1, hang_mid_body()),
    "length too large": (0.1, wrong_content_length(10)),
    OVERFLOWING: (0.2, wrong_content_length(-10)),
    "endless headers": (0.2, huge_headers(100_000, 20)),
    "trickled": (1.0, trickle(200, 0.01)),
    "chunked": (2.0, chunked()),
    "closes after it": (2.0, connection_close()),
    "HTTP/1.0": (1.0, http_1_0()),
    "no length": (1.0, until_close()),
    "closed while idle": (1.0, stale_keepalive()),
}
"""Forms of the reply, with shares in per cent."""


class Mixture:
    """A script; `plain` answers at once and never fails, for the undisturbed run."""

    def __init__(self, seed: int, workers: int) -> None:
        self.plain = True
        self.faults: dict[str, int] = {}
        self.overflowed: set[int] = set()
        """Connections that sent more than the reply: the rest comes before the next reply."""
        self._chance = Random(seed)
        self._workers = workers
        self._until_s = 0.0
        self._left = 1

    def last(self, seconds: float, questions: int) -> None:
        """Fail from now on, and answer at a pace at which this many questions take about that long."""
        self.plain, self._until_s, self._left = False, time.monotonic() + seconds, questions

    def left(self, questions: int) -> None:
        """Adjust the pace to the number of questions that are left."""
        self._left = questions

    def __call__(self, received: Received) -> Script:
        """Choose the treatment of a request."""
        marked = question_id(received)
        if not marked:
            return ()
        number = int(marked[1:])
        if self.plain:
            return benchmark.reply(number)
        return (delay(self._delay_s()), self._play(number, received.connection))

    def _delay_s(self) -> float:
        ideal_s = self._workers * max(0.0, self._until_s - time.monotonic()) / max(1, self._left)
        return self._chance.uniform(0, min(LONGEST_DELAY_S, ideal_s))

    def _play(self, number: int, connection: int) -> Script:
        """A permanent refusal is always sent, so that each of these questions must be asked only once."""
        said = benchmark.reply(number)
        if benchmark.is_refused(number):
            return said
        draw = self._chance.uniform(0, 100)
        for table in (INSTEAD, AROUND):
            for name, (share, play) in table.items():
                draw -= share
                if draw < 0:
                    self.faults[name] = self.faults.get(name, 0) + 1
                    if name == OVERFLOWING:
                        self.overflowed.add(connection)
                    return play if table is INSTEAD else (play, said)
        return said

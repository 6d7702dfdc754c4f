"""Requests and tokens per minute, and a server's own limits from its headers."""

import asyncio
import math

import pytest

from vqa_client.client.allowance import UNKNOWN, Allowance, Bucket, seconds
from vqa_client.types import Completion, Image, Request

pytestmark = pytest.mark.anyio


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now_s

    async def sleep(self, wait_s: float) -> None:
        self.slept.append(round(wait_s, 6))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("vqa_client.client.allowance.time", clock)
    monkeypatch.setattr(asyncio, "sleep", clock.sleep)
    return clock


def asks(text: str = "x" * 40, *images: Image) -> Request:
    return Request(content=(*images, text))


def replied(prompt: int, reply: int) -> Completion:
    return Completion(text="A", prompt_tokens=prompt, completion_tokens=reply)


def test_a_bucket_allows_one_second_of_its_rate_at_once(clock: Clock) -> None:
    bucket = Bucket(2.0)
    assert [round(bucket.take(1), 6) for _ in range(6)] == [0, 0, 0, 0.5, 1.0, 1.5]
    clock.now_s += 60
    assert [round(bucket.take(1), 6) for _ in range(4)] == [0, 0, 0, 0.5]


def test_a_request_larger_than_the_bucket_passes_and_the_next_ones_wait(clock: Clock) -> None:
    bucket = Bucket(10.0)
    assert bucket.take(600) == 0
    assert bucket.take(1) == pytest.approx(59)
    bucket.correct(-300)
    assert bucket.take(1) == pytest.approx(29.1)


def test_a_minute_never_exceeds_the_limit_by_more_than_a_second_of_it(clock: Clock) -> None:
    bucket = Bucket(5.0)
    sent = [clock.now_s + bucket.take(1) for _ in range(700)]
    most = max(sum(first <= each < first + 60 for each in sent) for first in sent)
    assert most <= 5 * 61 + 1


async def test_requests_wait_for_rpm_in_order(clock: Clock) -> None:
    allowance = Allowance(120)
    for _ in range(5):
        await allowance.enter(asks(), 16)
    assert clock.slept == [0.5, 1.0]
    assert allowance.waiting == 0


async def test_estimated_tokens_are_corrected_by_the_usage(clock: Clock) -> None:
    allowance = Allowance(None, 60_000)
    picture = Image(name="a", sha256="", size_bytes=1, width=280, height=280, mime="image/png")
    tokens = await allowance.enter(asks("x" * 40, picture), 500)
    assert tokens == (10 + 100, 10 + 100 + 500)
    allowance.leave(tokens, replied(4_400, 10))  # the prompt was longer, the reply shorter
    tokens = await allowance.enter(asks(), 16)
    assert tokens == (10, 40 * 10 + 10), "the server counts 40 times as many for a prompt"
    assert clock.slept == [3.41]  # 4,410 tokens at 1,000 per second, less one second's worth that was left
    assert (await allowance.enter(asks(), 4)).all == 40 * 10 + 4  # of another benchmark, with shorter replies
    allowance.leave(tokens, replied(400, 10))
    assert (await allowance.enter(asks("x" * 480), 16)).all == 40 * 120 + 10, "of all prompts"


async def test_what_is_not_known_of_a_request_is_estimated(clock: Clock) -> None:
    allowance = Allowance(None, 1_000_000)
    unmeasured = Image(name="a", sha256="", size_bytes=1, mime="image/png")
    assert (await allowance.enter(asks("x" * 40, unmeasured), 16)).all == 10 + 1_000 + 16
    tokens = await allowance.enter(Request(content=("x" * 40,), parameters={"max_tokens": 5}), 16)
    assert tokens.all == 10 + 5
    allowance.leave(tokens, Completion(text="", prompt_tokens=10))  # a reply without a count has none
    assert (await allowance.enter(asks(), 16)).all == 10


async def test_the_first_headers_count_the_requests_that_are_still_in_flight(clock: Clock) -> None:
    allowance = Allowance()
    assert [await allowance.enter(asks(), 16) for _ in range(3)] == [UNKNOWN] * 3
    allowance.leave(UNKNOWN, replied(10, 1))
    allowance.read_headers({"x-ratelimit-remaining-requests": "3", "x-ratelimit-limit-requests": "60"})
    for _ in range(2):
        await allowance.enter(asks(), 16)
    assert clock.slept == [1.0], "two of the three that are left are in flight"


async def test_a_request_that_was_never_sent_is_not_counted(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    async def cancelled(wait_s: float) -> None:
        raise asyncio.CancelledError

    allowance = Allowance()
    allowance.read_headers({"x-ratelimit-remaining-requests": "1", "x-ratelimit-limit-requests": "60"})
    monkeypatch.setattr(asyncio, "sleep", cancelled)
    assert (await allowance.enter(asks(), 16)).all == 26
    with pytest.raises(asyncio.CancelledError):
        await allowance.enter(asks(), 16)
    allowance.read_headers({"x-ratelimit-remaining-requests": "2", "x-ratelimit-limit-requests": "60"})
    assert (await allowance.enter(asks(), 16)).all == 26  # one of two is in flight


HEARD = [
    ({}, [0, 0, 0]),
    ({"remaining-requests": "100", "limit-requests": "600"}, [0, 0, 0]),
    ({"remaining-requests": "0", "limit-requests": "60"}, [1, 2, 3]),
    ({"remaining-requests": "1", "limit-requests": "61", "reset-requests": "30s"}, [0, 0.5, 1]),
    ({"remaining-requests": "1", "limit-requests": "1441", "reset-requests": "24h0m0s"}, [0, 60, 120]),
    ({"remaining-tokens": "26", "limit-tokens": "6000"}, [0, 0.26, 0.52]),
    ({"remaining-requests": "0", "limit-requests": "60", "reset-requests": "1796118253"}, [1, 2, 3]),
    ({"remaining-requests": "none", "limit-requests": "60"}, [0, 0, 0]),
    ({"remaining-requests": "0"}, [0, 0, 0]),
]


@pytest.mark.parametrize(("headers", "waits"), HEARD)
async def test_a_servers_headers_set_the_rate(headers: dict[str, str], waits: list[float], clock: Clock) -> None:
    allowance = Allowance()
    allowance.read_headers({f"x-ratelimit-{name}": value for name, value in headers.items()})
    for _ in waits:
        await allowance.enter(asks(), 16)
    assert clock.slept == [wait for wait in waits if wait]


async def test_limits_of_the_settings_take_the_place_of_the_servers(clock: Clock) -> None:
    allowance = Allowance(120)
    for name in ("requests", "tokens"):
        allowance.read_headers({f"x-ratelimit-remaining-{name}": "0", f"x-ratelimit-limit-{name}": "60"})
    for _ in range(4):
        await allowance.enter(asks(), 16)
    assert clock.slept == [26, 52, 78, 104], "26 tokens at one per second"
    allowance.read_headers({"x-ratelimit-remaining-tokens": "6000000", "x-ratelimit-limit-tokens": "6000000"})
    await allowance.enter(asks(), 16)
    assert clock.slept[4:] == [1.0], "the fifth request at two per second"


SLOW = {"remaining-requests": "0", "limit-requests": "50", "reset-requests": "24h0m0s"}


@pytest.mark.parametrize(
    ("headers", "noted"),
    [
        (SLOW, ["the server's x-ratelimit headers allow one request in 1,728 s; --rpm sets another pace"]),
        (SLOW | {"remaining-requests": "10"}, []),
        (SLOW | {"reset-requests": "1m"}, []),
    ],
)
async def test_a_server_that_allows_few_requests_is_noted_once(headers: dict[str, str], noted: list[str]) -> None:
    notes: list[str] = []
    allowance = Allowance(note=notes.append)
    for _ in range(2):
        allowance.read_headers({f"x-ratelimit-{name}": value for name, value in headers.items()})
    assert notes == noted


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("6m0s", 360.0),
        ("20ms", 0.02),
        ("1.5s", 1.5),
        ("2h3m", 7380.0),
        ("1d1h", 90_000.0),
        ("12", 12.0),
        ("1.2.3s", 0.0),
        ("9999999", 9_999_999.0),
        ("1796118253", None),
        ("1796118253000", None),
        ("2026-12-01T10:00:00Z", None),
        ("soon", None),
        ("", None),
    ],
)
def test_times_in_headers_are_read(text: str, found: float | None) -> None:
    assert seconds(text) == found
    assert seconds(text) != math.inf

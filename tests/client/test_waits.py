"""Backoff, the server's own wish, and what all workers share."""

import asyncio
import random
import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.client.limits import Breaker, Outage, Pause
from vqa_client.client.retry import CAP_S, backoff_s, retry_after_s

NOW_S = 1_800_000_000.0


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "600"}, 600.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "300"}, 0.3),
        ({"retry-after-ms": "300", "retry-after": "7"}, 0.3),
        ({"retry-after-ms": "junk", "retry-after": "7"}, 7.0),
        ({"retry-after": formatdate(NOW_S + 3, usegmt=True)}, 3.0),
        ({"retry-after": formatdate(NOW_S - 3, usegmt=True)}, None),
        ({"retry-after": formatdate(NOW_S - 7200, usegmt=True), "date": formatdate(NOW_S - 7205, usegmt=True)}, 5.0),
        ({"retry-after": formatdate(NOW_S + 3, usegmt=True), "date": "now"}, 3.0),
        ({"retry-after": "2", "date": formatdate(0, usegmt=True)}, 2.0),
        ({"retry-after": "0"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_a_wish_is_taken_in_every_form_and_junk_is_none(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after_s(headers, NOW_S) == expected


@given(st.text(max_size=40))
def test_no_header_breaks_the_reading_of_a_wish(value: str) -> None:
    wish_s = retry_after_s({"retry-after": value, "retry-after-ms": value, "date": value[::-1]}, NOW_S)
    assert wish_s is None or wish_s > 0


@given(st.integers(min_value=1, max_value=10_000), st.integers())
def test_backoff_stays_between_zero_and_the_cap(failures: int, seed: int) -> None:
    assert 0 <= backoff_s(failures, random.Random(seed)) <= CAP_S


def test_backoff_spreads_and_grows() -> None:
    chance = random.Random(1)
    means = [sum(backoff_s(n, chance) for _ in range(2000)) / 2000 for n in (1, 3, 5)]
    assert means[0] == pytest.approx(0.25, rel=0.1)
    assert means[1] == pytest.approx(1.0, rel=0.1)
    assert means[2] == pytest.approx(4.0, rel=0.1)


async def test_a_pause_holds_everyone_and_a_shorter_one_does_not_cut_it() -> None:
    pause = Pause()
    pause.ask(0.1)
    pause.ask(0.01)
    started_s = time.monotonic()
    await asyncio.gather(*(pause.over() for _ in range(5)))
    assert time.monotonic() - started_s >= 0.1


async def test_one_worker_finds_out_that_the_server_is_back_for_all() -> None:
    looks = 0

    async def look() -> None:
        nonlocal looks
        looks += 1
        await asyncio.sleep(0.01)

    outage = Outage(look)
    noticed_s = time.monotonic()
    await asyncio.gather(*(outage.over(noticed_s) for _ in range(20)))
    assert looks == 1
    await outage.over(time.monotonic())
    assert looks == 2


def test_the_breaker_counts_failures_in_a_row_and_any_reply_resets_it() -> None:
    breaker = Breaker(3)
    trips = [breaker.note(status) for status in ("timeout", "server_error", "unparsed", "timeout", "too_long")]
    assert not any(trips)
    assert not breaker.note("rejected")
    assert breaker.note("connection")
    early = Breaker(50)
    assert [early.note("rejected") for _ in range(10)] == [False] * 9 + [True]
    assert not early.note("ok")
    assert [early.note("rejected") for _ in range(50)] == [False] * 49 + [True]
    never = Breaker(0)
    assert not any(never.note("server_error") for _ in range(100))

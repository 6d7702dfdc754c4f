"""Backoff, the pauses that servers ask for, and what all workers share."""

import asyncio
import importlib
import math
import random
import time
from contextlib import suppress
from email.utils import formatdate
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.client.limits import Breaker, Outage, Patience, Pause, Window
from vqa_client.client.retry import CAP_S, backoff_s, retry_after_s
from vqa_client.errors import ServerAway

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
        ({"retry-after": "9999999"}, 9_999_999.0),
        ({"retry-after": "10000000"}, None),
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
        ({"retry-after": "1e400"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_a_requested_pause_is_read_in_every_form_and_invalid_ones_are_none(
    headers: dict[str, str], expected: float | None
) -> None:
    assert retry_after_s(headers, NOW_S) == expected


@given(st.text(max_size=40))
def test_any_header_is_read_without_an_error(value: str) -> None:
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


async def test_a_pause_stops_all_workers_and_a_shorter_one_does_not_end_it() -> None:
    pause = Pause()
    pause.extend(0.1)
    pause.extend(0.01)
    started_s = time.monotonic()
    await asyncio.gather(*(pause.wait_until_over(math.inf) for _ in range(5)))
    assert not pause.left_s
    assert time.monotonic() - started_s >= 0.1


async def test_one_worker_waits_for_the_server_for_all() -> None:
    looks = 0

    async def look(patience_s: float) -> None:
        nonlocal looks
        looks += 1
        await asyncio.sleep(0.01)

    outage = Outage(look, Patience(30.0))
    noticed_s = time.monotonic()
    await asyncio.gather(*(outage.wait_until_over(noticed_s) for _ in range(20)))
    assert looks == 1
    await outage.wait_until_over(time.monotonic())
    assert looks == 2


async def test_after_a_wait_in_vain_later_waits_are_single_looks() -> None:
    patience, away, waits = Patience(30.0), iter((True, True, False, False)), list[float]()

    async def wait(patience_s: float) -> None:
        waits.append(patience_s)
        if next(away):
            raise ServerAway("it stays away")

    for _ in range(4):
        with suppress(ServerAway):
            await patience.wait(wait)
    assert waits == [30.0, 0.0, 0.0, 30.0]


def test_the_breaker_counts_failures_in_a_row_and_any_reply_resets_it() -> None:
    breaker = Breaker(3)
    trips = [breaker.note(status) for status in ("timeout", "server_error", "unparsed", "timeout", "too_long")]
    assert not any(trips)
    assert not breaker.note("rejected")
    assert breaker.note("connection")
    images = Breaker(3)
    unread = ["", "", "", "a.png", "b.png", "a.png", "b.png", "c.png"]
    assert [images.note("bad_image", unread=error) for error in unread] == [False] * 7 + [True]
    assert not images.note("ok")
    assert [images.note("bad_image", unread=error) for error in "aabbc"] == [False] * 4 + [True]
    early = Breaker(50)
    assert (early.limit("connection"), early.limit("bad_image")) == (10, 50)
    assert [early.note("rejected") for _ in range(10)] == [False] * 9 + [True]
    assert not early.note("ok")
    assert [early.note("rejected") for _ in range(50)] == [False] * 49 + [True]
    never = Breaker(0)
    assert not any(never.note("server_error") for _ in range(100))


def test_refusals_of_a_filter_never_stop_a_run() -> None:
    breaker = Breaker(3)
    assert not any(breaker.note("refused") for _ in range(100))


def filled(count: int) -> Window:
    """A window with so many requests."""
    window = Window()
    assert all(window.try_enter() for _ in range(count))
    return window


def leave_refused(window: Window, count: int, *, limited: bool = True) -> None:
    for _ in range(count):
        window.note_refusal(limited=limited)
        window.leave()


async def test_a_refusal_shrinks_the_window_to_the_requests_that_the_server_kept() -> None:
    window = filled(128)
    leave_refused(window, 124)
    assert (window.size, window.inside, window.refusals) == (4, 4, 124)
    assert not window.try_enter()
    window.leave()
    assert window.try_enter()


async def test_a_server_that_limits_all_requests_gets_one_and_one_that_is_down_gets_all() -> None:
    limited, down = filled(8), filled(8)
    leave_refused(limited, 8)
    leave_refused(down, 8, limited=False)
    assert (limited.size, down.size) == (1, math.inf)
    assert [filled(count).note_refusal(limited=True) for count in (1, 2)] == [False, True], "whether it kept others"


async def test_answers_widen_the_window_only_while_others_wait() -> None:
    window = filled(128)
    leave_refused(window, 124)
    window.note_answer(late=False)
    assert window.size == 4
    waiting = [asyncio.create_task(window.enter(first=False)) for _ in range(60)]
    await asyncio.sleep(0)
    for _ in range(8):
        window.note_answer(late=True)
    assert window.size == 4
    for size, wider in ((4, 5), (5, 7), (7, 11)):
        for _ in range(2 * size):
            assert window.size == size
            window.note_answer(late=False)
        assert window.size == wider
    window.open()
    await asyncio.gather(*waiting)
    assert window.inside == 64


async def test_after_a_limit_of_all_requests_the_window_quickly_grows_to_half_of_its_size() -> None:
    window = filled(8)
    leave_refused(window, 3)
    for _ in range(4):
        window.leave()
    leave_refused(window, 1)
    waiting = [asyncio.create_task(window.enter(first=False)) for _ in range(8)]
    await asyncio.sleep(0)
    sizes = [window.size]
    for _ in range(4):
        window.note_answer(late=False)
        sizes.append(window.size)
    assert sizes == [1, 2, 3, 3, 3]
    window.open()
    await asyncio.gather(*waiting)


async def test_places_are_given_in_order_and_a_refused_question_goes_first() -> None:
    window, order = filled(2), list[str]()
    leave_refused(window, 1)

    async def enter(name: str, *, first: bool = False) -> None:
        await window.enter(first=first)
        order.append(name)

    tasks = [asyncio.create_task(enter(name)) for name in "abc"]
    await asyncio.sleep(0)
    tasks.append(asyncio.create_task(enter("refused", first=True)))
    await asyncio.sleep(0)
    window.leave()
    assert not window.try_enter(), "the others wait for it"
    await asyncio.sleep(0.001)
    for _ in range(3):
        window.leave()
        await asyncio.sleep(0.001)
    assert order == ["refused", "a", "b", "c"]


async def test_a_cancelled_wait_passes_its_place_on() -> None:
    window = filled(2)
    leave_refused(window, 1)
    gone, woken, last = (asyncio.create_task(window.enter(first=False)) for _ in range(3))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    window.leave()  # wakes the second, which is cancelled before it can take its place
    woken.cancel()
    await asyncio.wait_for(last, 60)
    assert window.inside == 1


@pytest.mark.parametrize(
    ("ahead", "answered", "late", "lateness", "size"),
    [
        (127, 40, True, "crowded", 20),
        (40, 40, True, "crowded", 20),
        (30, 40, True, "own", math.inf),
        (127, 40, False, "own", math.inf),
        (7, 0, True, "own", math.inf),
        (2, 1, True, "crowded", 1),
    ],
)
def test_a_request_is_late_because_of_others_if_those_were_answered_late(
    ahead: int, answered: int, late: bool, lateness: str, size: float
) -> None:
    window, sent_s = filled(128), time.monotonic() - 10
    window.note_answer(late=late)
    assert window.note_timeout(sent_s=sent_s, timeout_s=10, ahead=ahead, answered=answered) == lateness
    assert window.size == size


def test_a_silent_server_gets_time_for_the_requests_that_timed_out_and_no_more() -> None:
    window, now_s = filled(128), time.monotonic()
    window.note_answer(late=True)
    assert window.note_timeout(sent_s=now_s - 10, timeout_s=10, ahead=127, answered=40) == "crowded"
    assert window.note_timeout(sent_s=now_s + 20, timeout_s=10, ahead=20, answered=0) == "backlog"
    assert window.note_timeout(sent_s=now_s + 40, timeout_s=10, ahead=20, answered=0) == "own"
    assert window.size == math.inf


LIMITS: Final = {
    "batch.asking": {"AHEAD": 8},
    "batch.run": {
        **{"MOST_POLL_S": 300.0, "POLL_GROWTH": 1.25, "FETCHES": 3, "PAUSES_S": (1.0, 5.0, 25.0, 125.0)},
        **{"MOST_COMPLAINTS": 3},
    },
    "batch.service": {"EXPIRY_S": 7 * 86_400, "RETRIES": 4},
    "cli.files_progress": {"LEAST_S": 5.0},
    "cli.processes": {"STARTS": 2},
    "cli.progress": {"RATE_WINDOW_S": 10.0, "REPORTED_S": 0.5},
    "cli.ray_driver": {"LOSSES": 3, "REACHED_S": 10.0, "MOST_WAITING": 8},
    "cli.ray_worker": {"SHIPPED_S": 0.25},
    "client.allowance": {"BURST_S": 1.0, "BYTES_A_TOKEN": 4, "PIXELS_A_TOKEN": 784, "UNKNOWN_IMAGE_TOKENS": 1_000},
    "client.chat": {"LEAST_IMAGE_TOKENS": 10, "MISSES": 2},
    "client.check.examine": {"CONNECT_S": 2.0, "SLOW_S": 0.5},
    "client.check.preflight": {"LATE_S": 2.0},
    "client.check.sizes": {"LADDER": (64, 16, 4, 2), "SIDES_PX": (256, 512, 1024, 2048), "SHRUNK": 1.5, "SLOW_S": 5.0},
    "client.connection": {"HEAD_LIMIT_BYTES": 1_000_000},
    "client.constrained": {"PUT_OFF_S": (1.0, 3.0, 9.0, 27.0), "TOP_LOGPROBS": (20, 5)},
    "client.direct": {
        **{"UPLOADS_AT_ONCE": 16, "YIELD_BYTES": 262_144, "COALESCE_BYTES": 32_768},
        **{"IDLE_S": 4.0, "CONNECT_TIMEOUT_S": 60.0, "NEXT_ADDRESS_S": 0.25, "CLOSE_S": 0.5, "LATE_S": 1.0},
    },
    "client.endpoint": {"GET_TIMEOUT_S": 10.0, "REDIRECTS": 4, "ADDRESS_CHARACTERS": 300},
    "client.failures": {"BODY_CHARACTERS": 2_000, "READ_CHARACTERS": 20_000, "DEEPEST": 8, "READ_ITEMS": 50},
    "client.limits": {"SPREAD": 0.1, "AT_FIRST": 10},
    "client.messages": {"MOST_MEMBERS": 64},
    "client.probe": {"POLL_S": 0.5},
    "client.probing.asks": {
        "MOST_TOKENS": 256,
        "TIMEOUT_S": 30.0,
        "GET_TIMEOUT_S": 3.0,
        "SIDE_PX": 112,
        "PAGE_PX": 448,
    },
    "client.probing.findings": {"TEMPLATE_TOKENS": 40, "CHARACTERS_PER_TOKEN": 3},
    "client.probing.identity": {"TIMEOUT_S": 60.0},
    "client.reply_room": {"REPLY_LIMIT_BYTES": 16_000_000, "FREE_BYTES": 262_144, "ROOM_BYTES": 64_000_000},
    "client.retry": {
        **{"BASE_S": 0.5, "CAP_S": 30.0, "RATE_LIMIT_PATIENCE_S": 3_600.0, "STILL_ANSWERS_S": 60.0, "TURNS": 1},
        **{"LOADING_POLL_S": 1.0, "LOST_CONNECTIONS": 20, "MOST_WISHED": 1e7, "MOVE_S": 5.0},
    },
    "client.routes": {"HOMES": 65_536, "FAULTS_IN_A_ROW": 8, "LOOK_TIMEOUT_S": 5.0},
    "client.servers": {"FIRST_LOOK_S": 1.0, "LAST_LOOK_S": 30.0, "HURRY_S": 0.5},
    "client.session": {"SPARE": 64, "LEAST_SPARE": 16, "MOST_LISTED": 20},
    "client.uploading.file_proof": {"MOST_TOKENS": 16, "TRIES": 2},
    "client.uploading.uploads": {"MOST_IMAGES": 16_384, "WORTH_WAITING_BYTES": 1_000_000, "ENOUGH_MISSES": 32},
    "client.watching": {
        **{"FIRST_S": 1.0, "SHARE": 0.2, "EVERY_S": 5.0},
        **{"TIMEOUT_S": 5.0, "LAST_TIMEOUT_S": 1.0, "ASK_S": 1.0, "LARGEST_BYTES": 4_000_000},
    },
    "data_url": {"LIMIT_BYTES": 16_777_216, "LARGEST_BYTES": 1_048_576, "PIECE_BYTES": 393_216},
    "files": {"BUFFER_BYTES": 262_144, "MOST_NESTED": 100},
    "images.corruption_job": {"OPENED_BYTES": 67_108_864},
    "images.corruption_pool": {"BUSY": 0.8},
    "images.decide": {"FETCH_S": 60.0, "MOST_FETCHED_BYTES": 67_108_864, "MAX_FILE_BYTES": 536_870_912},
    "images.prepare": {
        **{"LIMIT_BYTES": 1_073_741_824, "FIRST_GUESS_BYTES": 8_388_608, "INLINE_BYTES": 4_194_304},
        **{"BREATH_BYTES": 262_144, "AT_ONCE_BYTES": 65_536, "CACHE_BYTES": 268_435_456, "CELL_BYTES": 16_777_216},
        **{"KNOWN_FILES": 2_048, "MAX_THREADS": 16},
    },
    "images.recode": {"MAX_DECODED_BYTES": 2_147_483_648},
    "judge.benchmark": {"PASSES": 0.9},
    "judge.beside": {"LEAST_BY_LENGTH": 30},
    "judge.kinds": {"MOST_CHARACTERS": 20_000, "MOST_REFERENCES": 12},
    "judge.loading": {"CONTROLS": 20},
    "model_config": {"DEFAULT_TIMEOUT_S": 600.0},
    "pages.estimate": {
        "TOKEN_SIDES": {"qwen2.5-vl": 28, "qwen3-vl": 32},
        "SAMPLED_DOCUMENTS": 32,
        "SAMPLED_PAGES": 8,
    },
    "pages.page_files": {"COMPRESSION": {"compress_level": 4, "compress_type": 0}, "COMPRESS_LEVEL": 6},
    "pages.sheet": {"MOST_PIXELS": 250_000_000, "TYPE_PX": 15},
    "runs.adaptive": {
        **{"FIRST": 16, "MOST": 1_024, "ENOUGH": 8, "QUEUED": 0.1, "GAIN": 0.25, "APART": 1.2},
        **{"MOST_UNCHANGED": 20, "TICK_S": 0.1},
    },
    "runs.control": {"LONGEST_PATH": 100, "REPLY_S": 10.0, "WINDOW": 10, "LINE_BYTES": 10_000},
    "runs.document_pages": {"KEPT_TEXTS": 4_096},
    "runs.dry_run": {"LINE_BYTES": 400, "IMAGE_BYTES": 80, "NEIGHBOURS": 4_096},
    "runs.figures": {"TICK_S": 0.025, "TICKS_PER_SAMPLE": 10, "SPANS": 32, "FIRST_SPAN_S": 0.25},
    "runs.leases": {"EXPIRED_S": 120.0, "LOOKED_S": 2.0, "STEP": 1_000_000},
    "runs.run_plan": {"SYNC_S": 5.0, "QUESTIONS_BETWEEN_LOOKS": 500, "MOST_FIRST": 256},
    "runs.shards": {"PIECE_BYTES": 1_048_576},
    "runs.why": {"MOST_VARIANTS": 8},
    "runner": {"GRACE_S": 1.5, "LOOP_CHARACTERS": 1_000, "PROMPT_CHARACTERS": 10_000},
    "servers.by_config": {"USUAL_IMAGES": 999, "TOP_LOGPROBS": 20},
    "servers.guard": {"LOOK_S": 0.05},
    "servers.local": {"START_TIMEOUT_S": 120.0},
    "servers.process": {"LOOK_S": 0.05, "LOG_TAIL_BYTES": 65_536, "LOG_LINES_TOLD": 12, "LEFTOVER_GRACE_S": 0.5},
    "servers.reader": {"WORKERS": 2, "START_TIMEOUT_S": 60.0},
    "servers.serving": {"PROBE_S": 0.5, "PROBE_TIMEOUT_S": 2.0, "NEWS_S": 5.0, "LINE_CHARACTERS": 160},
    "settings.batch": {"UPLOAD_MB": 90.0, "COMMAND_MB": 2_000.0},
    "settings.divided": {"MOST_PROCESSES": 1_000, "MOST_PARTS": 100_000},
    "tables.data_file": {"SHOWN_FIELDS": 8},
    "tables.parquet_table": {"BATCH_BYTES": 2_097_152, "BOMB_BYTES": 1_073_741_824, "BOMB_RATIO": 200},
    "tables.pictures": {"MOST_CHARACTERS": 100_000},
}


@pytest.mark.parametrize("module", LIMITS)
def test_the_constants_of_each_module(module: str) -> None:
    known = vars(importlib.import_module(f"vqa_client.{module}"))
    assert {name: known[name] for name in LIMITS[module]} == LIMITS[module]

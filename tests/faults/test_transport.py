"""Connections that are slow, cut, crowded, proxied or encrypted, and their effects on a run."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.script import Script
from tests.fakes.words import (
    answer,
    barrier,
    beyond_in_flight,
    chunked,
    close_mid_body,
    close_without_reply,
    connection_close,
    delay,
    error,
    first_n,
    hang,
    hang_mid_body,
    http_1_0,
    huge_headers,
    invalid_http,
    oracle,
    queue,
    reset,
    reset_mid_body,
    retry_after,
    slow_reading,
    stale_keepalive,
    trickle,
    until_close,
    when,
    wrong_content_length,
)
from tests.faults.questions import Questions, noise_png
from vqa_client.client.session import open_session
from vqa_client.types import Request

ENGINES = ("direct", "httpx2", "openai")
DEADLINES_S = (0.3, 3.0, 20.0)
"""The second and the third are for a machine that is too slow to answer good questions within the first."""


def is_about(name: str) -> Any:
    return lambda received: name in received.prompt


@pytest.mark.parametrize(
    ("slow", "engine"),
    [
        (hang(), "direct"),
        (hang(), "httpx2"),
        ((trickle(1, 0.1), answer("B" * 1_000)), "direct"),
        ((trickle(1, 0.1), answer("B" * 1_000)), "httpx2"),
        ((trickle(1, 0.1, head_too=True), answer("B" * 1_000)), "direct"),
        ((chunked(8), trickle(1, 0.1), answer("B" * 1_000)), "direct"),
        ((hang_mid_body(), answer()), "direct"),
        ((trickle(1, 0.2), error(500, "B" * 1_000)), "direct"),
    ],
    ids=[
        *("silence", "silence_httpx2", "trickle", "trickle_httpx2"),
        *("trickling_head", "trickling_chunks", "half_a_body", "trickling_error"),
    ],
)
async def test_a_reply_that_never_ends_costs_its_deadline_and_no_more(
    slow: Script, engine: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    server = fault_server(when(is_about("[[q1]]"), slow, oracle(of.replies())))
    for timeout_s in DEADLINES_S:
        started_s = time.monotonic()
        records = await of.ask(server, max_workers=1, timeout=timeout_s, engine=engine, fresh=True)
        assert time.monotonic() - started_s < 60
        if records["q0"]["status"] == records["q2"]["status"] == "ok":
            break
    assert [records[name]["status"] for name in of.ids] == ["ok", "timeout", "ok"]
    assert f"{timeout_s:g} s" in records["q1"]["error"]["message"]
    assert records["q1"]["attempts"] == 1


async def test_a_server_that_reads_no_faster_than_a_trickle_costs_the_deadline_too(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    of.page("q0").write_bytes(noise_png(1000, 1000))
    server = fault_server(slow_reading(30_000), receive_buffer_bytes=16_384)
    started_s = time.monotonic()
    (record,) = (await of.ask(server, timeout=0.3)).values()
    assert record["status"] == "timeout"
    assert time.monotonic() - started_s < 60


@pytest.mark.parametrize("engine", ENGINES)
async def test_more_workers_than_any_default_pool_all_get_a_connection(
    engine: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 140)
    server = fault_server(first_n(128, (barrier(128), "B"), then="B"), keep_bodies=False)
    # On a slow machine the metrics are read meanwhile, which takes a connection too.
    records = await of.ask(server, max_workers=128, max_retries=0, engine=engine, metrics=False)
    assert {(record["status"], record["attempts"]) for record in records.values()} == {("ok", 1)}
    assert len(server.chats) == 140
    assert server.connections_opened <= 129
    assert server.in_flight_peak >= 128


@pytest.mark.parametrize("engine", ENGINES)
async def test_cancelled_requests_leave_the_pool_whole(
    engine: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    server = fault_server((delay(0.002), "B"), keep_bodies=False, tolerates_violations=True)
    settings = of.settings(server.base_url, max_workers=10, engine=engine)
    async with open_session(settings, None, note=lambda _: None) as session:
        until_s = time.monotonic() + 0.6

        async def give_up_soon(number: int) -> None:
            while time.monotonic() < until_s:
                try:
                    async with asyncio.timeout(number % 5 / 1000):
                        await session.chat.complete(Request(content=("Which one?",)))
                except TimeoutError:
                    pass

        await asyncio.gather(*map(give_up_soon, range(20)))
        async with asyncio.timeout(60):
            said = await asyncio.gather(*(session.chat.complete(Request(content=("Which one?",))) for _ in range(10)))
        assert [completion.text for completion in said] == ["B"] * 10
    server.wait_until(lambda: server.log.in_flight == 0)


async def test_timeouts_leave_the_pool_whole(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 60)
    for timeout_s in DEADLINES_S:
        server = fault_server(first_n(20, hang(), then="B"))
        records = await of.ask(server, timeout=timeout_s, breaker_after=0, max_retries=0, fresh=True)
        statuses = [record["status"] for record in records.values()]
        if statuses.count("ok") == 40:
            break
    assert (statuses.count("timeout"), statuses.count("ok")) == (20, 40)
    assert server.in_flight_peak <= 8 + 1


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_connection_that_the_server_closed_meanwhile_costs_no_retry_and_every_request_is_counted(
    engine: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 40)
    server = fault_server(stale_keepalive(oracle(of.replies())))
    records = await of.ask(server, max_retries=0, max_workers=4, engine=engine)
    assert {record["status"] for record in records.values()} == {"ok"}
    assert {record["attempts"] for record in records.values()} == {1, 2}
    assert sum(record["attempts"] for record in records.values()) == len(server.chats)


async def test_connections_that_went_idle_in_a_pause_cost_no_attempt(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 24)
    in_pause = first_n(10, oracle(of.replies()), then=first_n(1, retry_after(429, ms=400), then=oracle(of.replies())))
    server = fault_server(in_pause, idle_close_s=0.1)
    records = await of.ask(server, max_retries=0, max_workers=4)
    assert {record["status"] for record in records.values()} == {"ok"}
    assert sorted(record["attempts"] for record in records.values()) == [1] * 23 + [2]


def test_no_idle_connection_is_kept_as_long_as_servers_keep_theirs() -> None:
    from vqa_client.client.direct import IDLE_S

    assert IDLE_S < 5  # uvicorn's, and so vLLM's and mlx-vlm's


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("play", "loses_connections"),
    [
        *((error(status), 0) for status in (503, 500, 429)),
        # the probe's connection may be stale, or have unread bytes
        *((play, 1) for play in (reset(), close_without_reply(), invalid_http())),
        ((close_mid_body(), answer()), 0),
    ],
    ids=["503", "500", "429", "reset", "closed", "no_http", "half_a_body"],
)
async def test_a_question_is_sent_once_and_once_for_each_retry(
    play: Script, loses_connections: int, engine: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    server = fault_server(play)
    records = await of.ask(server, max_retries=2, engine=engine, metrics=False)  # as above
    attempts = sum(record["attempts"] for record in records.values())
    assert attempts - 9 in {0, loses_connections}
    assert {record["status"] for record in records.values()} <= {"server_error", "rate_limited", "connection"}
    assert len(server.chats) == attempts


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("play", "status"),
    [
        (hang(), "timeout"),
        (reset(), "connection"),
        (close_without_reply(), "connection"),
        (invalid_http(), "connection"),
        ((reset_mid_body(), answer()), "connection"),
        ((close_mid_body(), answer()), "connection"),
        ((wrong_content_length(10), answer()), "timeout"),
    ],
    ids=["silence", "reset", "closed", "no_http", "reset_in_the_body", "closed_in_the_body", "too_short"],
)
async def test_every_fault_of_the_wire_has_one_name_whatever_library_carries_it(
    play: Script, status: str, engine: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    timeout_s = 0.3 if status == "timeout" else 60.0
    (record,) = (await of.ask(fault_server(play), max_retries=0, timeout=timeout_s, engine=engine)).values()
    assert (record["status"], record["output"]) == (status, None)
    assert record["error"]["message"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "form",
    [chunked(7), connection_close(), http_1_0(), until_close(), trickle(64, 0.001, head_too=True)],
    ids=["chunked", "connection_close", "http_1_0", "until_close", "in_pieces"],
)
async def test_every_allowed_form_of_a_reply_is_read(
    form: Script, engine: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 6)
    server = fault_server((form, oracle(of.replies())))
    records = await of.ask(server, max_retries=0, max_workers=2, engine=engine)
    assert {(r["status"], r["score"], r["attempts"]) for r in records.values()} == {("ok", 1.0, 1)}


async def test_endless_headers_end_as_a_fault_of_the_wire(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 1)
    server = fault_server((huge_headers(1_000_000, 8), answer()))
    (record,) = (await of.ask(server, max_retries=0, timeout=60.0)).values()
    assert (record["status"], len(server.chats)) == ("connection", 1)
    assert "headers" in record["error"]["message"]


async def test_a_connection_that_is_lost_before_its_first_use_costs_a_retry_and_not_the_deadline(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect: Any = asyncio.BaseEventLoop.create_connection
    made: list[bool] = []

    async def connect_and_wait(*args: Any, **options: Any) -> Any:
        transport, protocol = await connect(*args, **options)
        made.append(True)
        while 2 <= len(made) <= 4 and not transport.is_closing():  # a busy loop notices it too late
            await asyncio.sleep(0.002)
        return transport, protocol

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", connect_and_wait)
    of = Questions(tmp_path, 6)
    server = fault_server(oracle(of.replies()), idle_close_s=0.05)
    async with asyncio.timeout(60):
        records = await of.ask(server, max_workers=2, timeout=600.0)
    assert {record["status"] for record in records.values()} == {"ok"}


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_storm_of_rate_limits_sends_at_most_twice_the_questions(
    engine: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 120)
    for number, wish_ms in enumerate((None, 100)):
        limited = retry_after(429, ms=wish_ms) if wish_ms else error(429)
        server = fault_server(beyond_in_flight(10, limited, then=(delay(0.05), oracle(of.replies()))))
        of.output = tmp_path / f"{number}"
        records = await of.ask(server, max_workers=80, engine=engine)
        assert {record["status"] for record in records.values()} == {"ok"}
        assert sum(record["attempts"] for record in records.values()) <= 240


@pytest.mark.parametrize("notices", [True, False], ids=["notices", "works on for nobody"])
async def test_a_server_of_little_capacity_is_given_what_it_answers_in_time(
    notices: bool, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 120)
    for slower in (1, 10):  # the second is for a machine that makes no hundred connections in a second
        script = (queue(4, 0.08 * slower, notices=notices), oracle(of.replies()))
        server = fault_server(script, keep_bodies=False)
        records = await of.ask(server, max_workers=100, timeout=1.0 * slower, fresh=True)
        if {record["status"] for record in records.values()} == {"ok"}:
            break
    assert {record["status"] for record in records.values()} == {"ok"}
    assert sum(record["attempts"] for record in records.values()) < 2.5 * 120


async def test_a_question_that_is_slow_by_itself_is_asked_once_beside_quick_ones(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 60)
    server = fault_server(when(is_about("[[q7]]"), hang(), (delay(0.02), oracle(of.replies()))))
    for timeout_s in (1.0, 20.0):  # the second is for a slow machine
        records = await of.ask(server, max_workers=16, timeout=timeout_s, fresh=True)
        if [record["status"] for record in records.values()].count("ok") == len(of.ids) - 1:
            break
    assert {name for name, record in records.items() if record["status"] == "timeout"} == {"q7"}
    assert records["q7"]["attempts"] == 1

"""Servers that ask for time, load their model, come back, need another form of request, or never answer."""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vqa_client
from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.script import Script
from tests.fakes.words import (
    answer,
    error,
    every_nth,
    first_n,
    first_n_of_each,
    hang,
    html,
    loading_for,
    oracle,
    restart,
    retry_after,
    unsupported_parameter,
)
from tests.faults.commands import ran
from tests.faults.questions import Notes, Questions, StopsAfter
from vqa_client.errors import ServerUnusable
from vqa_client.evaluation import Interrupted


async def test_every_form_of_a_wish_to_wait_is_honoured(tmp_path: Path, fault_server: StartsServers) -> None:
    wishes = {
        "seconds": (retry_after(429, "1"), 1.0),
        "half": (retry_after(429, "0.5"), 0.5),
        "date": (retry_after(429, date_in_s=1.7), 0.6),
        "ms": (retry_after(429, ms=300), 0.3),
        "busy": (retry_after(503, "0.4"), 0.4),
    }

    async def gap_s(name: str, play: Script) -> float:
        of = Questions(tmp_path / name, 1)
        server = fault_server(first_n(1, play, oracle(of.replies())))
        records = await of.ask(server)
        assert (records["q0"]["status"], records["q0"]["attempts"]) == ("ok", 2)
        first, second = server.chats
        assert first.answered_s is not None
        return second.started_s - first.answered_s

    gaps_s = await asyncio.gather(*(gap_s(name, play) for name, (play, _) in wishes.items()))
    for (name, (_, least_s)), found_s in zip(wishes.items(), gaps_s, strict=True):
        assert least_s <= found_s < least_s + 60, name


@pytest.mark.parametrize("value", ["soon", "Wed, 21 Oct 2015 07:28:00 GMT"])
async def test_a_wish_that_says_nothing_means_our_own_waits_and_counts_as_a_retry(
    value: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    server = fault_server(retry_after(429, value))
    started_s = time.monotonic()
    (record,) = (await of.ask(server, max_retries=2)).values()
    assert time.monotonic() - started_s < 60
    assert (record["status"], record["attempts"], len(server.chats)) == ("rate_limited", 3, 3)


async def test_a_long_wish_stops_all_workers_says_so_and_loses_no_question(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.runner.GRACE_S", 0.1)
    of = Questions(tmp_path, 12)
    server = fault_server(first_n(3, "B", then=retry_after(429, "600")))
    stops = StopsAfter(3, words="600")
    with pytest.raises(Interrupted):
        await vqa_client.arun(of.settings(server.base_url, max_workers=4), stop=stops.stop, progress=stops)
    assert len(server.chats) <= 3 + 4
    assert {record["status"] for record in of.records()} == {"ok"}
    records = await of.ask(fault_server("B"))
    assert {record["status"] for record in records.values()} == {"ok"}
    assert len(records) == 12


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_wish_beyond_all_patience_stops_the_run_and_loses_nothing(
    status: int, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 6)
    limited = fault_server(first_n(3, answer("B"), then=retry_after(status, "4000")))
    with pytest.raises(ServerUnusable, match="asks for a pause of 4,000 s") as stopped:
        await of.ask(limited, max_workers=1)
    assert stopped.value.hint == "run the same command again after that time"
    assert [record["status"] for record in of.outcomes().values()] == ["ok"] * 3
    assert len(await of.ask(fault_server(answer("B")))) == 6


@pytest.mark.parametrize("kind", ["vllm", "llamacpp"])
async def test_a_server_that_loads_its_model_costs_no_question(
    kind: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 6)
    server = fault_server(loading_for(0.35, oracle(of.replies())), kind=kind)
    notes = Notes()
    records = await of.ask(server, progress=notes)
    assert [r["status"] for r in records.values()] == ["ok"] * 6
    assert len(server.chats) == 6
    assert notes.about("waiting")


async def test_a_server_that_refuses_connections_at_first_costs_no_question(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 6)
    server = fault_server(oracle(of.replies()), start_after_s=0.4)
    notes = Notes()
    records = await of.ask(server, progress=notes)
    assert [(r["status"], r["attempts"]) for r in records.values()] == [("ok", 1)] * 6
    assert notes.about("waiting")


def loading_chats(seconds: float, then: Script) -> Callable[[Received], Script]:
    """A server that lists its models while it loads them, as llama.cpp does."""
    first_s: list[float] = []

    def play(_: Received) -> Script:
        first_s.append(time.monotonic())
        return error(503, "Loading model", code="503") if time.monotonic() - first_s[0] < seconds else then

    return play


async def test_a_server_that_lists_its_models_while_it_loads_them_costs_no_question(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 6)
    server = fault_server(loading_chats(0.5, oracle(of.replies())), kind="llamacpp")
    records = await of.ask(server)
    assert [r["status"] for r in records.values()] == ["ok"] * 6


@pytest.mark.parametrize("workers", [1, 8])
async def test_a_server_that_restarts_in_between_costs_no_question(
    workers: int, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 40)
    server = fault_server(every_nth(15, restart(0.2), oracle(of.replies())))
    async with asyncio.timeout(60):
        records = await of.ask(server, max_workers=workers)
    assert {r["status"] for r in records.values()} == {"ok"}
    assert len(records) == 40


async def test_a_server_that_goes_away_permanently_ends_the_run_and_fails_no_question(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 30)
    server = fault_server(first_n(10, oracle(of.replies()), then=restart(60.0)))
    with pytest.raises(ServerUnusable, match=r"no answer from .*127\.0\.0\.1"):
        await of.ask(server, wait_for_server=0.3, max_workers=4)
    assert {r["status"] for r in of.outcomes().values()} == {"ok"}
    assert of.report()["incomplete"]


def test_a_wait_that_was_vain_is_one_message_and_exit_code_3(tmp_path: Path) -> None:
    of = Questions(tmp_path, 2)
    done = ran(of.arguments("http://127.0.0.1:9/v1", "--wait_for_server", "0.3"))
    assert (done.code, done.out) == (3, "")
    assert done.is_clean()
    assert "127.0.0.1:9" in done.err
    assert "--wait_for_server" in done.err
    assert not of.output.exists()


@pytest.mark.parametrize(
    ("play", "status"),
    [(error(500), "server_error"), (error(400, "no"), "rejected"), (html(200), "bad_response"), (hang(), "timeout")],
    ids=["500", "400", "page", "silence"],
)
async def test_a_run_in_which_nothing_is_answered_stops_early_without_an_accuracy(
    play: Script, status: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 60)
    server = fault_server(play)
    with pytest.raises(ServerUnusable, match=f"5 questions in a row failed, the last one as {status}.*itself is alive"):
        await of.ask(server, breaker_after=5, max_retries=1, timeout=0.3 if status == "timeout" else 60.0)
    report = of.report()
    assert (report["accuracy"], report["accuracy_answered"], report["incomplete"]) == (None, None, True)
    assert len(of.outcomes()) <= 5 + 8
    assert len(server.chats) <= 2 * (5 + 8)


async def test_documents_that_are_too_long_say_nothing_about_the_server_however_many_there_are(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 20)
    too_long: dict[str, Script] = {
        f"[[{name}]]": error(400, "maximum context length is 10 tokens") for name in of.ids[:15]
    }
    server = fault_server(oracle({**of.replies(), **too_long}))
    records = await of.ask(server, breaker_after=5, max_workers=1)
    assert [records[name]["status"] for name in of.ids] == ["too_long"] * 15 + ["ok"] * 5
    assert len(server.chats) == 20


async def test_a_server_that_dies_later_stops_the_run_too_and_the_same_command_goes_on(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 60)
    server = fault_server(first_n(20, oracle(of.replies()), then=error(500)))
    with pytest.raises(ServerUnusable, match="5 questions in a row failed"):
        await of.ask(server, breaker_after=5, max_retries=0)
    assert of.report()["incomplete"]
    mended = fault_server(oracle(of.replies()))
    records = await of.ask(mended)
    assert {record["status"] for record in records.values()} == {"ok"}
    assert len(mended.chats) == 40
    assert of.report()["accuracy"] == 100.0


def test_a_run_in_which_everything_failed_exits_with_3(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 20)
    server = fault_server(error(500))
    done = ran(of.arguments(server.base_url, "--breaker_after", "5", "--max_retries", "0"))
    assert (done.code, of.report()["accuracy"]) == (3, None)
    assert done.is_clean()


def test_no_number_is_printed_where_nothing_was_answered(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 3)
    server = fault_server(error(500))
    done = ran(of.arguments(server.base_url, "--max_retries", "0", "--json"))
    assert (done.code, of.report()["accuracy"]) == (3, None)
    assert json.loads(done.out)[0]["overall"]["accuracy"] is None


async def test_a_parameter_that_a_server_wants_by_another_name_is_renamed_once_and_recorded(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 30)
    server = fault_server(unsupported_parameter(then=oracle(of.replies())))
    notes = Notes()
    records = await of.ask(server, progress=notes)
    assert {record["status"] for record in records.values()} == {"ok"}
    assert len(notes.about("max_completion_tokens")) == 1
    assert "max_completion_tokens" in str(of.run_file()["sessions"][-1]["dialect"])
    refused = [chat for chat in server.chats if "max_tokens" in chat.json]
    assert len(refused) <= 8  # those in flight before the first refusal arrived
    assert all("max_completion_tokens" in chat.json for chat in server.chats if chat not in refused)


async def test_two_wishes_for_another_form_are_both_met(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 10)
    no_temperature = "Unsupported value: 'temperature' does not support 0.0. Only the default (1) value is supported."

    def script(received: Received) -> Script:
        return error(400, no_temperature, shape="openai") if "temperature" in received.json else answer("B")

    server = fault_server(unsupported_parameter(then=script))
    records = await of.ask(server, config=of.config(temperature=0.0))
    assert {record["status"] for record in records.values()} == {"ok"}
    last = server.chats[-1].json
    assert (last["max_completion_tokens"], "temperature" in last, "max_tokens" in last) == (64, False, False)


async def test_a_server_that_wants_what_it_refuses_is_not_asked_for_ever(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    server = fault_server(
        error(400, "Unsupported parameter: use max_completion_tokens or max_tokens; no temperature support")
    )
    (record,) = (await of.ask(server)).values()
    assert record["status"] == "rejected"
    assert len(server.chats) <= 3


@pytest.mark.parametrize(
    ("config", "sent"),
    [
        ({}, {"model", "messages", "max_tokens"}),
        ({"temperature": None, "extra_body": None, "presence_penalty": None}, {"model", "messages", "max_tokens"}),
        ({"extra_body": {"top_k": None, "seed": 1}}, {"model", "messages", "max_tokens", "seed"}),
        (
            {"temperature": 0, "presence_penalty": 0.0},
            {"model", "messages", "max_tokens", "temperature", "presence_penalty"},
        ),
    ],
)
async def test_what_is_not_set_is_not_sent(
    config: dict[str, Any], sent: set[str], tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    server = fault_server(first_n_of_each(0, (), oracle(of.replies())))
    await of.ask(server, config=of.config(**config))
    assert set(server.chats[0].json) == sent

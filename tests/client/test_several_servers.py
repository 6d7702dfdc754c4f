"""Whole runs against two servers; one of them may die, come back, pause, or serve another model."""

import asyncio
import json
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

import vqa_client
from tests.client.two_servers import ActsAfter, asked, knowing, run, run_file, sample, slow_until, statuses
from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.server import FaultServer
from tests.fakes.words import (
    answer,
    caches_images,
    connection_close,
    delay,
    error,
    first_n,
    hang,
    question_id,
    reads_files,
    retry_after,
    tokens_by_pixels,
    when,
)
from tests.faults.questions import Notes, Questions, niah_settings
from vqa_client.client.session import open_session
from vqa_client.errors import ServerUnusable, UsageError
from vqa_client.settings.run import RunSettings
from vqa_client.types import Request


def is_question(received: Received) -> bool:
    return bool(question_id(received))


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqa_client.client.retry.BASE_S", 0.01)
    monkeypatch.setattr("vqa_client.client.servers.FIRST_LOOK_S", 0.1)
    monkeypatch.setattr("vqa_client.client.servers.HURRY_S", 0.05)


async def test_servers_share_the_questions_and_the_run_file_counts_them(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 40)
    servers = [fault_server((delay(0.01), knowing(of))) for _ in range(2)]
    report = await run(of, servers)
    assert report.summary.overall.correct == 40
    counts = [len(asked(server)) for server in servers]
    assert sum(counts) == 40
    assert min(counts) >= 10
    found = run_file(of)
    assert found["sessions"][-1]["answered_by"] == {s.base_url: n for s, n in zip(servers, counts, strict=True)}
    assert found["described"]["server"]["endpoints"] == [server.base_url for server in servers]
    assert found["described"]["server"]["base_url"] == ", ".join(server.base_url for server in servers)


async def test_all_servers_share_the_workers(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 24)
    servers = [fault_server((delay(0.05), knowing(of))) for _ in range(2)]
    await run(of, servers, max_workers=4)
    assert sum(server.in_flight_peak for server in servers) <= 4 + 2  # the checks before the run ask two at once


@pytest.mark.parametrize("manner", [(), connection_close()], ids=["kept connections", "new ones"])
async def test_a_server_that_dies_and_comes_back_loses_no_question(
    manner: Any, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 120)
    again: list[FaultServer] = []
    script = (delay(0.02), manner, knowing(of)) if manner else (delay(0.02), knowing(of))
    staying = fault_server(slow_until(lambda: bool(again and asked(again[0])), knowing(of)))
    dying = FaultServer(script).start()
    notes = ActsAfter(30, dying.stop)
    try:
        running = asyncio.create_task(run(of, [staying, dying], notes, max_retries=0))
        while not notes.about("is out"):
            await asyncio.sleep(0.01)
        again.append(FaultServer(script, port=dying.port).start())
        report = await running
    finally:
        dying.stop()
        for server in again:
            server.stop()
    assert report.summary.overall.correct == 120
    assert {status for _, status in statuses(of)} == {"ok"}
    assert len(statuses(of)) == 120
    [out], [back] = notes.about("is out"), notes.about("is back")
    assert re.fullmatch(rf"{dying.base_url} is out \(.+\); 1 of 2 servers continue", out)
    assert re.fullmatch(rf"{dying.base_url} is back after \d+ s", back)
    assert asked(again[0])
    assert dying.violations == again[0].violations == []


async def test_the_question_of_a_dying_server_goes_elsewhere_without_a_charge(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of, notes = sample(tmp_path, 2), Notes()
    dying = FaultServer(when(is_question, hang(), (connection_close(), "red"))).start()
    staying = fault_server(slow_until(lambda: bool(notes.about("is out")), knowing(of)))
    running = asyncio.create_task(run(of, [dying, staying], notes, max_workers=2, max_retries=0))
    while not asked(dying):
        await asyncio.sleep(0.01)
    await asyncio.to_thread(dying.stop)
    report = await running
    assert report.summary.overall.correct == 2
    assert sorted(record["attempts"] for record in of.records()) == [1, 2]


async def test_a_run_starts_without_a_dead_server(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 8)
    dead = FaultServer().start()
    dead.stop()
    notes = Notes()
    report = await run(of, [dead, fault_server(knowing(of))], notes, wait_for_server=0.2)
    assert report.summary.overall.correct == 8
    assert notes.about("is out", dead.base_url)


async def test_if_all_servers_die_the_run_stops_and_resumes_later(tmp_path: Path) -> None:
    of = sample(tmp_path, 60)
    script = (delay(0.02), knowing(of))
    servers = [FaultServer(script).start() for _ in range(2)]
    ports = [server.port for server in servers]

    def kill() -> None:
        for server in servers:
            server.stop()

    started_s = time.monotonic()
    with pytest.raises(ServerUnusable, match=r"^none of 2 servers answers: http://\S+: .+; http://\S+: ") as caught:
        await run(of, servers, ActsAfter(20, kill), wait_for_server=0.4)
    assert caught.value.hint == (
        "start one again and run the same command again; --wait_for_server SECONDS waits longer"
    )
    assert time.monotonic() - started_s < 60
    kept = len(statuses(of))
    assert 0 < kept < 60
    revived = [FaultServer(script, port=port).start() for port in ports]
    try:
        report = await run(of, revived)
    finally:
        for server in revived:
            server.stop()
    assert report.summary.overall.correct == 60
    assert sum(len(asked(server)) for server in revived) == 60 - kept


async def test_a_short_outage_of_all_servers_loses_nothing(tmp_path: Path) -> None:
    of = sample(tmp_path, 60)
    script = (delay(0.02), knowing(of))
    servers = [FaultServer(script).start() for _ in range(2)]

    def restart() -> None:
        for server in servers:
            server.restart(0.4)

    try:
        report = await run(of, servers, ActsAfter(20, restart), max_retries=0)
    finally:
        for server in servers:
            server.stop()
    assert report.summary.overall.correct == 60


async def test_a_pause_stops_only_its_server(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 30)
    pausing = fault_server(when(is_question, first_n(3, knowing(of), retry_after(429, "600")), "red"))
    other = fault_server((delay(0.01), knowing(of)))
    started_s = time.monotonic()
    report = await run(of, [pausing, other], max_workers=4)
    assert time.monotonic() - started_s < 60
    assert report.summary.overall.correct == 30


async def test_a_server_that_only_fails_is_drained_and_fails_no_question(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 60)
    failing = fault_server(when(is_question, error(500, "EngineDead"), "red"))
    notes = Notes()
    report = await run(of, [failing, fault_server((delay(0.01), knowing(of)))], notes)
    assert report.summary.overall.correct == 60
    out = f"{failing.base_url} is out (8 failed requests in a row, the last one: EngineDead); 1 of 2 servers continue"
    assert set(notes.about("failed requests")) == {out}


async def test_a_server_that_hangs_fails_only_its_first_questions(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 60)
    hanging = fault_server(when(is_question, hang(), "red"))
    await run(of, [hanging, fault_server((delay(0.01), knowing(of)))], max_workers=32, timeout=1.5)
    lost = [status for _, status in statuses(of) if status != "ok"]
    assert len(lost) < 8
    assert set(lost) <= {"timeout"}


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"models": ("another-vlm",)}, "lists another-vlm, and not tiny-vlm"),
        ({"max_model_len": 4096}, "its longest prompt in tokens: 4096, the first's: 2048"),
        ({"script": answer("red", usage=tokens_by_pixels(64))}, "prompt tokens of a small picture"),
    ],
)
async def test_servers_that_differ_are_refused(
    other: dict[str, Any], said: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 4)
    servers = [fault_server("red"), fault_server(**({"script": "red"} | other))]
    with pytest.raises(ServerUnusable, match=said) as caught:
        await run(of, servers)
    assert str(caught.value).startswith(f"{servers[1].base_url} is not like {servers[0].base_url}: ")
    assert caught.value.hint == ("serve the same model with the same settings everywhere, or leave one --endpoint out")
    assert not [received for server in servers for received in asked(server)]


async def test_a_server_of_another_kind_is_noted_with_and_without_a_version(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of, notes = sample(tmp_path, 2), Notes()
    first, other = servers = [fault_server(knowing(of)), fault_server(knowing(of), kind="plain")]
    await run(of, servers, notes)
    assert notes.about("vllm") == [f"{other.base_url} is unknown, {first.base_url} is vllm 0.32.0"]


async def test_a_server_that_comes_back_with_another_model_gets_no_questions(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 80)
    dying = FaultServer((delay(0.03), knowing(of))).start()
    notes = ActsAfter(10, dying.stop)
    staying = fault_server(slow_until(lambda: bool(notes.about("gets no questions", "99")), knowing(of)))
    running = asyncio.create_task(run(of, [staying, dying], notes, max_workers=4))
    while not notes.about("is out"):
        await asyncio.sleep(0.01)
    with FaultServer(knowing(of), port=dying.port, max_model_len=99) as other:
        report = await running
        assert not asked(other)
    assert report.summary.overall.correct == 80
    why = "its longest prompt in tokens: 99, the first's: 2048"
    assert notes.about("gets no questions") == [f"{dying.base_url} is there and gets no questions: {why}"]


async def test_the_only_server_is_noted_if_it_was_away_for_more_than_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, refused = iter((0.0, 1.0, 0.0, 7.2, 7.2)), iter((True, False, True, False))
    monkeypatch.setattr("vqa_client.client.servers.time", SimpleNamespace(monotonic=lambda: next(clock)))

    def reply(request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/models"):
            loaded = {"max_model_len": 2048, "loaded": True}
            return httpx2.Response(200, json={"data": [{"id": f"m{number}"} | loaded for number in range(21)]})
        if next(refused):
            raise httpx2.ConnectError("refused")
        return httpx2.Response(200, json={"choices": [{"message": {"content": "red"}}]})

    notes, wire = list[str](), httpx2.MockTransport(reply)
    async with open_session(
        RunSettings(base_url="http://server/v1"), None, note=notes.append, transport=wire
    ) as opened:
        models = [f"m{number}" for number in range(20)]
        server = {"base_url": "http://server/v1", "engine": "direct", "insecure": False}
        assert opened.server == {**server, "models": models, "context_length": 2048}
        for _ in range(2):
            await opened.chat.complete(Request(content=("?",)))
    assert notes[1:] == ["the server is back after 7 s"]


async def test_a_document_stays_with_its_server(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 12)
    servers = [fault_server((delay(0.01), "red")) for _ in range(2)]
    addresses = tuple(server.base_url for server in servers)
    await vqa_client.arun(niah_settings(of, addresses[0], endpoint=addresses))
    of_documents = [{question_id(received).partition("#")[0] for received in asked(server)} for server in servers]
    assert not of_documents[0] & of_documents[1]
    assert min(map(len, of_documents)) >= 3
    assert sum(len(asked(server)) for server in servers) == 24


async def test_an_endpoint_given_twice_is_refused_and_endpoint_overrides_base_url(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 2)
    server, unasked = fault_server(knowing(of)), fault_server("C")
    with pytest.raises(UsageError, match=rf"^--endpoint names {server.base_url} twice$"):
        await run(of, [server, server])
    notes = Notes()
    await vqa_client.arun(of.settings(unasked.base_url, endpoint=(server.base_url,)), progress=notes)
    assert (len(asked(server)), len(unasked.requests)) == (2, 0)
    assert notes.about("--endpoint is given", unasked.base_url)


def test_a_single_endpoint_may_be_a_string() -> None:
    assert RunSettings(endpoint="http://a").endpoint == ("http://a",)  # type: ignore[arg-type]


async def test_the_run_file_contains_no_key_of_an_address(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 4)
    servers = [fault_server(knowing(of)) for _ in range(2)]
    addresses = tuple(server.base_url.replace("://", "://user:SECRET-1234@") for server in servers)
    await vqa_client.arun(of.settings(servers[0].base_url, endpoint=addresses))
    kept = "".join(path.read_text() for path in of.output.rglob("*") if path.is_file())
    assert "SECRET-1234" not in kept


async def test_a_run_resumes_with_other_servers_and_other_ways_of_sending(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 20)
    pages = of.pages_dir / "clean" / "images"
    some = when(lambda received: int(question_id(received)[1:] or 0) < 12, knowing(of), error(400, "not now"))
    firsts = [fault_server(reads_files(pages, caches_images(then=when(is_question, some, "red")))) for _ in range(2)]
    await run(of, firsts, image_uuid="auto", file_urls=True)
    assert run_file(of)["sessions"][-1]["uploads"]["pointed_at"] == 20 - 8
    assert str(tmp_path) not in json.dumps(run_file(of)["identity"])
    later = fault_server(knowing(of))
    (report,) = await vqa_client.arun(of.settings(later.base_url, retry_failed=True))
    assert report.summary.overall.correct == 20
    assert len(later.chats) == 8
    again = fault_server("C")
    await run(of, [again, fault_server("C")])
    assert not asked(again)


async def test_the_only_server_that_comes_back_with_another_model_stops_the_run(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 40)
    dying = FaultServer((delay(0.03), knowing(of)), models=("model-a",)).start()
    notes = ActsAfter(4, dying.stop)
    settings = of.settings(dying.base_url, max_workers=2, model="model-a", wait_for_server=20.0)
    running = asyncio.create_task(vqa_client.arun(settings, progress=notes))
    while notes._left > 0:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.3)  # long enough to be missed
    with FaultServer("red", port=dying.port, models=("model-b",)) as other:
        with pytest.raises(ServerUnusable) as caught:
            await running
        assert str(caught.value) == f"{other.base_url} is back without model-a: it lists model-b"
        assert caught.value.hint == (
            "serve that model there again, then run the same command again; answered questions are not repeated"
        )
        assert not asked(other)

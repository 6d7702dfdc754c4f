"""Runs through a batch API: every question has one record, no line is sent twice, and the report is the online one."""

import asyncio
import errno
import itertools
import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from tests.batch.conftest import COUNT, Batched
from tests.fakes.actions import reset
from tests.fakes.batches import Batches
from tests.fakes.fixtures import StartsServers
from tests.fakes.script import Script
from tests.fakes.words import body_of, by_question, close_mid_body, error, first_n_of_each, oracle
from tests.faults.questions import Notes
from vqa_client.batch import run, service
from vqa_client.batch.parts import PartFolder
from vqa_client.batch.service import Service
from vqa_client.errors import IdentityError, OutputError, ServerUnusable, UsageError
from vqa_client.evaluation import Interrupted, arun
from vqa_client.runs.control import Order, order_all
from vqa_client.runs.reopened import rescore


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "PAUSES_S", (0.01, 0.01))
    monkeypatch.setattr(service, "RETRIES", 0)


async def test_a_batched_run_equals_the_online_run(of: Batched, online: bytes, fault_server: StartsServers) -> None:
    batches = Batches()
    server = fault_server(batches.rule(oracle(of.replies())))
    notes = await of.run(server)
    assert [len(each["lines"]) for each in batches.batches.values()] == [4, 4, 2]
    assert (batches.faults, batches.files, len(server.chats), of.unfinished) == ([], {}, 0, False)
    [begun, ended] = notes.about("batch batch_3:")
    assert re.search(r": batch batch_3: 2 questions, 0\.0 MB, ends by [A-Z][a-z]{2} \d\d:\d\d$", begun)
    assert ended.endswith(": batch batch_3: completed")
    about = batches.batches["batch_3"]["metadata"]
    assert about == {"run": "mc clean", "part": "3", "file": about["file"]}
    assert of.run_file()["sessions"][0]["batches"] == [
        {"id": f"batch_{number}", "questions": size, "status": "completed"} for number, size in enumerate((4, 4, 2), 1)
    ]
    assert of.whole_report() == online
    run = of.run_file()
    run["described"]["settings"]["max_workers"] = 64  # as older run files may have it
    of.log_path.with_name("clean_mc_eval.run.json").write_text(json.dumps(run))
    assert not rescore(of.log_path, write=False).changes
    await of.run(server)
    assert len(batches.batches) == 3


KEYS: dict[str, tuple[dict[str, Any], dict[str, str | None]]] = {
    "a key": ({"api_key": "sk-secret"}, {"authorization": "Bearer sk-secret", "api-key": None}),
    "a key in a header": ({"header": ("api-key=secret",)}, {"authorization": None, "api-key": "secret"}),
    "no key": ({}, {"authorization": None, "api-key": None}),
}


@pytest.mark.parametrize(("given", "sent"), KEYS.values(), ids=KEYS)
async def test_every_request_has_only_the_given_key(
    given: dict[str, Any], sent: dict[str, str | None], of: Batched, fault_server: StartsServers
) -> None:
    server = fault_server(Batches().rule(oracle(of.replies())))
    await of.run(server, **given)
    assert all({name: each.headers.get(name) for name in sent} == sent for each in server.requests)


FATES: dict[str, tuple[dict[str, Any], list[int]]] = {
    "expired": ({"fates": ["expired"]}, [4, 4, 2, 2]),
    "expired twice": ({"fates": ["completed", "expired", "completed", "expired"]}, [4, 4, 2, 2, 1]),
    "too many tokens": ({"fates": ["completed", "token_limit", "token_limit"]}, [4, 4, 2, 4, 2]),
    "too many tokens at once": (
        {"scripts": [("POST /v1/batches", error(400, "Full", shape="openai", code="token_limit_exceeded"))]},
        [4, 4, 2],
    ),
    "a cut download": ({"scripts": [("GET /v1/files/batch_1output", (close_mid_body(200), error(500)))]}, [4, 4, 2]),
    "a damaged file": ({"scripts": [("GET /v1/files/batch_1output", body_of(b"no result\n"))] * 3}, [4, 4, 2, 4]),
    "an upload that breaks": ({"scripts": [("POST /v1/files", reset())]}, [4, 4, 2]),
    "an upload without a reply": ({"lost": ["POST /v1/files"]}, [4, 4, 2]),
    "a batch without a reply": ({"lost": ["POST /v1/batches"]}, [4, 4, 2]),
    "a server that is away": ({"scripts": [("GET /v1/batches/batch_2", error(503))] * 3}, [4, 4, 2]),
    "files that stay": ({"scripts": [("DELETE", error(500))] * 5}, [4, 4, 2]),
}


SAID = {
    "expired": ["batch batch_1: expired; 2 expired"],
    "too many tokens at once": [
        "part 1: the account's limit of waiting tokens is reached; it is sent later; "
        "if nothing else of yours waits there, it is too large: batch cancel, then fewer --batch_lines"
    ],
    "a damaged file": [
        "1 damaged result: saved in clean_mc_eval.damaged.jsonl",
        "batch batch_1: completed; 4 without a result",
    ],
}
"""Notes of a fault, after the title of the run."""
SHOWN = {
    "too many tokens": [
        "batches: 3 in progress; 0 of 10 questions done",
        "2 more to be sent",
        "batches: 1 in progress; 0 of 4 questions done; 1 more to be sent",
        "1 more to be sent",
        "batches: 1 in progress; 0 of 2 questions done",
        "",
    ],
}
"""What the progress shows of the batches."""


@pytest.mark.parametrize("fate", FATES)
async def test_each_question_is_answered_once_under_any_fault(
    fate: str, of: Batched, online: bytes, fault_server: StartsServers
) -> None:
    options, sizes = FATES[fate]
    batches = Batches(**options)
    server = fault_server(batches.rule(oracle(of.replies())))
    notes = await of.run(server)
    for said in SAID.get(fate, ()):
        assert notes.about(said)[0].endswith(f": {said}")
    assert fate not in SHOWN or [*dict.fromkeys(notes.served)] == SHOWN[fate]
    aside = of.log_path.with_name("clean_mc_eval.damaged.jsonl")
    assert aside.exists() == (fate == "a damaged file")
    assert not aside.exists() or aside.read_bytes() == b"no result\n"
    assert [len(each["lines"]) for each in batches.batches.values()] == sizes
    assert (len(of.records()), batches.faults, of.unfinished) == (COUNT, [], False)
    assert of.whole_report() == online


async def test_a_run_that_does_not_wait_submits_and_the_same_command_reads(
    of: Batched, fault_server: StartsServers
) -> None:
    batches = Batches(looks=10_000, fates=["completed", "expired"])
    server = fault_server(batches.rule(oracle(of.replies())))
    given = {"no_wait": True, "batch_parallel": 2, "batch_window": "7d"}
    found = []
    for looks in (10_000, 0, 10_000, 0):
        batches.looks = looks
        notes = await of.run(server, **given)
        if not found:
            [left] = notes.about("0 of 10 answered, 8 in 2 batches (batch_1, batch_2), 2 not sent yet; ")
            assert left.endswith("; the same command collects them, `vqa-client batch cancel` ends them")
        found.append((len(of.records()) if of.log_path.exists() else 0, len(batches.batches), of.unfinished))
    assert found == [(0, 2, True), *[(COUNT, 3, False)] * 3]
    assert {each["completion_window"] for each in batches.batches.values()} == {"7d"}
    assert not notes.about("the same command collects them")


async def test_a_batch_is_looked_at_more_and_more_rarely(
    of: Batched, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(run, "asyncio", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(run, "MOST_POLL_S", 0.015)
    await of.run(fault_server(Batches(looks=4).rule(oracle(of.replies()))), batch_lines=COUNT)
    assert slept == pytest.approx([0.0125, 0.015, 0.015, 0.015])


UNSUPPORTED = "You uploaded an unsupported image."


async def test_refusals_are_recorded_and_transient_ones_asked_again(of: Batched, fault_server: StartsServers) -> None:
    rows: dict[str, Script] = {**of.replies()}
    rows["[[q1]]"] = error(400, UNSUPPORTED, shape="openai", code="invalid_image_format")
    rows["[[q2]]"] = first_n_of_each(1, error(429, "Slow down"), then=rows["[[q2]]"])
    rows["[[q3]]"] = error(500, "Broken")
    batches = Batches()
    server = fault_server(batches.rule(by_question(rows)))
    notes = await of.run(server)
    found = of.outcomes()
    told = {name: (found[name]["status"], found[name]["attempts"]) for name in ("q0", "q1", "q2", "q3")}
    refusal = found["q1"]["error"]
    way_out = "the server can't decode the image; --image_format png re-encodes it"
    assert (refusal["message"], refusal["http_status"], refusal["hint"]) == (UNSUPPORTED, 400, way_out)
    assert UNSUPPORTED in refusal["body"]
    assert found["q1"]["request_bytes"] == found["q0"]["request_bytes"] > 0
    assert told == {"q0": ("ok", 1), "q1": ("bad_image", 1), "q2": ("ok", 2), "q3": ("server_error", 3)}
    assert len(of.records()) == COUNT
    again = [note.partition(": ")[2] for note in notes.about("asked again")]
    assert again == [
        f"{left} not answered: asked again ({n} of 3)" for n, left in ((2, "2 questions"), (3, "1 question"))
    ]


async def test_a_batch_with_only_refusals_has_no_output_file(of: Batched, fault_server: StartsServers) -> None:
    batches = Batches()
    server = fault_server(batches.rule(error(400, "This is too long: maximum context length is 10 tokens.")))
    await of.run(server)
    assert {record["status"] for record in of.records()} == {"too_long"}


async def test_a_cancelled_batch_is_read_and_ends_the_run(
    of: Batched, online: bytes, fault_server: StartsServers
) -> None:
    batches = Batches(fates=["completed", "cancelled"])
    server = fault_server(batches.rule(oracle(of.replies())))
    notes = await of.run(server)
    assert len(of.records()) == 8
    [left] = notes.about("online")
    assert left.endswith(": 2 questions not answered: the same command without --batch asks online")
    await of.run(server, batch=False)
    assert len(server.chats) == 2
    assert of.whole_report() == online


async def test_a_refused_file_is_named_with_its_question_and_written_again(
    of: Batched, fault_server: StartsServers
) -> None:
    batches = Batches(fates=["completed", "invalid_json_line"])
    server = fault_server(batches.rule(oracle(of.replies())))
    with pytest.raises(ServerUnusable, match=REFUSED_FILE) as caught:
        await of.run(server)
    assert caught.value.hint == "nothing was asked"
    await of.run(server)
    assert len(of.records()) == len(set(batches.asked)) == COUNT


REFUSED_FILE = r"^batch \S+ was refused: (invalid_json_line: It is \w+\.) \(question q7\); \1; \1$"
REFUSALS: dict[str, tuple[Script, str, str]] = {
    "no such API": (error(404, "Not Found", shape="detail"), "has no batches", "batch write"),
    "a wrong key": (error(401, "Incorrect API key", shape="openai"), "^the server's files: HTTP 401", "api_key"),
}


@pytest.mark.parametrize(("play", "message", "hint"), REFUSALS.values(), ids=REFUSALS)
async def test_a_server_without_batches_is_refused_before_anything_is_created(
    play: Script, message: str, hint: str, of: Batched, fault_server: StartsServers
) -> None:
    batches = Batches(scripts=[("GET /v1/files", play)])
    server = fault_server(batches.rule("B"))
    with pytest.raises(ServerUnusable, match=message) as caught:
        await of.run(server)
    assert hint in caught.value.hint
    assert batches.uploads == []


async def test_a_file_that_is_too_large_names_the_option(of: Batched, fault_server: StartsServers) -> None:
    batches = Batches(most_bytes=1_500)
    server = fault_server(batches.rule(oracle(of.replies())))
    with pytest.raises(ServerUnusable, match="413") as caught:
        await of.run(server)
    assert "--batch_mb" in caught.value.hint
    await of.run(server, batch_mb=0.0012)
    assert len(of.records()) == COUNT
    assert max(len(each["lines"]) for each in batches.batches.values()) < 4


async def test_questions_in_batches_are_not_asked_online(of: Batched, fault_server: StartsServers) -> None:
    batches = Batches(looks=10_000)
    server = fault_server(batches.rule(oracle(of.replies())))
    await of.interrupted(server)
    for changes in ({"batch": False}, {"fresh": True}, {"batch": False, "shard": "1/2"}, {"shard": "2/2"}):
        with pytest.raises(UsageError, match=r"10 questions already in batches .*/clean_mc_eval\.batches"):
            await of.run(server, **changes)
    with pytest.raises(IdentityError, match=r"model\.max_tokens: 1024 in clean_mc_eval\.run\.json, 9 now"):
        await of.run(server, max_tokens=9)
    batches.looks = 1
    notes = await of.run(server, limit=6)
    assert notes.about("2 results without a question of this run: saved in clean_mc_eval.unmatched.jsonl")
    assert (len(batches.batches), len(of.records()), len(server.chats)) == (3, 6, 0)


async def test_a_question_that_changes_meanwhile_is_asked_again(of: Batched, fault_server: StartsServers) -> None:
    batches = Batches(looks=10_000)
    server = fault_server(batches.rule(oracle(of.replies())))
    await of.interrupted(server)
    of.change("q3", question="[[q3]] Which one is it now?")
    batches.looks = 1
    notes = await of.run(server)
    assert notes.about("batch_1", "1 asked otherwise now")
    assert len(of.log_path.with_name("clean_mc_eval.unmatched.jsonl").read_bytes().splitlines()) == 1
    assert "now?" in of.outcomes()["q3"]["prompt"]
    assert [len(each["lines"]) for each in batches.batches.values()] == [4, 4, 2, 1]


async def test_a_full_disk_for_results_is_one_error_and_loses_nothing(
    of: Batched, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = Batches()
    server = fault_server(batches.rule(oracle(of.replies())))

    full = AsyncMock(side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    with monkeypatch.context() as patched:
        patched.setattr("openai._response.AsyncStreamedBinaryAPIResponse.stream_to_file", full)
        with pytest.raises(OutputError, match="No space left on device"):
            await of.run(server)
    await of.run(server)
    assert (len(batches.batches), len(of.records()), of.unfinished) == (3, COUNT, False)


async def test_ctl_stops_a_wait_for_batches_and_refuses_to_change_workers(
    of: Batched, fault_server: StartsServers
) -> None:
    batches = Batches(looks=10_000)
    server = fault_server(batches.rule(oracle(of.replies())))
    settings = of.settings(server.base_url, batch=True, check=False, model="tiny-vlm", batch_lines=4)
    waiting = asyncio.create_task(arun(settings, progress=Notes()))
    async with asyncio.timeout(60):
        while not (len(batches.batches) == 3 and list(of.output.glob("*.ctl"))):
            await asyncio.sleep(0.01)
    for order in (Order(max_workers=3), Order(paused=True)):
        [standing] = await asyncio.to_thread(order_all, of.output, order)
        assert standing.refused == "it asks by batches, which have no workers to change or to pause"
    [standing] = await asyncio.to_thread(order_all, of.output, Order(stop=True))
    assert (standing.refused, standing.stopping) == ("", True)
    with pytest.raises(Interrupted):
        await waiting


class Killed(BaseException):
    """The process has ended."""


def killing_at(patched: pytest.MonkeyPatch, step: int) -> None:
    """Ends the process before or after one of its steps."""
    steps = itertools.count()

    def ending(method: Callable[..., Any], *, waits: bool) -> Callable[..., Any]:
        def die() -> None:
            if next(steps) == step:
                raise Killed

        async def awaited(*given: Any, **named: Any) -> Any:
            die()
            done = await method(*given, **named)
            die()
            return done

        def called(*given: Any, **named: Any) -> Any:
            die()
            done = method(*given, **named)
            die()
            return done

        return awaited if waits else called

    for name in ("upload", "create", "look", "fetch", "delete"):
        patched.setattr(Service, name, ending(getattr(Service, name), waits=True))
    for name in ("save", "drop"):
        patched.setattr(PartFolder, name, ending(getattr(PartFolder, name), waits=False))


@pytest.mark.parametrize("first", range(0, 28, 4))
async def test_a_process_killed_at_any_step_sends_nothing_twice(
    first: int, of: Batched, fault_server: StartsServers
) -> None:
    batches = Batches()
    server = fault_server(batches.rule(oracle(of.replies())))
    for step in range(first, first + 4):
        batches.uploads.clear()
        batches.batches.clear()
        of.output = of.root / f"out{step}"
        with pytest.MonkeyPatch.context() as patched:
            killing_at(patched, step)
            with suppress(Killed, BaseExceptionGroup):
                await of.run(server, batch_lines=COUNT)
        await of.run(server, batch_lines=COUNT)
        assert (sorted(batches.asked), len(of.records())) == (sorted(set(batches.asked)), COUNT), step
        assert not of.unfinished

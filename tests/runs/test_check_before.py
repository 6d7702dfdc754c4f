"""The check before a run: a finding ends the run, is noted, or is kept in the run's identity."""

import json
from pathlib import Path
from typing import Any

import pytest

import vqa_client
from tests.client.check.playing import seeing
from tests.fakes.completions import usage_block
from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.script import Script
from tests.fakes.words import answer, at_path, body_of, error, hang, ignores_images, only_model, oracle
from tests.faults.questions import Notes
from tests.runs.sample import Sample
from vqa_client.cli.main import run_command
from vqa_client.client.probing.findings import CODE_PROMPT, PROMPT
from vqa_client.errors import IdentityError, ServerUnusable, UsageError

CHECKS = (PROMPT, CODE_PROMPT)


def of_check(received: Received) -> bool:
    return received.json["messages"][0]["content"][-1]["text"] in CHECKS


def apart(check: Script, questions: Script) -> Any:
    """A server with one script for the check and another for the questions."""
    return lambda received: check if of_check(received) else questions


def run_file(of: Sample) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((of.output / "clean_mc_eval.run.json").read_bytes())
    return told


async def test_a_server_that_sees_images_gets_two_more_requests_and_is_in_the_run_file(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Sample(tmp_path, 4)
    server = fault_server(apart(seeing(), oracle(of.replies())), kind="vllm")
    (report,) = await vqa_client.arun(of.settings(server.base_url, check=True))
    assert report.summary.overall.correct == 4
    assert len(server.chats) == 2 + 4
    told = run_file(of)
    found = told["described"]["server"]["fingerprint"]
    assert (found["kind"], found["sight"], found["model"]) == ("vllm", "colours", "tiny-vlm")
    assert told["identity"]["server"] == {name: found[name] for name in ("kind", "version", "picture_tokens")}


async def test_a_server_that_passed_the_check_is_not_doubted_for_few_tokens(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of, notes = Sample(tmp_path, 4), Notes()
    few = answer("The correct answer is (A).", usage=usage_block(12, 4))
    server = fault_server(apart(seeing(), few))
    await vqa_client.arun(of.settings(server.base_url, check=True), progress=notes)
    assert notes.about("does it see images?") == []
    await vqa_client.arun(of.settings(server.base_url, fresh=True), progress=notes)
    assert len(notes.about("does it see images?")) == 1


async def test_an_unanswered_check_ends_after_the_timeout_of_a_question_and_is_noted(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.client.check.preflight.LATE_S", 0.05)
    of = Sample(tmp_path, 4)
    server = fault_server(apart(hang(), oracle(of.replies())))
    for timeout_s in (0.5, 10.0):  # the second is for a slow machine
        notes = Notes()
        settings = of.settings(server.base_url, check=True, timeout=timeout_s, fresh=True)
        (report,) = await vqa_client.arun(settings, progress=notes)
        if report.summary.overall.correct == 4:
            break
    assert report.summary.overall.correct == 4
    assert len(notes.about(f"testing the server (up to {timeout_s:.0f} s per request)")) == 1


async def test_each_start_names_its_server(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Sample(tmp_path, 8)
    replies = oracle(of.replies())
    first, other = (fault_server(apart(seeing(), replies), kind=kind) for kind in ("vllm", "mlx-vlm"))
    await vqa_client.arun(of.settings(first.base_url, check=True, limit=4))
    await vqa_client.arun(of.settings(other.base_url))
    one, two = (session["server"] for session in run_file(of)["sessions"])
    assert (one["base_url"], one["fingerprint"]["kind"]) == (f"{first.base_url}", "vllm")
    assert two == {"base_url": other.base_url, "fingerprint": "not checked"}


async def test_a_blind_server_is_found_before_the_first_question(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Sample(tmp_path, 4)
    server = fault_server(ignores_images())
    with pytest.raises(ServerUnusable, match="answers without seeing the images") as caught:
        await vqa_client.arun(of.settings(server.base_url, check=True))
    assert "--no_check" in caught.value.hint
    assert all(of_check(chat) for chat in server.chats)
    assert len(server.chats) <= 4
    assert not of.output.exists()


def test_the_command_exits_with_3_for_a_blind_server_unless_no_check_is_given(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("VQA_CLIENT_NO_CHECK")
    of = Sample(tmp_path, 4)
    server = fault_server(ignores_images())
    assert run_command(of.arguments(server.base_url)) == 3
    assert "without seeing" in capsys.readouterr().err
    for spelling in ("--no_check", "--no-check"):
        assert run_command([*of.arguments(server.base_url, spelling), "--fresh"]) == 0
    assert sum(not of_check(chat) for chat in server.chats) == 8


@pytest.mark.parametrize(
    ("check", "told"),
    [
        (answer("B"), "gave the same answer for"),
        (error(400, "no such thing"), "no usable reply"),
    ],
)
async def test_a_poor_or_a_silent_server_gets_one_warning_and_is_asked(
    check: Script, told: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of, notes = Sample(tmp_path, 4), Notes()
    server = fault_server(apart(check, oracle(of.replies())))
    (report,) = await vqa_client.arun(of.settings(server.base_url, check=True), progress=notes)
    assert report.summary.overall.correct == 4
    assert len(notes.about(told)) == 1


async def test_the_note_has_the_reason(tmp_path: Path, fault_server: StartsServers) -> None:
    of, notes = Sample(tmp_path, 4), Notes()
    server = fault_server(apart(error(503, "no workers left"), oracle(of.replies())))
    await vqa_client.arun(of.settings(server.base_url, check=True), progress=notes)
    (told,) = notes.about("no usable reply")
    assert "HTTP 503" in told
    assert "no workers left" in told


async def test_a_model_that_the_server_neither_lists_nor_knows_ends_the_run_before_the_first_question(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Sample(tmp_path, 4)
    server = fault_server(only_model("tiny-vlm"))
    with pytest.raises(ServerUnusable, match=r"other at .*HTTP 404") as caught:
        await vqa_client.arun(of.settings(server.base_url, check=True, model="other"))
    assert caught.value.hint == "choose one that it lists: tiny-vlm"
    assert all(of_check(chat) for chat in server.chats)
    assert not of.output.exists()


async def test_an_address_without_chats_ends_the_run_before_the_first_question(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Sample(tmp_path, 4)
    server = fault_server(error(404, "Not Found"))
    with pytest.raises(ServerUnusable, match="there is no chat/completions under") as caught:
        await vqa_client.arun(of.settings(server.base_url, check=True))
    assert caught.value.hint == "give the right --base_url; --no_check runs anyway"
    assert all(of_check(chat) for chat in server.chats)


async def test_one_of_several_models_has_to_be_named(tmp_path: Path, fault_server: StartsServers) -> None:
    of, names = Sample(tmp_path, 2), ("embedding-3", "gpt-4o")
    server = fault_server(oracle(of.replies()), models=names)
    with pytest.raises(UsageError, match="lists 2 models") as caught:
        await vqa_client.arun(of.settings(server.base_url))
    assert caught.value.hint == "choose one with --model: embedding-3, gpt-4o"
    assert not server.chats
    (report,) = await vqa_client.arun(of.settings(server.base_url, model="gpt-4o"))
    assert report.model == "gpt-4o"


@pytest.mark.parametrize(
    ("listing", "message"),
    [
        (answer("B"), r"/v1 lists no models$"),
        (at_path("/v1/models", error(404, "no such page")), r"/v1 lists no models \(HTTP 404: no such page\)$"),
    ],
    ids=["an empty list", "no such path"],
)
async def test_a_server_without_a_list_of_models_needs_the_name(
    listing: Script, message: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    server = fault_server(listing, models=())
    with pytest.raises(ServerUnusable, match=message) as caught:
        await vqa_client.arun(Sample(tmp_path, 2).settings(server.base_url))
    assert caught.value.hint == "is --base_url right? if it is, name the model with --model"
    assert not server.chats


async def test_a_run_without_images_does_not_check_whether_the_server_sees(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Sample(tmp_path, 4)
    server = fault_server(ignores_images())
    (report,) = await vqa_client.arun(of.settings(server.base_url, check=True, images=None, text_only=True))
    assert report.summary.overall.answered == 4
    assert not any(of_check(chat) for chat in server.chats)


async def test_nothing_is_checked_if_no_question_is_left_to_ask(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Sample(tmp_path, 4)
    server = fault_server(apart(seeing(), oracle(of.replies())))
    for _ in range(2):
        await vqa_client.arun(of.settings(server.base_url, check=True, model="tiny-vlm"))
    assert len(server.chats) == 2 + 4


async def test_another_server_is_refused_with_the_differences_unless_no_check_is_given(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Sample(tmp_path, 8)
    replies = oracle(of.replies())
    first = fault_server(apart(seeing(), replies), kind="vllm")
    await vqa_client.arun(of.settings(first.base_url, check=True, limit=4))
    other = fault_server(apart(seeing(), replies), kind="mlx-vlm")
    before = run_file(of)
    with pytest.raises(IdentityError, match=r"server\.kind: 'vllm' in .*, 'mlx-vlm' now") as caught:
        await vqa_client.arun(of.settings(other.base_url, check=True))
    assert "--no_check" in caught.value.hint
    assert run_file(of)["sessions"] == before["sessions"]
    (report,) = await vqa_client.arun(of.settings(other.base_url))
    assert report.summary.overall.correct == 8
    assert run_file(of)["identity"] == before["identity"]


async def test_each_of_several_servers_is_checked_once(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Sample(tmp_path, 8)
    servers = [fault_server(apart(seeing(), oracle(of.replies())), kind="vllm") for _ in range(2)]
    addresses = tuple(server.base_url for server in servers)
    (report,) = await vqa_client.arun(of.settings(None, endpoint=addresses, check=True))
    assert report.summary.overall.correct == 8
    assert [sum(map(of_check, server.chats)) for server in servers] == [2, 2]
    assert run_file(of)["identity"]["server"]["kind"] == "vllm"


async def test_the_server_s_memory_is_read_with_its_other_figures(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Sample(tmp_path, 4)
    told = b"vllm:num_requests_running 1\nvllm:num_requests_waiting 0\nprocess_resident_memory_bytes 4096\n"
    metrics = at_path("/metrics", body_of(told, content_type="text/plain"), oracle(of.replies()))
    for changes, most in (({}, 2), ({"metrics": False}, 1)):
        server = fault_server(metrics, kind="vllm")
        await vqa_client.arun(of.settings(server.base_url, fresh=True, **changes))
        assert run_file(of)["described"]["server"]["memory_bytes"] == 4096
        assert 1 <= sum(received.route == "/metrics" for received in server.requests) <= most


async def test_an_unchecked_run_is_resumed_with_a_check(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Sample(tmp_path, 8)
    server = fault_server(apart(seeing(), oracle(of.replies())), kind="vllm")
    await vqa_client.arun(of.settings(server.base_url, limit=4))
    assert "server" not in run_file(of)["identity"]
    (report,) = await vqa_client.arun(of.settings(server.base_url, check=True))
    assert report.summary.overall.correct == 8
    assert run_file(of)["identity"]["server"]["kind"] == "vllm"

"""Resuming a run: with a cut log, another model, other images, and failed questions."""

import json
import os
import time
import zlib
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import vqa_client
from tests.fakes.fixtures import StartsServers
from tests.fakes.script import Script
from tests.fakes.words import (
    answer,
    close_without_reply,
    echo_question_id,
    error,
    oracle,
)
from tests.faults.commands import ran
from tests.faults.flips import flipped
from tests.faults.questions import Notes, Questions, niah_settings
from vqa_client.errors import IdentityError, UsageError
from vqa_client.reports.logged_run import read_run
from vqa_client.runs.reopened import rescore

FRAGMENT = b'{"question_id":"q3","variant":"","status":"ok","prompt":"Wh'
Tear = Callable[[list[bytes]], bytes]


def glued(lines: list[bytes]) -> bytes:
    return b"\n".join(lines[:3]) + b"\n" + FRAGMENT


TEARS: dict[str, tuple[Tear, int]] = {
    "fragment": (glued, 1),
    "first_byte": (lambda lines: b"\n".join(lines[:3]) + b"\n{", 1),
    "all_but_the_newline": (lambda lines: b"\n".join(lines[:3]), 1),
    "torn_character": (lambda lines: glued(lines) + "答".encode()[:2], 1),
    "fragment_and_blank_line": (lambda lines: glued(lines) + b"\n\n", 1),
    "blank_lines": (lambda lines: b"\n\n" + b"\n\n".join(lines[:3]) + b"\n\n\n", 1),
    "glued_to_the_next": (lambda lines: FRAGMENT + b"\n".join(lines[:3]) + b"\n", 1),
    "fragment_in_between": (lambda lines: b"\n".join((lines[0], FRAGMENT, *lines[1:3])) + b"\n", 1),
    "zeros_at_the_end": (lambda lines: b"\n".join(lines[:3]) + b"\n" + bytes(500), 1),
    "zeros_over_the_last": (lambda lines: b"\n".join(lines[:3]) + b"\n" + bytes(len(lines[3])) + b"\n", 1),
    "no_record": (lambda lines: b"\n".join(lines[:3]) + b'\n{"id": 4}\n[]\n17\nnull\n', 1),
    "unknown_status": (
        lambda lines: b"\n".join(lines[:3]) + b"\n" + lines[3].replace(b'"status":"ok"', b'"status":"fine"') + b"\n",
        1,
    ),
    "nothing_left": (lambda lines: b"", 4),
    "only_a_fragment": (lambda lines: FRAGMENT, 4),
}


@pytest.mark.parametrize("tear", TEARS)
async def test_a_torn_log_loses_what_was_torn_and_nothing_else(
    tear: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 4)
    server = fault_server(oracle(of.replies()))
    await of.ask(server, max_workers=1)
    before = of.report_path().read_bytes()
    spoil, lost = TEARS[tear]
    of.log_path.write_bytes(spoil(of.lines()[:-1]))
    notes = Notes()
    records = await of.ask(server, max_workers=1, progress=notes)
    assert len(server.chats) == 4 + lost
    assert sorted(records) == of.ids
    assert [json.loads(line)["status"] for line in of.lines() if line] == ["ok"] * 4
    assert of.log_path.read_bytes().endswith(b"\n")
    assert of.report_path().read_bytes() == before
    harmless = {"all_but_the_newline", "blank_lines", "nothing_left"}
    assert len(notes.about("records.jsonl")) == (tear not in harmless)
    await of.ask(server, progress=(later := Notes()))
    assert (len(server.chats), later.about("records.jsonl")) == (4 + lost, [])


async def test_a_record_of_a_later_version_with_more_fields_is_kept(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    server = fault_server(oracle(of.replies()))
    await of.ask(server)
    texts = [line.partition(b',"crc"')[0].replace(b"{", b'{"new":{"a":[1]},', 1) for line in of.lines()[:-1]]
    of.log_path.write_bytes(b"".join(b'%b,"crc":"%08x"}\n' % (text, zlib.crc32(text)) for text in texts))
    await of.ask(server)
    assert len(server.chats) == 3


async def test_a_line_without_its_checksum_is_kept_and_one_that_was_edited_with_it_is_asked_again(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    server = fault_server(oracle(of.replies()))
    await of.ask(server, max_workers=1)
    first, second, third, _ = of.lines()
    without = first.partition(b',"crc"')[0] + b"}"
    of.log_path.write_bytes(b"\n".join((without, second.replace(b"(B)", b"(C)"), third, b"")))
    notes = Notes()
    await of.ask(server, progress=notes)
    assert [chat.prompt[:6] for chat in server.chats[3:]] == ["[[q1]]"]
    assert notes.about("1 unreadable line (2) set aside in clean_mc_eval.records.damaged.txt")
    assert b"(C)" in of.log_path.with_name("clean_mc_eval.records.damaged.txt").read_bytes()


async def test_no_flipped_bit_changes_a_report_or_refuses_a_run(tmp_path: Path) -> None:
    found = await flipped(tmp_path, 25, seed=2)
    assert found["named"] + found["nothing"] == 25
    assert found["named"] > 20


async def test_a_log_of_another_run_is_refused_by_whatever_reads_it(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of, other = Questions(tmp_path / "of", 3), Questions(tmp_path / "other", 3)
    server = fault_server("B", models=("tiny-vlm", "other"))
    await of.ask(server, model="tiny-vlm")
    await other.ask(server, model="other")
    mine = of.log_path.read_bytes()
    assert json.loads(of.lines()[0])["run"] != json.loads(other.lines()[0])["run"]
    of.log_path.write_bytes(other.log_path.read_bytes())
    with pytest.raises(IdentityError, match="is the log of another run"):
        read_run(of.log_path)
    for write in (False, True):
        with pytest.raises(IdentityError, match="is the log of another run"):
            rescore(of.log_path, write=write)
    with pytest.raises(IdentityError, match=r"clean_mc_eval\.records\.jsonl is the log of another run") as caught:
        await of.ask(server, model="tiny-vlm")
    assert "put back" in caught.value.hint
    assert of.log_path.read_bytes() == other.log_path.read_bytes()
    of.log_path.write_bytes(mine)
    await of.ask(server, model="tiny-vlm")
    assert len(server.chats) == 6


async def test_the_name_of_a_run_outlasts_what_changes_no_answer(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 3)
    server = fault_server("B")
    await of.ask(server, config=of.config(extra_body={"a": 1}), limit=2)
    name = json.loads(of.lines()[0])["run"]
    for changes in ({"parser": "published"}, {"check": False}, {}):
        await of.ask(server, config=of.config(extra_body={"a": 1.0}, timeout=9.0), **changes)
    assert [json.loads(line).get("run") for line in of.lines() if line] == [name, None, None]
    assert len(server.chats) == 3


DEEP = b'{"a":' * 600 + b"1" + b"}" * 600
NESTED = (
    b'{"identity": {"a": %b}, "scoring": {}}' % DEEP,
    b'{"identity": {}, "scoring": {}, "described": {"a": %b}}' % DEEP,
    b'{"identity": {}, "scoring": {}, "sessions": [%b]}' % DEEP,
    b'{"identity": {"a": %b1%b}, "scoring": {}}' % (b"[" * 9000, b"]" * 9000),
)


@pytest.mark.parametrize("spoiled", [b"", b"{", b'{"identity": 3}', b"\x00" * 100, *NESTED])
async def test_a_torn_run_file_is_named_with_the_way_out_to_another_run_and_written_again_by_its_own(
    spoiled: bytes, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server(oracle(of.replies()))
    await of.ask(server)
    (of.output / "clean_mc_eval.run.json").write_bytes(spoiled)
    with pytest.raises(UsageError, match=r"run\.json") as caught:
        await of.ask(server, max_pixels=100)
    assert "--fresh" in caught.value.hint
    outcomes = await of.ask(server)
    assert ([record["score"] for record in outcomes.values()], len(server.chats)) == ([1.0, 1.0], 2)


CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "model": ({}, {"model": "other"}, "model_name"),
    "config_model": ({"config": {}}, {"config": {"model_name": "other"}}, "model_name"),
    "temperature": ({"config": {}}, {"config": {"temperature": 0.7}}, "temperature"),
    "max_tokens": ({"config": {}}, {"config": {"max_tokens": 8}}, "max_tokens"),
    "prompt": ({"config": {}}, {"config": {"prompt_template": "{question}? {choices}"}}, "prompt_template"),
    "extra_body": ({"config": {"extra_body": {"a": 1}}}, {"config": {"extra_body": {"a": 2}}}, r"extra_body\.a"),
    "presence_penalty": ({}, {"presence_penalty": 0.5}, "presence_penalty"),
    "pixels": ({}, {"max_pixels": 100}, "max_pixels"),
    "format": ({}, {"image_format": "jpeg"}, "image_format"),
    "quality": ({"image_format": "jpeg"}, {"image_format": "jpeg", "image_quality": 50}, "image_quality"),
    "pages": ({}, {"max_pages": 1}, "max_pages"),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_answers_of_another_run_are_never_reused(
    change: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server("B", models=("tiny-vlm", "other"))
    before, after, field = CHANGES[change]

    def settings(changes: dict[str, Any]) -> dict[str, Any]:
        given = {} if "config" in changes else {"model": "tiny-vlm"}
        return given | changes | ({"config": of.config(**changes["config"])} if "config" in changes else {})

    await of.ask(server, **settings(before))
    written = of.report_path().read_bytes(), of.log_path.read_bytes()
    with pytest.raises(IdentityError, match=field) as caught:
        await of.ask(server, **settings(after))
    assert "--output" in caught.value.hint
    assert len(server.chats) == 2
    assert (of.report_path().read_bytes(), of.log_path.read_bytes()) == written


async def test_another_served_model_is_another_run(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    await of.ask(fault_server("B"), limit=1)
    assert of.run_file()["described"]["server"]["models"] == ["tiny-vlm"]
    other = fault_server("B", models=("large-vlm",))
    with pytest.raises(IdentityError, match="'large-vlm' now"):
        await of.ask(other)
    assert other.chats == []


def test_another_model_exits_with_2_and_a_line_for_each_field(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server()
    assert ran(of.arguments(server.base_url, "--model", "a")).code == 0
    done = ran(of.arguments(server.base_url, "--model", "b", "--max_pages", "3"))
    assert (done.code, done.out, done.is_clean()) == (2, "", True)
    assert "model.model_name: 'a'" in done.err
    assert "images.max_pages: None" in done.err
    assert len(server.chats) == 2


@pytest.mark.parametrize("change", [{"timeout": 9.0}, {"max_workers": 1}, {"max_retries": 0}, {"engine": "httpx2"}])
async def test_what_changes_no_answer_is_no_other_run(
    change: dict[str, Any], tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    server = fault_server("B")
    await of.ask(server, limit=2)
    await of.ask(server, **change)
    assert len(server.chats) == 3


async def test_another_parser_or_flag_scores_again_without_a_request(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    server = fault_server("CODE q0#0")
    (plain,) = await vqa_client.arun(niah_settings(of, server.base_url))
    (strict,) = await vqa_client.arun(niah_settings(of, server.base_url, case_sensitive=True))
    assert (plain.summary.overall.correct, strict.summary.overall.correct, len(server.chats)) == (1, 0, 6)
    (plain,) = await vqa_client.arun(niah_settings(of, server.base_url))
    assert (plain.summary.overall.correct, len(server.chats)) == (1, 6)


def redrawn(path: Path) -> None:
    """Other bytes of the same length."""
    data = bytearray(path.read_bytes())
    data[-1] ^= 1  # in the checksum of the end
    path.write_bytes(data)


async def test_a_page_of_the_same_size_with_other_bytes_is_asked_again(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3, pages=2)
    server = fault_server("B")
    await of.ask(server)
    redrawn(of.page("q1", 2))
    await of.ask(server)
    assert [chat.prompt[:6] for chat in server.chats[3:]] == ["[[q1]]"]


async def test_a_page_whose_time_was_set_back_is_asked_again(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 3)
    past_s = time.time() - 100_000
    for name in of.ids:
        os.utime(of.page(name), (past_s, past_s))
    server = fault_server("B")
    await of.ask(server)
    redrawn(of.page("q1"))
    os.utime(of.page("q1"), (past_s, past_s))
    await of.ask(server)
    assert [chat.prompt[:6] for chat in server.chats[3:]] == ["[[q1]]"]


@pytest.mark.parametrize("ahead_s", [3600, -3600])
async def test_a_clock_that_was_ahead_or_behind_hides_no_changed_page(
    ahead_s: float, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 4, pages=2)
    of.page("q3").write_bytes(b"no page")
    server = fault_server("B")
    await of.ask(server)
    run = of.run_file()
    for session in run["sessions"]:
        session["started"] = (datetime.fromisoformat(session["started"]) + timedelta(seconds=ahead_s)).isoformat()
    (of.output / "clean_mc_eval.run.json").write_text(json.dumps(run))
    await of.ask(server)
    assert len(server.chats) == 3
    redrawn(of.page("q1", 2))
    of.page("q3").write_bytes(of.page("q0").read_bytes())
    assert (await of.ask(server))["q3"]["status"] == "ok"
    assert sorted(chat.prompt[:6] for chat in server.chats[3:]) == ["[[q1]]", "[[q3]]"]


async def test_a_page_that_changed_before_a_smaller_run_is_asked_again(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    server = fault_server("B")
    await of.ask(server)
    redrawn(of.page("q2"))
    at_s = of.page("q2").stat().st_mtime
    while time.time() < int(at_s) + 1.05:  # starts are recorded to the second
        time.sleep(0.05)
    await of.ask(server, limit=1)
    await of.ask(server)
    assert [chat.prompt[:6] for chat in server.chats[3:]] == ["[[q2]]"]


FAILING: dict[str, Script] = {
    "[[q3]]": close_without_reply(),
    "[[q4]]": error(500),
    "[[q5]]": error(400, "maximum context length is 10 tokens"),
    "[[q6]]": answer("", finish_reason="length"),
    "[[q7]]": error(422),
}


async def test_what_failed_for_a_while_is_asked_again_and_what_failed_permanently_on_request(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 9)
    of.page("q8").write_bytes(b"")
    first = fault_server(oracle(of.replies() | FAILING))
    records = await of.ask(first, max_retries=0)
    assert [records[f"q{n}"]["status"] for n in range(9)] == (
        ["ok"] * 3 + ["connection", "server_error", "too_long", "truncated", "rejected", "bad_image"]
    )
    mended = fault_server(oracle(of.replies()))
    await of.ask(mended)
    assert sorted(chat.prompt[:6] for chat in mended.chats) == ["[[q3]]", "[[q4]]", "[[q7]]"]
    of.page("q8").write_bytes(of.page("q0").read_bytes())
    records = await of.ask(mended, retry_failed=True)
    assert sorted(chat.prompt[:6] for chat in mended.chats[3:]) == ["[[q5]]", "[[q8]]"]
    assert [records[name]["status"] for name in of.ids] == ["ok"] * 6 + ["truncated", "ok", "ok"]
    assert sorted(result["instance_id"] for result in of.report()["results"]) == of.ids


async def test_a_mended_image_is_asked_without_being_asked_for(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    good = of.page("q1").read_bytes()
    of.page("q1").write_bytes(good[:40])
    server = fault_server("B")
    assert (await of.ask(server))["q1"]["status"] == "bad_image"
    of.page("q1").write_bytes(good)
    assert (await of.ask(server))["q1"]["status"] == "ok"


async def test_a_run_in_many_parts_ends_as_one_run_does(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 30)
    server = fault_server(echo_question_id(0.002))
    await of.ask(server)
    whole = of.report_path().read_bytes()
    of.output = tmp_path / "parts"
    for limit in (1, 5, 5, 17, 29, None):
        await of.ask(server, limit=limit, max_workers=3, output=of.output)
    assert of.report_path().read_bytes() == whole
    assert len(server.chats) == 60

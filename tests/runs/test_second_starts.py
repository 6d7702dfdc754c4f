"""A second start of a run: earlier records are kept, scored again, asked again or refused."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import vqa_client
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import (
    answer,
    at_path,
    error,
    first_n,
    hold,
    oracle,
)
from tests.faults.questions import Notes
from tests.runs.sample import Sample
from vqa_client.errors import Busy, IdentityError, UsageError


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqa_client.client.retry.BASE_S", 0.01)


def sample(tmp_path: Path, count: int = 20, **more: Any) -> Sample:
    return Sample(tmp_path, count, **more)


async def test_a_second_start_asks_no_answered_question(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 10)
    server = fault_server(oracle(of.replies()))
    await vqa_client.arun(of.settings(server.base_url, limit=6))
    await vqa_client.arun(of.settings(server.base_url))
    assert len(server.chats) == 10
    before = of.report_path().read_bytes()
    await vqa_client.arun(of.settings(server.base_url))
    assert len(server.chats) == 10
    assert of.report_path().read_bytes() == before


async def test_failed_questions_are_asked_again_and_permanent_failures_only_on_request(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 4)
    server = fault_server(oracle(of.replies() | {"[[q0]]": error(500), "[[q1]]": error(400, "at most 0 images")}))
    settings = of.settings(server.base_url, max_retries=0)
    await vqa_client.arun(settings)
    server.script = oracle(of.replies())
    asked = len(server.chats)
    mended = fault_server(oracle(of.replies()))
    await vqa_client.arun(of.settings(mended.base_url, max_retries=0), progress=(notes := Notes()))
    assert ([chat.prompt[:6] for chat in mended.chats], asked) == (["[[q0]]"], 4)
    failed = "1 failed permanently (--retry failed asks them again), 1 left to ask"
    assert notes.about("resuming") == [f"mc clean: resuming: 2 done, {failed} (--fresh starts over)"]
    await vqa_client.arun(of.settings(mended.base_url, max_retries=0, retry_failed=True), progress=notes)
    assert notes.about("resuming")[1:] == ["mc clean: resuming: 3 done, 1 left to ask (--fresh starts over)"]
    assert [chat.prompt[:6] for chat in mended.chats] == ["[[q0]]", "[[q1]]"]
    assert of.report()["correct"] == 4
    assert len({record["question_id"] for record in of.records()}) == 4


@pytest.mark.parametrize("most_first", [1, 2])
async def test_unanswered_questions_before_and_after_the_answered_ones_are_asked_once_in_order(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch, most_first: int
) -> None:
    monkeypatch.setattr("vqa_client.runs.run_plan.MOST_FIRST", most_first)
    of = sample(tmp_path, 10)
    server = fault_server(oracle(of.replies() | {"[[q0]]": error(500), "[[q2]]": error(500)}))
    await vqa_client.arun(of.settings(server.base_url, max_retries=0, limit=6))
    mended = fault_server(oracle(of.replies()))
    await vqa_client.arun(of.settings(mended.base_url, max_workers=1))
    assert [chat.prompt[:6] for chat in mended.chats] == [f"[[q{number}]]" for number in (0, 2, 6, 7, 8, 9)]


async def test_another_model_is_refused_field_by_field_and_nothing_is_asked(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 3)
    server = fault_server(oracle(of.replies()))
    await vqa_client.arun(of.settings(server.base_url))
    with pytest.raises(IdentityError, match=r"model\.model_name: 'tiny-vlm' .* 'other' now"):
        await vqa_client.arun(of.settings(server.base_url, model="other"))
    with pytest.raises(IdentityError, match=r"images\.max_pixels"):
        await vqa_client.arun(of.settings(server.base_url, max_pixels=10))
    assert len(server.chats) == 3
    await vqa_client.arun(of.settings(server.base_url, model="other", fresh=True))
    assert len(server.chats) == 6
    assert sorted(path.name for path in of.output.glob("*.old-1")) == [
        "clean_mc_eval.json.old-1",
        "clean_mc_eval.records.jsonl.old-1",
        "clean_mc_eval.run.json.old-1",
    ]


async def test_another_parser_scores_again_and_asks_nothing(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 4)
    server = fault_server(answer("A dog is shown, so the answer is D."))
    (robust,) = await vqa_client.arun(of.settings(server.base_url))
    (published,) = await vqa_client.arun(of.settings(server.base_url, parser="published"))
    assert len(server.chats) == 4
    assert [result["extracted_answer"] for result in of.report()["results"]] == ["A"] * 4
    assert robust.summary.parts["published"].overall.value == published.summary.overall.accuracy == 0.25


async def test_changed_pages_and_questions_are_asked_again(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 5)
    server = fault_server(oracle(of.replies()))
    await vqa_client.arun(of.settings(server.base_url))
    page = of.pages_dir / "clean" / "images" / "q3_page_001.png"
    page.write_bytes((of.pages_dir / "clean" / "images" / "q4_page_001.png").read_bytes())
    of.data_json.write_text(of.data_json.read_text().replace("[[q1]] Which one?", "[[q1]] Which, then?"))
    await vqa_client.arun(of.settings(server.base_url), progress=(notes := Notes()))
    assert sorted(chat.prompt[:6] for chat in server.chats[5:]) == ["[[q1]]", "[[q3]]"]
    changed = "2 whose question or images have changed since, 2 left to ask"
    assert notes.about("resuming") == [f"mc clean: resuming: 3 done, {changed} (--fresh starts over)"]
    page.touch()
    await vqa_client.arun(of.settings(server.base_url))
    assert len(server.chats) == 7


async def test_a_corrected_answer_key_is_scored_again_and_asks_nothing(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 4)
    server = fault_server(oracle(of.replies()))
    await vqa_client.arun(of.settings(server.base_url))
    corrected = of.data_json.read_text().replace('"answer": "B"', '"answer": "C"').replace('"easy"', '"hard"')
    of.data_json.write_text(corrected)
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    assert len(server.chats) == 4
    assert report.summary.overall.accuracy == 0.75
    assert list(report.summary.breakdowns["difficulty"]) == ["hard"]
    wrong = [result for result in of.report()["results"] if not result["correct"]]
    assert [(result["ground_truth"], result["extracted_answer"]) for result in wrong] == [("C", "B")]


@pytest.mark.parametrize("model", [None, "tiny-vlm"])
async def test_kept_replies_are_read_again_without_any_server(
    model: str | None, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 4)
    server = fault_server(answer("A dog is shown, so the answer is D."))
    await vqa_client.arun(of.settings(server.base_url, model=model))
    (report,) = await vqa_client.arun(
        of.settings("http://127.0.0.1:9/v1", model=model, parser="published", wait_for_server=0.0)
    )
    assert report.summary.overall.accuracy == 0.25
    assert {result["extracted_answer"] for result in of.report()["results"]} == {"A"}


@pytest.mark.parametrize(("content", "state"), [(None, "missing"), (b"", "damaged"), (b'{"identity": {"mo', "damaged")])
async def test_without_a_run_file_the_run_that_the_log_names_continues_and_no_other_does(
    content: bytes | None, state: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 3)
    server = fault_server(oracle(of.replies()))
    await vqa_client.arun(of.settings(server.base_url, limit=2))
    run_file = of.report_path().with_suffix(".run.json")
    run_file.unlink()
    if content is not None:
        run_file.write_bytes(content)
    with pytest.raises((IdentityError, UsageError), match=r"is missing|is not a run file"):
        await vqa_client.arun(of.settings(server.base_url, model="other"))
    (report,) = await vqa_client.arun(of.settings(server.base_url), progress=(notes := Notes()))
    assert (len(server.chats), report.summary.overall.correct) == (3, 3)
    lost = "clean_mc_eval.records.jsonl names this run; its earlier server, times and tokens are no longer known"
    assert notes.about("is written again") == [f"clean_mc_eval.run.json is {state} and is written again: {lost}"]
    log = of.report_path().with_suffix(".records.jsonl")
    log.write_bytes(log.read_bytes().replace(b',"run":', b',"ran":', 1))  # as in the logs of earlier versions
    run_file.unlink()
    with pytest.raises(IdentityError, match="is missing"):
        await vqa_client.arun(of.settings(server.base_url))


async def test_a_report_of_another_program_is_not_overwritten(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 2)
    of.output.mkdir()
    of.report_path().write_text("{}")
    server = fault_server(oracle(of.replies()))
    with pytest.raises(UsageError, match="not written by this program"):
        await vqa_client.arun(of.settings(server.base_url))
    assert of.report_path().read_text() == "{}"
    await vqa_client.arun(of.settings(server.base_url, fresh=True))
    assert (of.output / "clean_mc_eval.json.old-1").read_text() == "{}"


async def test_a_run_without_answers_does_not_block_another_run(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 3)
    await vqa_client.arun(of.settings(fault_server(error(422)).base_url, model="misspelt"))
    server = fault_server(oracle(of.replies()))
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    assert report.summary.overall.correct == 3


@pytest.mark.parametrize("dies_in", ["sort_log", "_Start.still_to_ask"])
async def test_a_start_that_dies_after_copying_answers_is_resumed_and_scores_them(
    dies_in: str, tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = sample(tmp_path, 8)
    server = fault_server(oracle(of.replies()))
    await vqa_client.arun(of.settings(server.base_url, shard="1/2"))

    def dies(*given: object) -> None:
        raise SystemExit(137)

    with monkeypatch.context() as patched:
        patched.setattr(f"vqa_client.runs.run_plan.{dies_in}", dies)
        with pytest.raises(SystemExit):
            await vqa_client.arun(of.settings(server.base_url))
    notes = Notes()
    await vqa_client.arun(of.settings(server.base_url), progress=notes)
    assert len(server.chats) == 8
    assert bool(notes.about("scored again")) == (dies_in == "sort_log")


async def test_a_run_that_another_process_has_just_started_is_busy(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Sample(tmp_path, 3)
    first = fault_server(first_n(1, oracle(of.replies()), then=(hold(), oracle(of.replies()))))
    late = fault_server(at_path("/v1/models", (hold(), answer("no list"))))
    second = asyncio.ensure_future(vqa_client.arun(of.settings(late.base_url, model="tiny-vlm")))
    while not late.requests:
        await asyncio.sleep(0.01)
    started = asyncio.ensure_future(vqa_client.arun(of.settings(first.base_url, model="tiny-vlm", max_workers=1)))
    while len(first.chats) < 2:
        await asyncio.sleep(0.01)
    late.release()
    with pytest.raises(Busy):
        await second
    first.release()
    (report,) = await started
    assert report.summary.status_counts["ok"] == 3

"""Whole runs against a server that misbehaves: every question has one record, and the report says what happened."""

import asyncio
import hashlib
import os
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

import vqa_client
from tests.fakes.fixtures import StartsProcesses, StartsServers
from tests.fakes.words import (
    answer,
    at_random,
    close_without_reply,
    delay,
    echo_question_id,
    engine_dead,
    error,
    every_nth,
    first_n,
    first_n_of_each,
    oracle,
    reset,
    retry_after,
)
from tests.faults.questions import Notes, StopsAfter
from tests.runs.sample import Sample
from vqa_client.errors import DataError, ServerUnusable, UsageError
from vqa_client.evaluation import Interrupted
from vqa_client.progress import Progress
from vqa_client.reports.log_reader import LogReader
from vqa_client.runs.figures import Pace
from vqa_client.runs.plans import make_plans


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqa_client.client.retry.BASE_S", 0.01)


def sample(tmp_path: Path, count: int = 20, **more: Any) -> Sample:
    return Sample(tmp_path, count, **more)


async def test_every_question_is_asked_once_and_its_images_arrive_byte_for_byte(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 20, pages=12)
    server = fault_server(oracle(of.replies()))
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    assert (report.summary.overall.correct, report.summary.overall.total) == (20, 20)
    assert len(server.chats) == 20
    for chat in server.chats:
        name = chat.prompt[2:].partition("]]")[0]
        files = [of.pages_dir / "clean" / "images" / f"{name}_page_{page:03d}.png" for page in range(1, 13)]
        assert [image.sha256 for image in chat.images] == [
            hashlib.sha256(file.read_bytes()).hexdigest() for file in files
        ]
        assert {image.mime for image in chat.images} == {"image/png"}


async def test_replies_stay_with_their_questions_in_any_order(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 60)
    server = fault_server(echo_question_id(0.05))
    await vqa_client.arun(of.settings(server.base_url, max_workers=32))
    results = of.report()["results"]
    assert [result["instance_id"] for result in results] == of.ids
    assert all(result["instance_id"] in result["model_output"] for result in results)


async def test_the_report_is_the_same_for_any_number_of_workers_and_any_passing_faults(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    reports = []
    for name, workers, script in (("a", 1, ()), ("b", 16, ()), ("c", 16, "faulty")):
        (tmp_path / name).mkdir()
        of = sample(tmp_path / name, 30)
        good = oracle(of.replies())
        late = (delay(0.02), good)
        faults = at_random(
            (0.1, error(503)), (0.1, close_without_reply()), (0.1, reset()), (0.1, late), otherwise=good, seed=1
        )
        server = fault_server(first_n_of_each(2, faults, then=good) if script else good)
        await vqa_client.arun(of.settings(server.base_url, max_workers=workers, max_retries=8))
        reports.append(of.report_path().read_text().replace(str(of.root), ""))
    assert reports[0] == reports[1] == reports[2]


async def test_a_reply_with_half_a_surrogate_pair_keeps_its_answer_and_says_so(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 2)
    plays: Any = of.replies()
    plays["[[q1]]"] = answer("The answer is (B). \ud835 x")
    server = fault_server(oracle(plays))
    await vqa_client.arun(of.settings(server.base_url))
    kept = {row["question_id"]: row for row in of.records()}
    assert (kept["q1"]["output"], kept["q1"]["answer"]) == ("The answer is (B). \ufffd x", "B")
    assert [row.get("replaced_characters") for row in (kept["q0"], kept["q1"])] == [None, 1]


async def test_statuses_and_both_denominators_are_in_the_report(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 20)
    plays: Any = of.replies()
    plays |= {f"[[q{n}]]": "I don't know" for n in range(2)}
    plays |= {f"[[q{n}]]": error(400, "maximum context length is 10 tokens") for n in range(2, 5)}
    plays |= {"[[q5]]": answer("", finish_reason="length"), "[[q6]]": answer("Answer: A and C")}
    (of.pages_dir / "clean" / "images" / "q7_page_001.png").write_bytes(b"<html>")
    server = fault_server(oracle(plays))
    await vqa_client.arun(of.settings(server.base_url))
    report = of.report()
    counts = {status: n for status, n in report["status_counts"].items() if n}
    assert counts == {"ok": 12, "unparsed": 2, "too_long": 3, "truncated": 1, "ambiguous": 1, "bad_image": 1}
    assert (report["total_questions"], report["correct"], report["errors"]) == (20, 12, 4)
    assert report["accuracy"] == pytest.approx(60.0)
    assert report["accuracy_answered"] == pytest.approx(75.0)
    assert len(server.chats) == 19


async def test_a_server_that_fails_every_request_stops_the_run_without_an_accuracy(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 40)
    server = fault_server(engine_dead())
    with pytest.raises(ServerUnusable, match="10 questions in a row failed"):
        await vqa_client.arun(of.settings(server.base_url, breaker_after=10, max_retries=1))
    report = of.report()
    assert report["accuracy"] is None
    assert report["incomplete"]
    assert len(server.chats) < 60


async def test_a_server_that_comes_up_late_costs_no_question(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 6)
    server = fault_server(oracle(of.replies()), start_after_s=1.0)
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    assert report.summary.overall.correct == 6


async def test_a_server_that_never_comes_up_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    of = sample(tmp_path, 3)
    with pytest.raises(ServerUnusable, match=r"127\.0\.0\.1:9"):
        await vqa_client.arun(of.settings("http://127.0.0.1:9/v1", wait_for_server=0.2))
    assert not of.output.exists()


async def test_a_pause_that_the_server_asks_for_loses_nothing(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 12)
    server = fault_server(every_nth(5, retry_after(429, ms=150), oracle(of.replies())))
    (report,) = await vqa_client.arun(of.settings(server.base_url, max_retries=0))
    assert report.summary.overall.correct == 12


async def test_the_progress_shows_how_long_a_pause_still_lasts(tmp_path: Path, fault_server: StartsServers) -> None:
    class Hears(Progress):
        paused_s: ClassVar[list[float]] = []

        def pulse(self, paused_s: float) -> None:
            self.paused_s.append(paused_s)

    of, hears = sample(tmp_path, 4), Hears()
    server = fault_server(first_n(1, retry_after(429, ms=900), oracle(of.replies())))
    await vqa_client.arun(of.settings(server.base_url, max_workers=1), progress=hears)
    assert 0.0 < max(hears.paused_s) < 0.9


async def test_stopping_keeps_what_is_done_and_marks_the_report(tmp_path: Path, fault_server: StartsServers) -> None:
    from vqa_client.evaluation import Interrupted

    of = sample(tmp_path, 40)
    server = fault_server((delay(0.05), oracle(of.replies())))
    stops = StopsAfter(6)
    with pytest.raises(Interrupted) as caught:
        await vqa_client.arun(of.settings(server.base_url, max_workers=4), stop=stops.stop, progress=stops)
    assert caught.value.reports[0].incomplete
    done = len(of.records())
    assert 4 <= done < 40
    assert done == len(server.chats) == len(of.report()["results"])
    await vqa_client.arun(of.settings(server.base_url))
    assert len(server.chats) == 40
    assert not of.report()["incomplete"]


async def test_plans_that_a_stop_left_out_are_named(tmp_path: Path, fault_server: StartsServers) -> None:
    from vqa_client.evaluation import Interrupted

    of, stops = sample(tmp_path, 40, folders=("adv_dpi_56", "adv_jpeg_10", "clean")), StopsAfter(6)
    server = fault_server((delay(0.05), oracle(of.replies())))
    with pytest.raises(Interrupted):
        await vqa_client.arun(of.settings(server.base_url, max_workers=4), stop=stops.stop, progress=stops)
    assert stops.about("not begun") == ["not begun: mc adv_jpeg_10, mc clean"]


async def test_every_folder_of_pages_gets_its_own_report(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 3, folders=("clean", "adv_dpi_56"))
    server = fault_server(oracle(of.replies()))
    reports = await vqa_client.arun(of.settings(server.base_url))
    assert [report.folder for report in reports] == ["adv_dpi_56", "clean"]
    assert of.report("adv_dpi_56")["subdirectory"] == "adv_dpi_56"
    kept = [[(each.folder, each.variant) for each in LogReader(report.log)] for report in reports]
    assert kept == [[("adv_dpi_56", "")] * 3, [("clean", "")] * 3]


async def test_no_limit_of_open_files_is_hit(tmp_path: Path, fault_process: StartsProcesses) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    of = sample(tmp_path, 300)
    server = fault_process("first_n(201, (barrier(201), answer('B')), then=answer('B'))")
    try:
        with ExitStack() as open_already:
            highest = max([open_already.enter_context(open(os.devnull)).fileno() for _ in range(100)])
            resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 150, before[1]))
            (report,) = await vqa_client.arun(of.settings(server.base_url, max_workers=256))
            assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 1024, "more than 256 workers need"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert report.summary.status_counts["ok"] == 300
    assert server.counts["in_flight_peak"] > 200


async def test_page_limits_are_recorded(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 2, pages=5)
    server = fault_server(oracle(of.replies()))
    await vqa_client.arun(of.settings(server.base_url, max_pages=2))
    assert {len(chat.images) for chat in server.chats} == {2}
    assert [result["truncated_pages"] for result in of.report()["results"]] == [3, 3]


def test_the_plain_function_works_twice_and_inside_a_running_loop(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 3)
    server = fault_server(oracle(of.replies()))
    assert vqa_client.run(of.settings(server.base_url))[0].summary.overall.correct == 3

    async def notebook() -> list[vqa_client.Report]:
        return vqa_client.run(of.settings(server.base_url))

    assert asyncio.run(notebook())[0].summary.overall.correct == 3
    assert len(server.chats) == 3


@pytest.mark.parametrize(
    ("change", "error_type", "words"),
    [
        ({"data": Path("nowhere.json")}, DataError, r"nowhere\.json"),
        ({"images": Path("nowhere")}, DataError, "nowhere"),
        ({"images": None}, UsageError, "no page images"),
        ({"config": "qwen4-vl"}, UsageError, "did you mean|no config"),
        ({"blacklist": Path("nowhere.txt")}, DataError, r"nowhere\.txt"),
    ],
)
async def test_bad_input_is_named_before_anything_is_asked_or_written(
    change: dict[str, Any], error_type: type[Exception], words: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 2)
    server = fault_server()
    with pytest.raises(error_type, match=words):
        await vqa_client.arun(of.settings(server.base_url, **change))
    assert server.requests == []
    assert not of.output.exists()


async def test_a_run_of_no_questions_is_a_report_of_nothing(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 2)
    server = fault_server()
    (report,) = await vqa_client.arun(of.settings(server.base_url, limit=0))
    assert report.summary.overall.accuracy is None
    assert of.report()["accuracy"] is None


async def test_a_missing_server_is_waited_for_once_for_all_folders(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.client.probe.POLL_S", 0.05)
    of, notes = Sample(tmp_path, 2, folders=("adv_dpi_56", "adv_jpeg_10", "clean")), Notes()
    server = fault_server(oracle(of.replies()))
    await vqa_client.arun(of.settings(server.base_url))
    nowhere = of.settings("http://127.0.0.1:9/v1", wait_for_server=0.2)
    reports = await vqa_client.arun(nowhere, progress=notes)
    assert [report.summary.overall.correct for report in reports] == [2, 2, 2]
    assert len(notes.about("waiting up to")) == 1
    saved = notes.about("using the saved answers")
    assert [note.partition(": ")[0] for note in saved] == ["mc adv_dpi_56", "mc adv_jpeg_10", "mc clean"]


@pytest.mark.parametrize("parser", ["robust", "published", "longbench"])
async def test_a_blocked_reply_is_refused_and_scores_0(
    parser: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 4)
    server = fault_server(answer("The correct answer is (A).", finish_reason="content_filter"))
    (report,) = await vqa_client.arun(of.settings(server.base_url, parser=parser))
    assert report.summary.status_counts["refused"] == 4
    assert report.summary.overall.correct == 0
    assert {part.overall.value for part in report.summary.parts.values()} == {0.0}


async def test_after_an_expired_key_questions_are_asked_again_but_not_too_long_ones(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = sample(tmp_path, 4)
    replies: Any = of.replies()
    refusals = {"[[q0]]": error(401), "[[q1]]": error(404), "[[q2]]": error(400, "maximum context length is 9")}
    await vqa_client.arun(of.settings(fault_server(oracle(replies | refusals)).base_url))
    mended = fault_server(oracle(of.replies()))
    await vqa_client.arun(of.settings(mended.base_url))
    assert sorted(chat.prompt[:6] for chat in mended.chats) == ["[[q0]]", "[[q1]]"]


async def test_settings_accept_the_usual_python_values(tmp_path: Path, fault_server: StartsServers) -> None:
    of = sample(tmp_path, 2)
    server = fault_server(oracle(of.replies()))
    settings = vqa_client.McSettings(
        data=str(of.data_json),  # type: ignore[arg-type]
        images=str(of.pages_dir),  # type: ignore[arg-type]
        output=str(of.output),  # type: ignore[arg-type]
        base_url=server.base_url,
    )
    assert (await vqa_client.arun(settings))[0].summary.overall.correct == 2
    for wrong in ({"image_format": "gif"}, {"limit": "3"}, {"timeout": 0}, {"parser": "x"}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            of.settings(server.base_url, **wrong)


async def test_a_bug_in_a_watch_ends_the_run(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def watch(*given: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Pace, "watch", watch)
    of = Sample(tmp_path, 3)
    with pytest.raises(RuntimeError, match="a bug"):
        await vqa_client.arun(of.settings(fault_server((delay(0.2), answer("B"))).base_url))


async def test_a_stop_during_planning_moves_nothing_aside(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = Sample(tmp_path, 3)
    settings = of.settings(fault_server(answer("B")).base_url)
    await vqa_client.arun(settings)
    before = sorted(path.name for path in of.output.iterdir())
    stop, planned, loop = asyncio.Event(), threading.Event(), asyncio.get_running_loop()

    def slowly(*given: Any, **more: Any) -> Any:
        loop.call_soon_threadsafe(stop.set)
        time.sleep(0.3)
        planned.set()
        return make_plans(*given, **more)

    monkeypatch.setattr("vqa_client.evaluation.make_plans", slowly)
    with pytest.raises(Interrupted):
        await vqa_client.arun(replace(settings, fresh=True), stop=stop)
    assert await asyncio.to_thread(planned.wait, 60)
    await asyncio.sleep(0.2)
    assert sorted(path.name for path in of.output.iterdir()) == before

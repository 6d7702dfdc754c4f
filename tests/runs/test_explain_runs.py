"""Whole runs of explain against a server that misbehaves: the table, the scores, the grid and its history."""

import asyncio
import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

import vqa_client
from tests.fakes.fixtures import StartsProcesses, StartsServers
from tests.fakes.script import Script
from tests.fakes.words import answer, delay, error
from tests.faults.questions import Notes, StopsAfter
from tests.runs.explain_sample import ExplainSample, draw, own, real, right
from tests.tasks.explain.samples import actx, esnlive, put, vqax
from vqa_client.answers.explained import score_explanation_files
from vqa_client.cli.report_tables import as_tables, json_rows
from vqa_client.errors import DataError, UsageError
from vqa_client.evaluation import Interrupted
from vqa_client.settings.score import ScoreExplanationsSettings
from vqa_client.tasks.explain.report import ExplainSummary
from vqa_client.types import Question

WAITING = "val2014/COCO_val2014_{:012d}.jpg"


def photographs(root: Path, count: int) -> ExplainSample:
    """`count` invented VQA-X questions, each on its own picture; the right answers go round."""
    gold = ("kettle", "yes", "2", "red car")
    records = {str(number): vqax(*[gold[number % 4]] * 10, number=number) for number in range(count)}
    return own(root, "vqax", "val", records, *(WAITING.format(number) for number in range(count)))


async def test_vqax_test_is_asked_once_scored_and_put_into_the_grid(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = real(tmp_path, "vqax", "VQA-X/vqaX_test.json", "val2014", every=20)
    server = fault_server(of.oracle(right))
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    assert (report.summary.overall.correct, report.summary.overall.total, report.failed) == (99, 99, 0)
    assert len(server.chats) == len({chat.question for chat in server.chats}) == 99
    rows, questions = of.rows(), of.questions()
    assert [row["sample_id"] for row in rows] == [question.id for question in questions]
    assert {row["correct"] for row in rows} == {"1"}
    assert [row["gt_explanation"] for row in rows] == [question.rationales[0] for question in questions]
    assert of.grid("VQA-X") == {"llava_test": "1.000 (99)"}
    scores = of.scores()
    assert scores["unfiltered"]["n"] == scores["filtered"]["n"] == scores["evil"]["n_right"] == 99
    assert scores["unfiltered"]["metrics"]["ROUGE_L"]["value"] == 1.0
    assert scores["half_right"] is None


async def test_a_second_start_asks_nothing_and_leaves_every_file_as_it_was(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = photographs(tmp_path, 60)
    server = fault_server(
        of.oracle(lambda n, q: right(n, q) if n % 3 else answer(f'no because "{n}"\r\n=1+1, he\rsays'))
    )
    await vqa_client.arun(of.settings(server.base_url, coco_captions=True))
    before = contents(of.results)
    await vqa_client.arun(of.settings(server.base_url, coco_captions=True))
    assert len(server.chats) == 60
    assert contents(of.results) == before
    assert {name for name in before if "_exp.json" in name} == {
        "vqax_val_eval_annot_exp.json",
        "vqax_val_eval_pred_exp.json",
    }
    assert of.rows()[0]["generated_explanation"] == '"0"\r\n=1+1, he\rsays'


async def test_esnlive_test_is_asked_in_place_of_the_val_split_it_does_not_have(
    tmp_path: Path, fault_process: StartsProcesses
) -> None:
    of = real(tmp_path, "esnlive", "eSNLI-VE/esnlive_test.json", "flickr30k", every=100)
    of.split = "val"
    server = fault_process("answer('neutral because it can not be seen')", "--no-parse")
    notes = Notes()
    (report,) = await vqa_client.arun(of.settings(server.base_url, max_workers=64), progress=notes)
    assert (report.summary.overall.correct, report.summary.overall.total, report.failed) == (43, 148, 0)
    assert 148 < server.counts["requests"] < 208, "a few requests ask what the server is and how it stands"
    labels = {label: (tally.correct, tally.total) for label, tally in report.summary.breakdowns["label"].items()}
    assert labels == {"contradiction": (0, 54), "entailment": (0, 51), "neutral": (43, 43)}
    assert notes.said.count("ESNLI-VE has no val split; test is used") == 1
    assert len(of.rows()) == 148
    assert of.grid("ESNLI-VE") == {"llava_val": "0.291 (148)"}


async def test_esnlive_answers_itself(tmp_path: Path, fault_server: StartsServers) -> None:
    of = real(tmp_path, "esnlive", "eSNLI-VE/esnlive_test.json", "flickr30k", every=50)
    server = fault_server(of.oracle(right, n_samples=100))
    (report,) = await vqa_client.arun(of.settings(server.base_url, n_samples=100))
    assert report.summary.overall.correct == len(server.chats) == 100
    assert {len(chat.images) for chat in server.chats} == {1}


async def test_faulty_replies_are_counted_by_kind_and_kept_unchanged(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = photographs(tmp_path, 40)
    plays: dict[int, Script] = {
        0: answer('kettle because\n\n- it "steams",\r\n- it\'s hot'),
        1: answer("=HYPERLINK(1) because @SUM(A1) \u2028 'x'"),
        2: answer(""),
        3: answer("I'm sorry, I can't help with that."),
        4: answer("The picture shows a large and old kitchen in which many things stand", finish_reason="length"),
        5: answer("Two people walk along a beach with a dog that runs ahead of them"),
        6: error(400, "maximum context length is 10 tokens"),
        7: error(500, "cuda"),
        8: answer("-2 because +1"),
    }
    server = fault_server(of.oracle(lambda n, q: plays.get(n, right(n, q))))
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    counts = {status: n for status, n in report.summary.status_counts.items() if n}
    assert counts == {
        "ok": 34, "empty": 1, "refused": 1, "truncated": 1, "unparsed": 1, "too_long": 1, "server_error": 1
    }  # fmt: skip
    assert report.failed == 2
    rows, records = of.rows(), of.records()
    for row in rows:
        record = records[row["sample_id"]]
        assert (row["output"], row["generated_explanation"]) == (record.output or "", record.rationale or "")
        assert row["correct"] == ("" if row["status"] in ("too_long", "server_error") else str(int(record.score)))
    assert rows[0]["output"] == 'kettle because\n\n- it "steams",\r\n- it\'s hot'
    assert rows[1]["generated_answer"].startswith("=HYPERLINK(1")
    assert "maximum context length" in rows[6]["error"]
    correct = sum(row["correct"] == "1" for row in rows)
    assert of.grid("VQA-X") == {"llava_val": f"{correct / 38:.3f} (38)"}
    assert of.history()[0]["failed"] == "2"


async def test_cells_are_made_harmless_for_spreadsheets_on_request(tmp_path: Path, fault_server: StartsServers) -> None:
    of = photographs(tmp_path, 2)
    server = fault_server(answer("yes because =1+1"))
    await vqa_client.arun(of.settings(server.base_url, csv_safe=True))
    assert {row["generated_explanation"] for row in of.rows()} == {"'=1+1"}
    assert {record.rationale for record in of.records().values()} == {"=1+1"}


async def test_a_stopped_run_writes_no_score_and_ends_as_one_that_was_not_stopped(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    stopped, whole = photographs(tmp_path / "a", 60), photographs(tmp_path / "b", 60)
    slow = fault_server((delay(0.05), stopped.oracle(right)))
    stops = StopsAfter(10)
    with pytest.raises(Interrupted):
        await vqa_client.arun(stopped.settings(slow.base_url, max_workers=4), stop=stops.stop, progress=stops)
    assert 0 < len(stopped.rows()) < 60
    assert not (stopped.results / "accuracy_grid.csv").exists()
    assert not stopped.csv_path().with_suffix(".explanations.json").exists()
    await vqa_client.arun(stopped.settings(slow.base_url))
    await vqa_client.arun(whole.settings(fault_server(whole.oracle(right)).base_url))
    assert len(slow.chats) == 60
    assert [plain(row) for row in stopped.rows()] == [plain(row) for row in whole.rows()]
    assert stopped.scores()["unfiltered"] == whole.scores()["unfiltered"]
    assert stopped.grid("VQA-X") == whole.grid("VQA-X") == {"llava_val": "1.000 (60)"}


async def test_failed_questions_are_asked_again_and_the_run_replaces_its_row_in_the_history(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = photographs(tmp_path, 12)
    broken = fault_server(of.oracle(lambda n, q: error(503) if n < 5 else right(n, q)))
    await vqa_client.arun(of.settings(broken.base_url))
    assert of.grid("VQA-X") == {"llava_val": "1.000 (7)"}
    mended = fault_server(of.oracle(right))
    await vqa_client.arun(of.settings(mended.base_url))
    assert len(mended.chats) == 5
    assert of.grid("VQA-X") == {"llava_val": "1.000 (12)"}
    assert [(run["n"], run["failed"], run["kept"]) for run in of.history()] == [("12", "0", "1")]


async def test_a_partial_run_never_replaces_the_row_of_the_whole(tmp_path: Path, fault_server: StartsServers) -> None:
    of = photographs(tmp_path, 40)
    server = fault_server(of.oracle(lambda n, q: right(n, q) if n < 20 else answer("pot because it is")))
    for n_samples in (None, 10, None):
        await vqa_client.arun(of.settings(server.base_url, n_samples=n_samples))
        assert of.grid("VQA-X") == {"llava_val": "0.500 (40)"}
    assert len(server.chats) == 40
    assert [(run["n"], run["kept"]) for run in of.history()] == [("40", "1"), ("10", "0")]


async def test_an_invalid_grid_is_refused_before_any_question_is_asked(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = photographs(tmp_path, 3)
    of.results.mkdir()
    (of.results / "accuracy_grid.csv").write_text("model;accuracy\n", encoding="utf-8")
    server = fault_server(of.oracle(right))
    with pytest.raises(UsageError, match=r"accuracy_grid\.csv has no column 'task'"):
        await vqa_client.arun(of.settings(server.base_url))
    assert server.requests == []


async def test_the_json_has_the_scores_of_explanations(tmp_path: Path, fault_server: StartsServers) -> None:
    of = photographs(tmp_path, 6)
    server = fault_server(of.oracle(right))
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    (told,) = json.loads(msgspec.json.encode(json_rows([report])))
    written = of.scores()
    assert told["explanations"] == {name: written[name] for name in told["explanations"]}
    assert told["explanations"]["filtered"]["n"] == 6


async def test_the_terminal_shows_the_accuracy_of_each_label(tmp_path: Path, fault_server: StartsServers) -> None:
    of = own(tmp_path, "esnlive", "test", {"0": esnlive(), "1": esnlive(answers="entailment")}, "flickr30k/3416050.jpg")
    server = fault_server(answer("neutral because it can't be seen"))
    shown = as_tables(await vqa_client.arun(of.settings(server.base_url)))
    named = (" by label", " entailment", " neutral")
    assert [line.split() for line in shown.splitlines() if line.startswith(named)] == [
        ["by", "label", "test"],
        ["entailment", "0.0", "(1)"],
        ["neutral", "100.0", "(1)"],
    ]


@pytest.mark.parametrize("signals", [1, 2])
async def test_a_slow_scorer_does_not_keep_a_run_from_being_stopped(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch, signals: int
) -> None:
    of = photographs(tmp_path, 4)
    started = tmp_path / "pid"
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho $$ > {started}.new && mv {started}.new {started}\nexec sleep 60\n")
    java.chmod(0o755)
    (tmp_path / "meteor.jar").touch()
    monkeypatch.setenv("PATH", str(java.parent), prepend=":")
    monkeypatch.setenv("VQA_CLIENT_METEOR_JAR", str(tmp_path / "meteor.jar"))
    stop, base_url = asyncio.Event(), fault_server(of.oracle(right)).base_url
    run = asyncio.create_task(vqa_client.arun(of.settings(base_url), stop=stop))
    try:
        async with asyncio.timeout(60):
            while not started.exists():  # the loop goes round while the scorer is waited for
                await asyncio.sleep(0.01)
        stop.set()
        if signals > 1:
            run.cancel()
        async with asyncio.timeout(30):
            with pytest.raises(Interrupted if signals == 1 else asyncio.CancelledError):
                await run
    finally:
        os.kill(int(started.read_text()), signal.SIGKILL)
    assert len(of.records()) == 4


async def test_missing_images_are_counted_and_never_asked(tmp_path: Path, fault_server: StartsServers) -> None:
    of = photographs(tmp_path, 10)
    for number in (2, 5, 6):
        (tmp_path / "images" / WAITING.format(number)).unlink()
    server = fault_server(of.oracle(right))
    notes = Notes()
    (report,) = await vqa_client.arun(of.settings(server.base_url), progress=notes)
    assert report.left_out == {"no_image": ("2", "5", "6")}
    assert "vqax val: skipped 3 questions (no image): 2, 5, 6" in notes.said
    assert len(server.chats) == report.summary.overall.total == 7
    assert of.grid("VQA-X") == {"llava_val": "1.000 (7)"}


async def test_a_missing_image_stops_the_run_where_images_are_required(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = photographs(tmp_path, 3)
    (tmp_path / "images" / WAITING.format(1)).unlink()
    server = fault_server(answer("yes because it is"))
    with pytest.raises(DataError, match=r"1 of 3 images are missing .*COCO_val2014_000000000001\.jpg"):
        await vqa_client.arun(of.settings(server.base_url, require_images=True))
    assert server.requests == []
    assert not of.results.exists()


@pytest.mark.parametrize("suffix", [".records.jsonl", ".csv"])
async def test_the_runs_own_files_score_as_the_run_did(
    suffix: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = photographs(tmp_path, 40)
    plays: dict[int, Script] = {0: error(400, "no"), 1: answer(""), 2: answer("pot because"), 3: answer("I can't say.")}
    server = fault_server(of.oracle(lambda n, q: plays.get(n, right(n, q) if n % 3 else "a pot because it steams")))
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    predictions = of.csv_path().with_suffix(suffix)
    again = score_explanation_files(ScoreExplanationsSettings(predictions=predictions, data_root=tmp_path))
    found = {name: accuracy.mean for name, accuracy in again.accuracies.items()}
    assert found["accuracy"].value == report.summary.overall.accuracy
    assert (again.counts["n_scored"], again.counts["n_failed"]) == (40, 1)
    for name in ("soft_vqa", "any_of_ten"):
        assert found[name].value == report.summary.parts[name].overall.value
    assert isinstance(report.summary, ExplainSummary)
    assert again.explanations == report.summary.explanations


async def test_half_right_answers_count_only_for_evil(tmp_path: Path, fault_server: StartsServers) -> None:
    place = WAITING.format(7)
    of = own(tmp_path, "vqax", "val", {"1": vqax(), "2": vqax(question="And beside it?")}, place)
    server = fault_server(of.oracle(lambda n, q: ("pot", "kettle")[n] + " because there is a lid with a knob"))
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    assert isinstance(report.summary, ExplainSummary)
    assert report.summary.explanations is not None
    scores, evil = report.summary.explanations.scores, report.summary.explanations.evil
    assert (report.summary.overall.accuracy, evil.n_right, evil.n) == (0.5, 2, 2)
    assert evil.s_t.value == pytest.approx((0.9 + 1.0) / 2)
    assert scores.filtered is not None
    assert scores.half_right is not None
    assert (scores.unfiltered.n, scores.filtered.n, scores.half_right.n) == (2, 1, 2)


async def test_recoded_images_get_their_own_column(tmp_path: Path, fault_server: StartsServers) -> None:
    of = photographs(tmp_path, 3)
    server = fault_server(answer("yes because it is"))
    await vqa_client.arun(of.settings(server.base_url))
    for change in ({"max_pixels": 12}, {"image_format": "png"}):
        await vqa_client.arun(of.settings(server.base_url, fresh=True, **change))
    columns = list(of.grid("VQA-X"))
    assert len(columns) == 3
    assert columns[0] == "llava_val"
    assert all(column.startswith("llava_val_") for column in columns[1:])
    assert len({run["settings_sha256"] for run in of.history()}) == 3


async def test_actx_is_asked_scored_and_has_its_own_columns(tmp_path: Path, fault_server: StartsServers) -> None:
    records = {str(n): actx(("playing guitar", "rowing")[n % 2], number=f"0156018{n:02d}") for n in range(6)}
    of = own(tmp_path, "actx", "test", records, *(f"mpi/0156018{n:02d}.jpg" for n in range(6)))
    server = fault_server(of.oracle(lambda n, q: right(n, q) if n else "The person is rowing because of the oars."))
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    assert (report.summary.overall.correct, report.summary.overall.total) == (5, 6)
    first = of.rows()[0]
    assert list(first)[:6] == [
        *("image_id", "gt_label", "generated_label", "gt_explanation", "generated_explanation", "correct")
    ]
    assert (first["image_id"], first["gt_label"], first["generated_label"]) == ("015601800", "playing guitar", "rowing")
    assert of.grid("ACT-X") == {"llava_test": "0.833 (6)"}
    assert of.scores()["evil"]["s_t"]["value"] == pytest.approx(5 / 6)


async def test_only_esnlive_has_worked_examples_by_default(tmp_path: Path, fault_server: StartsServers) -> None:
    of = own(tmp_path, "esnlive", "test", {"0": esnlive()}, "flickr30k/3416050.jpg")
    server = fault_server(answer("neutral because it can't be seen"))
    await vqa_client.arun(of.settings(server.base_url))
    assert server.chats[0].prompt.count("Hypothesis:") == 4
    assert of.grid("ESNLI-VE") == {"llava_test": "1.000 (1)"}


async def test_without_any_image_the_expected_layout_is_named(tmp_path: Path, fault_server: StartsServers) -> None:
    put(tmp_path, "vqax", "val", {"1": vqax()})
    of = ExplainSample(tmp_path, "vqax", "val")
    server = fault_server()
    with pytest.raises(DataError, match="1 of 1 images are missing") as caught:
        await vqa_client.arun(of.settings(server.base_url))
    assert "nle_data/VQA-X" in caught.value.hint
    draw(tmp_path, [WAITING.format(7)])
    fitting = fault_server(answer("kettle because it steams"))
    (report,) = await vqa_client.arun(of.settings(fitting.base_url))
    assert report.summary.overall.correct == 1


def contents(folder: Path) -> dict[str, bytes]:
    """Every file except the run file, which counts its starts."""
    return {path.name: path.read_bytes() for path in folder.rglob("*.*") if not path.name.endswith(".run.json")}


def plain(row: dict[str, str]) -> dict[str, Any]:
    """The content that is equal in every run: without the paths of its images."""
    return {name: cell for name, cell in row.items() if name not in ("latency_s", "image")}


def test_the_oracle_distinguishes_questions(tmp_path: Path) -> None:
    questions: list[Question] = photographs(tmp_path, 8).questions()
    assert Counter(question.extra["gold"] for question in questions) == {"kettle": 2, "yes": 2, "2": 2, "red car": 2}

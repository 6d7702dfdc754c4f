"""Finished runs of every benchmark are opened again without server and images, and rescored."""

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

import vqa_client
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import error, every_nth, oracle
from tests.faults.questions import Notes
from tests.runs.explain_sample import own
from tests.runs.sample import Sample
from tests.runs.vqa2_split import Split
from tests.tasks.explain.samples import vqax
from vqa_client.cli.main import run_command
from vqa_client.errors import DataError, UsageError
from vqa_client.evaluation import arun
from vqa_client.records import RecordLog
from vqa_client.reports.log_reader import LogReader, find_logs
from vqa_client.runs.merge import merge_folder
from vqa_client.runs.reopened import Rescored, rescore
from vqa_client.settings.robustness import RobustnessRun
from vqa_client.types import Record


async def mc_run(tmp_path: Path, fault_server: StartsServers, count: int = 8) -> Sample:
    of = Sample(tmp_path, count)
    server = fault_server(oracle(of.replies()))
    await vqa_client.arun(of.settings(server.base_url))
    return of


def log_of(of: Sample) -> Path:
    return of.output / "clean_mc_eval.records.jsonl"


def spoil(log: Path, **changes: Any) -> None:
    """Records with readings of an older parser."""
    with RecordLog(log) as kept:
        kept.rewrite([msgspec.structs.replace(record, **changes) for record in kept])


def states(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_rescoring_a_new_run_changes_nothing_and_only_reads_it(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = await mc_run(tmp_path, fault_server)
    shutil.rmtree(of.pages_dir)
    before = states(tmp_path)
    found = rescore(log_of(of), write=False)
    assert (found.changes, found.total, found.old, found.written) == ((), 8, found.new, False)
    assert states(tmp_path) == before


async def test_changed_readings_are_listed_by_question_and_in_total(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = await mc_run(tmp_path, fault_server)
    spoil(log_of(of), status="unparsed", answer=None, rule="", score=0.0, parts={})
    before = states(tmp_path)
    found = rescore(log_of(of), write=False)
    assert len(found.changes) == 8
    change = found.changes[0]
    assert (change.old.status, change.old.answer, change.new.status, change.new.score) == ("unparsed", None, "ok", 1.0)
    assert (found.old.accuracy, found.new.accuracy) == (0.0, 1.0)
    assert (found.old.parts, found.new.parts) == ({}, {"robust": 1.0, "longbench": 1.0, "published": 1.0})
    assert (found.old.statuses, found.new.statuses) == ({"unparsed": 8}, {"ok": 8})
    assert states(tmp_path) == before


async def test_written_readings_equal_those_of_a_new_run(tmp_path: Path, fault_server: StartsServers) -> None:
    of = await mc_run(tmp_path, fault_server)
    wanted = log_of(of).read_bytes()
    spoil(log_of(of), status="unparsed", answer=None, rule="", score=0.0, parts={})
    run = log_of(of).with_name("clean_mc_eval.run.json")
    file = json.loads(run.read_text())
    assert {part: " ".join(file[part]) for part in ("identity", "described")} == {
        "identity": "task variant text_only model images",
        "described": "versions settings data_sha256 data_path images_dir expected left_out benchmark server",
    }
    assert list(file["described"]["versions"]) == ["vqa_client", "python", "pillow", "platform"]
    assert list(file["identity"]["images"]) == ["max_pixels", "image_format", "image_quality", "max_pages"]
    run.write_text(json.dumps(file | {"scoring": {"parser": "robust", "version": "0"}}))
    assert rescore(log_of(of), write=True).written
    assert log_of(of).read_bytes() == wanted
    assert json.loads(run.read_text()) == file
    assert rescore(log_of(of), write=False).changes == ()


async def test_a_corrected_answer_key_changes_scores_and_not_answers(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    of = await mc_run(tmp_path, fault_server)
    rows = json.loads(of.data_json.read_text())
    rows[0]["answer"] = "D"
    of.data_json.write_text(json.dumps(rows[:-1]))
    found = rescore(log_of(of), write=True)
    (change,) = found.changes
    assert (change.question_id, change.old.references, change.new.references) == ("q0", ("A",), ("D",))
    assert (change.old.answer, change.new.answer, change.new.score) == ("A", "A", 0.0)
    assert (found.not_in_data, found.data_changed) == (("q7",), True)
    assert run_command(["rescore", str(log_of(of))]) == 0
    assert "1 question no longer in the data file, left as it is: q7" in capsys.readouterr().out
    assert not rescore(log_of(of), write=False).data_changed


async def test_failed_questions_stay_failed(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Sample(tmp_path, 6)
    server = fault_server(every_nth(3, error(400, "no"), oracle(of.replies())))
    await vqa_client.arun(of.settings(server.base_url))
    found = rescore(log_of(of), write=True)
    assert found.failed == 2
    assert found.changes == ()


def only_log(folder: Path) -> Path:
    (log,) = find_logs(folder)
    return log


def same(found: Rescored, count: int) -> bool:
    return found.total == count and found.changes == () and found.not_in_data == () and not found.data_changed


async def test_vqa2_is_opened_again_with_any_sample(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Split(tmp_path, 10)
    server = fault_server(oracle(of.replies()))
    await vqa_client.arun(of.settings(server.base_url, num_questions=4))
    assert same(rescore(only_log(of.results), write=True), 4)


async def test_the_sample_of_vqa2_is_opened_again(tmp_path: Path, fault_server: StartsServers) -> None:
    server = fault_server(oracle({"?": "yes"}))
    settings = Split(tmp_path).settings(server.base_url, mode="sample", num_questions=5)
    await vqa_client.arun(settings)
    assert same(rescore(only_log(settings.results_dir), write=False), 5)


async def test_explanations_are_opened_again_without_their_images(tmp_path: Path, fault_server: StartsServers) -> None:
    records = {str(number): vqax(*["kettle"] * 10, number=number) for number in range(5)}
    of = own(tmp_path, "vqax", "val", records, *(f"val2014/COCO_val2014_{number:012d}.jpg" for number in range(5)))
    server = fault_server(of.oracle(lambda number, question: f"kettle because it is one, number {number}"))
    await vqa_client.arun(of.settings(server.base_url))
    shutil.rmtree(tmp_path / "images")
    assert same(rescore(only_log(of.results), write=True), 5)


@pytest.mark.usefixtures("in_threads")
async def test_corrupted_questions_keep_their_corruption(tmp_path: Path, fault_server: StartsServers) -> None:
    pytest.importorskip("cv2")
    of = Sample(tmp_path, 2)
    server = fault_server(oracle(of.replies()))
    await arun(of.settings(server.base_url), corrupted=RobustnessRun(corruptions="gaussian_noise", levels="0,2"))
    log = only_log(of.output)
    before = list(LogReader(log))
    assert same(rescore(log, write=True), 4)
    assert [record.groups for record in LogReader(log)] == [record.groups for record in before]


async def test_a_missing_data_file_is_named_with_the_way_out(tmp_path: Path, fault_server: StartsServers) -> None:
    of = await mc_run(tmp_path, fault_server, count=2)
    of.data_json.unlink()
    with pytest.raises(DataError, match=rf"needs the data of its questions: {of.data_json} does not exist") as one:
        rescore(log_of(of), write=True)
    assert "start in the folder in which the run was started" in one.value.hint


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "is missing, which names the run's data"),
        ("{", "is not a run file"),
        ('{"identity": {"task": "chess"}, "scoring": {}}', "there is no benchmark 'chess'"),
        (
            '{"identity": {"task": "mc", "model": {"model_name": "m", "max_tokens": 1}}, "scoring": {}}',
            r"x\.run\.json lacks the setting 'data'$",
        ),
        ('{"identity": {"task": "mc", "model": 3}, "scoring": {}}', "lacks the setting 'data'"),
    ],
)
def test_a_log_that_can_not_be_opened_says_why(content: str | None, told: str, tmp_path: Path) -> None:
    log = tmp_path / "x.records.jsonl"
    log.write_bytes(msgspec.json.encode(Record(question_id="1", status="ok")) + b"\n")
    if content:
        (tmp_path / "x.run.json").write_text(content)
    with pytest.raises(UsageError, match=told):
        rescore(log, write=True)
    assert len(LogReader(log)) == 1


async def test_rescored_shards_are_merged_with_their_new_readings(tmp_path: Path, fault_server: StartsServers) -> None:
    questions = Sample(tmp_path, 4)
    server = fault_server(oracle(questions.replies() | {"[[q3]]": "It is either (D) or (A)."}))
    whole, divided = tmp_path / "whole", tmp_path / "divided"
    await arun(questions.settings(server.base_url, output=whole, parser="published"))
    for parser, right in (("robust", 3), ("published", 4)):
        for part in ("1/2", "2/2"):
            await arun(questions.settings(server.base_url, output=divided, shard=part, parser=parser))
        [found] = merge_folder(divided, partial=False, tidy=False, note=Notes().note)
        assert found.reports[0].summary.overall.correct == right
    assert len(server.chats) == 8
    assert found.reports[0].path.read_bytes() == (whole / found.reports[0].path.name).read_bytes()


async def test_a_merge_and_another_division_note_that_saved_replies_are_scored_again(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = Sample(tmp_path, 4)
    server = fault_server(oracle(of.replies()))
    for shard in ("1/2", "2/2"):
        await arun(of.settings(server.base_url, shard=shard))
    monkeypatch.setattr("vqa_client.benchmark.READING_VERSION", "of another day")
    list(merge_folder(of.output, partial=False, tidy=False, note=(merge := Notes()).note))
    noted = ["mc clean: the scoring or the data file may have changed: saved replies are scored again"]
    assert merge.about("scored again") == noted
    for undivided in of.output.glob("clean_mc_eval.[rj]*"):
        undivided.unlink()
    await arun(of.settings(server.base_url), progress=(division := Notes()))
    assert division.about("scored again") == noted
    assert len(server.chats) == 4


async def test_a_run_without_replies_rescores_nothing(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = await mc_run(tmp_path, fault_server, 2)
    log_of(of).write_bytes(b"")
    monkeypatch.setattr("vqa_client.benchmark.READING_VERSION", "of another day")
    await arun(of.settings(fault_server(oracle(of.replies())).base_url), progress=(notes := Notes()))
    assert not notes.about("scored again")

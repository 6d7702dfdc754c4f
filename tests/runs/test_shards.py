"""Shards: the questions of each, and merged shards equal the undivided run, byte for byte."""

import asyncio
import json
import os
import random
import shutil
from collections.abc import Sequence
from dataclasses import replace as replaced
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.fakes.fixtures import StartsServers
from tests.fakes.server import FaultServer
from tests.fakes.words import answer, delay, error, first_n, oracle
from tests.faults.questions import Notes, Questions, niah_settings
from tests.runs.sample import Sample
from vqa_client.cli.progress import LiveCounts
from vqa_client.cli.turns import in_turns
from vqa_client.compare.write import compare_runs
from vqa_client.errors import DataError, IdentityError, UsageError
from vqa_client.evaluation import Interrupted, arun
from vqa_client.files import private_folder
from vqa_client.records import RecordLog
from vqa_client.reports.bottleneck import time_of
from vqa_client.reports.log_reader import find_logs
from vqa_client.runs import shards
from vqa_client.runs.merge import Merged, merge_folder
from vqa_client.runs.plans import make_plans
from vqa_client.runs.reopened import rescore
from vqa_client.runs.shards import with_output
from vqa_client.settings.own_commands import NiahSettings
from vqa_client.settings.robustness import RobustnessRun


class Heard(LiveCounts):
    """Keeps the notes about other workers."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def note(self, text: str) -> None:
        if "other workers" in text:
            self.said.append(text)


TIMES = {"latency_s", "crc"}
"""Fields of a record that differ at each run."""


def silent(line: str) -> None:
    """No server listens here."""


def merged(folder: Path, **changes: Any) -> list[Merged]:
    return list(merge_folder(folder, **({"partial": False, "tidy": False, "note": silent} | changes)))


def run_file(folder: Path, stem: str) -> dict[str, Any]:
    """A run file without the figures of its starts, and without the options of the division."""
    found: dict[str, Any] = json.loads((folder / f"{stem}.run.json").read_bytes())
    del found["sessions"]
    for option in ("shard", "processes", "output"):
        found["described"]["settings"].pop(option)
    return found


def records(log: Path) -> list[dict[str, Any]]:
    """A log's records in their order, without times."""
    found = [json.loads(line) for line in log.read_bytes().splitlines()]
    return [{name: value for name, value in each.items() if name not in TIMES} for each in found]


async def ask_shards(of: Sample, server: FaultServer, folder: Path, parts: Sequence[str], **changes: Any) -> None:
    for part in parts:
        await arun(of.settings(server.base_url, output=folder, shard=part, **changes))


def parts(of: int) -> list[str]:
    return [f"{number}/{of}" for number in range(1, of + 1)]


@pytest.mark.parametrize(("count", "of"), [(1, 1), (10, 1), (10, 2), (10, 7), (3, 7), (64, 64)])
def test_shards_have_each_question_once_and_equal_parts(count: int, of: int, tmp_path: Path) -> None:
    questions = Sample(tmp_path, count)
    found = []
    for part in parts(of):
        [plan] = make_plans(questions.settings("http://nowhere/v1", shard=part), None, None, silent)
        asked = [each.id for each in plan.loaded.questions]
        assert plan.loaded.count == len(asked)
        assert len(asked) - count // of in (0, 1)
        found += asked
    assert found == questions.ids


def test_questions_on_one_document_are_in_one_shard(tmp_path: Path) -> None:
    of = Questions(tmp_path, 5)
    settings = [niah_settings(of, "http://nowhere/v1", shard=part) for part in parts(4)]
    asked = [[each.cluster for each in make_plans(one, None, None, silent)[0].loaded.questions] for one in settings]
    assert [set(each) for each in asked] == [{"q0", "q1"}, {"q2"}, {"q3"}, {"q4"}]
    assert sum(map(len, asked)) == 10


def session(second: int, wall_s: float, **of: Any) -> dict[str, Any]:
    return {"started": f"2026-11-29T01:00:{second:02d}+00:00", "wall_s": wall_s, **of}


SPANS = [
    ([session(0, 10.5), session(10, 2.0)], 12.5),
    ([session(0, 10.0, shard=[1, 2]), session(2, 10.0, shard=[2, 2])], 12.0),
    ([session(0, 10.0, shard=[1, 2]), session(30, 5.0, shard=[2, 2])], 15.0),
    ([session(0, 20.0, shard=[1, 2]), session(5, 5.0, shard=[2, 2])], 20.0),
    ([session(0, 20.0, shard=[1, 3]), session(5, 5.0, shard=[2, 3]), session(12, 2.0, shard=[3, 3])], 20.0),
    ([{"questions": 3}, session(0, 1.0, shard=[1, 1])], 1.0),
    ([], 0.0),
]


@pytest.mark.parametrize(("sessions", "seconds"), SPANS)
def test_the_time_of_shards_that_ran_at_once_counts_once(sessions: list[dict[str, Any]], seconds: float) -> None:
    assert time_of(sessions) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("of", "changes"),
    [
        (1, {}),
        (2, {}),
        (13, {}),  # two of them have no question
        (3, {"sample": 6}),
        (3, {"limit": 5}),
        (2, {"repeat": 2}),
        (2, {"blind": True}),
        (2, {"circular": True}),
    ],
)
async def test_merged_shards_equal_the_undivided_run(
    of: int, changes: dict[str, Any], tmp_path: Path, fault_server: StartsServers
) -> None:
    questions = Sample(tmp_path, 11)
    server = fault_server(oracle(questions.replies()))
    whole, divided = tmp_path / "whole", tmp_path / "divided"
    await arun(questions.settings(server.base_url, output=whole, max_workers=1, **changes))
    asked = len(server.chats)
    order = parts(of)
    random.Random(of).shuffle(order)
    await ask_shards(questions, server, divided, order, max_workers=1, **changes)
    assert len(server.chats) == 2 * asked
    [found] = merged(divided)
    [report] = found.reports
    assert report.path.read_bytes() == (whole / report.path.name).read_bytes()
    assert records(report.log) == records(whole / report.log.name)
    stem = report.log.name.removesuffix(".records.jsonl")
    assert run_file(divided, stem) == run_file(whole, stem)


@pytest.mark.usefixtures("in_threads")
async def test_merged_shards_of_corruptions_equal_the_whole_run(tmp_path: Path, fault_server: StartsServers) -> None:
    questions = Sample(tmp_path, 5)
    server = fault_server(oracle(questions.replies()))
    corrupted = RobustnessRun(corruptions="pixelate", levels="0-1")
    for part, folder in (("", "whole"), ("1/2", "divided"), ("2/2", "divided")):
        settings = questions.settings(server.base_url, output=tmp_path / folder, shard=part)
        await arun(settings, corrupted=corrupted)
    assert len(server.chats) == 20
    [found] = merged(tmp_path / "divided")
    assert found.settings.corrupted == corrupted
    [report] = found.reports
    assert report.path.read_bytes() == (tmp_path / "whole" / report.path.name).read_bytes()


async def test_failed_questions_are_in_the_merged_report(tmp_path: Path, fault_server: StartsServers) -> None:
    questions = Sample(tmp_path, 6)
    said: dict[str, Any] = {"[[q1]]": error(400, "at most 0 images"), "[[q4]]": error(500)}
    server = fault_server(oracle({**questions.replies(), **said}))
    await arun(questions.settings(server.base_url, output=tmp_path / "whole", max_retries=0))
    await ask_shards(questions, server, tmp_path / "divided", parts(2), max_retries=0)
    [found] = merged(tmp_path / "divided")
    assert found.reports[0].path.read_bytes() == (tmp_path / "whole" / found.reports[0].path.name).read_bytes()
    assert found.reports[0].failed == 2


async def test_a_merged_run_resumes_rescores_and_compares_as_any_other(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    questions = Sample(tmp_path, 6)
    server = fault_server(oracle(questions.replies()))
    await ask_shards(questions, server, questions.output, parts(3))
    [found] = merged(questions.output)
    before = found.reports[0].path.read_bytes()
    [again] = await arun(questions.settings(server.base_url))
    assert (len(server.chats), again.path.read_bytes()) == (6, before)
    assert find_logs(questions.output) == [again.log]
    assert not rescore(again.log, write=True).changes
    [other] = await arun(questions.settings(server.base_url, output=tmp_path / "other"))
    sides, _ = compare_runs([again.log, other.log])
    assert len(sides) == 2
    merged(questions.output)  # again: each start is there once
    sessions = json.loads((questions.output / "clean_mc_eval.run.json").read_bytes())["sessions"]
    assert [each["shard"] for each in sessions] == [[1, 3], [2, 3], [3, 3]]
    with RecordLog(again.log) as log:  # as if scored by an earlier version
        log.rewrite([replace(each, score=0.0) for each in log])
    merged(questions.output, tidy=True, note=(notes := Notes()).note)  # once more is the same
    assert not notes.about("two answers")
    assert again.path.read_bytes() == before
    assert [path.name for path in questions.output.iterdir() if "shard" in path.name] == []


async def test_missing_and_unfinished_shards_are_named(tmp_path: Path, fault_server: StartsServers) -> None:
    questions = Sample(tmp_path, 12)
    server = fault_server(oracle(questions.replies()))
    await ask_shards(questions, server, questions.output, ["1/4", "3/4"])
    log = questions.output / "clean_mc_eval.shard-3-of-4.records.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:2]))
    with pytest.raises(
        UsageError, match=r"^mc clean: shards 2, 4 of 4 are missing; shard 3 of 4 is unfinished \(2 of 3 questions\)$"
    ) as caught:
        merged(questions.output)
    assert caught.value.hint == "run them with the same options, or merge what is there with --partial"
    assert not questions.report_path().exists()
    [found] = merged(questions.output, partial=True, tidy=True)
    assert (found.reports[0].incomplete, found.reports[0].summary.overall.total, log.exists()) == (True, 5, True)
    [done] = await arun(questions.settings(server.base_url))
    assert (done.incomplete, len(server.chats)) == (False, 13)


async def test_shards_of_other_questions_are_named(tmp_path: Path, fault_server: StartsServers) -> None:
    questions = Sample(tmp_path, 12)
    server = fault_server(oracle(questions.replies()))
    await ask_shards(questions, server, questions.output, ["1/2", "2/2"])
    await ask_shards(questions, server, questions.output, ["2/2"], limit=6)
    with pytest.raises(UsageError, match=r"^mc clean: the shards of 2 have 9 questions, the run 12$"):
        merged(questions.output)
    for ending in ("records.jsonl", "run.json"):
        shutil.copy(
            questions.output / f"clean_mc_eval.shard-1-of-2.{ending}",
            questions.output / f"clean_mc_eval.shard-2-of-2.{ending}",
        )
    with pytest.raises(UsageError, match=r"shard-2-of-2.run.json is of shard 1/2") as caught:
        merged(questions.output)
    assert caught.value.hint == "was it copied or renamed?"


async def test_shards_of_different_runs_are_refused_with_the_differences(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    questions = Sample(tmp_path, 4)
    server = fault_server(oracle(questions.replies()))
    await ask_shards(questions, server, questions.output, ["1/2"])
    await ask_shards(questions, server, questions.output, ["2/2"], max_pixels=100)
    with pytest.raises(IdentityError, match="shards 1/2 and 2/2") as caught:
        merged(questions.output)
    assert "of clean_mc_eval.records.jsonl are of different runs:\n  images.max_pixels: None in 1/2, 100 in 2/2" in str(
        caught.value
    )
    assert caught.value.hint == "ask one of them again with the options of the others, with --fresh"


async def test_shards_of_different_data_are_refused(tmp_path: Path, fault_server: StartsServers) -> None:
    questions = Questions(tmp_path, 4)
    server = fault_server(oracle(questions.replies()))
    await ask_shards(questions, server, questions.output, ["1/2"])
    questions.change("q0", question="[[q0]] Another?")
    await ask_shards(questions, server, questions.output, ["2/2"])
    with pytest.raises(IdentityError, match="data_sha256"):
        merged(questions.output)


async def test_a_folder_without_shards_is_named(tmp_path: Path) -> None:
    for folder, said in ((tmp_path, "has no shard of a run"), (tmp_path / "no", "does not exist")):
        with pytest.raises(DataError, match=f"{folder} {said}$") as caught:
            merged(folder)
        assert caught.value.hint == "--shard K/N writes NAME.shard-K-of-N.records.jsonl"


async def test_shards_without_a_merge_are_not_a_run_to_report(tmp_path: Path, fault_server: StartsServers) -> None:
    questions = Sample(tmp_path, 4)
    server = fault_server(oracle(questions.replies()))
    await ask_shards(questions, server, questions.output, ["1/2"])
    with pytest.raises(DataError, match="contains only shards") as caught:
        find_logs(questions.output)
    assert "vqa-client merge" in caught.value.hint


@pytest.mark.parametrize(("first", "then", "n"), [("1/2", "", 6), ("", "1/2", 6), ("2/3", "2/2", 2)])
async def test_another_division_asks_only_unanswered_questions(
    first: str, then: str, n: int, tmp_path: Path, fault_server: StartsServers
) -> None:
    questions = Sample(tmp_path, 12)
    server = fault_server(oracle(questions.replies()))
    await ask_shards(questions, server, questions.output, [first])
    await arun(questions.settings(server.base_url, shard=then), progress=(notes := Notes()))
    asked = [chat.prompt for chat in server.chats]
    assert len(asked) == len(set(asked))
    [copied] = notes.about("copied")
    assert copied.endswith(f": {n} answers copied from another division of the run")
    assert not notes.about("scored again")


async def test_fresh_copies_no_answers_from_another_division(tmp_path: Path, fault_server: StartsServers) -> None:
    questions = Sample(tmp_path, 6)
    server = fault_server(oracle(questions.replies()))
    await arun(questions.settings(server.base_url))
    await arun(questions.settings(server.base_url, shard="1/2", fresh=True))
    assert len(server.chats) == 9
    await arun(questions.settings(server.base_url, shard="1/2"))
    assert len(server.chats) == 9


async def test_processes_is_an_option_of_the_command_line_only(tmp_path: Path) -> None:
    of = Sample(tmp_path, 2)
    for given in ({"processes": "2"}, {"shard": "next/4"}, {"ray": "auto", "shards": 2}):
        with pytest.raises(UsageError, match="--processes"):
            await arun(of.settings("http://127.0.0.1:9/v1", **given))


async def test_workers_share_shards_and_each_question_is_asked_once(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.cli.turns.POLL_S", 0.05)
    of = Sample(tmp_path, 17)
    server = fault_server((delay(0.02), oracle(of.replies())))
    await arun(of.settings(server.base_url, output=tmp_path / "whole"))
    settings = of.settings(server.base_url, shard="next/5", max_workers=2)
    both = await asyncio.gather(*(in_turns([settings], LiveCounts(), asyncio.Event()) for _ in range(2)))
    assert len(server.chats) == 2 * 17
    for [report] in both:
        assert report.path.read_bytes() == (tmp_path / "whole" / report.path.name).read_bytes()
    other = of.settings(server.base_url, shard="next/5", max_pixels=100_000)
    with pytest.raises(IdentityError, match=r"images\.max_pixels") as caught:
        await in_turns([other], LiveCounts(), asyncio.Event())
    assert caught.value.hint == "give another --output", "workers by turns take no --fresh"


async def test_workers_that_start_again_ask_further_and_failed_questions_in_every_shard(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Sample(tmp_path, 12)
    server = fault_server(first_n(12, error(500), then=oracle(of.replies())))
    settings = of.settings(server.base_url, shard="next/4", max_retries=0)
    asked = []
    for limit in (8, 12, 12, 12):
        [report] = await in_turns([replaced(settings, limit=limit)], LiveCounts(), asyncio.Event())
        asked.append((len(server.chats), report.summary.overall.answered))
    assert asked == [(8, 0), (20, 8), (24, 12), (24, 12)]


async def test_a_worker_that_waits_for_others_can_be_stopped(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Sample(tmp_path, 4)
    server = fault_server(oracle(of.replies()))
    stop = asyncio.Event()
    of.output.mkdir()
    with RecordLog(of.output / "clean_mc_eval.shard-1-of-2.records.jsonl"):
        working = asyncio.ensure_future(
            in_turns([of.settings(server.base_url, shard="next/2")], (tally := Heard()), stop)
        )
        while not tally.said:
            await asyncio.sleep(0.01)
        stop.set()
        with pytest.raises(Interrupted):
            await working
    assert tally.said[-1] == "waiting for 1 shard of other workers"


async def test_a_disputed_answer_is_counted_once(tmp_path: Path, fault_server: StartsServers) -> None:
    questions = Sample(tmp_path, 4)
    await ask_shards(questions, fault_server(oracle(questions.replies())), questions.output, ["1/1"])
    other = tmp_path / "other"
    await ask_shards(questions, fault_server(answer("B")), other, ["1/2", "2/2"])
    for path in other.iterdir():
        path.rename(questions.output / path.name)
    notes = Notes()
    [found] = merged(questions.output, note=notes.note)
    assert found.reports[0].summary.overall.correct == 4
    assert notes.said == ["mc clean: 4 questions answered twice; the first shard's answer counts"]


@pytest.mark.parametrize(("given", "moved"), [("r/x.json", "w/x.json"), ("r/x.jsonl", "w"), ("r", "w")])
def test_a_shard_that_is_written_elsewhere_keeps_the_name_of_the_report(given: str, moved: str) -> None:
    assert with_output(NiahSettings(output=Path(given)), Path("w")).output == Path(moved)  # type: ignore[attr-defined]


def test_folders_of_killed_workers_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (left := tmp_path / f"{shards.PREFIX}left" / "0").mkdir(parents=True)
    with private_folder(shards.PREFIX) as folder:
        os.utime(left.parent, (1, 1))
        os.utime(folder, (1, 1))
        with private_folder(shards.PREFIX):
            assert (left.exists(), folder.exists()) == (False, True)
    assert not list(tmp_path.iterdir())

"""--repeat: one log and one report, and more repeats later are added."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.words import error, in_turn, oracle
from tests.faults.questions import Questions, niah_settings
from tests.runs.sample import Sample
from vqa_client.cli.report_tables import as_tables
from vqa_client.errors import UsageError
from vqa_client.evaluation import arun
from vqa_client.reports.varied import AT_ZERO
from vqa_client.runs.reopened import rescore
from vqa_client.settings.robustness import RobustnessRun


def report(sample: Sample) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((sample.output / "clean_mc_eval_repeated.json").read_text())
    return found


def plays(sample: Sample) -> dict[str, Any]:
    """A model that is always right, except q1 every second time and q2 never."""
    return sample.replies() | {"[[q1]]": in_turn("B", "C"), "[[q2]]": "The answer is A."}


async def test_repeats_have_their_own_records_and_are_summarised_together(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Sample(tmp_path, 4)
    server = fault_server(oracle(plays(of)))
    [done] = await arun(of.settings(server.base_url, repeat=2))
    assert (len(server.chats), done.expected, done.incomplete) == (8, 8, False)
    found = report(of)
    assert found["repeats"] == 2
    assert {k: share["value"] for k, share in found["pass_at"].items()} == {"1": 62.5, "2": 75.0}
    assert found["majority"]["value"] == 62.5
    assert found["right_and_wrong"]["value"] == found["several_answers"]["value"] == 25.0
    assert [each["total"] for each in found["by_repeat"].values()] == [4, 4]
    assert list(found["by_repeat"]) == ["repeat/1", "repeat/2"]
    assert list(found["by_repeat"]["repeat/1"]) == ["total", "accuracy", "interval", "answered", "accuracy_answered"]
    assert " ".join(found) == (
        "model config variant data_path images_dir model_settings repeats questions_with_all_repeats "
        "unfinished_questions pass_at majority right_and_wrong several_answers by_repeat all_variants questions"
    )
    assert " ".join(found["questions"][0]) == "question_id correct of majority scores answers outcomes"
    questions = {each["question_id"]: each for each in found["questions"]}
    assert (questions["q1"]["correct"], questions["q1"]["majority"]) == (1, 0.5)
    assert sorted(questions["q1"]["answers"]) == ["B", "C"]
    assert not of.report_path().exists()
    shown = as_tables([done])
    for words in ("4 questions asked 2 times each", "pass@2", "75.0", "right in some repeats only", "repeat/2"):
        assert words in shown
    assert AT_ZERO in shown
    [warm] = await arun(of.settings(server.base_url, repeat=2, temperature=0.5, fresh=True))
    assert AT_ZERO not in as_tables([warm])


async def test_more_repeats_later_are_added_to_the_earlier_ones(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Sample(tmp_path, 3)
    server = fault_server(oracle(of.replies()))
    await arun(of.settings(server.base_url, repeat=2))
    await arun(of.settings(server.base_url, repeat=5))
    assert len(server.chats) == 15
    assert list(report(of)["pass_at"]) == ["1", "2", "3", "4", "5"]
    await arun(of.settings(server.base_url, repeat=11))
    assert list(report(of)["by_repeat"]) == [f"repeat/{number}" for number in range(1, 12)]


async def test_a_failed_repeat_counts_as_wrong(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Sample(tmp_path, 1)
    server = fault_server(oracle({"[[q0]]": in_turn(error(422), "A")}))
    [done] = await arun(of.settings(server.base_url, repeat=2, max_workers=1))
    assert done.failed == 1
    assert report(of)["pass_at"]["1"]["value"] == 50.0


async def test_needles_vote_for_right_or_wrong(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 1)
    server = fault_server(oracle({"[[q0#0]]": in_turn("It is code q0#0.", "code q0#0", "none"), "[[q0#1]]": "none"}))
    await arun(niah_settings(of, server.base_url, repeat=3))
    found = json.loads((tmp_path / "needles_out_repeated.json").read_text())
    assert found["majority"]["value"] == 50.0
    assert found["several_answers"] is None
    assert found["majority"]["interval"]["clusters"] == 1


async def test_repeats_can_be_scored_again(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Sample(tmp_path, 4)
    await arun(of.settings(fault_server(oracle(plays(of))).base_url, repeat=2))
    found = rescore(of.output / "clean_mc_eval_repeated.records.jsonl", write=False)
    assert (found.total, found.changes, found.not_in_data) == (8, (), ())


async def test_repeats_under_corruptions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--repeat can't be combined with corruptions"):
        await arun(Sample(tmp_path, 1).settings("http://127.0.0.1:1/v1", repeat=2), corrupted=RobustnessRun())

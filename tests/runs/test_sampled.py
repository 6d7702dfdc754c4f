"""--sample: stratified, nested, named in the report; and --retry of a resumed run."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.words import answer, error, oracle
from tests.faults.questions import Notes, Questions, niah_settings
from tests.runs.sample import Sample
from vqa_client.cli.report_tables import as_tables
from vqa_client.errors import UsageError
from vqa_client.evaluation import arun
from vqa_client.settings.declared import AskSettings
from vqa_client.settings.robustness import RobustnessRun


def asked(sample: Sample) -> list[str]:
    return [result["instance_id"] for result in sample.report()["results"]]


async def test_a_sample_is_stratified_by_a_field_and_the_report_says_so(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Sample(tmp_path, 20)
    server = fault_server(oracle(of.replies()))
    [done] = await arun(of.settings(server.base_url, sample=10, by="difficulty, length,", seed=3))
    report = of.report()
    assert len(server.chats) == report["total_questions"] == report["expected_questions"] == 10
    assert report["sample"] == {"size": 10, "of": 20, "by": ["difficulty", "length"], "seed": 3}
    assert Counter(result["groups"]["difficulty"] for result in report["results"]) == {"easy": 5, "hard": 5}
    assert asked(of) == [name for name in of.ids if name in asked(of)]
    assert "10 of 20 questions, drawn by difficulty, length with seed 3 (--sample)" in as_tables([done])


async def test_a_larger_sample_asks_only_new_questions(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Sample(tmp_path, 20)
    server = fault_server(oracle(of.replies()))
    await arun(of.settings(server.base_url, sample=6, by="difficulty"))
    few = set(asked(of))
    await arun(of.settings(server.base_url, sample=13, by="difficulty"))
    assert few < set(asked(of))
    assert len(server.chats) == 13
    await arun(of.settings(server.base_url))
    assert len(server.chats) == 20
    assert "sample" not in of.report()


async def test_folders_have_the_same_sample(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Sample(tmp_path, 12, folders=("clean", "small"))
    server = fault_server(oracle(of.replies()))
    await arun(of.settings(server.base_url, sample=5))
    first, second = (of.report(folder)["results"] for folder in ("clean", "small"))
    assert [each["instance_id"] for each in first] == [each["instance_id"] for each in second]


async def test_a_sample_larger_than_the_data_asks_all_questions(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Sample(tmp_path, 3)
    server = fault_server(oracle(of.replies()))
    await arun(of.settings(server.base_url, sample=5), progress=(notes := Notes()))
    assert len(server.chats) == 3
    assert notes.about("--sample 5") == ["mc clean: it has 3 questions, and all are asked (--sample 5)"]
    await arun(of.settings(server.base_url, sample=3), progress=(notes := Notes()))
    assert not notes.about("--sample 3")


async def test_an_unknown_field_is_named_with_the_known_ones(tmp_path: Path) -> None:
    of = Sample(tmp_path, 3)
    with pytest.raises(UsageError, match=r"^--by needle_depth: question q0 has no such field$") as caught:
        await arun(of.settings("http://127.0.0.1:1/v1", sample=2, by="needle_depth"))
    assert caught.value.hint == "it has difficulty, length, context_length, domain, sub_domain"
    (rows := tmp_path / "rows.json").write_text('[{"question": "How many?", "answer": "3"}]')
    with pytest.raises(UsageError, match="--by kind") as bare:
        await arun(AskSettings(data=str(rows), output=tmp_path, base_url="http://127.0.0.1:1/v1", sample=1, by="kind"))
    assert bare.value.hint == "it has none; `ask` takes --group COLUMN"


async def test_needle_questions_are_sampled_one_by_one(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 6)
    server = fault_server(answer("code"))
    await arun(niah_settings(of, server.base_url, sample=6, by="needle_depth"))
    assert Counter(chat.prompt[2:].partition("]]")[0].partition("#")[2] for chat in server.chats) == {"0": 3, "1": 3}


@pytest.mark.usefixtures("in_threads")
async def test_a_sample_can_be_asked_under_corruptions(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Sample(tmp_path, 8)
    server = fault_server(oracle(of.replies()))
    run = RobustnessRun(corruptions="pixelate", levels="0-1")
    await arun(of.settings(server.base_url, sample=3), corrupted=run)
    assert len(server.chats) == 6


@pytest.mark.parametrize(
    ("words", "again"),
    [
        ("", ["q1"]),
        ("failed", ["q1", "q2"]),
        ("empty", ["q1", "q3"]),
        ("failed,empty,unparsed", ["q1", "q2", "q3", "q4"]),
    ],
)
async def test_a_resumed_run_asks_the_named_statuses_again(
    words: str, again: list[str], tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 5)
    said: dict[str, Any] = {
        "[[q1]]": error(500),
        "[[q2]]": error(400, "at most 0 images"),
        "[[q3]]": answer(""),
        "[[q4]]": answer("I cannot tell you"),
    }
    await of.ask(fault_server(oracle({**of.replies(), **said})), max_retries=0)
    mended = fault_server(oracle(of.replies()))
    records = await of.ask(mended, retry=words)
    assert sorted(chat.prompt[2:4] for chat in mended.chats) == again
    assert all(records[name]["status"] == "ok" for name in again)
    assert len(of.report()["results"]) == 5

"""A dry run estimates a run, asks no question and writes no file."""

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.fakes.fixtures import StartsServers
from tests.fakes.words import answer, error, oracle
from tests.faults.commands import ran
from tests.faults.questions import Questions
from tests.runs.sample import Sample
from vqa_client.errors import UsageError
from vqa_client.evaluation import arun
from vqa_client.images.prepare import ImagePreparer
from vqa_client.images.steps import Recipe, sent_size
from vqa_client.progress import Progress
from vqa_client.runs.dry_run import DryRun, ExpectedRun, dry_run
from vqa_client.runs.stage import recipe_of
from vqa_client.settings.own_commands import Vqa2Settings
from vqa_client.settings.run import RunSettings

NOWHERE = "http://127.0.0.1:1/v1"


async def expected(of: Sample, base_url: str = NOWHERE, **changes: Any) -> tuple[DryRun, ExpectedRun]:
    [run] = await dry_run(of.settings(base_url, dry_run=True, **changes), Progress().note)
    [plan] = run.plans
    return run, plan


async def test_requests_images_and_tokens_are_counted_and_nothing_is_asked_or_written(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Sample(tmp_path, 6, pages=3)
    server = fault_server(answer("B"))
    before = sorted(tmp_path.rglob("*"))
    run, plan = await expected(of, server.base_url)
    assert (plan.requests, plan.kept, plan.images) == (6, 0, 18)
    assert plan.image_tokens == 18  # pages of 24 x 16 pixels are one token each
    assert plan.text_tokens > 6 * 10
    assert run.context_length is not None
    assert run.said_by == "as served"
    assert server.chats == []
    assert sorted(tmp_path.rglob("*")) == before


async def test_the_megabytes_are_those_that_a_run_sends(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Sample(tmp_path, 2, pages=2)
    _, plan = await expected(of)
    server = fault_server(oracle(of.replies()))
    await arun(of.settings(server.base_url))
    sent = sum(record["request_bytes"] for record in of.records())
    assert 0 < sent - plan.sent_bytes < 2 * 1000  # what is around them


async def test_no_server_is_needed(tmp_path: Path) -> None:
    run, plan = await expected(Sample(tmp_path, 2))
    assert (run.model, run.context_length, plan.max_tokens, plan.requests) == ("", None, 1024, 2)
    assert (run.said_by, plan.overflows) == ("", ())


async def test_questions_that_do_not_fit_are_named(tmp_path: Path) -> None:
    of = Questions(tmp_path, 4)
    Image.new("L", (3200, 3200)).save(of.page("q2"))
    run, plan = await expected(of, context_length=2000)
    assert run.said_by == "--context_length"
    [one] = plan.overflows
    assert one.question_id == "q2"
    assert 10_000 + 1024 < one.tokens < 10_000 + 1024 + 100


async def test_a_config_gives_max_tokens_prices_and_the_context_length(tmp_path: Path) -> None:
    of = Questions(tmp_path, 4)
    config = of.config(serve={"max_model_len": 70}, prices={"input": 1.5, "output": 6})
    run, plan = await expected(of, config=config)
    assert (run.model, plan.max_tokens, run.context_length) == ("tiny-vlm", 64, 70)
    assert run.said_by == "as the config serves it"
    assert run.prices is not None
    assert (run.prices.input, run.prices.output) == (1.5, 6)
    assert len(plan.overflows) == 4


async def test_prices_are_not_part_of_a_runs_identity(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server(oracle(of.replies()))
    await of.ask(server, config=of.config())
    await of.ask(server, config=of.config(prices={"input": 1, "output": 2}))
    assert len(server.chats) == 2
    assert of.run_file()["described"]["prices"] == {"input": 1.0, "output": 2.0, "batch": 0.5}


async def test_answered_questions_are_left_out(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 5)
    said: dict[str, Any] = {"[[q1]]": error(500), "[[q2]]": error(400, "at most 0 images"), "[[q3]]": answer("")}
    await of.ask(fault_server(oracle({**of.replies(), **said})), max_retries=0)
    log = of.log_path.read_bytes()
    for given, left in (({}, 1), ({"retry": "failed"}, 2), ({"retry": "empty"}, 2), ({"fresh": True}, 5)):
        _, plan = await expected(of, **given)
        assert (plan.requests, plan.kept) == (left, 5 - left)
    assert of.log_path.read_bytes() == log


async def test_every_form_of_a_question_is_counted(tmp_path: Path) -> None:
    _, plan = await expected(Sample(tmp_path, 5), sample=3, repeat=4)
    assert (plan.requests, plan.images) == (12, 12)


@pytest.mark.parametrize("content", [b"<html>", b"", b"BM"])
async def test_a_file_that_is_not_an_image_is_named(tmp_path: Path, content: bytes) -> None:
    of = Questions(tmp_path, 2)
    of.page("q1").write_bytes(content)
    _, plan = await expected(of)
    assert plan.unreadable == (str(of.page("q1")),)


@pytest.mark.parametrize("size", [(24, 16), (1000, 30), (31, 997), (640, 480), (7, 7)])
@pytest.mark.parametrize("limits", [(None, None), (100, None), (None, 64), (900, 100), (1, None), (3, 5)])
async def test_images_are_as_large_as_they_are_sent(
    size: tuple[int, int], limits: tuple[int | None, int | None], tmp_path: Path
) -> None:
    most, side = limits
    Image.new("RGB", size).save(tmp_path / "a.png")
    preparer = ImagePreparer(Recipe(max_pixels=most, max_side=side))
    [image] = await preparer.prepare([str(tmp_path / "a.png")])
    preparer.close()

    class Limited(RunSettings):
        max_side = side

    assert sent_size(*size, recipe_of(Limited(max_pixels=most))) == (image.width, image.height)


async def test_a_dry_run_of_a_sample_that_is_yet_to_be_drawn_is_refused(tmp_path: Path) -> None:
    settings = Vqa2Settings(mode="sample", dry_run=True, results_dir=tmp_path / "out")
    with pytest.raises(UsageError, match="a dry run writes nothing"):
        await dry_run(settings, Progress().note)
    assert not (tmp_path / "out").exists()


async def test_a_dry_run_from_python_is_refused_with_the_function_to_call(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="asks nothing"):
        await arun(Sample(tmp_path, 1).settings(NOWHERE, dry_run=True))


def test_the_command_prints_tables_and_json(tmp_path: Path) -> None:
    of = Questions(tmp_path, 3)
    config = of.config(prices={"input": 1_000_000, "output": 0.5})
    more = ("--config", config, "--dry_run", "--rate", "0.05", "--context_length", "80")
    told = ran(of.arguments(NOWHERE, *more))
    assert told.code == 0
    for words in (
        "3 requests",
        "by the rule qwen3-vl",
        "3 questions beyond 80 tokens",
        "1 min 00 s at 0.05",
        "at most $",
    ):
        assert words in told.out
    [row] = json.loads(ran(of.arguments(NOWHERE, *more, "--json")).out)
    assert row["seconds"] == 60
    assert row["dollars_prompts"] == row["image_tokens"] + row["text_tokens"]
    assert not of.output.exists()


def test_several_folders_are_summed_up_at_the_end(tmp_path: Path) -> None:
    of = Questions(tmp_path, 3, pages=2, folders=("clean", "blurred"))
    config = of.config(prices={"input": 1_000_000, "output": 0.5})
    told = ran(of.arguments(NOWHERE, "--config", config, "--dry_run", "--rate", "0.05"))
    rows = json.loads(ran(of.arguments(NOWHERE, "--config", config, "--dry_run", "--json")).out)
    heading, sizes, tokens, time, dollars = told.out.splitlines()[-5:]
    assert (heading, time) == ("all 2 together", "  2 min 00 s at 0.05 questions/s")
    assert "  6 requests · 12 images · " in sizes
    assert f"about {sum(row['image_tokens'] for row in rows):,} image tokens" in tokens
    assert f"and {sum(row['text_tokens'] for row in rows):,} text tokens" in tokens
    assert dollars == f"  at most ${sum(row['dollars_prompts'] + row['dollars_replies_at_most'] for row in rows):,.2f}"

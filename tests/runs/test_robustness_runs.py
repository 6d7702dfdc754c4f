"""A benchmark under corruptions: every question once with clean images, and once per corruption and level."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.words import oracle
from tests.faults.questions import StopsAfter
from tests.images.corruptions.drawings import corrupted_png
from tests.runs.sample import Sample
from vqa_client.errors import IdentityError, UsageError
from vqa_client.evaluation import Interrupted, arun
from vqa_client.settings.robustness import RobustnessRun

TWO = RobustnessRun(corruptions="gaussian_noise,pixelate", levels="0,2-3")
VARIANTS = ["clean", "gaussian_noise/2", "gaussian_noise/3", "pixelate/2", "pixelate/3"]


def records(sample: Sample) -> list[dict[str, Any]]:
    lines = (sample.output / "clean_mc_eval_robustness.records.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def report(sample: Sample) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((sample.output / "clean_mc_eval_robustness.json").read_text())
    return found


@pytest.mark.usefixtures("in_threads")
async def test_every_question_is_asked_once_in_every_variant(tmp_path: Path, fault_server: StartsServers) -> None:
    sample = Sample(tmp_path, 3)
    server = fault_server(oracle(sample.replies()))
    [done] = await arun(sample.settings(server.base_url), corrupted=TWO)
    asked = sorted((line["question_id"], line["variant"]) for line in records(sample))
    assert asked == sorted((name, variant) for name in sample.ids for variant in VARIANTS)
    assert {line["folder"] for line in records(sample)} == {"clean"}
    groups = {line["variant"]: "{corruption}/{level}".format(**line["groups"]) for line in records(sample)}
    assert groups == {variant: "clean/0" if variant == "clean" else variant for variant in VARIANTS}
    assert (done.expected, done.summary.overall.total, done.summary.overall.accuracy) == (15, 15, 1.0)
    assert sorted(report(sample)["corruptions"]) == ["gaussian_noise", "pixelate"]


async def test_the_server_gets_the_same_bytes_that_generate_writes(tmp_path: Path, fault_server: StartsServers) -> None:
    sample = Sample(tmp_path, 1)
    server = fault_server(oracle(sample.replies()))
    await arun(sample.settings(server.base_url), corrupted=TWO)
    data = (sample.pages_dir / "clean/images/q0_page_001.png").read_bytes()
    wanted = {sha256(data).hexdigest()}
    for variant in VARIANTS[1:]:
        name, level = variant.split("/")
        wanted.add(sha256(corrupted_png(data, name=name, level=int(level), seed=0)).hexdigest())
    assert {image["sha256"] for line in records(sample) for image in line["images"]} == wanted
    assert {sha256(image.data).hexdigest() for chat in server.chats for image in chat.images} == wanted


@pytest.mark.usefixtures("in_threads")
async def test_a_stopped_run_resumes_without_asking_twice(tmp_path: Path, fault_server: StartsServers) -> None:
    sample = Sample(tmp_path, 4)
    server = fault_server(oracle(sample.replies()))
    progress = StopsAfter(6)
    settings = sample.settings(server.base_url, max_workers=1)
    with pytest.raises(Interrupted):
        await arun(settings, corrupted=TWO, progress=progress, stop=progress.stop)
    before = len(server.chats)
    title = "mc clean · gaussian_noise, pixelate, levels 0, 2, 3"
    log = sample.output / "clean_mc_eval_robustness.records.jsonl"
    assert progress.about("saved") == [f"{title}: {before} of 20 answers saved in {log}"]
    await arun(settings, corrupted=TWO)
    assert 6 <= before < 20
    assert len(server.chats) == 20
    assert len(records(sample)) == 20


@pytest.mark.usefixtures("in_threads")
async def test_another_profile_or_seed_is_another_run(tmp_path: Path, fault_server: StartsServers) -> None:
    sample = Sample(tmp_path, 1)
    server = fault_server(oracle(sample.replies()))
    await arun(sample.settings(server.base_url), corrupted=TWO)
    other = RobustnessRun(corruptions="pixelate", levels="0-1", corruption_seed=1)
    with pytest.raises(IdentityError, match="corruption_seed"):
        await arun(sample.settings(server.base_url), corrupted=other)


@pytest.mark.usefixtures("in_threads")
async def test_more_levels_later_are_added_to_the_earlier_ones(tmp_path: Path, fault_server: StartsServers) -> None:
    sample = Sample(tmp_path, 2)
    server = fault_server(oracle(sample.replies()))
    await arun(sample.settings(server.base_url), corrupted=RobustnessRun(corruptions="pixelate", levels="0-1"))
    assert len(server.chats) == 4
    await arun(sample.settings(server.base_url), corrupted=RobustnessRun(corruptions="pixelate", levels="0-3"))
    assert len(server.chats) == 8


@pytest.mark.usefixtures("in_threads")
async def test_a_result_file_per_variant_is_written_in_the_published_form(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    sample = Sample(tmp_path, 2)
    server = fault_server(oracle(sample.replies()))
    run = RobustnessRun(corruptions="pixelate", levels="0-2", published_files=True)
    await arun(sample.settings(server.base_url), corrupted=run)
    folders = sorted(path.name for path in (sample.output / "clean_mc_eval_robustness_results").iterdir())
    assert folders == ["Original", "Pixelate_L1", "Pixelate_L2"]


@pytest.mark.parametrize("levels", ["", "6", "a", "3-1"])
async def test_unknown_levels_are_refused(tmp_path: Path, levels: str) -> None:
    sample = Sample(tmp_path, 1)
    with pytest.raises(UsageError, match="--levels"):
        await arun(sample.settings("http://127.0.0.1:1/v1"), corrupted=RobustnessRun(levels=levels))


async def test_a_text_only_run_has_no_images_to_corrupt(tmp_path: Path) -> None:
    sample = Sample(tmp_path, 1)
    settings = sample.settings("http://127.0.0.1:1/v1", text_only=True, images=None)
    with pytest.raises(UsageError, match="no images to corrupt") as caught:
        await arun(settings, corrupted=TWO)
    assert caught.value.hint == "leave out --text_only"

"""Whole runs of vqa2 for one model: from the files of a split to the published report."""

import hashlib
import io
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import vqa_client
from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.script import Script
from tests.fakes.words import answer, at_path, body_of, delay, error, hang, oracle
from tests.faults.questions import StopsAfter
from tests.runs.vqa2_split import GOLD, Split, read_report, results_of
from tests.tasks.vqa2_files import OFFICIAL, SHORT, annotation, question, write_split
from vqa_client.errors import DataError, IdentityError
from vqa_client.evaluation import Interrupted
from vqa_client.reports.report import Report
from vqa_client.settings.own_commands import Vqa2Settings
from vqa_client.tasks.vqa2.data import copy_sample
from vqa_client.tasks.vqa2.figures import Vqa2Summary

HANDED = Path(__file__).parents[3] / "shared/data/seed000_vqa2coco"
METADATA = [
    "test_date",
    "test_mode",
    "num_questions",
    "framework_version",
    "evaluation_method",
    "dataset",
    "generation_params",
]
RESULT = [
    "model_id",
    "test_time",
    "total_questions",
    "correct_answers",
    "accuracy",
    "vqa_accuracy",
    "avg_inference_time",
    "performance_grade",
    "question_results",
]
ASKED = [
    "question_id",
    "image_id",
    "image_filename",
    "question",
    "model_answer",
    "ground_truth",
    "is_correct",
    "vqa_accuracy",
    "inference_time",
    "debug_info",
]


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqa_client.client.retry.BASE_S", 0.01)


def summary(report: Report) -> Vqa2Summary:
    assert isinstance(report.summary, Vqa2Summary)
    return report.summary


@pytest.mark.parametrize("names", [OFFICIAL, SHORT])
async def test_both_layouts_are_found_asked_and_scored(
    names: tuple[str, str], tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Split(tmp_path, 10, names=names)
    server = fault_server(oracle(of.replies() | {"[[1000]]": "No", "[[3000]]": "It is dark red"}))
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    found = summary(report)
    assert (found.correct, found.simple_accuracy) == (9, 0.9)
    assert found.vqa_accuracy == pytest.approx(0.89)
    assert found.overall.accuracy == pytest.approx(0.8)
    assert found.parts["official"].overall.value == 0.0  # "yes." where ten say "yes"
    assert {kind: (of_kind.correct, of_kind.total) for kind, of_kind in found.kinds.items()} == {
        "yes/no": (3, 4),
        "color": (2, 2),
        "count": (2, 2),
        "other": (2, 2),
    }
    assert re.fullmatch(r"vqa2_results_coco_\d{8}_\d{6}\.json", report.path.name)


@pytest.mark.parametrize(
    "image_name",
    [
        "images/val2014_sample/COCO_val2014_{:012d}.jpg",
        "images/val2014/COCO_val2014_{:012d}.jpg",
        "images/val2014_sample/COCO_val2014_{:06d}.jpg",
        "images/COCO_val2014_{:012d}.jpg",
        "images/{}.png",
    ],
)
async def test_every_name_of_an_image_is_found_and_its_bytes_are_sent(
    image_name: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Split(tmp_path, 3, image_name=image_name)
    server = fault_server(oracle(of.replies()))
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    assert summary(report).correct == 3
    for chat in server.chats:
        (image,) = chat.images
        file = of.image(int(chat.prompt[2:6]), image_name)
        assert image.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    shown = [asked["image_filename"] for asked in results_of(report.path)["question_results"]]
    assert shown == [of.image(number, image_name).name for number in of.ids]


async def test_questions_without_an_image_are_counted_noted_and_not_asked(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Split(tmp_path, 6)
    of.image(2000).unlink()
    of.image(3000).write_bytes(b"<html>")
    server = fault_server(oracle(of.replies()))
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    result = results_of(report.path)
    assert result["left_out"] == {"no_image": ["2000"]}
    assert result["error_summary"] == {
        "image_load_errors": 2,
        "inference_errors": 0,
        "annotation_errors": 0,
        "other_errors": 0,
    }
    assert (result["total_questions"], result["correct_answers"], result["status_counts"]["bad_image"]) == (5, 4, 1)
    assert len(server.chats) == 4


async def test_the_sample_is_the_published_one_in_its_order(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Split(tmp_path, 60)
    server = fault_server(oracle(of.replies()))
    (report,) = await vqa_client.arun(of.settings(server.base_url, num_questions=20))
    asked = [row["question_id"] for row in results_of(report.path)["question_results"]]
    assert asked == random.Random(42).sample(of.ids, 20)


async def test_a_model_that_sees_the_drawn_pictures_is_right_and_a_blind_one_is_not(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    files = copy_sample(tmp_path / "results" / "vqa2_sample")
    assert files.annotations is not None
    rows = json.loads(files.annotations.read_text())["annotations"]
    gold = {row["image_id"]: row["multiple_choice_answer"] for row in rows}
    folder = files.image_roots[0]
    seen = {
        hashlib.sha256((folder / f"sample_{image_id:012d}.png").read_bytes()).hexdigest(): text
        for image_id, text in gold.items()
    }

    def look(received: Received) -> Script:
        return answer(seen[received.images[0].sha256])

    settings: dict[str, Any] = {"mode": "sample", "results_dir": tmp_path / "results", "api_key": None}
    server = fault_server(look)
    (report,) = await vqa_client.arun(Vqa2Settings(base_url=server.base_url, **settings))
    assert (summary(report).correct, summary(report).overall.accuracy) == (20, 1.0)
    assert summary(report).parts["official"].overall.value == 1.0
    assert report.path.name.startswith("vqa2_results_sample_")
    (blind,) = await vqa_client.arun(Vqa2Settings(base_url=fault_server("red").base_url, fresh=True, **settings))
    assert summary(blind).correct in range(1, 5)


async def test_the_report_has_the_published_keys_in_their_order(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Split(tmp_path, 4)
    resident = body_of(b"process_resident_memory_bytes 4096\n", content_type="text/plain")
    server = fault_server(at_path("/metrics", resident, oracle(of.replies())))
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    content = read_report(report.path)
    assert list(content) == ["experiment_metadata", "hardware_configuration", "model_configuration", "results"]
    assert list(content["experiment_metadata"])[: len(METADATA)] == METADATA
    assert content["experiment_metadata"]["generation_params"] == {"max_new_tokens": 100, "do_sample": False}
    hardware = ["device", "memory", "mps_available", "torch_version", "python_version"]
    assert list(content["hardware_configuration"]) == hardware
    models = ["models_tested", "model_loader", "unified_parameters", "image_preprocessing"]
    assert list(content["model_configuration"])[:4] == models
    assert list(content["results"]) == content["model_configuration"]["models_tested"] == ["tiny-vlm"]
    result = content["results"]["tiny-vlm"]
    assert list(result)[: len(RESULT)] == RESULT
    for asked in result["question_results"]:
        assert list(asked)[: len(ASKED)] == ASKED
        assert list(asked["debug_info"]) == ["model_answer_lower", "gt_answer_lower", "is_yes_no_question"]
    assert result["success_rate"] == 1.0
    assert result["inference_time_s"]["n"] == 4
    assert 0 < result["inference_time_s"]["median"] <= result["inference_time_s"]["p95"]
    assert (result["memory"]["server_bytes"], result["memory"]["client_rss_bytes"] > 1 << 20) == (4096, True)


async def test_the_memory_of_a_server_that_does_not_report_it_is_unknown(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Split(tmp_path, 1)
    (report,) = await vqa_client.arun(of.settings(fault_server(oracle(of.replies())).base_url))
    assert results_of(report.path)["memory"]["server_bytes"] is None


def timeless(report: Path) -> dict[str, Any]:
    """A report without the fields that differ at each run."""
    content = read_report(report)
    content["experiment_metadata"].pop("test_date")
    for result in content["results"].values():
        for name in ("test_time", "avg_inference_time", "inference_time_s", "memory"):
            result.pop(name)
        for asked in result["question_results"]:
            asked.pop("inference_time")
    return content


async def test_a_stopped_run_resumes_and_ends_in_the_same_report(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Split(tmp_path, 24)
    server = fault_server((delay(0.05), oracle(of.replies())))
    whole = of.settings(server.base_url, results_dir=tmp_path / "whole")
    (at_once,) = await vqa_client.arun(whole)
    stops = StopsAfter(3)
    with pytest.raises(Interrupted) as caught:
        await vqa_client.arun(of.settings(server.base_url, max_workers=4), stop=stops.stop, progress=stops)
    assert 0 < len(server.chats) - 24 < 24
    assert results_of(caught.value.reports[0].path)["incomplete"]
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    assert len(server.chats) == 48
    assert report.path == caught.value.reports[0].path
    assert json.dumps(timeless(report.path)) == json.dumps(timeless(at_once.path))


async def test_images_are_shrunk_to_a_longest_side_of_1024_which_is_recorded(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Split(tmp_path, 1, size=(1500, 301))
    server = fault_server(oracle(of.replies()))
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    sent = Image.open(io.BytesIO(server.chats[0].images[0].data))
    assert sent.size == (1024, 205)  # both sides are cut to whole pixels: 301 x 1024 / 1500 = 205.5
    with Image.open(of.image(1000)) as original:
        expected = original.convert("RGB").resize((1024, 205), Image.Resampling.LANCZOS)
    assert sent.convert("RGB").tobytes() == expected.tobytes()
    (image,) = results_of(report.path)["question_results"][0]["images"]
    assert "max_side:1024:lanczos:1500x301->1024x205" in image["transforms"]
    said = read_report(report.path)["model_configuration"]["image_preprocessing"]
    assert said == "Resize to max 1024px, LANCZOS"


async def test_raw_images_are_the_unchanged_files_and_make_another_run(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Split(tmp_path, 1, size=(1500, 301))
    server = fault_server(oracle(of.replies()))
    (report,) = await vqa_client.arun(of.settings(server.base_url, raw_images=True))
    assert server.chats[0].images[0].sha256 == hashlib.sha256(of.image(1000).read_bytes()).hexdigest()
    assert read_report(report.path)["model_configuration"]["image_preprocessing"].startswith("none")
    with pytest.raises(IdentityError, match=r"images\.max_side"):
        await vqa_client.arun(of.settings(server.base_url))


async def test_a_question_that_takes_too_long_is_a_timeout_and_wrong(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Split(tmp_path, 5)
    slow: dict[str, Script] = {**of.replies(), "[[2000]]": hang()}
    server = fault_server(oracle(slow))
    for timeout_s in (0.2, 5.0):  # the second is for a slow machine
        (report,) = await vqa_client.arun(of.settings(server.base_url, timeout=timeout_s, max_retries=0, fresh=True))
        result = results_of(report.path)
        if result["status_counts"]["timeout"] == 1:
            break
    assert (result["status_counts"]["timeout"], result["error_summary"]["inference_errors"]) == (1, 1)
    assert (result["success_rate"], result["accuracy"], result["total_questions"]) == (0.8, 0.8, 5)
    lost = result["question_results"][1]
    assert (lost["model_answer"], lost["inference_time"], lost["is_correct"]) == (None, None, False)


async def test_without_a_config_the_published_limits_apply(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Split(tmp_path, 1)
    server = fault_server(oracle(of.replies()))
    await vqa_client.arun(of.settings(server.base_url))
    body = server.chats[0].json
    assert (body["max_tokens"], body["temperature"], body["model"]) == (100, 0.0, "tiny-vlm")
    assert [part["type"] for part in body["messages"][-1]["content"]] == ["image_url", "text"]


async def test_failed_questions_are_asked_again_by_the_same_command(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Split(tmp_path, 4)
    broken: dict[str, Script] = {**of.replies(), "[[3000]]": error(500)}
    await vqa_client.arun(of.settings(fault_server(oracle(broken)).base_url, max_retries=0))
    mended = fault_server(oracle(of.replies()))
    (report,) = await vqa_client.arun(of.settings(mended.base_url))
    assert ([chat.prompt[:8] for chat in mended.chats], summary(report).correct) == (["[[3000]]"], 4)


async def test_an_unlabelled_split_is_asked_and_submitted_without_an_accuracy(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Split(tmp_path, 3)
    (of.folder / OFFICIAL[1]).unlink()
    with pytest.raises(DataError, match="no annotations"):
        await vqa_client.arun(of.settings("http://127.0.0.1:9/v1"))
    given = of.settings(fault_server(oracle(of.replies())).base_url, questions_file=of.folder / OFFICIAL[0])
    (report,) = await vqa_client.arun(given)
    result = results_of(report.path)
    assert (result["accuracy"], result["vqa_accuracy"], result["normalised_accuracy"]) == (None, None, None)
    handed_in = json.loads(report.path.with_name(f"{report.path.stem}_submission.json").read_text())
    assert handed_in == [{"question_id": number, "answer": text} for number, text in zip(of.ids, GOLD[:3], strict=True)]


async def test_every_mismatch_of_the_two_files_is_counted(tmp_path: Path, fault_server: StartsServers) -> None:
    asked = [question(number, f"[[{number}]] Is it day?", image_id=1) for number in (1000, 2000, 3000, 3000, 4000)]
    known = [annotation(number, *["yes"] * 10, image_id=1) for number in (1000, 3000, 5000)]
    known[1]["answers"] = known[1]["answers"][:2]
    known += [annotation(1000, "no"), annotation(4000, "yes", multiple_choice_answer="", answers=[])]
    of = Split(tmp_path, 1)
    write_split(of.folder, asked, known, images=[])
    server = fault_server("yes")
    (report,) = await vqa_client.arun(of.settings(server.base_url))
    result = results_of(report.path)
    assert result["left_out"] == {
        "duplicate_annotation": ["1000"],
        "duplicate_question": ["3000"],
        "no_annotation": ["2000"],
        "no_answer": ["4000"],
        "no_question": ["5000"],
    }
    assert (result["total_questions"], len(server.chats)) == (2, 2)


@pytest.mark.skipif(not HANDED.is_dir(), reason="the handed COCO photographs are not here")
async def test_the_published_questions_on_the_real_photographs(tmp_path: Path, fault_server: StartsServers) -> None:
    known = json.loads((HANDED / "ground_truth.json").read_text())["ground_truth_20"]
    rows = [
        annotation(row["question_id"], *[row["multiple_choice_answer"]] * 10, image_id=row["image_id"]) for row in known
    ]
    (tmp_path / "annotations.json").write_text(json.dumps({"annotations": rows}))
    gold = {row["question"]: row["multiple_choice_answer"] for row in known}
    server = fault_server(lambda received: answer(gold[received.prompt].title() + "."))
    settings = Vqa2Settings(
        questions_file=HANDED / "questions_25images.json",
        annotations_file=tmp_path / "annotations.json",
        images=HANDED / "images",
        results_dir=tmp_path / "results",
        base_url=server.base_url,
        api_key=None,
        raw_images=True,
    )
    (report,) = await vqa_client.arun(settings)
    result = results_of(report.path)
    assert (result["total_questions"], result["accuracy"], result["normalised_accuracy"]) == (20, 1.0, 1.0)
    assert result["scores"]["official"]["overall"]["accuracy"] == 0.0
    digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (HANDED / "images").iterdir()}
    assert {image.sha256 for chat in server.chats for image in chat.images} <= digests
    assert len(result["left_out"]["no_annotation"]) == 151

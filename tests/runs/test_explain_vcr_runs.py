"""VCR asked in words and by letter, from files of its three published forms."""

from pathlib import Path
from typing import Any

import pytest

import vqa_client
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import answer
from tests.runs.explain_sample import own, right
from tests.tasks.explain.samples import vcr_evil, vcr_nlx, vcr_own
from vqa_client.errors import UsageError

STILL = "vcr1images/lsmdc_1/x@{}.jpg"
NLX = {str(n): vcr_nlx(img_name=f"/vcr1images/lsmdc_1/x@{n}.jpg", annot_id=f"val-{n}") for n in range(4)}
EVIL = [vcr_evil(raw_img_id=f"lsmdc_1/x@{n}.jpg", question_id=f"val-{n}", label=n) for n in range(4)]
OWN = [vcr_own(img_fn=f"lsmdc_1/x@{n}.jpg", annot_id=f"val-{n}", answer_label=n) for n in range(4)]


@pytest.mark.parametrize(
    ("vcr_mode", "file", "records", "reply", "shown"),
    [
        ("free", "VCR/vcr_val.json", NLX, None, "he shows person2 who asked for the soup"),
        ("free", "VCR/vcr_dev_split.json", EVIL, None, "He is angry."),
        ("free", "VCR/val.jsonl", OWN, None, "He is angry ."),
        ("q2a", "VCR/vcr_dev_split.json", EVIL, "A because a bowl is carried", "He is angry."),
        ("q2a", "VCR_original/val.jsonl", OWN, "(A) because a bowl is carried", "He is angry ."),
        ("q2ar", "VCR/val.jsonl", OWN, "A because H", "He is angry ."),
    ],
)
async def test_vcr_of_every_form_and_mode(
    vcr_mode: str, file: str, records: Any, reply: str | None, shown: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = own(tmp_path, "vcr", "val", records, *map(STILL.format, range(4)), file=file)
    server = fault_server(of.oracle(lambda n, q: reply or right(n, q), vcr_mode=vcr_mode))
    (report,) = await vqa_client.arun(of.settings(server.base_url, vcr_mode=vcr_mode))
    assert (report.summary.overall.correct, report.summary.overall.total) == (1 if reply else 4, 4)
    suffix = "" if vcr_mode == "free" else f"-{vcr_mode}"
    rows = of.rows(suffix)
    assert [row["sample_id"] for row in rows] == ([*NLX] if records is NLX else [f"val-{n}" for n in range(4)])
    assert rows[0]["image_name"] == "x@0.jpg"
    assert rows[0]["gt_answer"] == shown
    assert rows[0]["generated_answer"].rstrip(" .") == shown.rstrip(" .")
    assert rows[0]["options"].count(" || ") == (0 if records is NLX else 3)
    column = "_".join(["llava_val", *filter(None, [suffix.lstrip("-")])])
    assert of.grid("VCR") == {column: f"{1 if not reply else 0.25:.3f} (4)"}


async def test_choosing_the_rationale_explains_by_it(tmp_path: Path, fault_server: StartsServers) -> None:
    of = own(tmp_path, "vcr", "val", OWN, *map(STILL.format, range(4)), file="VCR/val.jsonl")
    server = fault_server(answer("The best rationale is D."))
    (report,) = await vqa_client.arun(of.settings(server.base_url, vcr_mode="qa2r"))
    assert report.summary.overall.correct == 4
    assert of.scores("-qa2r")["unfiltered"]["metrics"]["ROUGE_L"]["value"] == 1.0


async def test_a_file_without_choices_is_refused_before_any_question_is_asked(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = own(tmp_path, "vcr", "val", NLX, *map(STILL.format, range(4)))
    server = fault_server()
    with pytest.raises(UsageError, match="no letters to ask for"):
        await vqa_client.arun(of.settings(server.base_url, vcr_mode="q2a"))
    assert server.requests == []

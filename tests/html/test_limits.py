"""What held a run up, in sentences."""

from pathlib import Path
from typing import Any

import pytest

from tests.html.samples import facts, failed, mixed, record, write_run
from vqa_client.html.limits import limits
from vqa_client.html.totals import totals
from vqa_client.reports.logged_run import read_run
from vqa_client.reports.overview import overview
from vqa_client.types import Record


def sentences(tmp_path: Path, records: list[Record], run: Any = None) -> str:
    found = read_run(write_run(tmp_path, records, run=run))
    return "\n".join(limits(found, overview(found)))


def paced(**session: Any) -> dict[str, Any]:
    run = facts()
    run["sessions"] = [{"wall_s": 10.0, "questions": 80} | session]
    return run


def test_failed_questions_are_said_with_an_example(tmp_path: Path) -> None:
    said = sentences(tmp_path, list(mixed()))
    assert "15 questions got no reply in time. For example: no reply within 60 s" in said
    assert "60 of 160 requests were repeats." in said


def test_replies_that_were_cut_are_said_with_the_accuracy_without_them(tmp_path: Path) -> None:
    cut = record(2, right=False, status="truncated", finish_reason="length")
    assert "1 replies (50.0 %) were cut at 1,024 tokens. Without them the accuracy is 100.0 %." in sentences(
        tmp_path, [record(1), cut]
    )


@pytest.mark.parametrize(
    ("latency_s", "session", "reason"),
    [
        (1.0, {}, "8.0 requests were in flight, of at most 8: the server set the pace. More workers"),
        (0.1, {"loop_stall_max_s": 0.5}, "the client stood still for up to 0.50 s"),
        (0.1, {"loop_stall_max_s": 0.01}, "0.8 requests were in flight, of at most 8: starting, ending or waiting"),
    ],
)
def test_the_pace_has_a_reason(tmp_path: Path, latency_s: float, session: dict[str, Any], reason: str) -> None:
    records = [record(n, latency_s=latency_s) for n in range(80)]
    assert reason in sentences(tmp_path, records, paced(**session))


def test_what_was_left_out_or_not_asked_is_said(tmp_path: Path) -> None:
    run = facts(expected=9, left_out={"in_blacklist": 3})
    run["described"]["settings"]["limit"] = 9
    said = sentences(tmp_path, [record(1)], run)
    assert "8 of 9 questions have not been asked yet." in said
    assert "3 questions were left out: in blacklist." in said
    assert "Only the first 9 instances" in said


def test_a_log_alone_has_no_limits_to_tell(tmp_path: Path) -> None:
    assert sentences(tmp_path, [record(1)], {}) == ""


def test_costs_are_told_as_far_as_they_are_known(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, [failed(1)], run={}))
    assert totals(run, overview(run)) == [("requests", "5")]

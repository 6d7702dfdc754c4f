"""The limits of a run, in sentences."""

from pathlib import Path
from typing import Any

import pytest

from tests.html.samples import facts, failed, mixed, record, write_run
from tests.reports.paces import quarters, served, start
from vqa_client.html.page import limits
from vqa_client.reports.logged_run import read_run
from vqa_client.reports.overview import overview, totals
from vqa_client.types import Record


def sentences(tmp_path: Path, records: list[Record], run: Any = None) -> str:
    found = read_run(write_run(tmp_path, records, run=run))
    return "\n".join(limits(overview(found)))


def test_lines_that_are_not_records_are_shown_by_number(tmp_path: Path) -> None:
    log = write_run(tmp_path, [record(1)])
    log.write_bytes(b"x\n" + log.read_bytes() + b"{}\n[]\n")
    assert limits(overview(read_run(log))) == ["3 lines of the log can't be read and left out: 1, 3, 4."]


def test_failed_questions_are_shown_with_an_example(tmp_path: Path) -> None:
    said = sentences(tmp_path, list(mixed()))
    assert "15 questions: no reply in time. For example: no reply within 60 s" in said
    assert "60 of 160 requests were repeats." in said
    assert "1 of 2 requests were repeats." in sentences(tmp_path, [record(1, attempts=2)])


def test_cut_replies_are_shown_with_the_accuracy_without_them(tmp_path: Path) -> None:
    cut = record(2, right=False, status="truncated", finish_reason="length")
    assert "1 reply (50.0 %) cut at 1,024 tokens. Without them the accuracy is 100.0 %." in sentences(
        tmp_path, [record(1), cut]
    )
    said = sentences(tmp_path, [record(1), cut, record(3, right=False, status="truncated", finish_reason="length")])
    assert "2 replies (66.7 %) cut at 1,024 tokens. Without them the accuracy is 100.0 %." in said


def test_the_bottleneck_is_that_of_the_longest_start(tmp_path: Path) -> None:
    run = facts()
    queued = start(at_server=31, servers=[served(8, 22, mm_hit_rate=0.96, generation_tokens_s=1234.5)])
    run["sessions"] = [start(paused=30, at_server=2, client={"watched_s": 9.0}), queued, {"wall_s": 1.0}]
    said = sentences(tmp_path, [record(1)], run)
    assert "What follows is of the longest of 3 starts." in said
    assert "Bottleneck: GPU queue (the server ran 8.0 requests and had 22.0 waiting, at 32 workers)." in said
    assert "Of 32 workers, on average: 1.0 in the server's preprocessing, 22.0 in its queue, 8.0 running there" in said
    assert "The server at http://one:8000/v1: image cache 96 % hits, 1,234 tokens generated per second." in said
    assert "rate limit" not in said


def test_a_server_that_became_slower_or_larger_is_shown(tmp_path: Path) -> None:
    grown = [served(28, memory_bytes=[2_000_000_000, 9_000_000_000])]
    run = facts() | {"sessions": [start(at_server=31, servers=grown, quarters=quarters(0.5, 0.5, 1.0, 2.0))]}
    said = sentences(tmp_path, [record(1)], run)
    assert "The server grew slower: replies to questions of the same size took 0.50 s" in said
    assert "The process of http://one:8000/v1 grew from 2.0 to 9.0 GB during the run." in said


@pytest.mark.parametrize(
    "session", [{"wall_s": 10.0, "questions": 80}, {"workers": "many", "client": [], "quarters": 3}]
)
def test_a_start_without_figures_has_no_bottleneck(tmp_path: Path, session: dict[str, Any]) -> None:
    assert sentences(tmp_path, [record(1)], facts() | {"sessions": [session]}) == ""


def test_left_out_and_unasked_questions_are_shown(tmp_path: Path) -> None:
    run = facts(expected=9, left_out={"in_blacklist": 3})
    run["described"]["settings"]["limit"] = 9
    said = sentences(tmp_path, [record(1)], run)
    assert "8 of 9 questions have not been asked yet." in said
    assert "Left out, in blacklist: 3 of the questions." in said
    assert "Limited to the first 9 instances of the data (--limit)." in said


def test_a_log_without_a_run_file_has_no_limits(tmp_path: Path) -> None:
    assert sentences(tmp_path, [record(1)], {}) == ""


@pytest.mark.parametrize("totals", [3, {"f1": "high"}])
def test_unknown_totals_are_not_shown(tmp_path: Path, totals: Any) -> None:
    run = facts()
    run["described"]["totals"] = totals
    assert read_run(write_run(tmp_path, [record(1)], run=run)).facts.totals == {}


def test_known_costs_are_shown(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, [failed(1)], run={}))
    assert totals(overview(run)) == [("requests", "5")]


@pytest.mark.parametrize(
    ("wall_s", "request_bytes", "time", "sent"),
    [
        (59.94, 100, "59.9 s", "0.1 KB"),
        (60, 1_000_000, "1 min 00 s", "1.0 MB"),
        (3_599.4, 2_500_000_000, "59 min 59 s", "2.5 GB"),
        (7_320, 1_000_000_000, "2 h 02 min", "1.0 GB"),
    ],
)
def test_time_and_size_have_units_that_fit(
    tmp_path: Path, wall_s: float, request_bytes: int, time: str, sent: str
) -> None:
    run = facts() | {"sessions": [{"wall_s": wall_s}, {}]}
    found = overview(read_run(write_run(tmp_path, [record(1, request_bytes=request_bytes)], run=run)))
    rows = dict(totals(found))
    assert [rows[name] for name in ("time", "starts", "sent")] == [time, "2", sent]


def test_latencies_are_given_by_their_median_95_percent_and_the_longest(tmp_path: Path) -> None:
    found = overview(read_run(write_run(tmp_path, [record(n, latency_s=float(n)) for n in range(41)])))
    rows = {name: text for name, text in totals(found) if name.startswith("latency")}
    assert rows == {"latency, median": "20.00 s", "latency, 95 %": "38.00 s", "latency, longest": "40.00 s"}

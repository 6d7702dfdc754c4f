"""Runs of earlier versions are resumed, reported, compared and scored again without asking."""

import shutil
from pathlib import Path

import pytest

from tests.kept_runs import HERE, RUNS, lay_out, settings
from vqa_client.compare.write import compare_runs, write_comparison
from vqa_client.evaluation import arun
from vqa_client.exports.numbers import write_summary
from vqa_client.exports.tables import write_csv
from vqa_client.html.page import write_page
from vqa_client.reports.log_reader import find_logs
from vqa_client.reports.logged_run import read_run
from vqa_client.reports.overview import overview
from vqa_client.runs.reopened import rescore

NOWHERE = "http://127.0.0.1:9/v1"
"""No server listens here: a question that has to be asked ends the run."""
KEPT = sorted(path.name for path in HERE.iterdir() if path.name[0].isdigit())
TOTALS = {"mc": (5, 4), "niah": (6, 6), "vqa2": (6, 6), "explain": (4, 4)}
"""The numbers of questions, and of those with a reply."""


@pytest.fixture(params=KEPT)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lay_out(HERE / request.param, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", RUNS)
async def test_a_kept_run_is_resumed_without_a_server(name: str, place: Path) -> None:
    (log,) = find_logs(place / "results" / name)
    ids = read_run(log).records.keys()
    (report,) = await arun(settings(name, NOWHERE))
    assert (report.summary.overall.total, report.summary.overall.answered) == TOTALS[name]
    assert not report.incomplete
    assert read_run(log).records.keys() == ids


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("write", [False, True])
def test_a_kept_run_is_scored_again(name: str, write: bool, place: Path) -> None:
    (log,) = find_logs(place / "results" / name)
    found = rescore(log, write=write)
    assert (found.total, found.total - found.failed) == TOTALS[name]
    assert (found.not_in_data, found.data_changed) == ((), False)
    assert (
        found.changes == rescore(log, write=False).changes == ()
    )  # another name of a metric is no change, nor a new one


@pytest.mark.parametrize("name", RUNS)
def test_a_kept_run_is_shown_in_every_form(name: str, place: Path) -> None:
    pytest.importorskip("jinja2", reason="extra html is not installed")
    (log,) = find_logs(place / "results" / name)
    run = read_run(log)
    found = overview(run)
    assert (found.summary.overall.total, found.summary.overall.answered) == TOTALS[name]
    assert run.records.unreadable == 0
    write_page(place / "page.html", found)
    write_csv(place / "table.csv", found, csv_safe=False)
    write_summary(place / "summary.json", found)
    assert (place / "page.html").read_text().count("data:image/webp") >= 1


@pytest.mark.parametrize("name", RUNS)
def test_a_kept_run_is_compared(name: str, place: Path) -> None:
    shutil.copytree(place / "results" / name, place / "again")
    sides, compared = compare_runs((place / "results" / name, place / "again"))
    write_comparison(place / "compared", sides, compared, html_images=5, csv_safe=False)
    ((comparison, _),) = compared
    assert (comparison.n, comparison.difference.value) == (TOTALS[name][0], 0.0)

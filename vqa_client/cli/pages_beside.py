"""The HTML page beside each report of a finished run, if the extra html is installed."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from vqa_client.cli.streams import say
from vqa_client.errors import NotOurs
from vqa_client.reports.log_reader import file_beside, find_logs
from vqa_client.reports.report import Report

MOST_RECORDS = 20_000
"""A page of more records takes seconds to write and is slow to open; `vqa-client report` still writes it."""


def write_pages(reports: Sequence[Report]) -> None:
    """Write the pages and print their paths; for a larger run, print the command that writes its page."""
    if find_spec("jinja2") is None:
        return
    for report in reports:
        if report.summary.overall.total > MOST_RECORDS:
            say(f"too many questions for a page by default; vqa-client report {report.log} writes it")
            continue
        for log in find_logs(report.log):
            _write_page(log)


def write_again(log: Path) -> None:
    """Write the page of a run again, if it has one: there is more to show."""
    if file_beside(log, ".html").exists() and find_spec("jinja2") is not None:
        _write_page(log)


def _write_page(log: Path) -> None:
    from vqa_client.html.page import write_page
    from vqa_client.reports.logged_run import read_run
    from vqa_client.reports.overview import overview

    run = read_run(log)
    path = file_beside(run.log, ".html")
    try:
        write_page(path, overview(run))
    except NotOurs as error:  # the run itself is done
        say(f"no page: {error}")
    else:
        say(f"page: {path}")

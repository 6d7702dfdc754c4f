"""`vqa-client report`: writes the pages and tables of a record log again."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from vqa_client.cli.streams import emit_lines, say
from vqa_client.errors import DataError, VqaClientError
from vqa_client.exports.numbers import write_markdown, write_summary
from vqa_client.exports.tables import Data, write_csv, write_jsonl, write_parquet
from vqa_client.html.page import write_page
from vqa_client.log_lines import numbered
from vqa_client.reports.log_reader import WAY_OUT, file_beside, find_logs
from vqa_client.reports.logged_run import LoggedRun, read_run
from vqa_client.reports.names import count, interval_text, percent
from vqa_client.reports.overview import Overview, overview
from vqa_client.reports.summary import gap_words
from vqa_client.runs.reopened import rows_of
from vqa_client.settings.reports import ReportSettings

WriteFile = Callable[[Path, Overview], None]


def report(settings: ReportSettings) -> None:
    """Write the chosen files of every run and print their paths; failed questions don't change the exit code.

    Raises DataError for logs without a record, after all others are reported.
    """
    logs = list(dict.fromkeys(log for place in settings.runs for log in find_logs(place)))
    broken = list[Path]()
    for log in logs:
        run = read_run(log)
        if run.records.unreadable and not len(run.records):
            broken.append(log)
            continue
        figures = overview(run)
        emit_lines(*_lines(figures))
        for ending, write in _forms(settings, run).items():
            path = file_beside(_folder(settings, log, logs) / log.name, ending)
            write(path, figures)
            emit_lines(f"  {path}")
    if broken:
        raise DataError(f"{', '.join(map(str, broken))}: no line of it is a record", hint=WAY_OUT)


def _forms(settings: ReportSettings, run: LoggedRun) -> dict[str, WriteFile]:
    """The chosen files of a run, by the ending of their name; the page if none is chosen."""
    data = _data(run) if settings.csv or settings.jsonl or settings.parquet else None
    forms: dict[str, tuple[bool, WriteFile]] = {
        ".html": (settings.html, partial(write_page, html_images=settings.html_images)),
        ".records.csv": (settings.csv, partial(write_csv, csv_safe=settings.csv_safe, data=data)),
        ".table.jsonl": (settings.jsonl, partial(write_jsonl, data=data)),
        ".summary.json": (settings.json, write_summary),
        ".records.parquet": (settings.parquet, partial(write_parquet, data=data)),
        ".md": (settings.md, write_markdown),
    }
    chosen = {ending: write for ending, (is_wanted, write) in forms.items() if is_wanted}
    return chosen or {".html": forms[".html"][1]}


def _data(run: LoggedRun) -> Data | None:
    """The columns of the user's own file, if it still exists."""
    if run.task != "ask":
        return None
    try:
        return rows_of(run.log)
    except VqaClientError as error:
        say(f"without the columns of the data: {error}")
        return None


def _folder(settings: ReportSettings, log: Path, logs: list[Path]) -> Path:
    """The folder of --output, else the log's; runs of one name from several folders have their own folders in it."""
    if settings.output is None:
        return log.parent
    folders = [other.parent.resolve() for other in logs if other.name == log.name]
    if len(folders) == 1:
        return settings.output
    return settings.output / log.parent.resolve().relative_to(os.path.commonpath(folders))


def _lines(overview: Overview) -> Iterator[str]:
    run, overall = overview.run, overview.summary.overall
    of = f" of {run.of_words}" if overview.variants else ""
    asked, expected = len(run.records), run.facts.expected
    more = f"; {len(overview.variants):,} variants, each in the page's table" if overview.variants else ""
    left = f"; {asked:,} of {expected:,}, not finished" if expected and asked < expected else ""
    over = f" of {count(overall.total, 'question')}{of}, {overall.answered:,} answered{more}{left}"
    yield f"{run.title} · {run.facts.model or run.stem}"
    yield f"  {overview.description.measure} {percent(overall.accuracy)} % ({interval_text(overall.interval)}){over}"
    if gap := gap_words(overview.summary.parts, overview.description.headline):
        yield f"  {gap}"
    if run.records.unreadable:
        lines = numbered(run.records.unreadable_lines)
        yield f"  {count(run.records.unreadable, 'line')} of the log can't be read: {lines}"

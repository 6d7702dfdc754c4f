"""`vqa-client rescore`: what today's parser and scorer make of a run's kept replies."""

from collections.abc import Iterator
from typing import Any

from vqa_client.cli.exits import EXIT_OK
from vqa_client.cli.streams import emit, emit_json
from vqa_client.cli.tables import new_console, new_table, printed
from vqa_client.cli.text import count, safe
from vqa_client.reports.log_reader import find_logs
from vqa_client.reports.names import cut, percent
from vqa_client.runs.rescored import Change, Reading, Rescored
from vqa_client.runs.rescored import rescore as score_again
from vqa_client.settings.compare import RescoreSettings

MOST_CHANGES = 20
"""Changed questions of a run that are printed; --json has all."""
MOST_CHARACTERS = 60


def rescore(settings: RescoreSettings) -> int:
    """Score again and print the differences, log by log."""
    done = []
    for log in find_logs(settings.run):
        done.append(score_again(log, write=settings.write))
        if not settings.json:
            emit(_tables(done[-1]))
    if settings.json:
        emit_json(done)
    return EXIT_OK


def _tables(found: Rescored) -> str:
    console = new_console()
    console.print(safe(f"rescore · {found.task} · {found.log}"), style="bold", soft_wrap=True)
    console.print(_sums(found))
    for change in found.changes[:MOST_CHANGES]:
        console.print(safe(_changed(change)), soft_wrap=True)
    for line in _remarks(found):
        console.print(safe(line), soft_wrap=True)
    return printed(console)


def _sums(found: Rescored) -> Any:
    table = new_table("in % of all", "old", "new")
    table.add_row("accuracy", percent(found.old.accuracy), percent(found.new.accuracy))
    for name in dict.fromkeys((*found.old.parts, *found.new.parts)):
        if not name.startswith("n_"):
            table.add_row(safe(name), percent(found.old.parts.get(name)), percent(found.new.parts.get(name)))
    for status in dict.fromkeys((*found.old.statuses, *found.new.statuses)):
        old, new = found.old.statuses.get(status, 0), found.new.statuses.get(status, 0)
        table.add_row(f"questions {status.replace('_', ' ')}", f"{old:,}", f"{new:,}")
    return table


def _changed(change: Change) -> str:
    name = " · ".join(filter(None, (change.question_id, change.variant)))
    key = "" if change.old.references == change.new.references else ", another right answer"
    return f"{name}: {_reading(change.old)} -> {_reading(change.new)}{key}"


def _reading(of: Reading) -> str:
    said = "" if of.answer is None else f" {cut(of.answer, MOST_CHARACTERS)!r}"
    rule = f" by {of.rule}" if of.rule else ""
    return f"{of.status.replace('_', ' ')}{said}{rule} ({of.score:g})"


def _remarks(found: Rescored) -> Iterator[str]:
    hidden = len(found.changes) - MOST_CHANGES
    if hidden > 0:
        yield f"and {count(hidden, 'more change')}: --json has all"
    yield f"{len(found.changes):,} of {count(found.total, 'question')} changed"
    if found.failed:
        yield f"{count(found.failed, 'question')} without a reply: nothing to read again"
    if found.not_in_data:
        missing = count(len(found.not_in_data), "question")
        yield f"{missing} no longer in the data file, left as they are, such as {found.not_in_data[0]}"
    if found.scoring_old != found.scoring_new:
        yield f"scored by {found.scoring_new}, before by {found.scoring_old}"
    if found.data_changed:
        yield "the data file is another one than when the run was made or last scored"
    if found.written:
        yield "written into the log; the run's own command makes its report again and repeats no answered question"
    elif found.changes:
        yield "nothing is written: --write puts the new readings into the log"

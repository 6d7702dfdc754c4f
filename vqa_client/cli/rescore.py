"""`vqa-client rescore`: what today's parser and scorer make of a run's kept replies."""

from collections.abc import Iterator

from vqa_client.cli.streams import emit, emit_json
from vqa_client.cli.tables import as_text
from vqa_client.reports.log_reader import find_logs
from vqa_client.reports.names import count, cut, percent
from vqa_client.reports.sections import Section
from vqa_client.runs.reopened import Change, Reading, Rescored
from vqa_client.runs.reopened import rescore as score_again
from vqa_client.settings.reports import RescoreSettings

MOST_CHANGES = 20
"""Changed questions of a run that are printed; --json has all."""
MOST_CHARACTERS = 60


def rescore(settings: RescoreSettings) -> None:
    """Score again and print the differences, log by log."""
    done = []
    for log in find_logs(settings.run):
        done.append(score_again(log, write=settings.write))
        if not settings.json:
            emit(as_text([_section(done[-1])]))
    if settings.json:
        emit_json(done)


def _section(found: Rescored) -> Section:
    old, new = found.old, found.new
    rows = [["accuracy", percent(old.accuracy), percent(new.accuracy)]]
    names = [name for name in dict.fromkeys((*old.parts, *new.parts)) if not name.startswith("n_")]
    rows += [[name, percent(old.parts.get(name)), percent(new.parts.get(name))] for name in names]
    for status in dict.fromkeys((*old.statuses, *new.statuses)):
        counts = (f"{side.statuses.get(status, 0):,}" for side in (old, new))
        rows.append([f"questions {status.replace('_', ' ')}", *counts])
    return Section(
        title=f"rescore · {found.task} · {found.log}",
        columns=["in % of all", "old", "new"],
        rows=rows,
        notes=[*map(_changed, found.changes[:MOST_CHANGES]), *_remarks(found)],
    )


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
        number = len(found.not_in_data)
        left = f"left as {'it is:' if number == 1 else 'they are, such as'} {found.not_in_data[0]}"
        yield f"{count(number, 'question')} no longer in the data file, {left}"
    if found.scoring_old != found.scoring_new:
        yield f"scored by {found.scoring_new}, before by {found.scoring_old}"
    if found.data_changed:
        yield "the data file is another one than when the run was made or last scored"
    if found.written:
        yield "written into the log; the run's own command makes its report again and repeats no answered question"
    elif found.changes:
        yield "nothing is written: --write puts the new readings into the log"

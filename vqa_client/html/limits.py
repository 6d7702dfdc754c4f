"""What held a run up or cut it short, in sentences."""

from collections.abc import Iterator

from vqa_client.html.figures import MEANINGS
from vqa_client.log_lines import numbered
from vqa_client.reports.limiting import limits_of, stands_of
from vqa_client.reports.logged_run import LoggedRun
from vqa_client.reports.names import count, cut
from vqa_client.reports.overview import Overview
from vqa_client.reports.start import read_start
from vqa_client.types import ANSWERED


def limits(run: LoggedRun, found: Overview) -> list[str]:
    """Sentences, the gravest first; none of them where nothing is known."""
    return [*_missing(run, found), *_failures(found), *_cut(run, found), *_pace(run)]


def _missing(run: LoggedRun, found: Overview) -> Iterator[str]:
    total, expected = len(run.records), run.facts.expected
    if expected is not None and total < expected:
        yield f"{expected - total:,} of {expected:,} questions have not been asked yet."
    if run.records.unreadable:
        lines = numbered(run.records.unreadable_lines)
        yield f"{count(run.records.unreadable, 'line')} of the log can't be read and left out: {lines}."
    left_out = run.facts.described.get("left_out")
    for reason, number in left_out.items() if isinstance(left_out, dict) else ():
        yield f"Left out, {str(reason).replace('_', ' ')}: {number} of the questions."
    limit = run.facts.settings.get("limit")
    if isinstance(limit, int):
        yield f"Only the first {limit:,} instances of the data were asked (--limit)."


def _failures(found: Overview) -> Iterator[str]:
    for status, number in found.whole.status_counts.items():
        if number and status not in ANSWERED:
            failure = found.failures.get(status)
            example = f" For example: {cut(failure.message, 200)}" if failure else ""
            yield f"{count(number)}: {MEANINGS[status]}.{example}"
    repeats = found.attempts - found.whole.overall.total
    if repeats > 0:
        yield f"{repeats:,} of {found.attempts:,} requests were repeats."


def _cut(run: LoggedRun, found: Overview) -> Iterator[str]:
    number, total = found.whole.n_truncated, found.whole.overall.total
    if not number:
        return
    tokens = run.facts.model_settings.get("max_tokens")
    at = f" at {tokens:,} tokens" if isinstance(tokens, int) else ""
    rest = (
        found.summary.without_truncated.value if found.headline is None else None
    )  # of one variant, unlike the counts
    without = "" if rest is None else f" Without them the accuracy is {100 * rest:.1f} %."
    yield f"{count(number, 'reply', 'replies')} ({100 * number / total:.1f} %) cut{at}.{without}"


def _pace(run: LoggedRun) -> Iterator[str]:
    """What the longest start shows: the figures of several together would be those of none."""
    starts = {start.client.watched_s: one for one in run.facts.sessions if (start := read_start(one)) is not None}
    if not starts:
        return
    longest = starts[max(starts)]
    if len(run.facts.sessions) > 1:
        yield f"Of {len(run.facts.sessions)} starts the longest shows what follows."
    yield from map(_as_sentence, limits_of(longest))
    yield from map(_as_sentence, stands_of(longest))


def _as_sentence(text: str) -> str:
    return text[:1].upper() + text[1:]

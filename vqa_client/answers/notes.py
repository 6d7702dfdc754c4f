"""What a reader of the numbers should know of a file of predictions: what is missing, doubled or of another form."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from vqa_client.answers.predictions import Predictions
from vqa_client.reports.names import count
from vqa_client.types import ANSWERED, Status

_EXAMPLES: Final = 3


def of_ids(
    strangers: Collection[str], missing: Collection[str], other: str, asked: str, treated: str = "not scored"
) -> Iterator[str]:
    """Predictions that have no `other`, and what was `asked` and has no prediction."""
    if strangers:
        yield f"{named(strangers, 'prediction')} without {other}, not scored"
    if missing:
        yield f"{named(missing, asked)} without prediction, {treated}"


def of_repeated(repeated: Mapping[str, int], differing: int) -> Iterator[str]:
    """Questions that a file answers more than once."""
    if repeated:
        differ = f"({differing:,} of them differ)"
        yield f"{named(repeated, 'question')} with several predictions {differ}: the last one counts"


def of_file(predictions: Predictions) -> Iterator[str]:
    """Answers and lines of a file that are not as they should be."""
    if predictions.not_text:
        yield f"{count(predictions.not_text, 'answer')} not written as text, taken as they stand"
    if predictions.unreadable:
        yield f"{count(predictions.unreadable, 'line')} of {predictions.path} can't be read: was the run killed?"


def of_statuses(statuses: "Counter[Status]", scored_as: Callable[[Status], str]) -> Iterator[str]:
    """Questions that have another status than "ok", and what they count as."""
    for status, number in statuses.most_common():
        if status != "ok":
            kind = "answer" if status in ANSWERED else "question"
            yield f"{count(number, kind)} {status.replace('_', ' ')}, {scored_as(status)}"


def named(ids: Collection[str], noun: str) -> str:
    """How many there are, and the first of them by their ids."""
    shown = ", ".join(list(ids)[:_EXAMPLES]) + (", ..." if len(ids) > _EXAMPLES else "")
    return f"{count(len(ids), noun)} ({shown})"

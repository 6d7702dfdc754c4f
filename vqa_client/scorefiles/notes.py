"""What a reader of the numbers should know of the files: everything that is missing, doubled or of another form."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from vqa_client.reports.names import count
from vqa_client.scorefiles.annotations import Annotations
from vqa_client.scorefiles.predictions import EXPLANATIONS_HINT, Predictions
from vqa_client.scorefiles.scored import REMARKS, Scored
from vqa_client.scoring.vqa_accuracy import FEWEST_FOR_FULL_MARKS, LONG_WORDS
from vqa_client.types import ANSWERED, Status

_EXAMPLES: Final = 3
_USUAL: Final = 10


def notes(predictions: Predictions, annotations: Annotations, scored: Scored) -> list[str]:
    """One sentence for each thing; none where both files are whole."""
    return [
        *_on_ids(predictions, annotations, scored),
        *_on_answers(scored),
        *_on_replies(predictions, scored),
        *(f"{name}: {REMARKS[name]}" for name in scored.values if name in REMARKS and scored.question_ids),
    ]


def _on_ids(predictions: Predictions, annotations: Annotations, scored: Scored) -> Iterator[str]:
    yield from of_ids(scored.without_annotation, scored.without_prediction, "annotation", "annotated question")
    if scored.without_answers:
        yield f"{named(scored.without_answers, 'question')} without any answer to compare with, not scored"
    yield from of_repeated(predictions.repeated, predictions.differing)
    if annotations.repeated:
        yield f"{named(annotations.repeated, 'question')} with several annotations: the last one counts"
    if (predictions.numeric_ids or annotations.numeric_ids) and (predictions.text_ids or annotations.text_ids):
        yield 'ids are numbers in one place and text in another: 42 and "42" are taken for one question'


def _on_answers(scored: Scored) -> Iterator[str]:
    counts = scored.answer_counts
    single = counts[1]
    few = sum(n for size, n in counts.items() if 1 < size < FEWEST_FOR_FULL_MARKS)
    fewer = sum(n for size, n in counts.items() if size < _USUAL)
    more = sum(n for size, n in counts.items() if size > _USUAL)
    if single:
        yield f"{count(single, 'question')} with a single answer: VQA accuracy is 0 whatever the prediction"
    if few:
        yield f"{count(few, 'question')} with two or three answers, where VQA accuracy can't reach 100 %"
    if fewer or more:
        yield f"{count(fewer, 'question')} with fewer than ten answers, {more:,} with more"
    if scored.without_answer_id:
        yield (
            f"{count(scored.without_answer_id, 'question')} with answers without answer_id: by the official modes "
            "equal answers then leave each other out, and ten equal ones score 0, as in VQA's own evaluator"
        )
    if scored.with_blank_answers:
        yield f"{count(scored.with_blank_answers, 'question')} with some blank answers, which count as answers"


def _on_replies(predictions: Predictions, scored: Scored) -> Iterator[str]:
    blank = "right only where annotators left theirs blank"
    yield from of_statuses(scored.statuses, lambda status: blank if status == "empty" else "scored 0")
    if predictions.explained:
        yield f"only answers are scored here; {EXPLANATIONS_HINT.format(predictions.path)} for these"
    yield from of_file(predictions.path, predictions.unreadable, predictions.not_text)
    if scored.sentences:
        long = count(scored.sentences, "prediction")
        yield f"{long} of more than {LONG_WORDS} words, where VQA accuracy wants a short answer"


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


def of_file(path: str, unreadable: int, not_text: int = 0) -> Iterator[str]:
    """Answers and lines of a file that are not as they should be."""
    if not_text:
        yield f"{count(not_text, 'answer')} not written as text, taken as they stand"
    if unreadable:
        yield f"{count(unreadable, 'line')} of {path} can't be read: was the run killed?"


def of_statuses(statuses: "Counter[Status]", scored_as: Callable[[Status], str]) -> Iterator[str]:
    """Questions that have another status than "ok", and what they count as."""
    for status, number in statuses.most_common():
        if status != "ok":
            kind = "answer" if status in ANSWERED else "question"
            yield f"{count(number, kind)} {status.replace('_', ' ')}, {scored_as(status)}"


def named(ids: Collection[str] | Mapping[str, int], noun: str) -> str:
    """How many there are, and the first of them by their ids."""
    shown = ", ".join(list(ids)[:_EXAMPLES]) + (", ..." if len(ids) > _EXAMPLES else "")
    return f"{count(len(ids), noun)} ({shown})"

"""What a reader of the numbers should know of the files: everything that is missing, doubled or taken for granted."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from vqa_client.scorefiles.explanations.captions import Form
from vqa_client.scorefiles.explanations.matched import Matched
from vqa_client.scorefiles.explanations.predictions import Predictions
from vqa_client.scorefiles.explanations.references import References
from vqa_client.scorefiles.notes import named, of_file, of_ids, of_repeated, of_statuses, plural
from vqa_client.scoring.explanation_metrics.corpus import ExplanationScores

_FORMS: Final[dict[Form, str]] = {
    "full": 'the captions are taken for "answer because explanation"',
    "exp": "the captions are taken for explanations without answers",
}


def notes(
    predictions: Predictions, references: References, matched: Matched, scores: ExplanationScores
) -> Iterator[str]:
    """One sentence for each thing; none where both files are whole."""
    for form, path in ((predictions.captions, predictions.path), (references.captions, references.path)):
        if form:
            yield f"{path}: {_FORMS[form]}"
    yield from of_ids(matched.strangers, matched.missing, "reference", "question")
    for reason, ids in references.unusable.items():
        yield f"{named(ids, 'reference')} left out: {reason.replace('_', ' ')}"
    yield from of_repeated(matched.repeated, matched.differing)
    if not (predictions.has_answers and references.has_answers):
        side = references.path if not references.has_answers else predictions.path
        yield f"no accuracy, and no scope of the right ones: {side} has no answers"
    if scores.n_without_references:
        yield f"{plural(scores.n_without_references, 'question')} without an explanation to compare with, not scored"
    if scores.unfiltered.n_empty:
        empty = plural(scores.unfiltered.n_empty, "question")
        yield f"{empty} without a predicted explanation, scored as an empty one"
    yield from of_statuses(Counter(said.status for _, said in matched.pairs), lambda status: "counted as wrong")
    yield from of_file(predictions.path, predictions.unreadable)

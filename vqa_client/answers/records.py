"""The record of a question by its answer in a file, which is taken as it stands: nobody reads a reply again."""

from collections.abc import Callable, Iterable, Iterator

from vqa_client.answers.predictions import Prediction, Predictions
from vqa_client.answers.rows import key_of
from vqa_client.types import Question, Record

Pairs = Iterator[tuple[Question, Record]]
Scores = Callable[[Prediction, Question], dict[str, float]]
"""Gives the scores of an answer by metric, of which the first is the record's."""


def records_of(questions: Iterable[Question], predictions: Predictions, scores: Scores) -> Pairs:
    """The questions that have a prediction, with their records."""
    for question in questions:
        said = predictions.by_id.get(key_of(question.id))
        if said is not None:
            parts = scores(said, question)
            yield (
                question,
                Record(
                    question_id=question.id,
                    status=said.status,
                    answer=said.text,
                    rationale=said.explanation,
                    references=question.references,
                    cluster=question.cluster,
                    score=next(iter(parts.values()), 0.0),
                    parts=parts,
                ),
            )

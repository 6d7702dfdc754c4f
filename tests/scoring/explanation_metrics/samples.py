"""Explanations of our own writing and what makes them ready for a metric."""

from collections.abc import Sequence

from vqa_client.scoring.explanation_metrics.coco import Explained

PREDICTIONS = {
    "1": "the street is wet and people hold umbrellas",
    "2": "there is snow on the roof",
    "3": "he wears a helmet and rides a bike",
    "4": "the plate is empty",
}
REFERENCES = {
    "1": ["people hold umbrellas", "the street is wet", "it is grey and the street is wet"],
    "2": ["snow lies on the roof", "the ground is white"],
    "3": ["he rides a bike on a road", "he has a helmet"],
    "4": ["nothing is on the plate", "the plate has no food on it"],
}


def explained(text: str, *references: str) -> Explained:
    return Explained(
        text=text,
        tokens=text.split(),
        references=references,
        reference_tokens=[reference.split() for reference in references],
    )


def everything(questions: Sequence[Explained]) -> list[list[int]]:
    return [list(range(len(questions)))]

"""The reports of runs that ask each question in several forms: with other pages, or its choices in other orders."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from vqa_client.files import write_json
from vqa_client.json_stream import write_json_list
from vqa_client.reports.run import Pairs, Run, percent
from vqa_client.reports.summary import Summary
from vqa_client.reports.varied import (
    QUESTIONS,
    VariedSummary,
    by_question,
    by_variant,
    head,
    in_points,
    rest,
    share,
    summarised,
)
from vqa_client.scoring.choices.circular import (
    CircularFigures,
    CircularScores,
    Position,
    PositionBias,
    Positions,
    order_of,
)
from vqa_client.scoring.paired import Difference, difference
from vqa_client.types import Record

Differences = dict[str, Difference]
"""The paired differences of neighbouring forms, as "all - evidence"."""


class PagesSummary(VariedSummary, frozen=True, kw_only=True):
    """What the forms say together."""

    figures: Differences


def write(path: Path, run: Run, pairs: Pairs) -> PagesSummary:
    """Write each form's accuracy, and the paired difference of each form and the one before it."""
    scores = scores_by_form(records for _, records in by_question(pairs))
    differences_of: Differences = {}
    for before, after, both in neighbours(scores):
        if between := difference(both):
            differences_of[f"{after} - {before}"] = between
    summary = summarised(pairs)
    differences = {name: in_points(of) for name, of in differences_of.items()}
    write_json(path, head(run) | {"by_pages": by_variant(summary), "differences": differences} | rest(run, summary))
    return PagesSummary(**asdict(summary), figures=differences_of)


FormScores = Mapping[str, Mapping[str, tuple[float, str]]]
"""By form, and in it by question id: the score, and the cluster."""


def scores_by_form(questions: Iterable[Sequence[Record]]) -> FormScores:
    """Sort the scores of all questions by the form in which they were asked; forms in the order of the records."""
    scores: dict[str, dict[str, tuple[float, str]]] = {}
    for records in questions:
        for record in records:
            by_id = scores.setdefault(record.form, {})
            by_id[record.question_id] = record.score, record.cluster
    return scores


def neighbours(scores: FormScores) -> Iterator[tuple[str, str, list[tuple[float, float, str]]]]:
    """Each form, the one after it, and of the questions that both have the later score, the earlier and the cluster."""
    for before, after in pairwise(scores):
        earlier, later = scores[before], scores[after]
        yield (
            before,
            after,
            [(score, earlier[id][0], cluster) for id, (score, cluster) in later.items() if id in earlier],
        )


class ShuffledSummary(VariedSummary, frozen=True, kw_only=True):
    """What a run with its choices in drawn orders says of their places."""

    figures: PositionBias


class CircularSummary(VariedSummary, frozen=True, kw_only=True):
    """What all rotations say together."""

    figures: CircularFigures


def write_shuffled(path: Path, run: Run, pairs: Pairs, *, write: Callable[..., Summary]) -> ShuffledSummary:
    """Write the usual report by `write`, choices and letters as they were shown, and the position bias."""
    bias = position_bias(pairs)
    summary = write(path, run, pairs, added={"position_bias": _bias(bias)})
    return ShuffledSummary(**{name: getattr(summary, name) for name in Summary.__struct_fields__}, figures=bias)


def write_circular(path: Path, run: Run, pairs: Pairs) -> CircularSummary:
    """Write what all rotations say; raises OutputError where `path` can't be written."""
    scores = CircularScores()
    for question, records in by_question(pairs):
        add_rotations(scores, records, tuple(question.choices))
    figures, summary = scores.figures(position_bias(pairs)), summarised(pairs)
    content = head(run) | _figures(figures) | {"by_rotation": by_variant(summary)} | rest(run, summary)
    write_json_list(path, content, QUESTIONS, _questions(pairs))
    return CircularSummary(**asdict(summary), figures=figures)


def add_rotations(scores: CircularScores, records: Sequence[Record], labels: Sequence[str]) -> None:
    """Count one question, whose choices have these labels, by the records of its rotations."""
    letters, texts = [record.answer for record in records], _texts(records, labels)
    known = [record.score for record in records if record.references]
    scores.add(known, letters, texts, len(labels), records[0].cluster)


def position_bias(pairs: Pairs) -> PositionBias:
    """Count places over all records; the forms of one question are a cluster."""
    positions = Positions()
    for question, record in pairs():
        right, cluster = next(iter(question.references), None), question.cluster or question.id
        positions.add(tuple(question.choices), right, record.answer, record.score, cluster)
    return positions.bias()


def _texts(records: Sequence[Record], labels: Sequence[str]) -> list[str | None]:
    """The label under which each chosen text was filed: that of the rotation by 0."""
    ordered = sorted(labels)
    orders = (order_of(record.variant, ordered, record.question_id) or ordered for record in records)
    filed = (dict(zip(ordered, order, strict=True)) for order in orders)
    return [of.get(record.answer or "") for of, record in zip(filed, records, strict=True)]


def _figures(figures: CircularFigures) -> dict[str, Any]:
    names = ("circular", "mean", "once", "majority", "same_text", "same_letter")
    return {
        "rotations": figures.rotations,
        "questions_with_all_rotations": figures.questions,
        "unfinished_questions": figures.unfinished,
        **{name: share(getattr(figures, name)) for name in names},
        "position_bias": _bias(figures.bias),
    }


def _bias(bias: PositionBias) -> dict[str, Any]:
    return {
        "recall_deviation": percent(bias.deviation),
        "positions": {label: _position(of) for label, of in bias.positions.items()},
    }


def _position(of: Position) -> dict[str, Any]:
    return {
        "right": of.right,
        "right_share": percent(of.right_share),
        "chosen": of.chosen,
        "chosen_share": percent(of.chosen_share),
        "recall": share(of.recall),
    }


def _questions(pairs: Pairs) -> Iterator[dict[str, Any]]:
    """Each question with its choices as filed, and what was chosen in each rotation, under the filed labels."""
    for question, records in by_question(pairs):
        yield {
            "question_id": question.id,
            "choices": question.choices,
            "ground_truth": next(iter(question.references), None),
            "correct": sum(record.score >= 1.0 for record in records) if question.references else None,
            "of": len(records),
            "letters": [record.answer for record in records],
            "answers": _texts(records, tuple(question.choices)),
            "outcomes": [record.status for record in records],
        }

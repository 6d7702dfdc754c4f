"""The reports of runs that ask each question in several forms: with other pages, or its choices in other orders."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from vqa_client.files import write_json
from vqa_client.json_stream import write_json_list
from vqa_client.reports.run import Pairs, Run, in_percent
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
    PositionBias,
    Positions,
    order_of,
)
from vqa_client.scoring.paired import Difference, difference
from vqa_client.types import Record

Differences = dict[str, Difference]
"""The paired differences of neighbouring forms, by names such as "all - evidence"."""


def write(path: Path, run: Run, pairs: Pairs) -> VariedSummary:
    """Write the accuracy of each form, and its paired difference from the form before."""
    scores = scores_by_form(records for _, records in by_question(pairs))
    differences_of: Differences = {}
    for before, after, both in neighbours(scores):
        if between := difference(both):
            differences_of[f"{after} - {before}"] = between
    summary = summarised(pairs)
    differences = {name: in_points(of) for name, of in differences_of.items()}
    write_json(path, head(run) | {"by_pages": by_variant(summary), "differences": differences} | rest(run, summary))
    return VariedSummary(**asdict(summary), figures=differences_of)


FormScores = Mapping[str, Mapping[str, tuple[float, str]]]
"""Score and cluster by form and question id."""


def scores_by_form(questions: Iterable[Sequence[Record]]) -> FormScores:
    """The scores of all questions by form, with the forms in the order of the records."""
    scores: dict[str, dict[str, tuple[float, str]]] = {}
    for records in questions:
        for record in records:
            by_id = scores.setdefault(record.form, {})
            by_id[record.question_id] = record.score, record.cluster
    return scores


def neighbours(scores: FormScores) -> Iterator[tuple[str, str, list[tuple[float, float, str]]]]:
    """Each form, the next one, and for each question of both: the later score, the earlier score and the cluster."""
    for before, after in pairwise(scores):
        earlier, later = scores[before], scores[after]
        both = [(score, earlier[id][0], cluster) for id, (score, cluster) in later.items() if id in earlier]
        yield before, after, both


def write_shuffled(path: Path, run: Run, pairs: Pairs, *, write: Callable[..., Summary]) -> VariedSummary:
    """Write the usual report by `write`, with choices and letters as shown, and the position bias."""
    bias = position_bias(pairs)
    summary = write(path, run, pairs, added={"position_bias": _bias_keys(bias)})
    return VariedSummary(**{name: getattr(summary, name) for name in Summary.__struct_fields__}, figures=bias)


def write_circular(path: Path, run: Run, pairs: Pairs) -> VariedSummary:
    """Write the figures of all rotations; raises OutputError if `path` can't be written."""
    scores = CircularScores()
    for question, records in by_question(pairs):
        add_rotations(scores, records, tuple(question.choices))
    figures, summary = scores.figures(position_bias(pairs)), summarised(pairs)
    content = head(run) | _circular_keys(figures) | {"by_rotation": by_variant(summary)} | rest(run, summary)
    write_json_list(path, content, QUESTIONS, _questions(pairs))
    return VariedSummary(**asdict(summary), figures=figures)


def add_rotations(scores: CircularScores, records: Sequence[Record], labels: Sequence[str]) -> None:
    """Count one question by the records of its rotations; `labels` are those of its choices."""
    letters, texts = [record.answer for record in records], _filed_labels(records, labels)
    known = [record.score for record in records if record.references]
    scores.add(known, letters, texts, len(labels), records[0].cluster)


def position_bias(pairs: Pairs) -> PositionBias:
    """Count the places of right and chosen answers; the forms of one question are a cluster."""
    positions = Positions()
    for question, record in pairs():
        right, cluster = next(iter(question.references), None), question.cluster or question.id
        positions.add(tuple(question.choices), right, record.answer, record.score, cluster)
    return positions.bias()


def _filed_labels(records: Sequence[Record], labels: Sequence[str]) -> list[str | None]:
    """The label of each chosen text in the data's own order, which is rotation/0."""
    ordered = sorted(labels)
    orders = (order_of(record.variant, ordered, record.question_id) or ordered for record in records)
    filed = (dict(zip(ordered, order, strict=True)) for order in orders)
    return [of.get(record.answer or "") for of, record in zip(filed, records, strict=True)]


def _circular_keys(figures: CircularFigures) -> dict[str, Any]:
    return {
        "rotations": figures.rotations,
        "questions_with_all_rotations": figures.questions,
        "unfinished_questions": figures.unfinished,
        **{name: share(mean) for name, mean in figures.means.items()},
        "position_bias": _bias_keys(figures.bias),
    }


def _bias_keys(bias: PositionBias) -> dict[str, Any]:
    return {
        "recall_deviation": in_percent(bias.deviation),
        "positions": {
            label: {
                "right": of.right,
                "right_share": in_percent(of.right_share),
                "chosen": of.chosen,
                "chosen_share": in_percent(of.chosen_share),
                "recall": share(of.recall),
            }
            for label, of in bias.positions.items()
        },
    }


def _questions(pairs: Pairs) -> Iterator[dict[str, Any]]:
    """Each question with its choices in the data's own order, and the answer in each rotation by the labels there."""
    for question, records in by_question(pairs):
        yield {
            "question_id": question.id,
            "choices": question.choices,
            "ground_truth": next(iter(question.references), None),
            "correct": sum(record.score >= 1.0 for record in records) if question.references else None,
            "of": len(records),
            "letters": [record.answer for record in records],
            "answers": _filed_labels(records, tuple(question.choices)),
            "outcomes": [record.status for record in records],
        }

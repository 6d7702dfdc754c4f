"""One call: read both files, match, score and write."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vqa_client.errors import DataError
from vqa_client.files import write_json
from vqa_client.scorefiles.explanations.matched import Matched, match
from vqa_client.scorefiles.explanations.notes import notes
from vqa_client.scorefiles.explanations.predictions import Predictions, read_predictions
from vqa_client.scorefiles.explanations.references import References, read_references
from vqa_client.scorefiles.explanations.scored import Accuracy, Scored, score_all
from vqa_client.scorefiles.explanations.source import Source, source_of
from vqa_client.scorefiles.official_files import stem_of
from vqa_client.scoring.explanation_metrics.judged import Judged, described
from vqa_client.scoring.explanation_metrics.tools import tools_named_in
from vqa_client.settings.score_explanations import ScoreExplanationsSettings
from vqa_client.tasks.explain.coco_captions import captioned, write_captions
from vqa_client.types import ANSWERED, Status


class Counts(Struct, frozen=True, kw_only=True):
    """The denominators: what either file holds, and how many questions could be scored."""

    n_predictions: int
    n_references: int
    n_scored: int
    n_without_reference: int
    n_without_prediction: int
    n_repeated_predictions: int
    n_unusable_references: int
    n_failed: int
    status_counts: dict[Status, int]


class ExplanationReport(Struct, frozen=True, kw_only=True):
    """All numbers of a scoring, accuracies in [0, 1], and the files that hold them."""

    predictions: str
    references: str
    task: str | None
    counts: Counts
    accuracies: dict[str, Accuracy]
    explanations: Judged
    notes: list[str]
    files: list[str]

    def as_json(self) -> dict[str, Any]:
        """The report as machines read it, without the scores of single questions."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__ if name != "explanations"}
        built: dict[str, Any] = msgspec.to_builtins(fields)
        return built | {"explanations": described(self.explanations)}


def score_explanation_files(settings: ScoreExplanationsSettings) -> ExplanationReport:
    """Score a file of explanations; writes nothing without an output folder.

    METEOR, SPICE and BERTScore are computed where the environment names their programs and weights. Raises DataError
    where no question is in both files, UsageError where nothing says what to compare with.
    """
    predictions = read_predictions(settings.predictions, settings.captions)
    source = source_of(settings)
    references = read_references(source)
    matched = match(predictions, references)
    if not matched.pairs:
        raise _strangers(matched, predictions, references)
    scored = score_all(
        matched,
        task=source.task if references.captions is None else None,
        vcr_mode=source.vcr_mode,
        answers_known=predictions.has_answers and references.has_answers,
        tools=tools_named_in(os.environ),
    )
    report = _report(source, predictions, references, matched, scored)
    return _written(settings, report, matched) if settings.output else report


def _report(
    source: Source, predictions: Predictions, references: References, matched: Matched, scored: Scored
) -> ExplanationReport:
    said = notes(predictions, references, matched, scored.explanations.scores)
    return ExplanationReport(
        predictions=predictions.path,
        references=references.path,
        task=source.task,
        counts=_counts(predictions, references, matched),
        accuracies=scored.accuracies,
        explanations=scored.explanations,
        notes=[*filter(None, [source.note]), *said],
        files=[],
    )


def _counts(predictions: Predictions, references: References, matched: Matched) -> Counts:
    statuses = Counter(said.status for _, said in matched.pairs)
    return Counts(
        n_predictions=len(predictions.rows),
        n_references=len(references.by_id),
        n_scored=len(matched.pairs),
        n_without_reference=len(matched.strangers),
        n_without_prediction=len(matched.missing),
        n_repeated_predictions=len(matched.repeated),
        n_unusable_references=sum(map(len, references.unusable.values())),
        n_failed=sum(number for status, number in statuses.items() if status not in ANSWERED),
        status_counts=dict(statuses.most_common()),
    )


def _written(settings: ScoreExplanationsSettings, report: ExplanationReport, matched: Matched) -> ExplanationReport:
    assert settings.output is not None
    stem = settings.output / stem_of(report.predictions)
    files: list[Path] = []
    if settings.coco_captions:
        pairs = [captioned(question, said.answer, said.explanation) for question, said in matched.pairs]
        files += write_captions(stem, pairs, answers_known=bool(report.accuracies))
    files.append(Path(f"{stem}_explanation_scores.json"))
    whole = msgspec.structs.replace(report, files=[str(path) for path in files])
    write_json(files[-1], whole.as_json())
    return whole


def _strangers(matched: Matched, predictions: Predictions, references: References) -> DataError:
    first, known = matched.strangers[0], next(iter(references.by_id))
    return DataError(
        f"no question of {predictions.path} is in {references.path}: the first ones are {first!r} and {known!r}",
        hint="are they of the same task and split?",
    )

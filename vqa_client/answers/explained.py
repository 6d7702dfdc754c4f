"""Score explanations in a file against those of people, and the answers if the right ones are known.

The references are an NLE file or COCO captions, chosen by settings or by the names of the files.
"""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from math import fsum
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from vqa_client.answers.predictions import (
    Prediction,
    Predictions,
    Scores,
    count_and_first,
    no_common_question,
    note_file_faults,
    note_ids,
    note_repeats,
    note_statuses,
    read_explained,
    records_of,
    stem_of,
)
from vqa_client.answers.rows import Id, PredictionForm, caption_form, decode_json, json_text, key_of, split_caption
from vqa_client.benchmark import Metric
from vqa_client.errors import UNDECODABLE, DataError, UsageError
from vqa_client.files import write_json
from vqa_client.reports.names import count
from vqa_client.scoring.explanation_metrics.evil import ScoredExplanations, described
from vqa_client.scoring.short_answers import majority, same
from vqa_client.scoring.statistics import Mean, mean_of
from vqa_client.settings.score import ScoreExplanationsSettings
from vqa_client.tasks.explain import EXPLAIN_TASKS, dataset_of
from vqa_client.tasks.explain.dataset import FREE, find_file, read_questions
from vqa_client.tasks.explain.report import export_captions, judge_explanations
from vqa_client.types import ANSWERED, Question, Record, without_none

_NO_CAPTIONS = "annotations of explanations have image_id and caption; an NLE file has explanation"
_OURS = re.compile(rf"({'|'.join(EXPLAIN_TASKS)})_(train|val|test)_eval((?:-[a-z0-9]+)*)[._]")
_MODE = re.compile(r"-(q2ar|q2a|qa2r)\b")


class References(Struct, frozen=True, kw_only=True):
    """The questions of one file by id; `unusable` has by reason the ids that can't be scored.

    `captions` is the form of captions in a COCO file, None for an NLE file, whose benchmark has `metrics`. `task` is
    None if the benchmark is unknown; `note` is about the file that was chosen.
    """

    path: str
    by_id: dict[str, Question]
    unusable: dict[str, list[str]] = {}
    captions: PredictionForm | None = None
    metrics: tuple[Metric, ...] = ()
    task: str | None = None
    note: str = ""

    @property
    def has_answers(self) -> bool:
        """Whether the right answers are known."""
        return self.captions != "exp"


class _Annotation(Struct, frozen=True):
    image_id: Id
    caption: str | UnsetType = UNSET


def read_references(settings: ScoreExplanationsSettings) -> References:
    """Find the references and read them in any form.

    Raises UsageError if the settings don't determine the references or their benchmark; DataError for a missing or
    malformed file.
    """
    named = _OURS.match(settings.predictions.name)
    own_name = settings.references.name.lower() if settings.references else ""
    by_file = next((task for task in EXPLAIN_TASKS if own_name.startswith(f"{task}_")), None)
    task = settings.task or by_file or (named[1] if named else None)
    split = settings.split or (named[2] if named else None)
    mode = _MODE.search(named[3]) if named and task == "vcr" else None
    dataset = dataset_of(task, settings.vcr_mode or (mode[1] if mode else FREE)) if task else None
    note = ""
    if settings.references:
        path, split = settings.references, split or "val"
    elif dataset and split:
        path = find_file(dataset, split, settings.data_root)
        split, note = dataset.split_read(split), dataset.split_notice(split)
    else:
        raise UsageError(
            f"nothing says what {settings.predictions} is compared with",
            hint="give --task and --split with --data, or a file with --references",
        )
    captions = _captions(path)
    if captions is not None:
        return replace(_from_captions(path, captions), task=task, note=note)
    if dataset is None:
        hint = "give --task: vqax, actx, esnlive or vcr"
        raise UsageError(f"the benchmark of {path} is unknown", hint=hint)
    questions, unusable = read_questions(dataset, path, split=split)
    by_id = {question.id: question for question in questions}
    return References(path=str(path), by_id=by_id, unusable=unusable, metrics=dataset.metrics, task=task, note=note)


def _captions(path: Path) -> dict[str, list[str]] | None:
    """The captions by id; None for a file of records."""
    text = json_text(path)
    try:
        records = msgspec.json.decode(text, type=dict[str, Raw])
    except UNDECODABLE:  # a list or JSONL; the reader of records reports other faults
        return None
    captions: dict[str, list[str]] = {}
    if "annotations" in records:
        for row in decode_json(path, memoryview(records["annotations"]), list[_Annotation]):
            if isinstance(row.caption, UnsetType):
                raise DataError(f"{path}: an annotation of {row.image_id!r} has no caption", hint=_NO_CAPTIONS)
            captions.setdefault(key_of(row.image_id), []).append(row.caption)
        return captions
    first = bytes(next(iter(records.values()), Raw(b"")))[:1]
    if first not in (b"[", b'"'):
        return None
    by_id = decode_json(path, text, dict[str, list[str] | str])
    return {key: [texts] if isinstance(texts, str) else texts for key, texts in by_id.items()}


def _from_captions(path: Path, captions: dict[str, list[str]]) -> References:
    form = caption_form(path, [text for texts in captions.values() for text in texts])
    if not any(captions.values()):
        raise DataError(f"{path} contains no caption", hint=_NO_CAPTIONS)
    questions = [
        _question(key, [split_caption(text, form) for text in texts]) for key, texts in captions.items() if texts
    ]
    return References(path=str(path), by_id={question.id: question for question in questions}, captions=form)


def _question(key: str, captions: list[tuple[str, str]]) -> Question:
    answers = tuple(answer for answer, _ in captions)
    explanations = tuple(explanation for _, explanation in captions if explanation)
    most = majority(answers)
    extra = {"gold": most.answer} if most else {}
    return Question(id=key, text="", references=answers, rationales=explanations, cluster=key, extra=extra)


class Places:
    """Finds questions by image and text; several with the same are returned in the order of the file."""

    def __init__(self, questions: Mapping[str, Question]) -> None:
        self._questions = questions
        self._waiting = defaultdict[tuple[str, ...], list[str]](list)

    def take(self, cells: Mapping[str, str]) -> str:
        """The id of the next question with these cells, at the end the last one again; "" if there is none.

        All calls have the same columns.
        """
        if not self._waiting:
            for key, question in self._questions.items():
                known = {"question": question.text} | question.extra.get("columns", {})
                self._waiting[tuple(_plain(known.get(column, "")) for column in cells)].append(key)
        ids = self._waiting.get(tuple(map(_plain, cells.values())), [])
        return ids.pop(0) if len(ids) > 1 else "".join(ids)


def _plain(cell: str) -> str:
    """An image without its folder, a number without leading zeros, a text without blanks around it."""
    words = " ".join(cell.split())
    name = os.path.basename(words) if " " not in words else words
    return name.lstrip("0") or "0" if name.isascii() and name.isdecimal() else name


ACCURACY: Final = "accuracy"
"""The metric: the share of answers equal to the right or the majority's answer, both normalised."""
_FORMS: Final[dict[PredictionForm, str]] = {
    "full": 'the captions are taken for "answer because explanation"',
    "exp": "the captions are taken for explanations without answers",
}


class PredictionMean(Struct, frozen=True, kw_only=True):
    """A mean over the questions that have a prediction, and one over all, in which a missing prediction counts as 0."""

    mean: Mean
    if_missing_were_wrong: float


class ExplanationReport(Struct, frozen=True, kw_only=True):
    """All results of a scoring, accuracies in [0, 1], if answers are known, and the files that were written."""

    predictions: str
    references: str
    task: str | None
    counts: dict[str, Any]
    accuracies: dict[str, PredictionMean]
    explanations: ScoredExplanations
    notes: list[str]
    files: list[str]

    def as_json(self) -> dict[str, Any]:
        """The report as JSON, without the scores of single questions."""
        built = {
            name: msgspec.to_builtins(getattr(self, name)) for name in self.__struct_fields__ if name != "explanations"
        }
        return built | {"explanations": described(self.explanations)}


def score_explanation_files(settings: ScoreExplanationsSettings) -> ExplanationReport:
    """Score a file of explanations; writes nothing without an output folder.

    METEOR, SPICE and BERTScore are computed if the environment names their programs and weights. Raises DataError if no
    question is in both files, UsageError if the references can't be determined.
    """
    references = cache(lambda: read_references(settings))
    places = cache(lambda: Places(references().by_id))
    predictions = read_explained(settings.predictions, lambda cells: places().take(cells), settings.captions)
    report, pairs = _score(predictions, references())
    if not settings.output:
        return report
    stem = settings.output / stem_of(predictions.path)
    known = bool(report.accuracies)
    captions = export_captions(stem, pairs, answers_known=known) if settings.coco_captions else []
    path = Path(f"{stem}_explanation_scores.json")
    whole = replace(report, files=[*map(str, captions), str(path)])
    write_json(path, whole.as_json())
    return whole


def _scores(metrics: Sequence[Metric], prediction: Prediction, question: Question) -> dict[str, float]:
    text = prediction.text or "" if prediction.status in ANSWERED else ""
    gold = (question.extra[name] for name in ("gold", "gold_text") if name in question.extra)
    right = bool(text) and any(same(text, reference) for reference in gold)
    return {ACCURACY: float(right)} | without_none({metric.name: metric.score(text, question) for metric in metrics})


def _score(predictions: Predictions, references: References) -> tuple[ExplanationReport, list[tuple[Question, Record]]]:
    known = references.by_id
    if predictions.by_id.keys().isdisjoint(known):
        raise no_common_question(predictions, next(iter(known)), references.path)
    answers_known = predictions.has_answers and references.has_answers
    scores: Scores = partial(_scores, references.metrics) if answers_known else lambda *_: {}
    pairs = list(records_of(known.values(), predictions, scores))
    judged = judge_explanations(pairs, answers_known=answers_known)
    rows = [key for key in predictions.by_id for _ in range(predictions.repeated.get(key, 1))]
    others = [key for key in rows if key not in known]
    missing = [key for key in known if key not in predictions.by_id]
    repeated = {key: number for key, number in predictions.repeated.items() if key in known}
    statuses = Counter(record.status for _, record in pairs)
    differing = len(predictions.differing.intersection(known))
    report = ExplanationReport(
        predictions=predictions.path,
        references=references.path,
        task=references.task,
        counts={
            "n_predictions": len(rows),
            "n_references": len(known),
            "n_scored": len(pairs),
            "n_without_reference": len(others),
            "n_without_prediction": len(missing),
            "n_repeated_predictions": len(repeated),
            "n_unusable_references": sum(map(len, references.unusable.values())),
            "n_failed": sum(number for status, number in statuses.items() if status not in ANSWERED),
            "status_counts": dict(statuses.most_common()),
        },
        accuracies=_accuracies(pairs, len(missing)),
        explanations=judged,
        notes=[
            *filter(None, [references.note]),
            *(f"{file.path}: {_FORMS[file.captions]}" for file in (predictions, references) if file.captions),
            *note_ids(others, missing, "reference", "question"),
            *(
                f"{count_and_first(ids, 'reference')} left out: {why.replace('_', ' ')}"
                for why, ids in references.unusable.items()
            ),
            *note_repeats(repeated, differing),
            *_on_explanations(judged, None if answers_known else predictions if references.has_answers else references),
            *note_statuses(statuses, lambda status: "counted as wrong"),
            *note_file_faults(predictions),
        ],
        files=[],
    )
    return report, pairs


def _accuracies(pairs: Sequence[tuple[Question, Record]], missing: int) -> dict[str, PredictionMean]:
    """The accuracies by metric, each over the questions that have it."""
    accuracies = {}
    for name in dict.fromkeys(name for _, record in pairs for name in record.parts):
        scored = [(question, record.parts[name]) for question, record in pairs if name in record.parts]
        scores = [score for _, score in scored]
        mean = mean_of(scores, [question.cluster or question.id for question, _ in scored])
        accuracies[name] = PredictionMean(mean=mean, if_missing_were_wrong=fsum(scores) / (len(scores) + missing))
    return accuracies


def _on_explanations(judged: ScoredExplanations, lacking: Predictions | References | None) -> Iterator[str]:
    if lacking:
        yield f"{lacking.path} has no answers: accuracy and the scores of right answers alone are left out"
    scores = judged.scores
    if scores.n_without_references:
        yield f"{count(scores.n_without_references, 'question')} without an explanation to compare with, not scored"
    if scores.unfiltered.n_empty:
        empty = count(scores.unfiltered.n_empty, "question")
        yield f"{empty} without a predicted explanation, scored as an empty one"

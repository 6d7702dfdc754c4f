"""The reports of runs that ask every question in several forms: what they share, with and without images, repeats.

Accuracies and intervals are in per cent, as in this program's other reports.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import asdict, replace

from vqa_client.files import natural_key, write_json
from vqa_client.json_stream import write_json_list
from vqa_client.reports.run import Pairs, Run, common_keys, interval, percent
from vqa_client.reports.summary import Summary, Tally, summarise, without_scores
from vqa_client.scoring.paired import Difference
from vqa_client.scoring.repeats import BlindFigures, BlindScores, Pairing, RepeatFigures, RepeatScores, majority
from vqa_client.scoring.statistics import Mean
from vqa_client.types import Question, Record

VARIANT = "variant"
Asked = tuple[Question, list[Record]]
"""A question, as it is asked first, and its records in all forms."""


class VariedSummary(Summary, frozen=True, kw_only=True):
    """A summary over all forms, and the `figures` that they make together."""

    figures: Any
    shown_alone: ClassVar = True


def by_question(pairs: Pairs) -> Iterator[Asked]:
    """The forms of a question are neighbours."""
    for _, neighbours in groupby(pairs(), key=lambda pair: pair[0].id):
        forms = list(neighbours)
        yield forms[0][0], [record for _, record in forms]


def summarised(pairs: Pairs) -> Summary:
    """Sum up over all forms, and over each by the group "variant"; no accuracy where no answer is known."""
    summary = summarise(_marked(pairs))
    is_known = any(question.references for question, _ in pairs())
    return summary if is_known or not summary.overall.total else without_scores(summary)


def _marked(pairs: Pairs) -> Iterator[Record]:
    """The forms of one question share its fate, and are a cluster."""
    for _, record in pairs():
        groups = {**record.groups, VARIANT: record.variant}
        yield replace(record, groups=groups, cluster=record.cluster or record.question_id)


def head(run: Run, **more: Any) -> dict[str, Any]:
    """Say of what the report is; `more` comes before the model's settings."""
    return {
        "model": run.model,
        "config": run.config,
        "variant": run.folder,
        "data_path": run.data_path,
        "images_dir": run.images_dir,
        **more,
        "model_settings": dict(run.model_settings),
    }


def tallies(summary: Summary) -> dict[str, Tally]:
    """Give each form's accuracy, repeat/2 before repeat/10."""
    by_form = summary.breakdowns.get(VARIANT, {})
    return {variant: by_form[variant] for variant in sorted(by_form, key=natural_key)}


def by_variant(summary: Summary) -> dict[str, Any]:
    """Write the same."""
    return {variant: _tally(tally) for variant, tally in tallies(summary).items()}


def _tally(of: Tally) -> dict[str, Any]:
    """Write an accuracy with its denominators."""
    return {
        "total": of.total,
        "accuracy": percent(of.accuracy),
        "interval": interval(of.interval, percent),
        "answered": of.answered,
        "accuracy_answered": percent(of.accuracy_answered),
    }


def share(of: Mean) -> dict[str, Any]:
    """Write a mean or a share of questions."""
    return {"n": of.n, "value": percent(of.value), "interval": interval(of.interval, percent)}


def in_points(of: Difference) -> dict[str, Any]:
    """Write a paired difference and its interval in points of per cent."""
    return asdict(of) | {name: percent(getattr(of, name)) for name in ("value", "low", "high")}


def rest(run: Run, summary: Summary) -> dict[str, Any]:
    """What all reports say, over all forms together."""
    keys = common_keys(run, summary, percent)
    keys["breakdowns"].pop(VARIANT, None)
    return {"all_variants": {"total": summary.overall.total, "accuracy": percent(summary.overall.accuracy)} | keys}


SEEN, BLIND = "seen", "blind"


class BlindSummary(VariedSummary, frozen=True, kw_only=True):
    """What both forms say together."""

    figures: BlindFigures


def write_blind(path: Path, run: Run, pairs: Pairs, *, comparable: bool) -> BlindSummary:
    """Write the report; `comparable` says whether equal answers are equal texts. Raises UsageError for a full disk."""
    scores = BlindScores(comparable=comparable)
    for question, records in by_question(pairs):
        add_blind(scores, records, choices=len(question.choices))
    figures, summary = scores.figures(), summarised(pairs)
    write_json(path, head(run) | _of_blind(figures) | {"by_form": by_variant(summary)} | rest(run, summary))
    return BlindSummary(**asdict(summary), figures=figures)


def add_blind(scores: BlindScores, records: Iterable[Record], *, choices: int = 0) -> None:
    """Count one question by its records, with its images and without."""
    forms = {record.variant: record for record in records}
    if not {SEEN, BLIND} <= forms.keys():
        scores.unfinished += 1
        return
    sighted, blind = forms[SEEN], forms[BLIND]
    scores.add(
        (sighted.score, blind.score),
        (sighted.answer, blind.answer),
        cluster=sighted.cluster,
        groups=sighted.groups,
        choices=choices,
        is_known=bool(sighted.references),
    )


def _of_blind(figures: BlindFigures) -> dict[str, Any]:
    return {
        "images_matter": _pairing(figures.overall),
        "right_without_images_of_those_right_with": share(figures.kept),
        "same_answer": share(figures.same) if figures.same else None,
        "chance": percent(figures.chance),
        "unfinished_questions": figures.unfinished,
        "by_group": {
            field: {value: _pairing(of) for value, of in values.items()} for field, values in figures.groups.items()
        },
    }


def _pairing(of: Pairing) -> dict[str, Any]:
    return {
        "questions": of.questions,
        "seen": share(of.seen),
        "blind": share(of.blind),
        "gain": in_points(of.gain) if of.gain else None,
    }


QUESTIONS = "questions"


class RepeatSummary(VariedSummary, frozen=True, kw_only=True):
    """What repeats say, asked at a `temperature`; None where it was not sent."""

    figures: RepeatFigures
    temperature: float | None


def write_repeats(path: Path, run: Run, pairs: Pairs, *, repeats: int, comparable: bool) -> RepeatSummary:
    """Write the report; `comparable` says whether equal answers are equal texts. Raises UsageError for a full disk."""
    scores = repeat_scores((records for _, records in by_question(pairs)), repeats, comparable=comparable)
    figures, summary = scores.figures(), summarised(pairs)
    content = head(run) | _of_repeats(figures) | {"by_repeat": by_variant(summary)} | rest(run, summary)
    write_json_list(path, content, QUESTIONS, _repeated_questions(pairs, scores, comparable=comparable))
    return RepeatSummary(**asdict(summary), figures=figures, temperature=run.model_settings.get("temperature"))


def repeat_scores(questions: Iterable[Sequence[Record]], repeats: int, *, comparable: bool) -> RepeatScores:
    """Count all questions, each by the records of its repeats."""
    scores = RepeatScores(repeats, comparable=comparable)
    for records in questions:
        first, answers = records[0], [record.answer for record in records]
        scores.add([record.score for record in records], answers, first.cluster, is_known=bool(first.references))
    return scores


def _of_repeats(figures: RepeatFigures) -> dict[str, Any]:
    return {
        "repeats": figures.repeats,
        "questions_with_all_repeats": figures.questions,
        "unfinished_questions": figures.unfinished,
        "pass_at": {str(k): share(of) for k, of in figures.pass_at.items()},
        "majority": share(figures.majority),
        "right_and_wrong": share(figures.turning),
        "several_answers": share(figures.changing) if figures.changing else None,
    }


def _repeated_questions(pairs: Pairs, scores: RepeatScores, *, comparable: bool) -> Iterator[dict[str, Any]]:
    for question, records in by_question(pairs):
        scores_of = [record.score for record in records]
        answers = [record.answer for record in records]
        is_known = bool(records[0].references)
        yield {
            "question_id": question.id,
            "correct": sum(score >= 1.0 for score in scores_of) if is_known else None,
            "of": len(scores_of),
            "majority": majority(scores_of, scores.votes(scores_of, answers)) if is_known else None,
            "scores": scores_of if is_known else None,
            **({"answers": answers} if comparable else {}),
            "outcomes": [record.status for record in records],
        }

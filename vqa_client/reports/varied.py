"""The reports of runs that ask every question in several forms.

The forms are with images and without, repeats, other pages, or other orders of the choices. Accuracies and intervals
are in per cent, as in this program's other reports.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import asdict, replace

from vqa_client.files import natural_key, write_json
from vqa_client.json_stream import write_json_list
from vqa_client.reports.logged_run import BLIND, SEEN
from vqa_client.reports.overview import VARIANT
from vqa_client.reports.run import Pairs, Run, common_keys, in_percent, interval
from vqa_client.reports.summary import Summary, Tally, summarise, without_scores
from vqa_client.scoring.choices.circular import CircularFigures, CircularScores, PositionBias, Positions, order_of
from vqa_client.scoring.corrupted_scores import Figures
from vqa_client.scoring.paired import Difference, difference
from vqa_client.scoring.repeats import BlindFigures, BlindScores, Pairing, RepeatFigures, RepeatScores, majority
from vqa_client.scoring.statistics import Mean
from vqa_client.types import Question, Record

QUESTIONS = "questions"


class VariedSummary(Summary, frozen=True, kw_only=True):
    """A summary over all forms; `figures` compare the forms, and `notes` say how to read them."""

    figures: Any
    notes: tuple[str, ...] = ()
    shown_alone: ClassVar = True


def by_question(pairs: Pairs) -> Iterator[tuple[Question, list[Record]]]:
    """Each question in its first form, and its records in all forms, which are neighbours in `pairs`."""
    for _, neighbours in groupby(pairs(), key=lambda pair: pair[0].id):
        forms = list(neighbours)
        yield forms[0][0], [record for _, record in forms]


def summarised(pairs: Pairs) -> Summary:
    """Sum up all forms, and each as a value of the group "variant"; without accuracies if no answer is known."""
    summary = summarise(_with_variants(pairs))
    is_known = any(question.references for question, _ in pairs())
    return summary if is_known or not summary.overall.total else without_scores(summary)


def _with_variants(pairs: Pairs) -> Iterator[Record]:
    """The records with their variant as a group; the forms of one question are a cluster."""
    for _, record in pairs():
        groups = {**record.groups, VARIANT: record.variant}
        yield replace(record, groups=groups, cluster=record.cluster or record.question_id)


def head(run: Run, **more: Any) -> dict[str, Any]:
    """The keys that say what was asked; `more` comes before the model's settings."""
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
    """The accuracy of each form, repeat/2 before repeat/10."""
    by_form = summary.breakdowns.get(VARIANT, {})
    return {variant: by_form[variant] for variant in sorted(by_form, key=natural_key)}


def by_variant(summary: Summary) -> dict[str, Any]:
    """The accuracy of each form with its denominators, as JSON has it."""
    return {
        variant: scored(of) | {"answered": of.answered, "accuracy_answered": in_percent(of.accuracy_answered)}
        for variant, of in tallies(summary).items()
    }


def scored(of: Tally | Figures) -> dict[str, Any]:
    """A number of questions and their accuracy, as JSON has them."""
    accuracy, bounds = in_percent(of.accuracy), interval(of.interval, in_percent)
    return {"total": of.total, "accuracy": accuracy, "interval": bounds}


def share(of: Mean) -> dict[str, Any]:
    """A mean, or a share of questions, as JSON has it."""
    return {"n": of.n, "value": in_percent(of.value), "interval": interval(of.interval, in_percent)}


def in_points(of: Difference) -> dict[str, Any]:
    """A paired difference and its interval in percentage points, as JSON has it."""
    return asdict(of) | {name: in_percent(getattr(of, name)) for name in ("value", "low", "high")}


def rest(run: Run, summary: Summary) -> dict[str, Any]:
    """The keys that all reports share, over all forms together."""
    keys = common_keys(run, summary, in_percent)
    keys["breakdowns"].pop(VARIANT, None)
    return {"all_variants": {"total": summary.overall.total, "accuracy": in_percent(summary.overall.accuracy)} | keys}


def write_blind(path: Path, run: Run, pairs: Pairs, *, comparable: bool) -> VariedSummary:
    """Write the report; `comparable`: equal answers are equal texts. Raises OutputError if it can't be written."""
    scores = BlindScores(comparable=comparable)
    for question, records in by_question(pairs):
        add_blind(scores, records, choices=len(question.choices))
    figures, summary = scores.figures(), summarised(pairs)
    write_json(path, head(run) | _blind_keys(figures) | {"by_form": by_variant(summary)} | rest(run, summary))
    return VariedSummary(**asdict(summary), figures=figures)


def add_blind(scores: BlindScores, records: Iterable[Record], *, choices: int = 0) -> None:
    """Count one question by its records, with images and without."""
    forms = {record.variant: record for record in records}
    if not {SEEN, BLIND} <= forms.keys():
        scores.unfinished += 1
        return
    seen, blind = forms[SEEN], forms[BLIND]
    scores.add(
        (seen.score, blind.score),
        (seen.answer, blind.answer),
        cluster=seen.cluster,
        groups=seen.groups,
        choices=choices,
        is_known=bool(seen.references),
    )


def _blind_keys(figures: BlindFigures) -> dict[str, Any]:
    return {
        "images_matter": _pairing(figures.overall),
        "right_without_images_of_those_right_with": share(figures.kept),
        "same_answer": share(figures.same) if figures.same else None,
        "chance": in_percent(figures.chance),
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


AT_ZERO = "the temperature was 0: what differs comes from the server itself"


def write_repeats(path: Path, run: Run, pairs: Pairs, *, repeats: int, comparable: bool) -> VariedSummary:
    """Write the report; `comparable`: equal answers are equal texts. Raises OutputError if it can't be written."""
    scores = repeat_scores((records for _, records in by_question(pairs)), repeats, comparable=comparable)
    figures, summary = scores.figures(), summarised(pairs)
    content = head(run) | _repeat_keys(figures) | {"by_repeat": by_variant(summary)} | rest(run, summary)
    write_json_list(path, content, QUESTIONS, _repeated_questions(pairs, scores, comparable=comparable))
    notes = (AT_ZERO,) if run.model_settings.get("temperature") == 0 else ()
    return VariedSummary(**asdict(summary), figures=figures, notes=notes)


def repeat_scores(questions: Iterable[Sequence[Record]], repeats: int, *, comparable: bool) -> RepeatScores:
    """Count every question by the records of its repeats."""
    scores = RepeatScores(repeats, comparable=comparable)
    for records in questions:
        first, answers = records[0], [record.answer for record in records]
        scores.add([record.score for record in records], answers, first.cluster, is_known=bool(first.references))
    return scores


def _repeat_keys(figures: RepeatFigures) -> dict[str, Any]:
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


def write_page_forms(path: Path, run: Run, pairs: Pairs) -> VariedSummary:
    """Write the accuracy of each form, and its paired difference from the form before, named "all - evidence"."""
    scores = scores_by_form(records for _, records in by_question(pairs))
    between = {f"{after} - {before}": difference(both) for before, after, both in neighbours(scores)}
    figures, summary = {name: of for name, of in between.items() if of}, summarised(pairs)
    differences = {name: in_points(of) for name, of in figures.items()}
    write_json(path, head(run) | {"by_pages": by_variant(summary), "differences": differences} | rest(run, summary))
    return VariedSummary(**asdict(summary), figures=figures)


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
    write_json_list(path, content, QUESTIONS, _rotated_questions(pairs))
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


def _rotated_questions(pairs: Pairs) -> Iterator[dict[str, Any]]:
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

"""Tables of reports on questions in several forms and on corrupted images, and of a pool of models by VRE."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vqa_client.cli.score_tables import averages
from vqa_client.reports.names import count, first_and_more, interval_text, percent
from vqa_client.reports.report import Report
from vqa_client.reports.robustness.report import RobustnessSummary
from vqa_client.reports.sections import Section, bounds, difference_text, p_text, points
from vqa_client.reports.varied import VariedSummary, tallies
from vqa_client.scoring.choices.circular import CircularFigures, PositionBias
from vqa_client.scoring.corrupted_scores import Curves, Evaluation, Figures
from vqa_client.scoring.repeats import BlindFigures, Pairing, RepeatFigures
from vqa_client.scoring.robustness import class_of

DIFFERS = "*"
SHORT = {
    "first_drop": "first drop",
    "range_of_error": "range",
    "error_rate": "slope",
    "average_error": "mean error",
    "average_difference": "difference",
}
"""The columns of the five metrics."""
EXAMPLES = 3


def of_robustness(report: Report, summary: RobustnessSummary) -> Iterator[Section]:
    """A run's accuracies by corruption and level."""
    curves, clean = summary.curves, summary.curves.clean
    asked = sorted({level for levels in curves.levels.values() for level in levels})
    if clean:
        of_clean = f"{percent(clean.accuracy)} ({interval_text(clean.interval)}) of {count(clean.total)}"
    else:
        with_clean = f"--levels {','.join(map(str, (0, *asked)))}"
        of_clean = f"not run, so no drop can be measured; the same command with {with_clean} asks the clean images too"
    what = "accuracy in % by corruption and level; questions without a reply count as wrong"
    yield Section(notes=[what, f"clean: {of_clean}"])
    rows = [
        [name, *(_marked_accuracy(levels.get(level)) for level in asked), *_worst_level(levels)]
        for name, levels in curves.levels.items()
    ]
    legend = f"{DIFFERS} differs from clean: the 95 % interval of the paired difference leaves out 0"
    columns = ["corruption", *map(str, asked), "worst drop", "at", "95 % interval"]
    yield Section(columns=columns, rows=rows, notes=[*([legend] if clean else []), *summary.notes])


def of_pool(evaluation: Evaluation, notes: Sequence[str], paths: Sequence[Path]) -> Iterator[Section]:
    """The evaluation of a pool of models."""
    title = f"robustness · {count(len(evaluation.models), 'model')} · {len(evaluation.corruptions)} corruptions"
    shares = ", ".join(f"{SHORT[metric]} {weight:g}" for metric, weight in evaluation.vre.weights.items())
    header = [f"VRE: 0 is the pool's best, 1 its worst; weights: {shares}"]
    header += ["levels are sorted by error, as in the published figures"] if evaluation.sort_levels else []
    yield Section(title=title, notes=header)
    columns = ["model", "questions", "clean", "95 % interval", "relative drop %", "VRE"]
    yield Section(
        columns=columns, rows=[_model(evaluation, model, curves) for model, curves in evaluation.models.items()]
    )
    columns = ["corruption", "class", "relative drop %", "VRE", "VRE of its class"]
    yield Section(columns=columns, rows=[_corruption(evaluation, name) for name in evaluation.corruptions])
    for model, curves in evaluation.models.items():
        yield Section(notes=[f"{model}: the five metrics of its error rates"])
        yield Section(columns=["corruption", *SHORT.values(), "relative drop %"], rows=_metrics(evaluation, model))
        if curves.clean:
            yield Section(notes=["points of accuracy less clean, 95 % intervals of the paired difference"])
            levels = range(1, evaluation.n_levels)
            rows = [[name, *(_bounds(of.get(level)) for level in levels)] for name, of in curves.levels.items()]
            yield Section(columns=["corruption", *(f"level {level}" for level in levels)], rows=rows)
    yield Section(notes=[*_reasons(evaluation), *notes, *map(str, paths)])


def _marked_accuracy(figures: Figures | None) -> str:
    """An accuracy, with a mark if it differs from the clean one."""
    if figures is None:
        return "- "
    less = figures.difference
    return percent(figures.accuracy) + (DIFFERS if less and not less.low <= 0 <= less.high else " ")


def _worst_level(levels: Mapping[int, Figures]) -> tuple[str, str, str]:
    drops = [(less.value, level, less) for level, figures in levels.items() if (less := figures.difference)]
    if not drops:
        return "-", "-", "-"
    value, level, less = min(drops, key=lambda drop: drop[:2])
    return points(value), str(level), bounds(less)


def _model(evaluation: Evaluation, model: str, curves: Curves) -> list[str]:
    clean = curves.clean
    return [
        model,
        f"{clean.total:,}" if clean else "-",
        percent(clean.accuracy if clean else None),
        interval_text(clean.interval if clean else None),
        percent(evaluation.drop_of_model(model)),
        _number(evaluation.vre.per_model[model]),
    ]


def _corruption(evaluation: Evaluation, name: str) -> list[str]:
    class_ = class_of(name)
    drop, vre = percent(evaluation.drop_of_corruption(name)), _number(evaluation.vre.per_corruption[name])
    return [name, class_, drop, vre, _number(evaluation.vre.per_class[class_])]


def _metrics(evaluation: Evaluation, model: str) -> list[list[str]]:
    curves, of_model = evaluation.models[model], evaluation.vre.metrics[model]
    drops = {name: percent(curves.relative_drop(name)) for name in curves.levels}
    rows = [[name, *(_number(of_model[name][metric]) for metric in SHORT), drop] for name, drop in drops.items()]
    classes = evaluation.by_class[model].items()
    return rows + [[f"class {name}", *(_number(of[metric]) for metric in SHORT), ""] for name, of in classes]


def _bounds(figures: Figures | None) -> str:
    return bounds(figures.difference) if figures and figures.difference else "-"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _reasons(evaluation: Evaluation) -> Iterator[str]:
    """Why figures are missing, each reason once, and which VREs were computed without a metric."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in evaluation.vre.reasons.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        yield f"no value, {reason}: {first_and_more(names, EXAMPLES)}"
    if used := evaluation.vre.used_weights:
        yield f"weights made 1 in all without the missing metrics: {first_and_more(used, EXAMPLES)}"


def of_repeats(report: Report, summary: VariedSummary) -> Iterator[Section]:
    """The figures of all repeats together, then of each."""
    figures: RepeatFigures = summary.figures
    asked = f"{count(figures.questions, 'question')} asked {figures.repeats} times each; in %"
    yield Section(notes=[f"{asked}; a question is right at a full score, and wrong without a reply"])
    yield averages("together", figures.named)
    yield _by_form("repeat", report)
    yield Section(notes=[*summary.notes, *_left_out(figures.unfinished, "without all repeats yet, left out above")])


def of_blind(report: Report, summary: VariedSummary) -> Iterator[Section]:
    """The accuracies with images and without, and their difference, over all questions and by group."""
    figures: BlindFigures = summary.figures
    asked = f"{count(figures.overall.questions, 'question')} with their images and without; in %"
    yield Section(notes=[f"{asked}, questions without a reply count as wrong; the difference is paired, in points"])
    rows = [["all", *_pairing(figures.overall)]]
    for breakdown in report.description.breakdowns:
        values = figures.groups.get(breakdown.field, {})
        name = breakdown.field.replace("_", " ")
        rows += [[f"{name} {value}", *_pairing(of)] for value, of in values.items() if len(values) > 1]
    notes = [
        f"of the questions right with images, also right without: {percent(figures.kept.value)} % of {figures.kept.n:,}"
    ]
    if figures.same:
        notes.append(f"same answer with and without images: {percent(figures.same.value)} % of {figures.same.n:,}")
    if figures.chance is not None:
        notes.append(f"guessing would be right in {percent(figures.chance)} %")
    notes += _left_out(figures.unfinished, "only asked one way so far, not shown above")
    columns = ["questions", "n", "with images", "without", "difference", "95 % interval"]
    yield Section(columns=columns, rows=rows, notes=notes)


def _pairing(of: Pairing) -> list[str]:
    gain = [points(of.gain.value), bounds(of.gain)] if of.gain else ["-", "-"]
    return [f"{of.questions:,}", percent(of.seen.value), percent(of.blind.value), *gain]


def of_circular(report: Report, summary: VariedSummary) -> Iterator[Section]:
    """The figures of all rotations together, of each, and of the places of choices."""
    figures: CircularFigures = summary.figures
    asked = f"{count(figures.questions, 'question')} in {figures.rotations} rotations of their choices"
    yield Section(notes=[f"{asked}; in %; questions without a reply count as wrong"])
    yield averages("together", figures.named)
    yield _by_form("rotation", report)
    yield from _positions(figures.bias)
    yield Section(notes=_left_out(figures.unfinished, "without all rotations yet, left out of the first table"))


def of_shuffled(report: Report, summary: VariedSummary) -> Iterator[Section]:
    """The accuracy, and the figures of the places of choices."""
    overall = summary.overall
    shuffled = f"with shuffled choices: accuracy {percent(overall.accuracy)} % ({interval_text(overall.interval)})"
    yield Section(notes=[f"{shuffled} of {count(overall.total, 'question')}; questions without a reply count as wrong"])
    yield from _positions(summary.figures)


def of_pages(report: Report, summary: VariedSummary) -> Iterator[Section]:
    """The accuracy of each form of the pages, and the differences of neighbouring forms."""
    yield _by_form("pages", report)
    notes = [f"{name}: {difference_text(of)} points, {p_text(of.p)}" for name, of in summary.figures.items()]
    yield Section(notes=notes)


def _positions(bias: PositionBias) -> Iterator[Section]:
    yield Section(
        notes=["position bias: how often the right answer is found in each place, and how often the place is chosen"]
    )
    rows = [
        [
            label,
            f"{of.right:,}",
            percent(of.recall.value),
            interval_text(of.recall.interval),
            percent(of.right_share),
            percent(of.chosen_share),
        ]
        for label, of in bias.positions.items()
    ]
    spread = f"standard deviation of what is found: {percent(bias.deviation)} points (0: no place is preferred)"
    columns = ["place", "right here", "found", "95 % interval", "of all right", "of all chosen"]
    yield Section(columns=columns, rows=rows, notes=[spread] if bias.deviation is not None else [])


def _left_out(unfinished: int, how: str) -> list[str]:
    return [f"{count(unfinished, 'question')} {how}"] if unfinished else []


def _by_form(title: str, report: Report) -> Section:
    """A row for each form of the questions: its accuracy and how many were answered."""
    rows = [
        [form, f"{of.total:,}", percent(of.accuracy), interval_text(of.interval), f"{of.answered:,}"]
        for form, of in tallies(report.summary).items()
    ]
    return Section(columns=[title, "questions", "accuracy", "95 % interval", "answered"], rows=rows)


BODIES: dict[type, Callable[[Report, Any], Iterator[Section]]] = {
    BlindFigures: of_blind,
    CircularFigures: of_circular,
    dict: of_pages,
    RepeatFigures: of_repeats,
    PositionBias: of_shuffled,
    RobustnessSummary: of_robustness,
}
"""The function that shows a report, by the type of its figures, or by its summary's type for corrupted images."""

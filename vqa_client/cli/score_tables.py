"""Scores of answers and explanations, as tables for a terminal."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from vqa_client.reports.names import count, interval_text, percent
from vqa_client.reports.sections import Section
from vqa_client.scoring.statistics import Mean
from vqa_client.scoring.vqa_accuracy import Gap

if TYPE_CHECKING:
    from vqa_client.answers.annotated import ScoreReport
    from vqa_client.answers.explained import ExplanationReport
    from vqa_client.reports.report import Report
    from vqa_client.scoring.explanation_metrics.coco import ExplanationMetric
    from vqa_client.scoring.explanation_metrics.evil import Scope, ScoredExplanations

METRICS_ACROSS = 3
"""Metrics in one table: more don't fit beside a long question type."""
MOST_TYPES = 12
"""How many question types are shown, those with most questions; the JSON has all."""


def of_score(report: "ScoreReport") -> Iterator[Section]:
    """The accuracies in per cent with their intervals, overall and by type, and every note."""
    from vqa_client.answers.columns import DECIMALS

    counts, summary = report.counts, report.summary
    scored = f"{count(counts['n_scored'], 'question')} scored of {counts['n_predictions']:,} predicted"
    yield Section(
        title=f"score · {report.predictions}",
        notes=[f"{scored} and {counts['n_annotations']:,} annotated in {report.annotations}"],
    )
    if counts["n_scored"]:
        if_missing = summary.if_missing_were_wrong if counts["n_without_prediction"] else {}
        yield averages("metric", summary.overall, if_missing, DECIMALS)
        by_type = {"by answer type": summary.per_answer_type, "by question type": summary.per_question_type}
        for title, types in by_type.items():
            for at in range(0, len(report.metrics) if types else 0, METRICS_ACROSS):
                yield _by_type(title, types, report.metrics[at : at + METRICS_ACROSS], DECIMALS)
    yield Section(notes=list(_remarks(report)))


def averages(
    of: str, means: Mapping[str, Mean], if_missing: Mapping[str, float | None] = {}, decimals: int = 1
) -> Section:
    """A row for each mean; `if_missing` has the means if questions without a prediction count as wrong."""
    rows = [[name, percent(mean.value, decimals), interval_text(mean.interval)] for name, mean in means.items()]
    columns = [of, "%", "95 % interval"]
    if if_missing:
        rows = [[*row, percent(if_missing[row[0]], decimals)] for row in rows]
        columns.append("% if missing were wrong")
    return Section(columns=columns, rows=rows)


def _by_type(title: str, types: dict[str, dict[str, Mean]], metrics: tuple[str, ...], decimals: int) -> Section:
    rows = []
    for name, means in list(types.items())[:MOST_TYPES]:
        first = means[metrics[0]]
        shares = [percent(means[metric].value, decimals) for metric in metrics]
        rows.append([name, f"{first.n:,}", *shares, interval_text(first.interval)])
    return Section(columns=[title, "questions", *metrics, f"{metrics[0]}: 95 %"], rows=rows)


def _remarks(report: "ScoreReport") -> Iterator[str]:
    hidden = len(report.summary.per_question_type) - MOST_TYPES
    if hidden > 0:
        yield f"and {count(hidden, 'more question type')}: --json has all"
    if not report.counts["n_scored"]:
        yield "no accuracy: the questions have no answers to compare with"
    if report.summary.gap:
        yield gap_text(report.summary.gap)
    yield from report.notes
    yield from report.files


def gap_text(gap: Gap) -> str:
    """How the official evaluator differs: a gap between the scores is not the model's fault."""
    return (
        f"normalised - official = {100 * gap.value:+.2f} points, {100 * gap.by_unanimous:+.2f} of them from the "
        f"{count(gap.unanimous, 'question')} ({100 * gap.unanimous_share:.1f} %) whose annotators all agree: there the "
        f"official evaluator compares without normalising, and {gap.differing:,} score differently"
    )


PER_CENT = frozenset({"Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4", "ROUGE_L", "METEOR", "SPICE", "BERTScore"})


def explanations(report: "Report", judged: "ScoredExplanations") -> Iterator[Section]:
    """The scores of a report's explanations, and their files."""
    from vqa_client.tasks.explain.accuracy_grid import GRID

    yield from of_judged(judged)
    files = {"explanations": report.path.with_suffix(".explanations.json"), "grid": report.path.parents[1] / GRID}
    yield Section(notes=[f"{what}: {path}" for what, path in files.items()])


def of_judged(judged: "ScoredExplanations") -> Iterator[Section]:
    """The scores in every scope, those of e-ViL, and why some are missing."""
    scores = judged.scores
    by_title = {"all": scores.unfiltered, "answered right": scores.filtered, "half right too": scores.half_right}
    scopes = {title: scope for title, scope in by_title.items() if scope is not None}
    names = [name for name, metric in scores.unfiltered.metrics.items() if metric.value is not None]
    rows = [
        [title, f"{scope.n:,}", f"{scope.n_empty:,}", *(_cell(name, scope.metrics[name]) for name in names)]
        for title, scope in scopes.items()
    ]
    evil = judged.evil
    line = f"e-ViL: S_T {percent(evil.s_t.value)}  S_E {percent(evil.s_e.value)}  S_O {percent(evil.s_o.value)}"
    yield Section(
        title="explanations against their references, CIDEr as it is, the others in %",
        columns=["scope", "explanations", "empty", *names],
        rows=rows,
        notes=[line, *dict.fromkeys(_reasons(scopes))],
    )


def _reasons(scopes: "dict[str, Scope]") -> Iterator[str]:
    """Why metrics are missing, and which values can't be interpreted."""
    for title, scope in scopes.items():
        for metric in scope.metrics.values():
            if metric.reason and metric.value is not None:
                yield f"{title}: {metric.reason}"
            elif metric.reason and title == "all":
                yield f"not scored: {metric.reason}"


def _cell(name: str, metric: "ExplanationMetric") -> str:
    return percent(metric.value) if name in PER_CENT or metric.value is None else f"{metric.value:.3f}"


def of_explanations(report: "ExplanationReport") -> Iterator[Section]:
    """The accuracies with their intervals, the scores of the explanations, and every note."""
    counts = report.counts
    scored = f"{count(counts['n_scored'])} scored of {counts['n_predictions']:,} predicted"
    yield Section(
        title=f"score-explanations · {report.predictions}",
        notes=[f"{scored} and {counts['n_references']:,} in {report.references}"],
    )
    if report.accuracies:
        if_missing = {name: accuracy.if_missing_were_wrong for name, accuracy in report.accuracies.items()}
        means = {name: accuracy.mean for name, accuracy in report.accuracies.items()}
        yield averages("answers", means, if_missing if counts["n_without_prediction"] else {})
    yield from of_judged(report.explanations)
    yield Section(notes=[*report.notes, *report.files])

"""The tables of explain: what explanations are worth in every scope."""

from collections.abc import Iterator

from vqa_client.reports.report import Report
from vqa_client.reports.sections import Section
from vqa_client.scoring.explanation_metrics.corpus import Metric, Scope
from vqa_client.scoring.explanation_metrics.evil import Judged, Value
from vqa_client.tasks.explain.accuracy_grid import GRID

PER_CENT = frozenset({"Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4", "ROUGE_L", "METEOR", "SPICE", "BERTScore"})


def explanations(report: Report, judged: Judged) -> Iterator[Section]:
    """A report's explanations, and their files."""
    yield from of_judged(judged)
    files = {"explanations": report.path.with_suffix(".explanations.json"), "grid": report.path.parents[1] / GRID}
    yield Section(notes=[f"{what}: {path}" for what, path in files.items()])


def of_judged(judged: Judged) -> Iterator[Section]:
    """The scores in every scope, e-ViL's, and why some are not there."""
    scores = judged.scores
    titled = {"all": scores.unfiltered, "answered right": scores.filtered, "half right too": scores.half_right}
    scopes = {title: scope for title, scope in titled.items() if scope is not None}
    names = [name for name, metric in scores.unfiltered.metrics.items() if metric.value is not None]
    rows = [
        [title, f"{scope.n:,}", f"{scope.n_empty:,}", *(_cell(name, scope.metrics[name]) for name in names)]
        for title, scope in scopes.items()
    ]
    evil = judged.evil
    line = f"e-ViL: S_T {_value(evil.s_t)}  S_E {_value(evil.s_e)}  S_O {_value(evil.s_o)}"
    yield Section(
        title="explanations against their references, CIDEr as it is, the others in %",
        columns=["scope", "explanations", "empty", *names],
        rows=rows,
        notes=[line, *dict.fromkeys(_reasons(scopes))],
    )


def _reasons(scopes: dict[str, Scope]) -> Iterator[str]:
    """Why metrics are missing, and in which scope a value means nothing."""
    for title, scope in scopes.items():
        for metric in scope.metrics.values():
            if metric.reason and metric.value is not None:
                yield f"{title}: {metric.reason}"
            elif metric.reason and title == "all":
                yield f"not scored: {metric.reason}"


def _cell(name: str, metric: Metric) -> str:
    if metric.value is None:
        return "-"
    return f"{100 * metric.value:.1f}" if name in PER_CENT else f"{metric.value:.3f}"


def _value(value: Value) -> str:
    return "-" if value.value is None else f"{100 * value.value:.1f}"

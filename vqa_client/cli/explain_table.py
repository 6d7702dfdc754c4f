"""The tables of explain: the answers' accuracy, and what their explanations are worth in every scope."""

from collections.abc import Iterator, Sequence
from typing import Any

from vqa_client.cli.tables import as_tables, new_console, new_table, printed
from vqa_client.cli.text import safe
from vqa_client.reports.report import Report
from vqa_client.scoring.explanation_metrics.corpus import Metric, Scope
from vqa_client.scoring.explanation_metrics.evil import Value
from vqa_client.scoring.explanation_metrics.judged import Judged
from vqa_client.tasks.explain.accuracy_grid import GRID
from vqa_client.tasks.explain.explanations import ExplainSummary

PER_CENT = frozenset({"Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4", "ROUGE_L", "METEOR", "SPICE", "BERTScore"})


def as_explain_tables(reports: Sequence[Report]) -> str:
    """The text for a terminal of reports of explain."""
    return as_tables(reports) + "".join(_explanations(report) for report in reports)


def explanation_text(judged: Judged) -> str:
    """The scores in every scope, e-ViL's, and why some are not there."""
    console = new_console()
    console.print("explanations against their references, CIDEr as it is, the others in %")
    console.print(_scopes(judged))
    evil = judged.evil
    console.print(f"e-ViL: S_T {_value(evil.s_t)}  S_E {_value(evil.s_e)}  S_O {_value(evil.s_o)}")
    for line in dict.fromkeys(_reasons(judged)):
        console.print(line, soft_wrap=True)
    return printed(console).rstrip("\n") + "\n"


def _reasons(judged: Judged) -> Iterator[str]:
    """Why metrics are missing, and in which scope a value tells nothing."""
    for title, scope in _titled(judged).items():
        for metric in scope.metrics.values():
            if metric.reason and metric.value is not None:
                yield f"{title}: {metric.reason}"
            elif metric.reason and scope is judged.scores.unfiltered:
                yield f"not scored: {metric.reason}"


def _titled(judged: Judged) -> dict[str, Scope]:
    scores = judged.scores
    scopes = {"all": scores.unfiltered, "answered right": scores.filtered, "half right too": scores.half_right}
    return {title: scope for title, scope in scopes.items() if scope is not None}


def _explanations(report: Report) -> str:
    summary = report.summary
    judged = summary.explanations if isinstance(summary, ExplainSummary) else None
    if judged is None:
        return ""
    files = {"explanations": report.path.with_suffix(".explanations.json"), "grid": report.path.parents[1] / GRID}
    return explanation_text(judged) + "".join(f"{what}: {safe(str(path))}\n" for what, path in files.items()) + "\n"


def _scopes(judged: Judged) -> Any:
    names = [name for name, metric in judged.scores.unfiltered.metrics.items() if metric.value is not None]
    table = new_table("scope", "explanations", "empty", *names)
    for title, scope in _titled(judged).items():
        table.add_row(title, f"{scope.n:,}", f"{scope.n_empty:,}", *(_cell(scope, name) for name in names))
    return table


def _cell(scope: Scope, name: str) -> str:
    metric: Metric = scope.metrics[name]
    if metric.value is None:
        return "-"
    return f"{100 * metric.value:.1f}" if name in PER_CENT else f"{metric.value:.3f}"


def _value(value: Value) -> str:
    return "-" if value.value is None else f"{100 * value.value:.1f}"

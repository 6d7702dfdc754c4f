"""`vqa-client robustness evaluate`: finished runs of one or several models, judged together."""

from pathlib import Path

from vqa_client.cli.exits import EXIT_FAILED_QUESTIONS, EXIT_OK
from vqa_client.cli.robustness.tables import of_pool
from vqa_client.cli.streams import emit, emit_json
from vqa_client.cli.tables import as_text
from vqa_client.reports.robustness.evaluation import content, write_evaluation
from vqa_client.runs.robustness.found import notes_on, read_runs
from vqa_client.scoring.robustness_pool import evaluate as judge
from vqa_client.settings.robustness_reports import EvaluateSettings


def evaluate(settings: EvaluateSettings) -> int:
    """Judge, write and print; 1 where some questions have no reply, which count as wrong."""
    runs = read_runs(settings.runs)
    notes = notes_on(runs)
    models = {run.model: run.curves for run in runs}
    found = judge(models, weights=settings.shares, sort_levels=settings.sort_levels)
    paths: tuple[Path, ...] = ()
    if settings.output:
        paths = write_evaluation(settings.output, found, runs, notes, csv_safe=settings.csv_safe)
    if settings.json:
        emit_json(content(found, runs, notes))
    else:
        emit(as_text(of_pool(found, notes, paths)))
    return EXIT_FAILED_QUESTIONS if any(curves.n_failed for curves in models.values()) else EXIT_OK

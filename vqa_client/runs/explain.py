"""The run of a benchmark with explanations: its table, its explanations' scores and its cell of the grid."""

from pathlib import Path

from msgspec.structs import asdict

from vqa_client.model_config import ModelSettings
from vqa_client.reports.run import Pairs, Run, Write
from vqa_client.reports.summary import Summary
from vqa_client.runs.plan import Note, Plan
from vqa_client.runs.resume import RunPaths
from vqa_client.settings.explain import ExplainSettings
from vqa_client.tasks import explain
from vqa_client.tasks.explain import accuracy_grid, explain_csv
from vqa_client.tasks.explain.explanations import ExplainSummary, export_captions, judge_explanations, write_scores


def explain_plans(settings: ExplainSettings, config: str | None, model: ModelSettings | None, note: Note) -> list[Plan]:
    """One plan; raises DataError or UsageError."""
    if model is not None and model.prompt_template:
        note("explain asks with its own prompts, not the config's template")
    accuracy_grid.read_tables(settings.results_dir)  # a file that is no grid is told before anything is asked
    if instead := explain.said_of_split(settings.task, settings.split):
        note(instead)
    loaded = explain.load(
        settings.task,
        settings.split,
        settings.data_root,
        n_samples=None if settings.sample else _fewest(settings.n_samples, settings.limit),
        require_images=settings.require_images,
        vcr_mode=settings.vcr_mode,
    )
    paths = explain_csv.csv_path(
        settings.results_dir,
        model=settings.model_label,
        task=settings.task,
        split=settings.split,
        conditions=settings.conditions,
    )
    prompt_mode = explain.prompt_mode_of(settings.task, settings.prompt_mode)
    return [
        Plan(
            task=explain.task(
                settings.task, parsing=settings.parsing, prompt_mode=prompt_mode, vcr_mode=settings.vcr_mode
            ),
            loaded=loaded,
            variant=settings.split,
            paths=RunPaths.beside(paths),
            data_path=explain.find_file(settings.task, settings.split, settings.data_root, vcr_mode=settings.vcr_mode),
            images_dir=settings.data_root / "images",
            write=_writer(settings),
            config=config,
            limit=settings.limit,
            identity={"prompt_mode": prompt_mode, "vcr_mode": settings.vcr_mode},
        )
    ]


def _fewest(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _writer(settings: ExplainSettings) -> Write:
    def write(path: Path, run: Run, pairs: Pairs) -> ExplainSummary:
        summary = explain_csv.write(path, settings.task, pairs, csv_safe=settings.csv_safe)
        complete = summary.overall.total >= run.expected
        judged = judge_explanations(pairs()) if complete else None
        if judged:
            write_scores(path.with_suffix(".explanations.json"), run, judged)
            if settings.coco_captions:
                export_captions(path.with_suffix(""), pairs())
            _into_grid(settings, run, summary)
        return ExplainSummary(**asdict(summary), explanations=judged)

    return write


def _into_grid(settings: ExplainSettings, run: Run, summary: Summary) -> None:
    entry = accuracy_grid.entry_of(
        run,
        summary,
        title=explain.EXPLAIN_TASKS[settings.task].title,
        model=settings.model_label,
        split=settings.split,
        conditions=settings.conditions,
        images=settings.recoding,
    )
    if entry:
        accuracy_grid.update(settings.results_dir, entry)

"""`vqa-client robustness plot`: the figures of finished robustness runs."""

from collections.abc import Sequence
from pathlib import Path

from vqa_client.cli.exits import EXIT_OK
from vqa_client.cli.streams import emit, say
from vqa_client.errors import OutputError, UsageError
from vqa_client.images.corruptions import PROFILES
from vqa_client.plots import CONTACT_SHEET, contact_sheet, draw, needs_extra
from vqa_client.reports.robustness.results import FoundRun
from vqa_client.runs.robustness.found import notes_on, read_runs
from vqa_client.runs.robustness.image import first_image
from vqa_client.scoring.robustness_pool import evaluate
from vqa_client.settings.robustness_reports import PlotSettings


def plot(settings: PlotSettings) -> int:
    """Draw, and name every file and every figure that there can't be."""
    needs_extra()
    runs = read_runs(settings.runs)
    paths, missing = draw(evaluate({run.model: run.curves for run in runs}), settings.output)
    sheet, without = _sheet(settings, runs)
    for note in [*notes_on(runs), *missing, *without]:
        say(note)
    emit("".join(f"{path}\n" for path in [*paths, *sheet]))
    return EXIT_OK


def _sheet(settings: PlotSettings, runs: Sequence[FoundRun]) -> tuple[list[Path], list[str]]:
    """The contact sheet's files, or why there are none; an image that was asked for has to be drawn."""
    image = settings.image or next(filter(None, map(first_image, runs)), None)
    if image is None:
        return [], [f"no {CONTACT_SHEET}: the runs' first image was not found; --image names one"]
    facts = runs[0].facts
    profile = next((name for name in PROFILES if name == facts.get("profile")), PROFILES[0])
    try:
        return contact_sheet(image, settings.output, profile=profile, seed=facts.get("corruption_seed") or 0), []
    except (UsageError, OutputError) as error:
        if settings.image:
            raise
        return [], [f"no {CONTACT_SHEET}: {error}; {error.hint}"]

"""`vqa-client demo`: local servers answer the sample questions, and are stopped at the end."""

import asyncio
from functools import partial
from typing import Any

from vqa_client.cli.evaluate import exit_code, show
from vqa_client.cli.pages_beside import write_pages
from vqa_client.cli.progress import display
from vqa_client.cli.signals import until_signalled
from vqa_client.cli.streams import Stopped, say
from vqa_client.evaluation import arun_several
from vqa_client.progress import Progress
from vqa_client.reports.report import Report
from vqa_client.servers import local, reader
from vqa_client.settings.own_commands import ExplainSettings, McSettings, NiahSettings, Vqa2Settings
from vqa_client.settings.run import RunSettings
from vqa_client.settings.serve import DemoSettings
from vqa_client.shipped import install, shipped

WITHOUT_SHAPES = f"skipping the shapes demo, which needs a real model: {install('local')} (1.1 GB) adds it"
SHAPES_WORKERS = 16
"""mlx-vlm on two cores answers some ten questions per second, and waiting there counts against a question's time."""


def demo(settings: DemoSettings) -> int:
    """Ask the page reader about the sample pages and, where mlx-vlm is installed, the tiny VLM about shapes."""
    shipped("data")  # fails before a server is started
    progress, reports = display(), list[Report]()
    try:
        for part in (_ask_pages,) if local.missing() else (_ask_pages, _ask_shapes):
            part_reports = until_signalled(partial(part, settings, progress), progress)
            show(part_reports)
            write_pages(part_reports)
            reports += part_reports
    except Stopped as stopped:
        show(stopped.reports)
        raise
    if local.missing():
        say(WITHOUT_SHAPES)
    return exit_code(reports)


async def _ask_pages(settings: DemoSettings, progress: Progress, stop: asyncio.Event) -> list[Report]:
    progress.note("starting the page reader, a local server that reads pages by OCR (no vision-language model)")
    async with reader.start() as server:
        return await arun_several(_page_runs(settings, server.base_url), progress=progress, stop=stop)


async def _ask_shapes(settings: DemoSettings, progress: Progress, stop: asyncio.Event) -> list[Report]:
    progress.note("starting the tiny VLM on mlx-vlm's server: a real but tiny model that only knows coloured shapes")
    async with local.start(progress.note) as server:
        return await arun_several(_shape_runs(settings, server.base_url), progress=progress, stop=stop)


def _page_runs(settings: DemoSettings, base_url: str) -> list[RunSettings]:
    data, common = shipped("data"), _common_settings(settings, base_url, settings.max_workers)
    return [
        NiahSettings(input=data / "niah", output=settings.output / "niah", **common),
        McSettings(
            data=data / "longbench" / "data.json", images=data / "longbench", output=settings.output / "mc", **common
        ),
    ]


def _shape_runs(settings: DemoSettings, base_url: str) -> list[RunSettings]:
    data, output = shipped("data") / "shapes", settings.output / "shapes"
    common = _common_settings(settings, base_url, SHAPES_WORKERS)
    return [
        Vqa2Settings(
            data_dir=data / "vqa2", results_dir=output / "vqa2", model=("tiny-vlm",), num_questions=0, **common
        ),
        McSettings(
            data=data / "mc" / "data.json", images=data / "mc", output=output / "mc", config="tiny-vlm", **common
        ),
        ExplainSettings(
            task="vqax",
            data_root=data / "explain",
            results_dir=output / "vqax",
            model="tiny-vlm",
            n_samples=None,
            **common,
        ),
    ]


def _common_settings(settings: DemoSettings, base_url: str, workers: int) -> dict[str, Any]:
    return {"base_url": base_url, "api_key": None, "fresh": settings.fresh, "max_workers": workers}

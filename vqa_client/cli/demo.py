"""The first five minutes: a local server, the sample pages, both commands, and nothing left running."""

import asyncio
import sys
from collections.abc import Sequence

from vqa_client.cli.attended import Stopped, attended
from vqa_client.cli.evaluate import exit_code, show
from vqa_client.cli.pages_beside import write_pages
from vqa_client.cli.progress import display
from vqa_client.cli.resume_command import resume_command
from vqa_client.cli.streams import say
from vqa_client.evaluation import Interrupted, arun
from vqa_client.progress import Progress
from vqa_client.reports.report import Report
from vqa_client.servers import reader
from vqa_client.settings.demo import DemoSettings
from vqa_client.settings.longbench import McSettings, NiahSettings
from vqa_client.settings.run import RunSettings
from vqa_client.shipped import shipped


def demo(settings: DemoSettings) -> int:
    """Run niah and mc on the sample pages against the page reader and print both reports."""
    progress = display()
    try:
        reports = attended(lambda stop: _both(settings, progress, stop), progress)
    except Stopped as stopped:
        _show(stopped.interrupted.reports)
        say(f"stopped; to go on: {resume_command(sys.argv)}")
        return stopped.code
    _show(reports)
    write_pages(reports)
    return exit_code(reports)


def _show(reports: Sequence[Report]) -> None:
    for task in ("niah", "mc"):
        show([report for report in reports if report.task == task])


async def _both(settings: DemoSettings, progress: Progress, stop: asyncio.Event) -> list[Report]:
    progress.note("starting the page reader, a local server that reads pages by OCR (no vision-language model)")
    async with reader.start() as server:
        if stop.is_set():
            raise Interrupted([])
        reports: list[Report] = []
        for task in _tasks(settings, server.base_url):
            try:
                reports += await arun(task, progress=progress, stop=stop)
            except Interrupted as interrupted:
                raise Interrupted([*reports, *interrupted.reports]) from None
    return reports


def _tasks(settings: DemoSettings, base_url: str) -> list[RunSettings]:
    data = shipped("data")
    return [
        NiahSettings(
            input=data / "niah",
            output=settings.output / "niah",
            base_url=base_url,
            api_key=None,
            max_workers=settings.max_workers,
            fresh=settings.fresh,
        ),
        McSettings(
            data_json=data / "longbench" / "data.json",
            images_dir=data / "longbench",
            output=settings.output / "mc",
            base_url=base_url,
            api_key=None,
            max_workers=settings.max_workers,
            fresh=settings.fresh,
        ),
    ]

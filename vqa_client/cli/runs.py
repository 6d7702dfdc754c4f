"""`vqa-client ctl` and `merge`: control a run in progress, and join the shards of a run."""

from vqa_client.cli.streams import emit_lines, say
from vqa_client.errors import UsageError
from vqa_client.reports.report import Report
from vqa_client.runs.control import Order, Standing, order_all
from vqa_client.settings.reports import CtlSettings, MergeSettings


def ctl(settings: CtlSettings) -> None:
    """Give the order to each run and print its progress."""
    paused = True if settings.pause else False if settings.resume else None
    order = Order(max_workers=settings.max_workers, paused=paused, stop=settings.stop)
    standings = order_all(settings.run, order)
    emit_lines(*map(_state_line, standings))
    for run in standings:
        if run.refused:
            raise UsageError(f"{run.title}: {run.refused}", hint="--stop ends the wait; the same command resumes it")


def _state_line(standing: Standing) -> str:
    state = "stopping" if standing.stopping else "paused" if standing.paused else "running"
    return (
        f"{standing.title}: {state} · {standing.done:,} of {standing.total:,} done · {standing.failed:,} failed · "
        f"{standing.in_flight:,} in flight, {standing.workers:,} at most · {standing.pace:.1f} q/s"
    )


def merge(settings: MergeSettings) -> int:
    """Merge, and print and exit as the undivided command would."""
    from vqa_client.cli.evaluate import exit_code, show  # takes longer than all that ctl does
    from vqa_client.cli.pages_beside import write_pages
    from vqa_client.runs.merge import merge_folder

    reports: list[Report] = []
    for merged in merge_folder(settings.folder, partial=settings.partial, tidy=settings.tidy, note=say):
        reports += merged.reports
        if not settings.json:
            show(merged.reports, merged.settings)
        if merged.settings.html:
            write_pages(merged.reports)
    if settings.json:
        show(reports, as_json=True)
    return exit_code(reports, partial=settings.partial)

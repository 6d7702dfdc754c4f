"""`vqa-client merge`: shards made into the runs that they are parts of."""

from vqa_client.cli.evaluate import exit_code, show
from vqa_client.cli.streams import say
from vqa_client.reports.report import Report
from vqa_client.runs.merge import merge_folder
from vqa_client.settings.reports import MergeSettings


def merge(settings: MergeSettings) -> int:
    """Merge and print as the undivided commands would; their exit code."""
    reports: list[Report] = []
    for each in merge_folder(settings.folder, partial=settings.partial, tidy=settings.tidy, note=say):
        reports += each.reports
        if not settings.json:
            show(each.reports, each.settings)
    if settings.json:
        show(reports, as_json=True)
    return exit_code(reports, partial=settings.partial)

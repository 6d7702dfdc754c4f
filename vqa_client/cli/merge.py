"""`vqa-client merge`: shards made into the runs that they are parts of."""

from functools import partial

from vqa_client.cli.evaluate import Tables, exit_code, show, tables_of
from vqa_client.cli.streams import say
from vqa_client.cli.tables import as_tables
from vqa_client.reports.report import Report
from vqa_client.runs.merge import Merged, merge_folder
from vqa_client.settings.explain import ExplainSettings
from vqa_client.settings.reports import MergeSettings
from vqa_client.settings.vqa2 import Vqa2Settings


def merge(settings: MergeSettings) -> int:
    """Merge and print as the undivided commands would; their exit code."""
    reports: list[Report] = []
    for each in merge_folder(settings.folder, partial=settings.partial, tidy=settings.tidy, note=say):
        reports += each.reports
        if not settings.json:
            show(each.reports, tables=_tables(each))
    if settings.json:
        show(reports, as_json=True)
    return exit_code(reports)


def _tables(merged: Merged) -> Tables:
    """What the benchmark's own command prints its reports with."""
    if merged.corrupted is not None:
        from vqa_client.cli.robustness.tables import as_robustness_tables

        return as_robustness_tables
    tables: Tables = as_tables
    if isinstance(merged.settings, Vqa2Settings):
        from vqa_client.cli.vqa2_table import as_vqa2_tables

        tables = partial(as_vqa2_tables, verbose=merged.settings.verbose)
    elif isinstance(merged.settings, ExplainSettings):
        from vqa_client.cli.explain_table import as_explain_tables

        tables = as_explain_tables
    return tables_of(merged.settings, tables)

"""The result of a finished or stopped run, for people and for code."""

import sys
from html import escape
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vqa_client.errors import UsageError
from vqa_client.reports.log_reader import LogReader
from vqa_client.reports.names import percent
from vqa_client.reports.run import Sample
from vqa_client.reports.summary import Summary
from vqa_client.task import Description
from vqa_client.types import Failure, Status


class Report(Struct, frozen=True, kw_only=True):
    """The numbers of one run, and the paths of its report and record log.

    `expected` counts the questions of the complete run. `folder` is the name of the page folder or of another part of
    the data, "text_only" or ""; `headline` names the metric of the accuracy; `failures` has one example of each
    status; `cut_documents` is the number of documents shown in part (--max_pages).
    """

    task: str
    folder: str
    model: str
    path: Path
    log: Path = Path()
    expected: int
    left_out: dict[str, tuple[str, ...]]
    summary: Summary
    limit: int | None = None
    sample: Sample | None = None
    headline: str = ""
    description: Description = Description(headline="")
    failures: dict[Status, Failure] = {}
    cut_documents: int = 0

    def to_pandas(self) -> Any:
        """The records as a DataFrame, one row per record; groups and scores are columns named groups.x and parts.x.

        Raises UsageError without pandas, DataError without a record log.
        """
        try:
            import pandas
        except ImportError:
            hint = f"{sys.executable} -m pip install pandas"
            raise UsageError("to_pandas needs pandas", hint=hint) from None
        return pandas.json_normalize([msgspec.to_builtins(record) for record in LogReader(self.log)])

    def _repr_html_(self) -> str:
        """A small table, for notebooks."""
        overall, statuses = self.summary.overall, self.summary.status_counts
        bounds = overall.interval
        rows = {
            "benchmark": " ".join(filter(None, (self.task, self.folder))),
            "model": self.model,
            self.description.measure: f"{percent(overall.accuracy)} %"
            + (f" (95 % interval {percent(bounds.low)}-{percent(bounds.high)})" if bounds else ""),
            "questions": f"{overall.total:,} of {self.expected:,}",
            "not simply right or wrong": ", ".join(f"{n:,} {s}" for s, n in statuses.items() if n and s != "ok"),
            "report": str(self.path),
        }
        cells = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows.items() if text
        )
        return f"<table>{cells}</table>"

    @property
    def incomplete(self) -> bool:
        """Whether some questions have no record yet."""
        return self.summary.overall.total < self.expected

    @property
    def failed(self) -> int:
        """The number of questions that have a record but no reply."""
        return self.summary.overall.failed

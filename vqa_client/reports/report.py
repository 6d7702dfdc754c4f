"""What a finished or stopped run comes to, for people and for code."""

from pathlib import Path

from msgspec import Struct

from vqa_client.reports.run import Sample
from vqa_client.reports.summary import Summary
from vqa_client.task import Description
from vqa_client.types import ANSWERED, Failure, Status


class Report(Struct, frozen=True, kw_only=True):
    """The numbers of one run, and where its file and its record log lie.

    `expected` counts the questions that the run has. `variant` is the image folder's name, or "text_only";
    `headline` names the metric that the accuracy is of; `failures` holds one example of each; `cut_documents` were
    shown in part, by --max_pages.
    """

    task: str
    variant: str
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

    @property
    def incomplete(self) -> bool:
        """Some questions have no record yet."""
        return self.summary.overall.total < self.expected

    @property
    def failed(self) -> int:
        """Questions that have a record and no reply."""
        return sum(n for status, n in self.summary.status_counts.items() if status not in ANSWERED)

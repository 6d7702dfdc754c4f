"""One robustness run as an evaluation sees it."""

from pathlib import Path
from typing import Any

from msgspec import Struct

from vqa_client.scoring.corrupted_scores import Curves


class FoundRun(Struct, frozen=True, kw_only=True):
    """A model's curves and where they come from: a record log, or a folder of result files.

    `facts` are what runs must have in common to be compared, as far as they are known; `report` is the run's own
    JSON, None for result files.
    """

    model: str
    path: Path
    report: Path | None
    facts: dict[str, Any]
    curves: Curves
    questions: frozenset[str]
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What tells it from another run of the same model."""
        return self.path.name.removesuffix(".records.jsonl")

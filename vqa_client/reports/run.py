"""What a report says of the run it is of."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from vqa_client.reports.summary import Summary
from vqa_client.types import Question, Record

Pairs = Callable[[], Iterable[tuple[Question, Record]]]
"""Walks over the questions that have a record, in the order of the data; a report may call it several times."""


class Sample(Struct, frozen=True, kw_only=True):
    """Which part of the questions is asked: `size` of `of`, drawn in proportion to the fields of `by`."""

    size: int
    of: int
    by: tuple[str, ...] = ()
    seed: int = 0


class Run(Struct, frozen=True, kw_only=True):
    """The facts of a run; `expected` is the number of questions that a complete one has.

    `variant` is the image folder's name, "text_only" or ""; `model_settings` are those of the config, as sent;
    `config` is its name or path as given; `server` is what the server said of itself; `started` is the first start
    (ISO 8601, UTC); `sessions` holds times, tokens and retries of each start.
    """

    variant: str
    model: str
    config: str | None
    data_path: str
    images_dir: str | None
    expected: int
    text_only: bool = False
    left_out: Mapping[str, Sequence[str]] = {}
    scoring: Mapping[str, str] = {}
    limit: int | None = None
    sample: Sample | None = None
    model_settings: Mapping[str, Any] = {}
    server: Mapping[str, Any] = {}
    started: str = ""
    sessions: Sequence[Mapping[str, Any]] = ()


Write = Callable[[Path, Run, Pairs], Summary]
"""Writes a report and gives what it sums up; raises OutputError where the path can't be written."""

"""The facts of a run that its report is made from, and the keys that all reports share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from vqa_client.reports.summary import Means, Summary, Tally
from vqa_client.scoring.statistics import Interval, Mean
from vqa_client.types import Question, Record

Pairs = Callable[[], Iterable[tuple[Question, Record]]]
"""Iterates over the questions that have a record, in the order of the data; a report may call it several times."""


class Sample(Struct, frozen=True, kw_only=True):
    """The part of the questions that is asked: `size` of `of`, drawn in proportion to the fields `by`."""

    size: int
    of: int
    by: tuple[str, ...] = ()
    seed: int = 0


class Run(Struct, frozen=True, kw_only=True):
    """The facts of a run; `expected` is the number of questions that a complete one has.

    `folder` is the name of the page folder or of another part of the data, "text_only" or ""; `model_settings` are
    those of the config, as sent; `config` is its name or path as given; `server` is what the server reports about
    itself; `started` is the first start (ISO 8601, UTC); `sessions` has the times, tokens and retries of each start.
    """

    folder: str
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
"""Writes a report and returns its summary; raises OutputError if the path can't be written."""


Unit = Callable[[float | None], float | None]
"""Converts a share in [0, 1] to the unit of the report's accuracies."""


def in_percent(share: float | None) -> float | None:
    """Scale a share in [0, 1] to per cent, unrounded."""
    return None if share is None else share * 100


def in_shares(share: float | None) -> float | None:
    """Leave a share in [0, 1] as it is."""
    return share


def common_keys(run: Run, summary: Summary, unit: Unit) -> dict[str, Any]:
    """The keys that all reports share, with accuracies and intervals in `unit`."""
    return {
        "incomplete": summary.overall.total < run.expected,
        "expected_questions": run.expected,
        "limit": run.limit,
        **({"sample": run.sample} if run.sample else {}),
        "scoring": dict(run.scoring),
        "status_counts": summary.status_counts,
        **tally(summary.overall, unit),
        "n_truncated": summary.n_truncated,
        "without_truncated": mean(summary.without_truncated, unit),
        "scores": {name: _part(name, part, unit) for name, part in summary.parts.items()},
        "breakdowns": {
            field: {
                value: {"total": of.total, "correct": of.correct, "accuracy": unit(of.accuracy)} | tally(of, unit)
                for value, of in tallies.items()
            }
            for field, tallies in summary.breakdowns.items()
        },
        "prompt_tokens": summary.prompt_tokens,
        "completion_tokens": summary.completion_tokens,
        "left_out": {reason: list(ids) for reason, ids in sorted(run.left_out.items())},
    }


def tally(of: Tally, unit: Unit) -> dict[str, Any]:
    """The interval of an accuracy over all questions, and the accuracy over the answered ones."""
    return {
        "interval": interval(of.interval, unit),
        "answered": of.answered,
        "accuracy_answered": unit(of.accuracy_answered),
        "interval_answered": interval(of.interval_answered, unit),
    }


def _part(name: str, part: Means, unit: Unit) -> dict[str, Any]:
    if name.startswith("n_"):
        return {"n": part.answered.n, "mean": part.answered.value}
    return {"overall": mean(part.overall, unit), "answered": mean(part.answered, unit)}


def mean(of: Mean, unit: Unit) -> dict[str, Any]:
    """A mean score with its denominator and interval."""
    return {"n": of.n, "accuracy": unit(of.value), "interval": interval(of.interval, unit)}


def interval(of: Interval | None, unit: Unit) -> dict[str, Any] | None:
    """An interval, its method and the number of clusters."""
    if of is None:
        return None
    return {"low": unit(of.low), "high": unit(of.high), "method": of.method, "clusters": of.clusters}

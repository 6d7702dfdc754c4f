"""What every report says besides its published keys: states, intervals, every score, every group, what was left out."""

from collections.abc import Callable
from typing import Any

from vqa_client.reports.run import Run
from vqa_client.reports.summary import Part, Summary, Tally
from vqa_client.scoring.statistics import Interval, Mean

Unit = Callable[[float | None], float | None]
"""Turns a share in [0, 1] into what the report's accuracies are in."""


def percent(share: float | None) -> float | None:
    """Scale a share in [0, 1] to per cent, unrounded."""
    return None if share is None else share * 100


def in_shares(share: float | None) -> float | None:
    """Leave a share in [0, 1] as it is."""
    return share


def common_keys(run: Run, summary: Summary, unit: Unit) -> dict[str, Any]:
    """Write the keys that all reports share, accuracies and intervals in `unit`."""
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
    """Write what goes with an accuracy over all questions."""
    return {
        "interval": interval(of.interval, unit),
        "answered": of.answered,
        "accuracy_answered": unit(of.accuracy_answered),
        "interval_answered": interval(of.interval_answered, unit),
    }


def _part(name: str, part: Part, unit: Unit) -> dict[str, Any]:
    if name.startswith("n_"):
        return {"n": part.answered.n, "mean": part.answered.value}
    return {"overall": mean(part.overall, unit), "answered": mean(part.answered, unit)}


def mean(of: Mean, unit: Unit) -> dict[str, Any]:
    """Write a mean score with its denominator and interval."""
    return {"n": of.n, "accuracy": unit(of.value), "interval": interval(of.interval, unit)}


def interval(of: Interval | None, unit: Unit) -> dict[str, Any] | None:
    """Write an interval, its method and the number of clusters."""
    if of is None:
        return None
    return {"low": unit(of.low), "high": unit(of.high), "method": of.method, "clusters": of.clusters}

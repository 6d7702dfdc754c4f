"""The JSON reports of mc and niah: the published form, key for key, and what this program adds to it.

Published keys keep their names, order and units, accuracies in per cent of all questions among them; every accuracy
and interval that is added is in per cent too. A group that has no questions is listed with a null accuracy, a value
that the published script doesn't know is listed after those it does, so that totals add up.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from vqa_client.files import write_json_list
from vqa_client.reports.longbench_groups import (
    CONTEXT_LENGTHS,
    DEPTHS,
    DIFFICULTIES,
    LENGTHS,
    crossed,
    grouped,
    percent,
    share,
)
from vqa_client.reports.longbench_results import mc_result, niah_result
from vqa_client.reports.run import Pairs, Run
from vqa_client.reports.summary import Mean, Part, Summary, Tally, summarise
from vqa_client.scoring.statistics import Interval
from vqa_client.types import Question, Record


def write_mc(path: Path, run: Run, pairs: Pairs) -> Summary:
    """Write the multiple-choice report and give what it sums up; raises UsageError where `path` can't be written."""
    summary = summarise((record for _, record in pairs()), crossings=[("difficulty", "length")])
    detailed = {
        "by_difficulty": grouped(summary, "difficulty", DIFFICULTIES),
        "by_length": grouped(summary, "length", LENGTHS),
        "by_difficulty_and_length": crossed(summary, "difficulty", DIFFICULTIES, "length", LENGTHS),
    }
    head = _published_head(run, summary) | _by_context_length(summary) | {"detailed_analysis": detailed}
    head |= _additions(run, summary)
    write_json_list(path, head, "results", (mc_result(*pair) for pair in pairs()))
    return summary


def write_niah(path: Path, run: Run, pairs: Pairs) -> Summary:
    """Write the needle report and give what it sums up; arguments and errors are those of `write_mc`."""
    documents: dict[str, list[int]] = {}
    summary = summarise(_counted_by_document(pairs(), documents), crossings=[("context_length", "needle_depth")])
    detailed = {
        "by_context_length": grouped(summary, "context_length", CONTEXT_LENGTHS),
        "by_needle_depth": grouped(summary, "needle_depth", DEPTHS),
        "by_length_and_depth": crossed(summary, "context_length", CONTEXT_LENGTHS, "needle_depth", DEPTHS),
    }
    head = _published_head(run, summary) | _by_context_length(summary)
    head |= {
        "case_sensitive": run.scoring.get("case_sensitive") == "true",
        "instance_accuracies": {name: share(total, correct) for name, (total, correct) in documents.items()},
        "detailed_analysis": detailed,
    }
    head |= _additions(run, summary)
    write_json_list(path, head, "results", (niah_result(*pair) for pair in pairs()))
    return summary


def _counted_by_document(pairs: Iterable[tuple[Question, Record]], documents: dict[str, list[int]]) -> Iterator[Record]:
    for _, record in pairs:
        counts = documents.setdefault(record.cluster, [0, 0])
        counts[0] += 1
        counts[1] += record.score >= 1.0
        yield record


def _published_head(run: Run, summary: Summary) -> dict[str, Any]:
    overall = summary.overall
    return {
        "subdirectory": run.variant,
        "model": run.model,
        "config": run.config,
        "text_only_mode": run.text_only,
        "data_path": run.data_path,
        "images_dir": run.images_dir,
        "total_questions": overall.total,
        "correct": overall.correct,
        "accuracy": percent(overall.accuracy),
        "errors": overall.total - overall.answered,
    }


def _by_context_length(summary: Summary) -> dict[str, Any]:
    by_length = grouped(summary, "context_length", CONTEXT_LENGTHS)
    return {"context_length_analysis": {"by_context_length": by_length}}


def _additions(run: Run, summary: Summary) -> dict[str, Any]:
    return {
        "incomplete": summary.overall.total < run.expected,
        "expected_questions": run.expected,
        "limit": run.limit,
        "scoring": dict(run.scoring),
        "status_counts": summary.status_counts,
        **_tally(summary.overall),
        "n_truncated": summary.n_truncated,
        "without_truncated": _mean(summary.without_truncated),
        "scores": {name: _part(name, part) for name, part in summary.parts.items()},
        "breakdowns": {
            field: {value: share(tally.total, tally.correct) | _tally(tally) for value, tally in tallies.items()}
            for field, tallies in summary.breakdowns.items()
        },
        "prompt_tokens": summary.prompt_tokens,
        "completion_tokens": summary.completion_tokens,
        "left_out": {reason: list(ids) for reason, ids in sorted(run.left_out.items())},
    }


def _tally(tally: Tally) -> dict[str, Any]:
    return {
        "interval": _interval(tally.interval),
        "answered": tally.answered,
        "accuracy_answered": percent(tally.accuracy_answered),
        "interval_answered": _interval(tally.interval_answered),
    }


def _part(name: str, part: Part) -> dict[str, Any]:
    if name.startswith("n_"):
        return {"n": part.answered.n, "mean": part.answered.value}
    return {"overall": _mean(part.overall), "answered": _mean(part.answered)}


def _mean(mean: Mean) -> dict[str, Any]:
    return {"n": mean.n, "accuracy": percent(mean.value), "interval": _interval(mean.interval)}


def _interval(interval: Interval | None) -> dict[str, Any] | None:
    if interval is None:
        return None
    bounds = {"low": percent(interval.low), "high": percent(interval.high)}
    return bounds | {"method": interval.method, "clusters": interval.clusters}

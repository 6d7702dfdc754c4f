"""The numbers of a run as JSON, shares in [0, 1]: for programs that read a result and not its questions."""

from pathlib import Path
from typing import Any

from msgspec import to_builtins

from vqa_client.files import write_json
from vqa_client.reports.logged_run import LoggedRun
from vqa_client.reports.overview import Overview, quantile
from vqa_client.reports.summary import Summary
from vqa_client.types import ANSWERED

OURS = rb'\{\n  "task": '
"""How the file begins, whatever its version."""
QUANTILES = {"median": 0.5, "p95": 0.95, "max": 1.0}


def write_summary(path: Path, run: LoggedRun, found: Overview) -> None:
    """Replace the file; an accuracy that nothing was measured for is null."""
    write_json(path, summary_content(run, found), OURS)


def summary_content(run: LoggedRun, found: Overview) -> dict[str, Any]:
    """Everything that the report says in numbers, and the run file's own words.

    Of several variants, accuracies, statuses and scores are those of `headline_variant`; what `all_variants` holds,
    times, tokens and attempts are of all records.
    """
    summary, total = found.summary, found.summary.overall.total
    return {
        "task": run.task,
        "measure": found.description.measure,
        "variant": run.variant,
        "headline_variant": found.headline,
        "model": run.facts.model,
        "records": run.log.name,
        "expected": run.facts.expected,
        "overall": to_builtins(summary.overall),
        "failed": _failed(summary),
        "status_counts": summary.status_counts,
        "status_shares": {status: n / total if total else None for status, n in summary.status_counts.items()},
        "n_truncated": summary.n_truncated,
        "without_truncated": to_builtins(summary.without_truncated),
        "scores": to_builtins(summary.parts),
        "breakdowns": to_builtins(summary.breakdowns),
        "crossings": [
            {"fields": list(pair), "values": to_builtins(values)} for pair, values in summary.crossings.items()
        ],
        "all_variants": _all_variants(found),
        "latency_s": {name: quantile(found.latencies_s, share) for name, share in QUANTILES.items()},
        "prompt_tokens": to_builtins(found.whole.prompt_tokens),
        "completion_tokens": to_builtins(found.whole.completion_tokens),
        "attempts": found.attempts,
        "run": to_builtins(run.facts),
    }


def _all_variants(found: Overview) -> dict[str, Any] | None:
    """What became of all records; None where there is one variant, of which all else is."""
    if found.headline is None:
        return None
    whole = found.whole
    return {"total": whole.overall.total, "failed": _failed(whole), "status_counts": whole.status_counts}


def _failed(summary: Summary) -> int:
    return sum(n for status, n in summary.status_counts.items() if status not in ANSWERED)

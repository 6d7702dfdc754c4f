"""The numbers of a run as JSON, shares in [0, 1]: for programs that read a result and not its questions."""

from pathlib import Path
from typing import Any

from msgspec import to_builtins

from vqa_client.files import write_json
from vqa_client.reports.logged_run import LoggedRun
from vqa_client.reports.overview import Overview, quantile
from vqa_client.types import ANSWERED

QUANTILES = {"median": 0.5, "p95": 0.95, "max": 1.0}


def write_summary(path: Path, run: LoggedRun, found: Overview) -> None:
    """Replace the file; an accuracy that nothing was measured for is null."""
    write_json(path, summary_content(run, found))


def summary_content(run: LoggedRun, found: Overview) -> dict[str, Any]:
    """Everything that the report says in numbers, and the run file's own words."""
    summary, total = found.summary, found.summary.overall.total
    failed = sum(n for status, n in summary.status_counts.items() if status not in ANSWERED)
    return {
        "task": run.task,
        "variant": run.variant,
        "headline_variant": found.headline,
        "model": run.facts.model,
        "records": run.log.name,
        "expected": run.facts.expected,
        "overall": to_builtins(summary.overall),
        "failed": failed,
        "status_counts": summary.status_counts,
        "status_shares": {status: n / total if total else None for status, n in summary.status_counts.items()},
        "n_truncated": summary.n_truncated,
        "without_truncated": to_builtins(summary.without_truncated),
        "scores": to_builtins(summary.parts),
        "breakdowns": to_builtins(summary.breakdowns),
        "crossings": [
            {"fields": list(pair), "values": to_builtins(values)} for pair, values in summary.crossings.items()
        ],
        "latency_s": {name: quantile(found.latencies_s, share) for name, share in QUANTILES.items()},
        "prompt_tokens": to_builtins(summary.prompt_tokens),
        "completion_tokens": to_builtins(summary.completion_tokens),
        "attempts": found.attempts,
        "run": to_builtins(run.facts),
    }

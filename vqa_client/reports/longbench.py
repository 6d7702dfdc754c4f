"""The JSON reports of mc and niah: the published form, key for key, and what this program adds to it.

Published keys keep their names, order and units, accuracies in per cent of all questions among them; every accuracy
and interval that is added is in per cent too. A group that has no questions is listed with a null accuracy, a value
that the published script doesn't know is listed after those it does, so that totals add up.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from vqa_client.files import write_json_list
from vqa_client.reports.additions import additions, percent
from vqa_client.reports.longbench_groups import (
    CONTEXT_LENGTHS,
    DEPTHS,
    DIFFICULTIES,
    LENGTHS,
    crossed,
    grouped,
    share,
)
from vqa_client.reports.longbench_results import mc_result, niah_result
from vqa_client.reports.run import Pairs, Run
from vqa_client.reports.summary import Summary, summarise
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
    head |= additions(run, summary, percent)
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
    head |= additions(run, summary, percent)
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

"""The table of a run with explanations: the published columns of its benchmark in their order, and ours after them.

A failed question has an empty `correct`, so that the column's mean is the accuracy over the answered ones.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

from vqa_client.files import encode
from vqa_client.reports.csv_rows import write_rows
from vqa_client.reports.names import safe_name
from vqa_client.reports.run import Pairs
from vqa_client.reports.summary import Summary, summarise
from vqa_client.tasks.explain.dataset import in_words
from vqa_client.types import ANSWERED, Question, Record

_EXPLAINED: Final = ("gt_explanation", "generated_explanation", "correct")
PUBLISHED: Final[Mapping[str, tuple[str, ...]]] = {
    "vqax": ("image_id", "question", "gt_answer", "generated_answer", *_EXPLAINED),
    "actx": ("image_id", "gt_label", "generated_label", *_EXPLAINED),
    "esnlive": ("image_name", "image_numeric_id", "hypothesis", "gt_label", "generated_label", *_EXPLAINED),
    "vcr": ("image_name", "question", "gt_answer", "generated_answer", *_EXPLAINED),
}
"""The columns of the published script, by benchmark."""
_ADDED: Final[Mapping[str, tuple[str, ...]]] = {"vcr": ("options",)}
_FILED_AS: Final = {"published": "seed", "published_latest": "seed_head"}
"""What the columns of scores are called."""
_OURS: Final = (
    *("sample_id", "status", "answer", "rule", "output", "references", "gt_explanations", "finish_reason"),
    *("prompt_tokens", "completion_tokens", "latency_s", "attempts", "image", "image_sha256", "error"),
)


def csv_path(results_dir: Path, *, model: str, task: str, split: str, conditions: Sequence[str] = ()) -> Path:
    """Give `{model}_results/{task}_{split}_eval.csv`, with a suffix for each condition that isn't the published one."""
    suffix = "".join(f"-{condition}" for condition in conditions)
    return results_dir / f"{safe_name(model)}_results" / f"{task}_{split}_eval{suffix}.csv"


def write(path: Path, benchmark: str, pairs: Pairs, *, csv_safe: bool = False) -> Summary:
    """Write the table and give what it sums up; raises OutputError where the path can't be written.

    With `csv_safe` a cell that a spreadsheet would take for a formula gets a "'" before it, and no longer reads back
    as it was.
    """
    summary = summarise(record for _, record in pairs())
    groups, metrics = tuple(summary.breakdowns), (_FILED_AS.get(name, name) for name in summary.parts)
    columns = (*PUBLISHED[benchmark], *_ADDED.get(benchmark, ()), *_OURS, *metrics, *groups)
    cells = (_cells(question, record) for question, record in pairs())
    rows = ([of.get(column, "") for column in columns] for of in cells)
    write_rows(path, chain([columns], rows), csv_safe=csv_safe)
    return summary


def _cells(question: Question, record: Record) -> dict[str, Any]:
    said = in_words(record.answer or "", question)
    return {
        **record.groups,
        **{_FILED_AS.get(name, name): score for name, score in record.parts.items()},
        **question.extra["columns"],
        "question": question.text,
        "generated_answer": said,
        "generated_label": said,
        "gt_explanation": next(iter(question.rationales), ""),
        "generated_explanation": record.rationale,
        "correct": int(record.score >= 1.0) if record.status in ANSWERED else None,
        **_ours(question, record),
    }


def _ours(question: Question, record: Record) -> dict[str, Any]:
    image = record.images[0] if record.images else None
    return {
        "sample_id": question.id,
        "status": record.status,
        "answer": record.answer,
        "rule": record.rule,
        "output": record.output,
        "references": encode(question.references).decode(),
        "gt_explanations": encode(question.rationales).decode(),
        "finish_reason": record.finish_reason,
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
        "latency_s": record.latency_s,
        "attempts": record.attempts,
        "image": next(iter(question.images), ""),
        "image_sha256": image.sha256 if image else "",
        "error": record.error.message if record.error else "",
    }

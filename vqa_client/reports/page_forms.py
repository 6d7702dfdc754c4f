"""The report of a run that asks every question with other pages of its document: evidence, all, or retrieved ones."""

from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from vqa_client.files import write_json
from vqa_client.reports.additions import percent
from vqa_client.reports.run import Pairs, Run
from vqa_client.reports.varied import VariedSummary, by_question, by_variant, head, rest, summarised
from vqa_client.scoring.paired import Difference, difference

Differences = dict[str, Difference]
"""The paired differences of neighbouring forms, as "all - evidence"."""


class PagesSummary(VariedSummary, frozen=True, kw_only=True):
    """What the forms say together."""

    figures: Differences


def write(path: Path, run: Run, pairs: Pairs) -> PagesSummary:
    """Write each form's accuracy, and the paired difference of each form and the one before it."""
    scores: dict[str, dict[str, tuple[float, str]]] = {}
    for question, records in by_question(pairs):
        for record in records:
            scores.setdefault(record.variant, {})[question.id] = (record.score, record.cluster or question.id)
    found: Differences = {}
    for before, after in pairwise(scores):
        both = [
            (score, scores[before][id][0], cluster)
            for id, (score, cluster) in scores[after].items()
            if id in scores[before]
        ]
        if between := difference(both):
            found[f"{after} - {before}"] = between
    summary = summarised(pairs)
    differences = {name: _in_percent(of) for name, of in found.items()}
    write_json(path, head(run) | {"by_pages": by_variant(summary), "differences": differences} | rest(run, summary))
    return PagesSummary(**asdict(summary), figures=found)


def _in_percent(of: Difference) -> dict[str, Any]:
    return asdict(of) | {name: percent(getattr(of, name)) for name in ("value", "low", "high")}

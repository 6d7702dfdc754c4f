"""How good a run's explanations are, and the same explanations as COCO captions for outside scorers."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vqa_client.files import write_json
from vqa_client.reports.run import Run
from vqa_client.reports.summary import Summary
from vqa_client.scoring.explanation_metrics.child import tools_named_in
from vqa_client.scoring.explanation_metrics.judged import SOFT, Explanation, Judged, described, judge
from vqa_client.tasks.explain.coco_captions import captioned, write_captions
from vqa_client.types import ANSWERED, Question, Record


class ExplainSummary(Summary, frozen=True, kw_only=True):
    """A summary with the explanations' scores, which only a complete run has."""

    explanations: Judged | None = None

    def added(self) -> dict[str, Any]:
        """The explanations' scores, as the file beside the table has them."""
        return {"explanations": described(self.explanations) if self.explanations else None}


def judge_explanations(pairs: Iterable[tuple[Question, Record]], *, answers_known: bool = True) -> Judged:
    """Score what every question was explained by; a question without an explanation counts as an empty one.

    METEOR, SPICE and BERTScore are computed where the environment names their programs and weights.
    """
    found = (_explanation(question, record, answers_known=answers_known) for question, record in pairs)
    return judge(found, tools_named_in(os.environ))


def write_scores(path: Path, run: Run, judged: Judged) -> None:
    """Write the scores as JSON; raises OutputError where the path can't be written."""
    facts = {"model": run.model, "config": run.config, "data_path": run.data_path, "scoring": dict(run.scoring)}
    write_json(path, facts | described(judged))


def export_captions(stem: Path, pairs: Iterable[tuple[Question, Record]], *, answers_known: bool = True) -> list[Path]:
    """Write references and predictions as COCO captions; give the paths."""
    questions = [captioned(question, record.answer or "", record.rationale or "") for question, record in pairs]
    return write_captions(stem, questions, answers_known=answers_known)


def _explanation(question: Question, record: Record, *, answers_known: bool) -> Explanation:
    return Explanation(
        id=question.id,
        text=record.rationale or "" if record.status in ANSWERED else "",
        references=question.rationales,
        right=record.score >= 1.0 if answers_known else None,
        task_score=record.parts.get(SOFT, record.score) if answers_known else None,
    )

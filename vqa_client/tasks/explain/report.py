"""The files of a run with explanations: its table, the scores of its explanations, and these as COCO captions.

The table has the published columns of its benchmark in their order, then ours. `correct` is empty for a failed
question, so that the mean of the column is the accuracy over the answered questions.

The captions are for other scorers, in two forms. `*_annot_exp.json` has the reference explanations and
`*_annot_full.json` "ANSWER because EXPLANATION", as {info, images, licenses, type, annotations}; `*_pred_exp.json` and
`*_pred_full.json` have the predictions as [{image_id, caption}]. `image_id` is the question's id, since a scorer takes
one prediction per image; it is a number where all ids are numbers. A question without an explanation has an empty
caption. Each caption is one line: for the tokeniser of the published scorer a new line is the next caption.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

from vqa_client.errors import DataError
from vqa_client.files import encode, write_json
from vqa_client.json_stream import write_json_list
from vqa_client.tables.delimited import write_rows
from vqa_client.reports.names import one_line, safe_name
from vqa_client.reports.run import Pairs, Run
from vqa_client.reports.summary import Summary, summarise
from vqa_client.scoring.explanation_metrics.outside import tools_named_in
from vqa_client.scoring.explanation_metrics.evil import SOFT, Explanation, ScoredExplanations, described, judge
from vqa_client.tasks.explain.dataset import in_words
from vqa_client.types import ANSWERED, Question, Record

_EXPLAINED: Final = ("gt_explanation", "generated_explanation", "correct")
PUBLISHED: Final[Mapping[str, tuple[str, ...]]] = {
    "vqax": ("image_id", "question", "gt_answer", "generated_answer", *_EXPLAINED),
    "actx": ("image_id", "gt_label", "generated_label", *_EXPLAINED),
    "esnlive": ("image_name", "image_numeric_id", "hypothesis", "gt_label", "generated_label", *_EXPLAINED),
    "vcr": ("image_name", "question", "gt_answer", "generated_answer", *_EXPLAINED, "options"),
}
"""The columns of the published script by benchmark; `options` of VCR is ours."""
_COLUMN_NAMES: Final = {"published": "seed", "published_latest": "seed_head"}
"""The columns of scores that have another name than the metric."""
_OURS: Final = (
    *("sample_id", "status", "answer", "rule", "output", "references", "gt_explanations", "finish_reason"),
    *("prompt_tokens", "completion_tokens", "latency_s", "attempts", "image", "image_sha256", "error"),
)


def csv_path(results_dir: Path, *, model: str, task: str, split: str, conditions: Sequence[str] = ()) -> Path:
    """The path `{model}_results/{task}_{split}_eval.csv`, with a suffix for each condition that isn't published."""
    suffix = "".join(f"-{condition}" for condition in conditions)
    return results_dir / f"{safe_name(model)}_results" / f"{task}_{split}_eval{suffix}.csv"


def write_table(path: Path, benchmark: str, pairs: Pairs, *, csv_safe: bool = False) -> Summary:
    """Write the table and return its summary; raises OutputError where the path can't be written.

    With `csv_safe` a cell that a spreadsheet would run as a formula gets the prefix "'".
    """
    summary = summarise(record for _, record in pairs())
    groups, metrics = tuple(summary.breakdowns), (_COLUMN_NAMES.get(name, name) for name in summary.parts)
    columns = (*PUBLISHED[benchmark], *_OURS, *metrics, *groups)
    cells = (_cells(question, record) for question, record in pairs())
    rows = ([of.get(column, "") for column in columns] for of in cells)
    write_rows(path, chain([columns], rows), csv_safe=csv_safe)
    return summary


def _cells(question: Question, record: Record) -> dict[str, Any]:
    answer = in_words(record.answer or "", question)
    return {
        **record.groups,
        **{_COLUMN_NAMES.get(name, name): score for name, score in record.parts.items()},
        **question.extra["columns"],
        "question": question.text,
        "generated_answer": answer,
        "generated_label": answer,
        "gt_explanation": next(iter(question.rationales), ""),
        "generated_explanation": record.rationale,
        "correct": int(record.score >= 1.0) if record.status in ANSWERED else None,
        **_own_columns(question, record),
    }


def _own_columns(question: Question, record: Record) -> dict[str, Any]:
    image = record.images[0] if record.images else None
    return {name: getattr(record, name, None) for name in _OURS} | {
        "sample_id": question.id,
        "references": encode(question.references).decode(),
        "gt_explanations": encode(question.rationales).decode(),
        "image": next(iter(question.images), ""),
        "image_sha256": image.sha256 if image else "",
        "error": record.error.message if record.error else "",
    }


def export_captions(stem: Path, pairs: Iterable[tuple[Question, Record]], *, answers_known: bool = True) -> list[Path]:
    """Write the four files STEM_annot_exp.json and so on; return their paths.

    Letters are replaced by the texts of their choices. Without `answers_known` only the two files of the explanations
    are written. Raises DataError for a repeated id, OutputError where a path can't be written.
    """
    asked = list(pairs)
    ids = _image_ids([question.id for question, _ in asked])
    forms = _FORMS if answers_known else {"exp": _FORMS["exp"]}
    written = []
    for form, caption in forms.items():
        references, predictions = (Path(f"{stem}_{kind}_{form}.json") for kind in ("annot", "pred"))
        head = {
            "info": {"description": f"{stem.name}: {form}", "version": "1.0"},
            "images": [{"id": image_id} for image_id in ids],
            "licenses": [],
            "type": "captions",
        }
        write_json_list(references, head, "annotations", _annotations(ids, asked, caption))
        texts = [caption(in_words(record.answer or "", question), record.rationale or "") for question, record in asked]
        captions = zip(ids, map(one_line, texts), strict=True)
        rows = [{"image_id": image_id, "caption": text} for image_id, text in captions]
        write_json(predictions, rows)
        written += [references, predictions]
    return written


_FORMS: Final[dict[str, Callable[[str, str], str]]] = {
    "exp": lambda answer, explanation: explanation,
    "full": lambda answer, explanation: f"{answer} because {explanation}" if explanation.strip() else answer,
}
"""The captions of an answer and its explanation."""


def _annotations(
    ids: Sequence[int | str], asked: Sequence[tuple[Question, Record]], caption: Callable[[str, str], str]
) -> Iterator[dict[str, Any]]:
    numbers = count()
    for image_id, (question, _) in zip(ids, asked, strict=True):
        right_answer = question.extra.get("gold_text", in_words(question.extra.get("gold", ""), question))
        for reference in question.rationales:
            text = one_line(caption(right_answer, reference))
            yield {"image_id": image_id, "caption": text, "id": next(numbers)}


def _image_ids(ids: Sequence[str]) -> Sequence[int | str]:
    seen: set[str] = set()
    for question_id in ids:
        if question_id in seen:
            raise DataError(f"the question {question_id!r} is there twice", hint="export one run of one data file")
        seen.add(question_id)
    numbers = all(question_id.isdecimal() and str(int(question_id)) == question_id for question_id in ids)
    return [int(question_id) for question_id in ids] if numbers else ids


class ExplainSummary(Summary, frozen=True, kw_only=True):
    """A summary with the scores of the explanations, which only a complete run has."""

    explanations: ScoredExplanations | None = None

    def added(self) -> dict[str, Any]:
        """The scores of the explanations in the form of the file beside the table."""
        return {"explanations": described(self.explanations) if self.explanations else None}


def judge_explanations(pairs: Iterable[tuple[Question, Record]], *, answers_known: bool = True) -> ScoredExplanations:
    """Score the explanation of every question; a missing explanation counts as an empty one.

    METEOR, SPICE and BERTScore are computed where the environment names their programs and weights.
    """
    explanations = (_explanation(question, record, answers_known=answers_known) for question, record in pairs)
    return judge(explanations, tools_named_in(os.environ))


def write_scores(path: Path, run: Run, judged: ScoredExplanations) -> None:
    """Write the scores as JSON; raises OutputError where the path can't be written."""
    facts = {"model": run.model, "config": run.config, "data_path": run.data_path, "scoring": dict(run.scoring)}
    write_json(path, facts | described(judged))


def _explanation(question: Question, record: Record, *, answers_known: bool) -> Explanation:
    return Explanation(
        id=question.id,
        text=record.rationale or "" if record.status in ANSWERED else "",
        references=question.rationales,
        right=record.score >= 1.0 if answers_known else None,
        task_score=record.parts.get(SOFT, record.score) if answers_known else None,
    )

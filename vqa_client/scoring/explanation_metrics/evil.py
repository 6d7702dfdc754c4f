"""What a set of explanations is worth, of a run or of files alike: the metrics in every scope and e-ViL's scores.

These are S_T of the task, S_E of the explanations of right answers, and S_O of both:

    n-gram score = harmonic mean(METEOR, ROUGE_L, CIDEr, SPICE)
    S_E          = harmonic mean(n-gram score, BERTScore)
    S_O          = S_E * share of the questions answered right

The metrics go in as they are, CIDEr above 1 too, each over the explanations of right answers. On VQA-X an answer is
right that any annotator gave, a half-right one too, and S_T is the mean VQA accuracy. A part that is missing
makes what is built on it null, with the reason; nothing stands in for it. The mean over the parts there are is given
beside S_E and named by its parts, since it is another measure.
Source: Kayser et al., ICCV 2021, and the benchmark's published script.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from vqa_client.scoring.explanation_metrics.corpus import ALL, ExplanationScores, Metric, Scope, score_explanations
from vqa_client.scoring.explanation_metrics.outside import Tools

NGRAM_PARTS: Final = ("METEOR", "ROUGE_L", "CIDEr", "SPICE")
BERTSCORE: Final = "BERTScore"
SOFT: Final = "soft_vqa"
"""The part of a score that is e-ViL's task score where there is one; elsewhere it is the accuracy itself."""


class Value(Struct, frozen=True, kw_only=True):
    """A score, or null and the reason."""

    value: float | None
    reason: str = ""


class PartialMean(Struct, frozen=True, kw_only=True):
    """The harmonic mean of those parts of S_E that there are: no S_E, and only comparable over the same parts."""

    value: float | None
    parts: Sequence[str]


class Evil(Struct, frozen=True, kw_only=True):
    """e-ViL's scores over `n_right` of `n` questions."""

    s_t: Value
    ngram_score: Value
    s_e: Value
    s_o: Value
    harmonic_mean_of_parts: PartialMean
    n: int
    n_right: int


def evil(scores: ExplanationScores, *, task_score: float | None = None) -> Evil:
    """Put e-ViL's scores together from the scope of half-right answers, else the filtered one; `task_score` is S_T."""
    filtered = scores.half_right or scores.filtered
    metrics = filtered.metrics if filtered else {}
    nothing = "" if filtered else "which questions are answered right is unknown"
    ngram_score = _built(metrics, NGRAM_PARTS, nothing)
    s_e = _s_e(ngram_score, metrics, nothing)
    n, n_right = scores.unfiltered.n, filtered.n if filtered else 0
    s_o = s_e if s_e.value is None else Value(value=s_e.value * n_right / n)
    return Evil(
        s_t=Value(value=task_score, reason="" if task_score is not None else "no task score is given"),
        ngram_score=ngram_score,
        s_e=s_e,
        s_o=s_o,
        harmonic_mean_of_parts=_partial(metrics),
        n=n,
        n_right=n_right,
    )


def harmonic_mean(values: Iterable[float]) -> float:
    """The harmonic mean of values of at least 0; 0 where one of them is 0, its limit."""
    held = list(values)
    return 0.0 if not all(held) else len(held) / sum(1 / value for value in held)


def _s_e(ngram_score: Value, metrics: Mapping[str, Metric], nothing: str) -> Value:
    bertscore = _built(metrics, (BERTSCORE,), nothing)
    if ngram_score.value is None or bertscore.value is None:
        reasons = dict.fromkeys(part.reason for part in (ngram_score, bertscore) if part.reason)
        return Value(value=None, reason="; ".join(reasons))
    return Value(value=harmonic_mean([ngram_score.value, bertscore.value]))


def _built(metrics: Mapping[str, Metric], parts: Sequence[str], nothing: str) -> Value:
    if nothing:
        return Value(value=None, reason=nothing)
    values, missing = [], []
    for part in parts:
        metric = metrics.get(part, Metric(value=None, reason="it was not requested"))
        if metric.value is None:
            missing.append(f"{part} is missing: {metric.reason}")
        else:
            values.append(max(0.0, metric.value))
    return Value(value=None, reason="; ".join(missing)) if missing else Value(value=harmonic_mean(values))


def _partial(metrics: Mapping[str, Metric]) -> PartialMean:
    given = {part: metrics[part].value for part in (*NGRAM_PARTS, BERTSCORE) if part in metrics}
    there = {part: max(0.0, value) for part, value in given.items() if value is not None}
    return PartialMean(value=harmonic_mean(there.values()) if there else None, parts=list(there))


class Explanation(Struct, frozen=True, kw_only=True):
    """How one question was explained, "" for not at all, and how people explained it.

    `right` and `task_score`, which is 0 to 1, are None where the right answer isn't known.
    """

    id: str
    text: str
    references: tuple[str, ...]
    right: bool | None = None
    task_score: float | None = None


class Judged(Struct, frozen=True, kw_only=True):
    """Every explanation against its references."""

    scores: ExplanationScores
    evil: Evil


def judge(explanations: Iterable[Explanation], tools: Tools) -> Judged:
    """Score every explanation by all metrics; one whose program or model `tools` doesn't name is null with a reason.

    e-ViL counts an answer as right that is right or has a task score above 0. Of several explanations with one id the
    last counts.
    """
    by_id = {explanation.id: explanation for explanation in explanations}
    known = [one for one in by_id.values() if one.right is not None]
    scores = score_explanations(
        {one.id: one.text for one in by_id.values()},
        {one.id: one.references for one in by_id.values()},
        right={one.id for one in known if one.right} if known else None,
        half_right={one.id for one in known if one.right or one.task_score} if known else None,
        metrics=ALL,
        tools=tools,
    )
    task_scores = [one.task_score for one in by_id.values() if one.task_score is not None]
    mean = sum(task_scores) / len(task_scores) if task_scores else None
    return Judged(scores=scores, evil=evil(scores, task_score=mean))


def described(judged: Judged) -> dict[str, Any]:
    """The scores as JSON has them, without those of single questions."""
    scores = judged.scores
    return {
        "tokens": scores.tokens,
        "n_without_references": scores.n_without_references,
        "unfiltered": _described_scope(scores.unfiltered),
        "filtered": _described_scope(scores.filtered) if scores.filtered else None,
        "half_right": _described_scope(scores.half_right) if scores.half_right else None,
        "evil": msgspec.to_builtins(judged.evil),
    }


def _described_scope(scope: Scope) -> dict[str, Any]:
    metrics = {
        name: {"value": metric.value, "n": metric.n} | ({"reason": metric.reason} if metric.reason else {})
        for name, metric in scope.metrics.items()
    }
    return {"n": scope.n, "n_empty": scope.n_empty, "metrics": metrics}

"""e-ViL's scores: S_T of the task, S_E of the explanations of right answers, S_O of both.

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
from typing import Final

from msgspec import Struct

from vqa_client.scoring.explanation_metrics.corpus import ExplanationScores, Metric, Scope

NGRAM_PARTS: Final = ("METEOR", "ROUGE_L", "CIDEr", "SPICE")
BERTSCORE: Final = "BERTScore"


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
        harmonic_mean_of_parts=_partial(filtered),
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


def _partial(filtered: Scope | None) -> PartialMean:
    metrics = filtered.metrics if filtered else {}
    there = {part: value for part in (*NGRAM_PARTS, BERTSCORE) if (value := _value(metrics, part)) is not None}
    return PartialMean(value=harmonic_mean(there.values()) if there else None, parts=list(there))


def _value(metrics: Mapping[str, Metric], part: str) -> float | None:
    value = metrics[part].value if part in metrics else None
    return None if value is None else max(0.0, value)

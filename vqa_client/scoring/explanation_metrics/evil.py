"""Score a set of explanations, of a run or of files: the metrics in every scope and e-ViL's scores.

There are two scopes: unfiltered, over all questions, and filtered, over those answered right. Published tables use one
or the other, and the two differ by about ten points. e-ViL has a third scope on VQA-X, with half-right answers, too.
Each metric is computed separately for each scope: CIDEr's document frequencies, the lengths and n-grams of BLEU and
METEOR's weights are those of the scope.

e-ViL's scores are S_T of the task, S_E of the explanations of right answers, and S_O of both:

    n-gram score = harmonic mean(METEOR, ROUGE_L, CIDEr, SPICE)
    S_E          = harmonic mean(n-gram score, BERTScore)
    S_O          = S_E * share of the questions answered right

The metrics are used unscaled (CIDEr may be above 1), each over the explanations of right answers. On VQA-X an answer is
right if any annotator gave it, also if it is half right, and S_T is the mean VQA accuracy. If a part is missing, the
scores that need it are null, with the reason. The mean over the available parts is reported next to S_E with the names
of its parts, because it is another measure.
Source: Kayser et al., ICCV 2021, and the benchmark's published script.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from vqa_client.errors import UsageError
from vqa_client.scoring.explanation_metrics import coco, outside
from vqa_client.scoring.explanation_metrics.coco import ByScope, Explained, ExplanationMetric, Scopes
from vqa_client.scoring.explanation_metrics.outside import Tools
from vqa_client.scoring.explanation_metrics.ptb import ptb_tokens

METRICS: Final[Mapping[str, tuple[Sequence[str], Callable[[Sequence[Explained], Scopes, Tools], ByScope]]]] = {
    "bleu": (coco.BLEU_NAMES, lambda explained, scopes, _: coco.bleu(explained, scopes)),
    "rouge_l": (("ROUGE_L",), lambda explained, scopes, _: coco.rouge(explained, scopes)),
    "cider": (("CIDEr",), lambda explained, scopes, _: coco.cider(explained, scopes)),
    "meteor": (("METEOR",), outside.meteor),
    "spice": (("SPICE",), outside.spice),
    "bertscore": (("BERTScore",), outside.bertscore),
}
"""The metrics: the names of their values, in coco-caption's spelling, and the function that computes them."""


class Scope(Struct, frozen=True, kw_only=True):
    """The metrics over `n` questions; `n_empty` of them have no explanation and are scored as an empty one."""

    n: int
    n_empty: int
    metrics: Mapping[str, ExplanationMetric]


class ExplanationScores(Struct, frozen=True, kw_only=True):
    """The scopes; `filtered` is None if it is unknown which questions are answered right.

    `half_right` is None if it is the same as `filtered`. `n_without_references` questions have no reference and are in
    no scope.
    """

    n_without_references: int
    unfiltered: Scope
    filtered: Scope | None = None
    half_right: Scope | None = None


class Explanation(Struct, frozen=True, kw_only=True):
    """The explanation of one question, "" for none, and the explanations of people.

    `right` and `task_score` (in [0, 1]) are None if the right answer is unknown.
    """

    id: str
    text: str
    references: tuple[str, ...]
    right: bool | None = None
    task_score: float | None = None


def _scores(by_id: Mapping[str, Explanation], tools: Tools) -> ExplanationScores:
    known = [explanation for explanation in by_id.values() if explanation.right is not None]
    right = {explanation.id for explanation in known if explanation.right}
    half_right = right | {explanation.id for explanation in known if explanation.task_score}
    ids, explained = _tokenise_all(by_id)
    members = ({"filtered": right} if known else {}) | ({"half_right": half_right} if half_right != right else {})
    places = {name: [at for at, id in enumerate(ids) if id in those] for name, those in members.items()}
    scopes = [list(range(len(ids))), *places.values()]
    scored = _scores_of_scopes(explained, scopes, tools)
    unfiltered, *others = (
        Scope(n=len(scope), n_empty=sum(not explained[at].tokens for at in scope), metrics=metrics)
        for scope, metrics in zip(scopes, scored, strict=True)
    )
    without = len(by_id) - len(ids)
    return ExplanationScores(
        n_without_references=without, unfiltered=unfiltered, **dict(zip(places, others, strict=True))
    )


def _tokenise_all(by_id: Mapping[str, Explanation]) -> tuple[list[str], list[Explained]]:
    """The questions with a reference that has words, in the order of their ids, so that sums are always the same."""
    ids, explained = [], []
    for question_id, explanation in sorted(by_id.items()):
        worded = [(text, words) for text in explanation.references if (words := ptb_tokens(text))]
        if not worded:
            continue
        ids.append(question_id)
        texts, tokens_of_texts = zip(*worded, strict=True)
        tokens = ptb_tokens(explanation.text)
        explained.append(
            Explained(text=explanation.text, tokens=tokens, references=texts, reference_tokens=tokens_of_texts)
        )
    return ids, explained


def _scores_of_scopes(explained: Sequence[Explained], scopes: Scopes, tools: Tools) -> ByScope:
    """The metrics of each scope by name; a missing value has a reason."""
    scored: ByScope = [{} for _ in scopes]
    filled = [number for number, scope in enumerate(scopes) if scope]
    for names, score in METRICS.values():
        for metrics in scored:
            metrics.update(_missing(names, "the scope has no question"))
        if not filled:
            continue
        try:
            rows = score(explained, [scopes[number] for number in filled], tools)
        except UsageError as error:
            rows = [_missing(names, f"{error} ({error.hint})" if error.hint else str(error)) for _ in filled]
        for number, row in zip(filled, rows, strict=True):
            scored[number].update(row)
    return scored


def _missing(names: Iterable[str], reason: str) -> dict[str, ExplanationMetric]:
    return dict.fromkeys(names, ExplanationMetric(value=None, reason=reason))


NGRAM_PARTS: Final = ("METEOR", "ROUGE_L", "CIDEr", "SPICE")
BERTSCORE: Final = "BERTScore"
SOFT: Final = "soft_vqa"
"""The part of a score that is e-ViL's task score; without this part the accuracy is."""


class MetricValue(Struct, frozen=True, kw_only=True):
    """A score, or null and the reason."""

    value: float | None
    reason: str = ""


class PartialMean(Struct, frozen=True, kw_only=True):
    """The harmonic mean of the available parts of S_E: not S_E, and comparable only over the same parts."""

    value: float | None
    parts: Sequence[str]


class Evil(Struct, frozen=True, kw_only=True):
    """e-ViL's scores over `n_right` of `n` questions."""

    s_t: MetricValue
    ngram_score: MetricValue
    s_e: MetricValue
    s_o: MetricValue
    harmonic_mean_of_parts: PartialMean
    n: int
    n_right: int


def evil(scores: ExplanationScores, *, task_score: float | None = None) -> Evil:
    """e-ViL's scores from the scope with half-right answers, else from the filtered one; `task_score` is S_T."""
    filtered = scores.half_right or scores.filtered
    metrics = filtered.metrics if filtered else {}
    nothing = "" if filtered else "which questions are answered right is unknown"
    ngram_score = _mean_of_parts(metrics, NGRAM_PARTS, nothing)
    s_e = _s_e(ngram_score, metrics, nothing)
    n, n_right = scores.unfiltered.n, filtered.n if filtered else 0
    s_o = s_e if s_e.value is None else MetricValue(value=s_e.value * n_right / n)
    return Evil(
        s_t=MetricValue(value=task_score, reason="" if task_score is not None else "no task score is given"),
        ngram_score=ngram_score,
        s_e=s_e,
        s_o=s_o,
        harmonic_mean_of_parts=_partial_mean(metrics),
        n=n,
        n_right=n_right,
    )


def harmonic_mean(values: Iterable[float]) -> float:
    """The harmonic mean of values of at least 0; 0, its limit, if one of them is 0."""
    terms = list(values)
    return 0.0 if not all(terms) else len(terms) / sum(1 / value for value in terms)


def _s_e(ngram_score: MetricValue, metrics: Mapping[str, ExplanationMetric], nothing: str) -> MetricValue:
    bertscore = _mean_of_parts(metrics, (BERTSCORE,), nothing)
    if ngram_score.value is None or bertscore.value is None:
        reasons = dict.fromkeys(part.reason for part in (ngram_score, bertscore) if part.reason)
        return MetricValue(value=None, reason="; ".join(reasons))
    return MetricValue(value=harmonic_mean([ngram_score.value, bertscore.value]))


def _mean_of_parts(metrics: Mapping[str, ExplanationMetric], parts: Sequence[str], nothing: str) -> MetricValue:
    if nothing:
        return MetricValue(value=None, reason=nothing)
    values, missing = [], []
    for part in parts:
        metric = metrics[part]
        if metric.value is None:
            missing.append(f"{part} is missing: {metric.reason}")
        else:
            values.append(max(0.0, metric.value))
    return MetricValue(value=None, reason="; ".join(missing)) if missing else MetricValue(value=harmonic_mean(values))


def _partial_mean(metrics: Mapping[str, ExplanationMetric]) -> PartialMean:
    by_part = {part: metrics[part].value for part in (*NGRAM_PARTS, BERTSCORE) if part in metrics}
    known = {part: max(0.0, value) for part, value in by_part.items() if value is not None}
    return PartialMean(value=harmonic_mean(known.values()) if known else None, parts=list(known))


class ScoredExplanations(Struct, frozen=True, kw_only=True):
    """Every explanation against its references."""

    scores: ExplanationScores
    evil: Evil


def judge(explanations: Iterable[Explanation], tools: Tools) -> ScoredExplanations:
    """Score every explanation, also an empty one, against its references.

    A metric that fails, or whose program or model isn't in `tools`, is null with the reason. For e-ViL an answer is
    right if it is right or has a task score above 0. Of several explanations with one id the last counts.
    """
    by_id = {explanation.id: explanation for explanation in explanations}
    scores = _scores(by_id, tools)
    task_score = coco.mean([explanation.task_score for explanation in by_id.values()])
    return ScoredExplanations(scores=scores, evil=evil(scores, task_score=task_score))


def described(judged: ScoredExplanations) -> dict[str, Any]:
    """The scores in the form of the JSON report, without those of single questions."""
    scores = judged.scores
    return {
        "tokens": "ptb",
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

"""Explanations scored in both scopes: unfiltered, over all questions, and filtered, over those answered right.

Published tables are of one or the other, and the two differ by about ten points. A third scope, of the half-right
answers too, is e-ViL's on VQA-X. In each scope a metric is computed anew: CIDEr's document frequencies, the lengths and
n-grams of BLEU and METEOR's weights are those of the scope.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from vqa_client.errors import DataError, UsageError
from vqa_client.scoring.explanation_metrics import coco, outside
from vqa_client.scoring.explanation_metrics.coco import Explained, Scopes, Scored
from vqa_client.scoring.explanation_metrics.outside import Tools
from vqa_client.scoring.explanation_metrics.ptb import ptb_tokens

_Rows = list[dict[str, Scored]]

METRICS: Final[Mapping[str, tuple[Sequence[str], Callable[[Sequence[Explained], Scopes, Tools], _Rows]]]] = {
    "bleu": (coco.BLEU_NAMES, lambda explained, scopes, _: coco.bleu(explained, scopes)),
    "rouge_l": (("ROUGE_L",), lambda explained, scopes, _: coco.rouge(explained, scopes)),
    "cider": (("CIDEr",), lambda explained, scopes, _: coco.cider(explained, scopes)),
    "meteor": (("METEOR",), outside.meteor),
    "spice": (("SPICE",), outside.spice),
    "bertscore": (("BERTScore",), outside.bertscore),
}
"""The metrics that can be asked for: the names of their values, in coco-caption's spelling, and what computes them."""
CORE: Final = ("bleu", "rouge_l", "cider")
"""The metrics that need nothing beside this package."""
ALL: Final = tuple(METRICS)


Tokens = Literal["ptb", "simple"]
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?")


def simple_tokens(text: str) -> list[str]:
    """Words in lower case, with what follows an apostrophe in them: "isn't" is one, "well-known" are two."""
    return _WORD.findall(text.lower().replace("’", "'"))


TOKENISERS: Final[dict[Tokens, Callable[[str], list[str]]]] = {"ptb": ptb_tokens, "simple": simple_tokens}


class Metric(Struct, frozen=True, kw_only=True):
    """A metric over one scope: null with a reason, or a value over `n` questions and the value of each of those.

    A value with a reason tells nothing of the explanations.

    The value of BLEU and of METEOR is not the mean of `per_question`; that of the others is.
    """

    value: float | None
    n: int = 0
    per_question: Mapping[str, float] = {}
    reason: str = ""


class Scope(Struct, frozen=True, kw_only=True):
    """The metrics over `n` questions; `n_empty` of them have no explanation, which counts as one without words."""

    n: int
    n_empty: int
    metrics: Mapping[str, Metric]


class ExplanationScores(Struct, frozen=True, kw_only=True):
    """The scopes; `filtered` is None where nobody said which questions are answered right.

    `half_right` is None where it is the same as `filtered`. `n_without_references` questions have nothing to be
    compared with and are in no scope.
    """

    tokens: Tokens
    n_without_references: int
    unfiltered: Scope
    filtered: Scope | None
    half_right: Scope | None = None


def score_explanations(
    predictions: Mapping[str, str],
    references: Mapping[str, Sequence[str]],
    *,
    right: Collection[str] | None = None,
    half_right: Collection[str] | None = None,
    tokens: Tokens = "ptb",
    metrics: Collection[str] = CORE,
    tools: Tools | None = None,
) -> ExplanationScores:
    """Score one explanation a question against its references.

    `references` says which questions there are; one without a prediction is scored as an empty explanation. `right`
    holds the ids of the questions answered right, `half_right` those of them and of the half-right ones. A metric whose
    program or model is missing or fails is null, with the reason. Raises DataError for a prediction on a question that
    `references` doesn't have, UsageError for a metric that is none.
    """
    _check(predictions, references, metrics)
    ids, explained = _explained(predictions, references, tokens)
    everything = list(range(len(ids)))
    chosen = {"filtered": right, "half_right": half_right if half_right != right else None}
    named = {name: [at for at in everything if ids[at] in held] for name, held in chosen.items() if held is not None}
    scopes = [everything, *named.values()]
    scored = _scored(explained, scopes, [name for name in METRICS if name in metrics], tools or Tools())
    unfiltered, *others = (_scope(ids, explained, scope, values) for scope, values in zip(scopes, scored, strict=True))
    by_name = dict(zip(named, others, strict=True))
    return ExplanationScores(
        tokens=tokens,
        n_without_references=len(references) - len(ids),
        unfiltered=unfiltered,
        filtered=by_name.get("filtered"),
        half_right=by_name.get("half_right"),
    )


def _check(predictions: Mapping[str, str], references: Mapping[str, Sequence[str]], metrics: Collection[str]) -> None:
    if unknown := [name for name in metrics if name not in METRICS]:
        raise UsageError(f"{unknown[0]!r} is not a metric of explanations", hint=f"choose from {', '.join(METRICS)}")
    if strangers := sorted(predictions.keys() - references.keys()):
        named = (
            f"{len(strangers)} explanation(s) are for questions that have no references, the first for {strangers[0]!r}"
        )
        raise DataError(named, hint="score a run with the data file that it answered")


def _explained(
    predictions: Mapping[str, str], references: Mapping[str, Sequence[str]], tokens: Tokens
) -> tuple[list[str], list[Explained]]:
    """The questions with a reference that has words, in the order of their ids: sums don't depend on the records'."""
    cut = TOKENISERS[tokens]
    ids, explained = [], []
    for question_id in sorted(references):
        kept = [(text, said) for text in references[question_id] if (said := cut(text))]
        if not kept:
            continue
        text = predictions.get(question_id, "")
        ids.append(question_id)
        texts, cuts = zip(*kept, strict=True)
        explained.append(Explained(text=text, tokens=cut(text), references=texts, reference_tokens=cuts))
    return ids, explained


def _scored(
    explained: Sequence[Explained], scopes: Scopes, metrics: Sequence[str], tools: Tools
) -> list[dict[str, Scored | str]]:
    """For each scope its values by name, or the reason why there are none."""
    scored: list[dict[str, Scored | str]] = [{} for _ in scopes]
    filled = [number for number, scope in enumerate(scopes) if scope]
    for metric in metrics:
        names, score = METRICS[metric]
        for values in scored:
            values.update(dict.fromkeys(names, "the scope has no question"))
        if not filled:
            continue
        try:
            rows: Sequence[Mapping[str, Scored | str]] = score(explained, [scopes[number] for number in filled], tools)
        except UsageError as error:
            reason = f"{error} ({error.hint})" if error.hint else str(error)
            rows = [dict.fromkeys(names, reason) for _ in filled]
        for number, row in zip(filled, rows, strict=True):
            scored[number].update(row)
    return scored


def _scope(
    ids: Sequence[str], explained: Sequence[Explained], scope: Sequence[int], values: Mapping[str, Scored | str]
) -> Scope:
    named = [ids[at] for at in scope]
    empty = sum(1 for at in scope if not explained[at].tokens)
    return Scope(n=len(scope), n_empty=empty, metrics={name: _metric(named, value) for name, value in values.items()})


def _metric(ids: Sequence[str], scored: Scored | str) -> Metric:
    if isinstance(scored, str):
        return Metric(value=None, reason=scored)
    each = {id: value for id, value in zip(ids, scored.each, strict=True) if value is not None}
    reason = scored.reason if scored.corpus is not None else "no question has a value"
    return Metric(value=scored.corpus, n=len(each), per_question=each, reason=reason)

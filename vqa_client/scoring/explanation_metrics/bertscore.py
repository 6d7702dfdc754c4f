"""BERTScore F1 by the bert-score package: no idf weights, no rescaling; of several references the best one counts.

e-ViL and NLX-GPT use distilbert-base-uncased. The texts go in as they are, not as tokens. An explanation without
words has 0, as in the package, whatever its references. Source: Zhang et al., ICLR 2020.
"""

import os
from collections.abc import Sequence
from math import isfinite
from typing import Any, Final

from vqa_client.errors import UsageError
from vqa_client.scoring.explanation_metrics.child import BERTSCORE_VARIABLE, Tools
from vqa_client.scoring.explanation_metrics.explained import Explained, Scopes, Scored, mean
from vqa_client.shipped import install

NAMES: Final = ("BERTScore",)


def bertscore(explained: Sequence[Explained], scopes: Scopes, tools: Tools) -> list[dict[str, Scored]]:
    """BERTScore F1 of each scope; raises UsageError that says what is missing or what went wrong."""
    model = tools.bertscore_model
    if not model:
        hint = f"set {BERTSCORE_VARIABLE} to the folder of distilbert-base-uncased"
        raise UsageError("BERTScore needs a model, and no path to one is given", hint=hint)
    if os.sep in model and not os.path.isdir(model):
        raise UsageError(f"BERTScore: there is no folder {model}", hint=f"set {BERTSCORE_VARIABLE}")
    said = [at for at, one in enumerate(explained) if one.text.strip()]
    scores: list[float | None] = [0.0] * len(explained)
    if said:
        for at, score in zip(said, _scores(model, [explained[at] for at in said], tools), strict=True):
            scores[at] = score
    each = [[scores[at] for at in scope] for scope in scopes]
    return [{NAMES[0]: Scored(corpus=mean(values), each=values)} for values in each]


def _scores(model: str, explained: Sequence[Explained], tools: Tools) -> list[float | None]:
    layers = tools.bertscore_layers if os.path.isdir(model) else None
    candidates = [one.text for one in explained]
    references = [list(one.references) for one in explained]
    score = _package().score
    try:
        _, _, f1 = score(candidates, references, model_type=model, num_layers=layers, idf=False)
    except Exception as error:  # it goes through three packages whose errors have no common base
        raise UsageError(f"BERTScore can't use the model {model}: {_first_line(error)}") from error
    return [value if isfinite(value) else None for value in f1.tolist()]


def _package() -> Any:
    try:
        import bert_score
    except ImportError as error:
        hint = install("explain")
        raise UsageError("BERTScore needs the package bert-score, which is not installed", hint=hint) from error
    return bert_score


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".split("\n")[0]

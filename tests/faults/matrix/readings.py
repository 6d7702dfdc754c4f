"""The function for the pairs of a case: by its area and kind, or by words of its title if a kind has several."""

from collections.abc import Callable
from typing import Any

from tests.faults.matrix.cases import Case
from tests.scoring.choice_label_sets import POWERS, STATIONS, VEHICLES
from vqa_client.scoring.choices.choice import read_choice
from vqa_client.scoring.explained_answer import read_label
from vqa_client.scoring.reply import reply_from
from vqa_client.scoring.robustness import metrics_of
from vqa_client.scoring.strict.containment import contains_strict
from vqa_client.scoring.vqa2 import enhanced_score_by_words
from vqa_client.scoring.vqa_accuracy import question_accuracy
from vqa_client.scoring.vqa_normalise import normalised
from vqa_client.types import Completion

Reads = Callable[..., Any]
FIGURES = {"first_drop": "first_drop", "range": "range_of_error", "slope": "error_rate", "mean": "average_error"}
TOLERANCE = 1e-4


def _choice(choices: dict[str, str]) -> Reads:
    return lambda reply: read_choice(Completion(text=reply), choices).text


def _agreed(matching: int) -> float:
    """The accuracy in per cent of an answer that this many of ten people gave."""
    return 100 * question_accuracy("same", ["same"] * matching + ["other"] * (10 - matching))


def _official(prediction: str, references: list[str]) -> float:
    return 100 * question_accuracy(prediction, references, "official")


def _label(reply: str) -> str | None:
    return read_label(reply_from(Completion(text=reply))).text


def _figures(errors: list[float]) -> dict[str, float | None]:
    values, _ = metrics_of(errors)
    return {name: values[metric] for name, metric in FIGURES.items()}


BY_TITLE: dict[str, Reads] = {
    "nested in another choice": _choice(POWERS),
    "More than four options": _choice(STATIONS),
    "leave-one-out sets": _agreed,
    "Normaliser applied twice": normalised,
}
BY_KIND: dict[str, Reads] = {
    "score/polarity-by-words": lambda gold, reply: enhanced_score_by_words(gold, reply),
    "score/no-credit-for-nothing": lambda gold, reply: enhanced_score_by_words(gold, reply),
    "score/official-fidelity": _official,
    "data/label-normalisation": _label,
    "robustness/degenerate-denominators": _figures,
}
BY_AREA: dict[str, Reads] = {"parsing": _choice(VEHICLES), "scoring": contains_strict}


def reads(case: Case) -> Reads:
    """The function that must return the last item of each of the case's pairs."""
    for words, read in BY_TITLE.items():
        if words in case.title:
            return read
    if case.area == "parsing":
        return BY_AREA["parsing"]
    return BY_KIND.get(case.whole_kind) or BY_AREA[case.area]


def wrong_pairs(case: Case) -> list[tuple[list[Any], Any]]:
    """The pairs with wrong results, with these results."""
    read = reads(case) if case.io else None
    got = [(pair, read(*pair[:-1])) for pair in case.io if read]
    return [(pair, value) for pair, value in got if not _same(value, pair[-1])]


def _same(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return got.keys() == wanted.keys() and all(_same(got[key], wanted[key]) for key in wanted)
    if isinstance(wanted, float) and isinstance(got, float | int):
        return abs(got - wanted) < TOLERANCE
    return bool(got == wanted)

"""Choices that are not read from free text: the reply is only a label, or the first token's logprobs decide.

A label's probability is the sum over all tokens that spell it: "A", " A", "(A", and also "a" or a full-width letter if
the text reading accepts that spelling. A server reports probabilities over its whole vocabulary; the share of all
labels is their mass. With a mass below `MASS_MIN` the model would have begun with another word, and its first token
says little about the label.

Calibration, whether a model is right as often as it is confident: expected calibration error and Brier score. Source:
Guo et al., On Calibration of Modern Neural Networks (2017): ten bins of equal width; the gap between accuracy and mean
confidence of each bin is weighted by its share of the questions.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from vqa_client.scoring.choices.labels import labels_of
from vqa_client.scoring.finish import is_cut
from vqa_client.scoring.reply import Reply
from vqa_client.scoring.wrappers import answer_in_json
from vqa_client.types import Answer, ChoiceMode, Choosing, Completion, Question, Score

SCORING_VERSION = "2"
LETTER_ALONE: Final = "Answer with the letter alone."
"""The default end of a prompt: a model that begins with a sentence gives no letter to weigh."""

MEANINGS: Final = {
    "structured": "a reply that is the right label and nothing else",
    "logprob": "the right label is the most probable first token",
    "probability": "what the right label was given",
    "margin": "how far the best label is ahead",
    "mass": "what all labels were given",
}
"""What each metric means."""
CONSTRAINED: Final = "constrained"
FIRST_TOKEN: Final = "first token"
PROSE: Final = "prose first"
THOUGHTS: Final = "reasoning first"
NO_LOGPROBS: Final = "no logprobs"
_AROUND: Final = " \t\r\n\u2581\u0120\u010a()[]*$\"'`.:,。、「」【】"
"""Characters around a label in its token, including those that some servers write for a space or a newline."""
_THINKING: Final = re.compile(
    r"\s*(?:[<[\u25c1][|\uff5c]?\w{0,20}[:_]?(?:think|thought|reason)|<\|channel\|>|<unused94>|\[unused16"
    r"|<\|inner_prefix)",
    re.IGNORECASE,
)
"""The first token of a model that thinks before it answers."""
_TIE: Final = 1e-6
"""16-bit logits often tie, and sums over spellings differ in the last digits."""
MASS_MIN: Final = 0.1
"""The least share of the first token's probability that must fall on the labels."""
DIGITS: Final = 6
"""Significant digits of a probability: more than a server's arithmetic has."""


class Weights(Struct, frozen=True, kw_only=True):
    """The labels' `mass`, and figures from their shares of it, which add up to 1.

    `right` is the right label's share, `top` the highest, `margin` the difference to the second. `brier` is half the
    sum of squared errors over the labels, in [0, 1] (Brier 1950).
    """

    mass: float
    right: float
    top: float
    margin: float
    brier: float


def label_probabilities(first_token: Mapping[str, float], labels: Sequence[str]) -> dict[str, float]:
    """The probability of each label that a token spells, in the labels' order, from the tokens' logprobs."""
    written = labels_of(tuple(labels)).written
    by_label: dict[str, list[float]] = {}
    for token, logprob in first_token.items():
        if label := written.get(unicodedata.normalize("NFKC", token).strip(_AROUND)):
            by_label.setdefault(label, []).append(math.exp(logprob))
    return {label: min(1.0, math.fsum(by_label[label])) for label in labels if label in by_label}


def thinks(completion: Completion) -> bool:
    """Whether the first token belongs to a thought and not to the answer."""
    first = completion.first_token or {}
    likeliest = max(first, key=first.__getitem__, default="")
    return bool(completion.reasoning) or _THINKING.match(likeliest) is not None


def read_first_token(completion: Completion, labels: Sequence[str]) -> Answer:
    """Return the most probable label; a tie is ambiguous, and a reply that begins with prose is unparsed."""
    if thinks(completion):
        return Answer(status="unparsed", rule=THOUGHTS)
    if completion.first_token is None:
        return Answer(status="unparsed", rule=NO_LOGPROBS)
    weighed = label_probabilities(completion.first_token, labels)
    top = max(weighed.values(), default=0.0)
    if top <= 0.0:
        return Answer(status="unparsed", rule=FIRST_TOKEN, probabilities=weighed)
    rounded = {label: float(f"{probability:.{DIGITS}g}") for label, probability in weighed.items()}
    if math.fsum(weighed.values()) < MASS_MIN:
        return Answer(status="unparsed", rule=PROSE, probabilities=rounded)
    best = [label for label, probability in weighed.items() if math.isclose(probability, top, rel_tol=_TIE)]
    if len(best) > 1:
        return Answer(status="ambiguous", rule=FIRST_TOKEN, rivals=tuple(best), probabilities=rounded)
    return Answer(text=best[0], rule=FIRST_TOKEN, probabilities=rounded)


def weights(probabilities: Mapping[str, float], right: str, labels: Sequence[str]) -> Weights | None:
    """Weigh the labels against each other, those without a token as 0; None if their mass is 0."""
    mass = math.fsum(probabilities.values())
    if mass <= 0.0:
        return None
    shares = {label: probabilities.get(label, 0.0) / mass for label in labels}
    top, second, *_ = (*sorted(shares.values(), reverse=True), 0.0)
    errors = math.fsum((share - (label == right)) ** 2 for label, share in shares.items())
    return Weights(
        mass=min(1.0, mass), right=shares.get(right, 0.0), top=top, margin=top - second, brier=min(1.0, errors / 2)
    )


def constrained(text: str, labels: Sequence[str]) -> str | None:
    """The label that is the whole reply, or the answer of a JSON object; None for any other reply."""
    answer = text.strip()
    if answer.startswith("{"):
        answer = answer_in_json(answer) or ""
    return answer if answer in labels else None


def read_constrained(completion: Completion, labels: Sequence[str]) -> Answer:
    """Return the label that is the whole reply; free text is unparsed."""
    label = constrained(completion.text, labels)
    if label is not None:
        return Answer(text=label, rule=CONSTRAINED)
    if is_cut(completion.finish_reason):
        return Answer(status="truncated", rule=CONSTRAINED)
    return Answer(status="unparsed" if completion.text.strip() else "empty", rule=CONSTRAINED)


_READERS: Final[Mapping[ChoiceMode, Callable[[Completion, Sequence[str]], Answer]]] = {
    "structured": read_constrained,
    "logprob": read_first_token,
}


def parse_with(choosing: Choosing) -> Callable[[Reply, Question], Answer]:
    """The function that reads a reply's label."""
    read = _READERS[choosing.mode]
    return lambda reply, question: read(reply.completion, tuple(question.choices))


def score_with(choosing: Choosing) -> Callable[[Answer, Reply, Question], Score]:
    """The function that scores an answer under the mode's name; logprobs add the right label's share, margin and mass.

    A question without a reference gets no parts.
    """

    def score(answer: Answer, reply: Reply, question: Question) -> Score:
        if not question.references:
            return Score(value=0.0)
        gold = question.references[0]
        parts: dict[str, float] = {choosing.mode: float(answer.text == gold)}
        if choosing.mode == "logprob":
            parts |= _rounded_weights(answer, gold, question)
        return Score(value=parts[choosing.mode], parts=parts)

    return score


def _rounded_weights(answer: Answer, gold: str, question: Question) -> dict[str, float]:
    weight = weights(answer.probabilities, gold, tuple(question.choices))
    if weight is None:
        return {"probability": 0.0, "margin": 0.0, "mass": 0.0}
    shares = {"probability": weight.right, "margin": weight.margin, "mass": weight.mass}
    return {name: round(share, DIGITS) for name, share in shares.items()}


BINS = 10


class Calibration(Struct, frozen=True, kw_only=True):
    """Weighted errors over `n` questions, in [0, 1], 0 is best; None if n is 0."""

    n: int
    expected_error: float | None
    brier: float | None


class Bin(Struct, frozen=True, kw_only=True):
    """Questions of similar confidence: their number, mean confidence and accuracy, in [0, 1]."""

    n: int
    confidence: float
    accuracy: float


class Calibrating:
    """Sums of each bin, updated question by question."""

    def __init__(self) -> None:
        self._n = [0] * BINS
        self._sure = [0.0] * BINS
        self._right = [0.0] * BINS
        self._weights = [0.0] * BINS
        self._brier = 0.0

    def add(self, confidence: float, right: bool, brier: float, weight: float = 1.0) -> None:
        """Add a question: its highest share, whether that label is right, its Brier score and its weight."""
        place = min(int(confidence * BINS), BINS - 1)
        self._n[place] += 1
        self._sure[place] += weight * confidence
        self._right[place] += weight * right
        self._weights[place] += weight
        self._brier += weight * brier

    def calibration(self) -> Calibration:
        whole = sum(self._weights)
        gaps = sum(abs(right - sure) for right, sure in zip(self._right, self._sure, strict=True))
        return Calibration(
            n=sum(self._n),
            expected_error=min(1.0, gaps / whole) if whole else None,
            brier=min(1.0, self._brier / whole) if whole else None,
        )

    def bins(self) -> tuple[Bin, ...]:
        """The bins that have questions, the least confident first."""
        return tuple(
            Bin(n=n, confidence=sure / weight, accuracy=right / weight)
            for n, sure, right, weight in zip(self._n, self._sure, self._right, self._weights, strict=True)
            if weight
        )

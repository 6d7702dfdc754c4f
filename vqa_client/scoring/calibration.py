"""Whether a model is right as often as it is sure: expected calibration error and Brier score.

Source: Guo et al., On Calibration of Modern Neural Networks (2017): ten bins of equal width, each with how far its
accuracy is from its mean confidence, weighted by its share of the questions.
"""

from msgspec import Struct

BINS = 10


class Calibration(Struct, frozen=True, kw_only=True):
    """Over `n` questions; `expected_error` and `brier` are weighted, in [0, 1], 0 is best, None where n is 0."""

    n: int
    expected_error: float | None
    brier: float | None


class Bin(Struct, frozen=True, kw_only=True):
    """Questions of like confidence: their number, mean confidence and accuracy, in [0, 1]."""

    n: int
    confidence: float
    accuracy: float


class Calibrating:
    """Takes questions one by one and keeps sums of each bin."""

    def __init__(self) -> None:
        self._n = [0] * BINS
        self._sure = [0.0] * BINS
        self._right = [0.0] * BINS
        self._weights = [0.0] * BINS
        self._brier = 0.0

    def add(self, confidence: float, right: bool, brier: float, weight: float = 1.0) -> None:
        """Take a question's highest share, whether that label is the right one, and its Brier score.

        `weight` questions are like it.
        """
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
        """The bins that have questions, from the least sure on."""
        return tuple(
            Bin(n=n, confidence=sure / weight, accuracy=right / weight)
            for n, sure, right, weight in zip(self._n, self._sure, self._right, self._weights, strict=True)
            if weight
        )

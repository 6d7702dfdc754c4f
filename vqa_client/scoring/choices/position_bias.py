"""Whether a model prefers a place among the choices: what it is worth when the right answer stands there.

`deviation` is the standard deviation of the recalls, RStd in Zheng et al., Large Language Models Are Not Robust
Multiple Choice Selectors (2024): 0 for a model without a preference. Shares of what is chosen are compared with those
of what is right, because right answers need not be spread evenly.
"""

from collections import Counter
from statistics import pstdev

from msgspec import Struct

from vqa_client.scoring.averages import Averaging, Mean


class Position(Struct, frozen=True, kw_only=True):
    """One place: how often the right answer stood there and was found, and how often the place was chosen.

    Shares are of all questions, `chosen_share` of those with an answer; None where there are none.
    """

    recall: Mean
    right: int
    right_share: float | None
    chosen: int
    chosen_share: float | None


class PositionBias(Struct, frozen=True, kw_only=True):
    """By label; `deviation` is None unless two places held a right answer."""

    positions: dict[str, Position]
    deviation: float | None


class Positions:
    """Collects which place was right and which was chosen."""

    def __init__(self) -> None:
        self._recalls: dict[str, Averaging] = {}
        self._right: Counter[str] = Counter()
        self._chosen: Counter[str] = Counter()

    def add(self, labels: tuple[str, ...], right: str, chosen: str | None, score: float, cluster: str = "") -> None:
        """Take one question: its labels, the right and the chosen one, None where no answer was read."""
        for label in labels:
            self._recalls.setdefault(label, Averaging())
        self._right[right] += 1
        self._recalls.setdefault(right, Averaging()).add(score, cluster)
        if chosen is not None:
            self._chosen[chosen] += 1

    def bias(self) -> PositionBias:
        recalls = {label: averaging.average() for label, averaging in sorted(self._recalls.items())}
        known = [of.value for of in recalls.values() if of.value is not None]
        return PositionBias(
            positions={
                label: Position(
                    recall=recall,
                    right=self._right[label],
                    right_share=_share(self._right, label),
                    chosen=self._chosen[label],
                    chosen_share=_share(self._chosen, label),
                )
                for label, recall in recalls.items()
            },
            deviation=pstdev(known) if len(known) > 1 else None,
        )


def _share(of: "Counter[str]", label: str) -> float | None:
    total = of.total()
    return of[label] / total if total else None

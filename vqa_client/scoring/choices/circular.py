"""Circular evaluation: a question counts as right when it is right with its choices in every rotation.

Source: Liu et al., MMBench: Is Your Multi-modal Model an All-around Player? (2023), CircularEval.
"""

from collections.abc import Sequence

from msgspec import Struct

from vqa_client.scoring.averages import Averaging, Mean
from vqa_client.scoring.choices.position_bias import PositionBias
from vqa_client.scoring.repeats import majority


class CircularFigures(Struct, frozen=True, kw_only=True):
    """Means over the `questions` that have all their rotations; those that have not are `unfinished`.

    `circular` is right in every rotation, `once` in one at least, `mean` the usual accuracy over all rotations,
    `majority` that of the text chosen most often. `same_text` and `same_letter` are shares of questions that are always
    answered with one text, which is how it should be, and always with one letter, which is how it should not.
    `rotations` are those of the question that has most.
    """

    rotations: int
    questions: int
    unfinished: int
    circular: Mean
    mean: Mean
    once: Mean
    majority: Mean
    same_text: Mean
    same_letter: Mean
    bias: PositionBias

    @property
    def named(self) -> dict[str, Mean]:
        """The means by what they say."""
        return {
            "right in all rotations": self.circular,
            "mean of all rotations": self.mean,
            "right in at least one": self.once,
            "majority of texts": self.majority,
            "always the same text": self.same_text,
            "always the same letter": self.same_letter,
        }


class CircularScores:
    """Collects questions with their rotations."""

    def __init__(self) -> None:
        self._rotations = self._unfinished = 0
        self._circular, self._mean, self._once, self._majority = (Averaging() for _ in range(4))
        self._same_text, self._same_letter = Averaging(), Averaging()

    def add(
        self,
        scores: Sequence[float],
        letters: Sequence[str | None],
        texts: Sequence[str | None],
        rotations: int,
        cluster: str = "",
    ) -> None:
        """Take one question's rotations: scores, and the letters and texts chosen, None where no answer was read.

        A question that hasn't all of its `rotations` is unfinished.
        """
        self._rotations = max(self._rotations, rotations)
        if len(scores) < rotations:
            self._unfinished += 1
            return
        self._circular.add(float(all(score >= 1.0 for score in scores)), cluster)
        self._once.add(float(any(score >= 1.0 for score in scores)), cluster)
        self._mean.add(sum(scores) / len(scores), cluster)
        self._majority.add(majority(scores, texts), cluster)
        self._same_text.add(_always_one(texts), cluster)
        self._same_letter.add(_always_one(letters), cluster)

    def figures(self, bias: PositionBias) -> CircularFigures:
        circular = self._circular.average()
        return CircularFigures(
            rotations=self._rotations,
            questions=circular.n,
            unfinished=self._unfinished,
            circular=circular,
            mean=self._mean.average(),
            once=self._once.average(),
            majority=self._majority.average(),
            same_text=self._same_text.average(),
            same_letter=self._same_letter.average(),
            bias=bias,
        )


def _always_one(chosen: Sequence[str | None]) -> float:
    return float(len(set(chosen)) == 1 and chosen[0] is not None)

"""Figures of questions that were asked several times (pass@k, majority, instability), or with and without images."""

from collections.abc import Mapping, Sequence
from math import comb

from msgspec import Struct

from vqa_client.scoring.paired import Difference, difference
from vqa_client.scoring.statistics import Averaging, Mean
from vqa_client.types import Group, group_values

EVERY_K = 5
"""Up to here pass@k is given for every k, above for powers of two."""


class RepeatFigures(Struct, frozen=True, kw_only=True):
    """Means over the `questions` that have all their repeats; the others are `unfinished`.

    `pass_at` maps k to pass@k. `turning` is the share of questions that are right in some repeats and wrong in others,
    `changing` that of questions whose repeats give different answers, None if answers can't be compared. All but
    `changing` are over the questions whose right answer is known.
    """

    repeats: int
    questions: int
    unfinished: int
    pass_at: dict[int, Mean]
    majority: Mean
    turning: Mean
    changing: Mean | None

    @property
    def named(self) -> dict[str, Mean]:
        named = {f"pass@{k}": of for k, of in self.pass_at.items()} | {"majority": self.majority}
        named["right in some repeats only"] = self.turning
        return named | ({"several answers": self.changing} if self.changing else {})


def pass_at_k(n: int, right: int, k: int) -> float:
    """The probability that at least one of `k` repeats is right, drawn from `n` repeats with `right` right ones.

    1 - C(n - right, k) / C(n, k), unbiased if the repeats are independent: Chen et al., Evaluating Large Language
    Models Trained on Code (2021), equation 1. Raises ValueError unless 1 <= k <= n and 0 <= right <= n.
    """
    if not 1 <= k <= n or not 0 <= right <= n:
        raise ValueError(f"{k} of {n} repeats with {right} right")
    return 1 - comb(n - right, k) / comb(n, k)


def ks(repeats: int) -> list[int]:
    """The values of k for which pass@k is reported."""
    return [k for k in range(1, repeats + 1) if k <= EVERY_K or k == repeats or not k & (k - 1)]


def majority(scores: Sequence[float], votes: Sequence[str | None]) -> float:
    """The score of the most frequent answer; the mean score of several that are equally frequent.

    Repeats without an answer (None) don't vote; without any vote it is 0.
    """
    by_vote: dict[str, list[float]] = {}
    for score, vote in zip(scores, votes, strict=True):
        if vote is not None:
            by_vote.setdefault(vote, []).append(score)
    most = max(map(len, by_vote.values()), default=0)
    winners = [sum(members) / len(members) for members in by_vote.values() if len(members) == most]
    return sum(winners) / len(winners) if winners else 0.0


class RepeatScores:
    """Collects questions with their repeats; `comparable`: whether equal answers are equal texts."""

    def __init__(self, repeats: int, *, comparable: bool) -> None:
        self._repeats, self._comparable = repeats, comparable
        self._questions = self._unfinished = 0
        self._pass_at = {k: Averaging() for k in ks(repeats)}
        self._majority, self._turning, self._changing = Averaging(), Averaging(), Averaging()

    def add(
        self, scores: Sequence[float], answers: Sequence[str | None], cluster: str = "", *, is_known: bool = True
    ) -> None:
        """Add the repeats of a question: scores in [0, 1], which count if the right answer `is_known`, and answers."""
        if len(scores) < self._repeats:
            self._unfinished += 1
            return
        self._questions += 1
        votes = self.votes(scores, answers)
        self._changing.add(float(len(set(votes)) > 1), cluster)
        if not is_known:
            return
        right = sum(score >= 1.0 for score in scores)
        for k, averaging in self._pass_at.items():
            averaging.add(pass_at_k(len(scores), right, k), cluster)
        self._majority.add(majority(scores, votes), cluster)
        self._turning.add(float(0 < right < len(scores)), cluster)

    def votes(self, scores: Sequence[float], answers: Sequence[str | None]) -> list[str | None]:
        """What each repeat votes for: its answer, or "right" and "wrong" if answers can't be compared."""
        if not self._comparable:
            return ["right" if score >= 1.0 else "wrong" for score in scores]
        return list(map(_folded, answers))

    def figures(self) -> RepeatFigures:
        return RepeatFigures(
            repeats=self._repeats,
            questions=self._questions,
            unfinished=self._unfinished,
            pass_at={k: averaging.average() for k, averaging in self._pass_at.items()},
            majority=self._majority.average(),
            turning=self._turning.average(),
            changing=self._changing.average() if self._comparable else None,
        )


class Pairing(Struct, frozen=True, kw_only=True):
    """Questions asked both ways: accuracy with images (seen) and without (blind), and the difference seen - blind.

    The accuracies are over the questions whose right answer is known.
    """

    questions: int
    seen: Mean
    blind: Mean
    gain: Difference | None


class BlindFigures(Struct, frozen=True, kw_only=True):
    """Figures of all questions asked both ways, and by field and value; `unfinished` were asked in one form only.

    `kept` is the share of questions right with images that are right without, too; `same` the share with the same
    answer both ways, None if answers can't be compared; `chance` the accuracy of guessing, None without choices.
    """

    overall: Pairing
    groups: dict[str, dict[str, Pairing]]
    unfinished: int
    kept: Mean
    same: Mean | None
    chance: float | None


class _Pairs:
    def __init__(self) -> None:
        self._questions = 0
        self._seen, self._blind = Averaging(), Averaging()
        self._scores: list[tuple[float, float, str]] = []

    def add(self, seen: float, blind: float, cluster: str, *, is_known: bool) -> None:
        self._questions += 1
        if not is_known:
            return
        self._seen.add(seen, cluster)
        self._blind.add(blind, cluster)
        self._scores.append((seen, blind, cluster))

    def pairing(self) -> Pairing:
        return Pairing(
            questions=self._questions,
            seen=self._seen.average(),
            blind=self._blind.average(),
            gain=difference(self._scores),
        )


class BlindScores:
    """Collects questions asked both ways; `comparable`: whether equal answers are equal texts."""

    def __init__(self, *, comparable: bool) -> None:
        self._comparable = comparable
        self._all = _Pairs()
        self._groups: dict[str, dict[str, _Pairs]] = {}
        self._kept, self._same, self._chance = Averaging(), Averaging(), Averaging()
        self.unfinished = 0

    def add(
        self,
        scores: tuple[float, float],
        answers: tuple[str | None, str | None],
        *,
        cluster: str = "",
        groups: Mapping[str, Group],
        choices: int = 0,
        is_known: bool = True,
    ) -> None:
        """Add a question: scores and answers first with its images, then without; `choices` is their number.

        Scores count if the right answer `is_known`.
        """
        self._all.add(*scores, cluster, is_known=is_known)
        for field, group in groups.items():
            for value in group_values(group):
                self._groups.setdefault(field, {}).setdefault(value, _Pairs()).add(*scores, cluster, is_known=is_known)
        if is_known and scores[0] >= 1.0:
            self._kept.add(float(scores[1] >= 1.0), cluster)
        seen, blind = map(_folded, answers)
        self._same.add(float(seen is not None and seen == blind), cluster)
        if choices:
            self._chance.add(1 / choices)

    def figures(self) -> BlindFigures:
        return BlindFigures(
            overall=self._all.pairing(),
            groups={
                field: {value: pairs.pairing() for value, pairs in sorted(values.items())}
                for field, values in sorted(self._groups.items())
            },
            unfinished=self.unfinished,
            kept=self._kept.average(),
            same=self._same.average() if self._comparable else None,
            chance=self._chance.average().value,
        )


def _folded(answer: str | None) -> str | None:
    return None if answer is None else answer.strip().rstrip(".").casefold()

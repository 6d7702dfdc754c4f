"""What asking a question several times says: pass@k, the majority's answer, how unstable answers are; and what asking
it with its images and without says of how much they matter."""

from collections.abc import Mapping, Sequence
from math import comb

from msgspec import Struct

from vqa_client.scoring.paired import Difference, difference
from vqa_client.scoring.statistics import Averaging, Mean
from vqa_client.types import Group, group_values

EVERY_K = 5
"""Up to here pass@k is given for every k, above for powers of two."""


class RepeatFigures(Struct, frozen=True, kw_only=True):
    """Means over the `questions` that have all their repeats; those that have not are `unfinished`.

    Scores are of those whose answers are known.

    `pass_at` maps k to pass@k. `turning` is the share of questions that are right in some repeats and not in others,
    `changing` of those whose repeats give several answers; None where answers can't be compared with each other.
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
        """The means by what they say."""
        named = {f"pass@{k}": of for k, of in self.pass_at.items()} | {"majority": self.majority}
        named["right in some repeats only"] = self.turning
        return named | ({"several answers": self.changing} if self.changing else {})


def pass_at_k(n: int, right: int, k: int) -> float:
    """The probability that of `k` repeats drawn from `n`, of which some are right, one at least is.

    1 - C(n - right, k) / C(n, k), unbiased where the repeats are independent: Chen et al., Evaluating Large Language
    Models Trained on Code (2021), equation 1. Raises ValueError unless 1 <= k <= n and 0 <= right <= n.
    """
    if not 1 <= k <= n or not 0 <= right <= n:
        raise ValueError(f"{k} of {n} repeats with {right} right")
    return 1 - comb(n - right, k) / comb(n, k)


def ks(repeats: int) -> list[int]:
    """For which k pass@k is given."""
    return [k for k in range(1, repeats + 1) if k <= EVERY_K or k == repeats or not k & (k - 1)]


def majority(scores: Sequence[float], votes: Sequence[str | None]) -> float:
    """The score of the answer that most repeats give; among several as frequent, the mean of theirs.

    Repeats without an answer, None, don't vote; where none votes it is 0.
    """
    cast: dict[str, list[float]] = {}
    for score, vote in zip(scores, votes, strict=True):
        if vote is not None:
            cast.setdefault(vote, []).append(score)
    most = max(map(len, cast.values()), default=0)
    first = [sum(members) / len(members) for members in cast.values() if len(members) == most]
    return sum(first) / len(first) if first else 0.0


class RepeatScores:
    """Collects questions with their repeats; `comparable` says whether equal answers are equal texts."""

    def __init__(self, repeats: int, *, comparable: bool) -> None:
        self._repeats, self._comparable = repeats, comparable
        self._questions = self._unfinished = 0
        self._pass_at = {k: Averaging() for k in ks(repeats)}
        self._majority, self._turning, self._changing = Averaging(), Averaging(), Averaging()

    def add(
        self, scores: Sequence[float], answers: Sequence[str | None], cluster: str = "", *, is_known: bool = True
    ) -> None:
        """Take the repeats of one question: scores in [0, 1], if the right answer `is_known`, and answers or None."""
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
        """What each repeat votes for: its answer, or, where answers can't be compared, that it is right or wrong."""
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
    """Questions asked both ways: accuracy with images and without, and the paired difference, seen less blind.

    Scores are of those whose answers are known.
    """

    questions: int
    seen: Mean
    blind: Mean
    gain: Difference | None


class BlindFigures(Struct, frozen=True, kw_only=True):
    """Over all `questions` asked both ways, and by field and value; `unfinished` have one form only.

    `kept` is the share of those right with images that are right without; `same` that of those answered with one
    answer both ways, None where answers can't be compared; `chance` what guessing among the choices is worth, None
    where there are none.
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
        self._held: list[tuple[float, float, str]] = []

    def add(self, seen: float, blind: float, cluster: str, *, is_known: bool) -> None:
        self._questions += 1
        if not is_known:
            return
        self._seen.add(seen, cluster)
        self._blind.add(blind, cluster)
        self._held.append((seen, blind, cluster))

    def pairing(self) -> Pairing:
        return Pairing(
            questions=self._questions,
            seen=self._seen.average(),
            blind=self._blind.average(),
            gain=difference(self._held),
        )


class BlindScores:
    """Collects questions asked both ways; `comparable` says whether equal answers are equal texts."""

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
        """Take one question, first as asked with its images; `choices` counts those it has.

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

"""How much images matter: the same questions with them and without, paired."""

from collections.abc import Mapping

from msgspec import Struct

from vqa_client.scoring.paired import Difference, difference
from vqa_client.scoring.statistics import Averaging, Mean
from vqa_client.types import Group, group_values


class Pairing(Struct, frozen=True, kw_only=True):
    """Questions asked both ways: accuracy with images and without, and the paired difference, seen less blind."""

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
        self._seen, self._blind = Averaging(), Averaging()
        self._held: list[tuple[float, float, str]] = []

    def add(self, seen: float, blind: float, cluster: str) -> None:
        self._seen.add(seen, cluster)
        self._blind.add(blind, cluster)
        self._held.append((seen, blind, cluster))

    def pairing(self) -> Pairing:
        return Pairing(
            questions=len(self._held),
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
    ) -> None:
        """Take one question, first as asked with its images; `choices` counts those it has."""
        self._all.add(*scores, cluster)
        for field, group in groups.items():
            for value in group_values(group):
                self._groups.setdefault(field, {}).setdefault(value, _Pairs()).add(*scores, cluster)
        if scores[0] >= 1.0:
            self._kept.add(float(scores[1] >= 1.0), cluster)
        seen, blind = (None if one is None else one.strip().rstrip(".").casefold() for one in answers)
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

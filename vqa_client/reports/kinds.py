"""Records counted by kind and cluster, so that 200,000 of them are walked over once and then forgotten."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.reports.clusters import Clusters, Signature
from vqa_client.scoring.finish import is_cut
from vqa_client.types import ANSWERED, UNKNOWN, Record, Status

Group = TypeVar("Group", bound=Hashable)

ClusterSums = dict[tuple[float, int, int], int]
"""How many clusters have this sum of values, this number of questions and this number of answered ones."""
_NONE = (0.0, 0, 0)


class Kind(Struct, frozen=True):
    """All that a report adds up of a record, its tokens apart."""

    status: Status
    score: float
    cut: bool
    fields: tuple[str, ...]
    values: tuple[str, ...]
    metrics: tuple[str, ...]
    metric_values: tuple[float, ...]

    @property
    def answered(self) -> bool:
        """Say whether the model replied."""
        return self.status in ANSWERED

    def group(self, field: str) -> str:
        """Name the record's value of a breakdown field."""
        return self.values[self.fields.index(field)] if field in self.fields else UNKNOWN

    def metric(self, name: str) -> float | None:
        """Give the score under a metric: 0 for a failed question, None for an answered one that lacks it."""
        if not self.answered:
            return 0.0
        return self.metric_values[self.metrics.index(name)] if name in self.metrics else None


class TokenSum(Struct):
    """Tokens added up over the `n` records that have a count: a server that doesn't say is no zero."""

    total: int = 0
    n: int = 0

    def add(self, tokens: int | None) -> None:
        """Add one record's count, where the server gave one."""
        if tokens is not None:
            self.total += tokens
            self.n += 1


class KindCounts(Struct, frozen=True, kw_only=True):
    """How many clusters are alike in what they hold, and what all records cost."""

    kinds: tuple[Kind, ...]
    signatures: dict[Signature, int]
    prompt_tokens: TokenSum
    completion_tokens: TokenSum

    def scored_by(self, metric: str) -> "KindCounts":
        """The same records with their score under a metric, where they have one, in place of the headline's."""
        scores = [(kind.metric(metric), kind) for kind in self.kinds]
        return replace(
            self, kinds=tuple(kind if score is None else replace(kind, score=score) for score, kind in scores)
        )

    def numbers(self, group_of: Callable[[Kind], Group | None]) -> "Counter[Group]":
        """Count the records of each group, leaving out those whose group is None."""
        groups = list(map(group_of, self.kinds))
        found: Counter[Group] = Counter()
        for signature, times in self.signatures.items():
            for number, count in signature:
                group = groups[number]
                if group is not None:
                    found[group] += count * times
        return found

    def by_group(
        self, group_of: Callable[[Kind], Group], value_of: Callable[[Kind], float | None]
    ) -> dict[Group, ClusterSums]:
        """Add up the values of each cluster's records in each group, leaving out those whose value is None."""
        groups, values = list(map(group_of, self.kinds)), list(map(value_of, self.kinds))
        answered = [kind.answered for kind in self.kinds]
        found: dict[Group, ClusterSums] = {group: {} for group in groups}
        for signature, times in self.signatures.items():
            sums: dict[Group, tuple[float, int, int]] = {}
            for number, count in signature:
                value = values[number]
                if value is None:
                    continue
                group = groups[number]
                total, n, n_answered = sums.get(group, _NONE)
                replied = count if answered[number] else 0
                sums[group] = (total + value * count, n + count, n_answered + replied)
            for group, held in sums.items():
                in_group = found[group]
                in_group[held] = in_group.get(held, 0) + times
        return found


def count_kinds(records: Iterable[Record]) -> KindCounts:
    """Walk over the records once; those without a cluster are clusters of their own."""
    numbers: dict[tuple[Any, ...], int] = {}
    clusters = Clusters()
    prompt, completion = TokenSum(), TokenSum()
    for record in records:
        number = numbers.setdefault(_key(record), len(numbers))
        prompt.add(record.prompt_tokens)
        completion.add(record.completion_tokens)
        clusters.add(record.cluster, number)
    ordered = sorted(numbers)
    place = {numbers[key]: index for index, key in enumerate(ordered)}
    return KindCounts(
        kinds=tuple(Kind(*key) for key in ordered),
        signatures=_signatures(clusters.alike(), place),
        prompt_tokens=prompt,
        completion_tokens=completion,
    )


def _signatures(alike: Mapping[Signature, int], place: Mapping[int, int]) -> dict[Signature, int]:
    """Number the kinds by what they are, not by which came first, so that sums are the same for any order."""
    return {tuple(sorted((place[number], count) for number, count in held)): times for held, times in alike.items()}


def _key(record: Record) -> tuple[Any, ...]:
    groups, parts = record.groups, record.parts
    cut = is_cut(record.finish_reason) or record.status == "truncated"
    labels = (tuple(groups), tuple(groups.values()), tuple(parts), tuple(parts.values()))
    return (record.status, record.score, cut, *labels)

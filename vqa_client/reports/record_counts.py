"""Records counted by kind and cluster: one walk over 200,000 records, without keeping them."""

from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.compact_index import CompactIndex
from vqa_client.scoring.finish import is_cut
from vqa_client.types import ANSWERED, UNKNOWN, Record, Status, group_values
from vqa_client.types import Group as Value

Group = TypeVar("Group", bound=Hashable)

ClusterSums = dict[tuple[float, int, int], int]
"""How many clusters have this sum of values, this number of questions and this number of answered ones."""
_NONE = (0.0, 0, 0)


Signature = tuple[tuple[int, int], ...]
"""How many records of each kind a cluster has, as (number of the kind, count), by number."""


class Clusters:
    """Counts kinds by cluster; the records of a cluster need not be neighbours."""

    def __init__(self) -> None:
        self._known: dict[Signature, int] = {}
        self._signatures: list[Signature] = []
        self._unclustered: Counter[int] = Counter()
        self._numbers = CompactIndex[str](self._is_named)
        self._names = bytearray()
        self._ends = array("Q")
        self._signature_of = array("L")
        self._open = ""
        self._kinds: dict[int, int] = {}

    def add(self, cluster: str, kind: int) -> None:
        """Count one record; "" makes it a cluster of its own."""
        if not cluster:
            self._unclustered[kind] += 1
            return
        if cluster != self._open:
            self._close()
            self._open = cluster
        self._kinds[kind] = self._kinds.get(kind, 0) + 1

    def signature_counts(self) -> Counter[Signature]:
        """How many clusters have each signature."""
        self._close()
        counts: Counter[Signature] = Counter({((kind, 1),): times for kind, times in self._unclustered.items()})
        for number, times in Counter(self._signature_of).items():
            counts[self._signatures[number]] += times
        return counts

    def _close(self) -> None:
        """Store the counts of the cluster just read, added to its earlier ones."""
        if not self._kinds:
            return
        number = self._numbers.number(self._open)
        if number == len(self._signature_of):
            self._names += self._open.encode("utf-8", "surrogatepass")
            self._ends.append(len(self._names))
            self._signature_of.append(0)
        else:
            for kind, times in self._signatures[self._signature_of[number]]:
                self._kinds[kind] = self._kinds.get(kind, 0) + times
        self._signature_of[number] = self._number(tuple(sorted(self._kinds.items())))
        self._kinds = {}

    def _number(self, signature: Signature) -> int:
        number = self._known.setdefault(signature, len(self._signatures))
        if number == len(self._signatures):
            self._signatures.append(signature)
        return number

    def _is_named(self, number: int, cluster: str) -> bool:
        start = self._ends[number - 1] if number else 0
        return self._names[start : self._ends[number]] == cluster.encode("utf-8", "surrogatepass")


class RecordKind(Struct, frozen=True):
    """Everything of a record that a report adds up, except its tokens."""

    status: Status
    score: float
    cut: bool
    fields: tuple[str, ...]
    values: tuple[Value, ...]
    metrics: tuple[str, ...]
    metric_values: tuple[float, ...]

    @property
    def answered(self) -> bool:
        return self.status in ANSWERED

    def groups(self, field: str) -> tuple[str, ...]:
        """The record's values of a breakdown field."""
        return group_values(self.values[self.fields.index(field)] if field in self.fields else UNKNOWN)

    def metric(self, name: str) -> float | None:
        """The score under a metric; without one, 0 for a failed question and None for an answered one."""
        if name in self.metrics:
            return self.metric_values[self.metrics.index(name)]
        return None if self.answered else 0.0


class TokenSum(Struct):
    """Tokens added up over the `n` records with a count: a missing count is not zero."""

    total: int = 0
    n: int = 0

    def add(self, tokens: int | None) -> None:
        """Add one record's count; None if the server gave none."""
        if tokens is not None:
            self.total += tokens
            self.n += 1


class KindCounts(Struct, frozen=True, kw_only=True):
    """How many clusters have each signature, and the tokens of all records."""

    kinds: tuple[RecordKind, ...]
    signatures: dict[Signature, int]
    prompt_tokens: TokenSum
    completion_tokens: TokenSum

    def scored_by(self, metric: str) -> "KindCounts":
        """The same records, scored by a metric if they have it, else by the headline."""
        scores = [(kind.metric(metric), kind) for kind in self.kinds]
        return replace(
            self, kinds=tuple(kind if score is None else replace(kind, score=score) for score, kind in scores)
        )

    def numbers(self, groups_of: Callable[[RecordKind], Iterable[Group]]) -> "Counter[Group]":
        """Count the records of each group; a record counts in each of its groups."""
        groups = list(map(groups_of, self.kinds))
        numbers: Counter[Group] = Counter()
        for signature, times in self.signatures.items():
            for number, count in signature:
                for group in groups[number]:
                    numbers[group] += count * times
        return numbers

    def by_group(
        self, groups_of: Callable[[RecordKind], Iterable[Group]], value_of: Callable[[RecordKind], float | None]
    ) -> dict[Group, ClusterSums]:
        """Add up values by cluster and group, without the records whose value is None."""
        groups, values = [tuple(groups_of(kind)) for kind in self.kinds], list(map(value_of, self.kinds))
        answered = [kind.answered for kind in self.kinds]
        by_group: dict[Group, ClusterSums] = {group: {} for of_kind in groups for group in of_kind}
        for signature, times in self.signatures.items():
            sums: dict[Group, tuple[float, int, int]] = {}
            for number, count in signature:
                value = values[number]
                if value is None:
                    continue
                replied = count if answered[number] else 0
                for group in groups[number]:
                    total, n, n_answered = sums.get(group, _NONE)
                    sums[group] = (total + value * count, n + count, n_answered + replied)
            for group, cluster in sums.items():
                in_group = by_group[group]
                in_group[cluster] = in_group.get(cluster, 0) + times
        return by_group


def count_kinds(records: Iterable[Record]) -> KindCounts:
    """Count the records in one walk; those without a cluster are clusters of their own.

    Kinds are numbered in sorted order, not by arrival, so that sums are the same for any order of the records.
    """
    numbers: dict[tuple[Any, ...], int] = {}
    clusters = Clusters()
    prompt, completion = TokenSum(), TokenSum()
    for record in records:
        number = numbers.setdefault(_kind_key(record), len(numbers))
        prompt.add(record.prompt_tokens)
        completion.add(record.completion_tokens)
        clusters.add(record.cluster, number)
    ordered = sorted(numbers, key=_sort_key)
    place = {numbers[key]: index for index, key in enumerate(ordered)}
    return KindCounts(
        kinds=tuple(RecordKind(*key) for key in ordered),
        signatures={
            tuple(sorted((place[number], count) for number, count in signature)): times
            for signature, times in clusters.signature_counts().items()
        },
        prompt_tokens=prompt,
        completion_tokens=completion,
    )


def _sort_key(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """A key that can be compared with all others: a group may be one text or several."""
    return (*key[:4], tuple(map(group_values, key[4])), *key[5:])


def _kind_key(record: Record) -> tuple[Any, ...]:
    groups, parts = record.groups, record.parts
    cut = is_cut(record.finish_reason) or record.status == "truncated"
    labels = (tuple(groups), tuple(groups.values()), tuple(parts), tuple(parts.values()))
    return (record.status, record.score, cut, *labels)

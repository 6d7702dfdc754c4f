"""Which clusters of records hold the same kinds, in some 50 bytes a cluster instead of a kilobyte."""

from array import array
from collections import Counter

from vqa_client.numbering import Numbering

Signature = tuple[tuple[int, int], ...]
"""How many records of which kind a cluster has, as (number of the kind, count), by number."""


class Clusters:
    """Counts kinds by cluster while records go by; the neighbours of a cluster need not be neighbours here."""

    def __init__(self) -> None:
        self._known: dict[Signature, int] = {}
        self._signatures: list[Signature] = []
        self._alone: Counter[int] = Counter()
        self._numbers = Numbering[str](self._holds)
        self._names = bytearray()
        self._ends = array("Q")
        self._held = array("L")
        self._open = ""
        self._kinds: Counter[int] = Counter()

    def add(self, cluster: str, kind: int) -> None:
        """Take one record; "" makes it a cluster of its own."""
        if not cluster:
            self._alone[kind] += 1
            return
        if cluster != self._open:
            self._close()
            self._open = cluster
        self._kinds[kind] += 1

    def alike(self) -> Counter[Signature]:
        """How many clusters have a signature."""
        self._close()
        found: Counter[Signature] = Counter({((kind, 1),): times for kind, times in self._alone.items()})
        for number, times in Counter(self._held).items():
            found[self._signatures[number]] += times
        return found

    def _close(self) -> None:
        """Keep what the neighbours of one cluster hold, with what it had before."""
        if not self._kinds:
            return
        number = self._numbers.number(self._open)
        if number == len(self._held):
            self._names += self._open.encode("utf-8", "surrogatepass")
            self._ends.append(len(self._names))
            self._held.append(0)
        else:
            self._kinds.update(dict(self._signatures[self._held[number]]))
        self._held[number] = self._number(tuple(sorted(self._kinds.items())))
        self._kinds = Counter()

    def _number(self, signature: Signature) -> int:
        number = self._known.setdefault(signature, len(self._signatures))
        if number == len(self._signatures):
            self._signatures.append(signature)
        return number

    def _holds(self, number: int, cluster: str) -> bool:
        start = self._ends[number - 1] if number else 0
        return self._names[start : self._ends[number]] == cluster.encode("utf-8", "surrogatepass")

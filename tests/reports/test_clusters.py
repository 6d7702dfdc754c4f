"""Clusters are distinguished and added up for any order of their records."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from vqa_client.reports.record_counts import Clusters


@given(st.lists(st.tuples(st.sampled_from(["", "a", "b", "ab", "é", "c"]), st.integers(0, 3)), max_size=40))
def test_signatures_are_counted_as_if_clusters_were_counted_one_by_one(records: list[tuple[str, int]]) -> None:
    clusters = Clusters()
    held: dict[object, Counter[int]] = {}
    for number, (cluster, kind) in enumerate(records):
        clusters.add(cluster, kind)
        held.setdefault(cluster or number, Counter())[kind] += 1
    expected = Counter(tuple(sorted(kinds.items())) for kinds in held.values())
    assert {signature: times for signature, times in clusters.signature_counts().items() if times} == expected

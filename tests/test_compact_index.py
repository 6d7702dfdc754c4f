"""Numbers are given in order, and never to the wrong key, with any hashes."""

from collections.abc import Hashable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.compact_index import CompactIndex


class SameHash:
    """A key whose hash is equal to that of many other keys."""

    def __init__(self, name: int, hashes: int) -> None:
        self.name = name
        self.hashes = hashes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameHash) and self.name == other.name

    def __hash__(self) -> int:
        return self.name % self.hashes


@pytest.mark.parametrize("hashes", [1, 2, 7, 1 << 31])
@given(names=st.lists(st.integers(min_value=0, max_value=60), max_size=120))
def test_numbers_equal_those_of_a_dictionary_even_if_all_hashes_are_equal(hashes: int, names: list[int]) -> None:
    keys: list[Hashable] = []
    numbers = CompactIndex[Hashable](lambda number, key: keys[number] == key)
    for name in names:
        key = SameHash(name, hashes)
        expected = keys.index(key) if key in keys else -1
        assert numbers.find(key)[0] == expected
        assert numbers.number(key) == (len(keys) if expected < 0 else expected)
        if expected < 0:
            keys.append(key)
    assert len(numbers) == len(keys)


def test_keys_are_found_again_after_every_growth() -> None:
    numbers = CompactIndex[str](lambda number, key: str(number) == key)
    for number in range(20_000):
        assert numbers.number(str(number)) == number
    assert all(numbers.find(str(number)) == (number, False) for number in range(20_000))
    assert numbers.find("20000") == (-1, False)


def test_a_key_with_the_same_mark_is_found_without_comparing_keys() -> None:
    compared: list[str] = []
    numbers = CompactIndex[str](lambda number, key: not compared.append(key), expected=3)
    for key, mark in (("a", 5), ("b", 6), ("c", 0), ("b", 7)):
        numbers.number(key, mark)
    assert (len(numbers), compared) == (3, ["b"])
    assert [numbers.find(key, mark) for key, mark in (("a", 5), ("b", 7), ("d", 5))] == [
        (0, True),
        (1, True),
        (-1, False),
    ]
    assert compared == ["b"]
    assert [numbers.find(key, mark) for key, mark in (("a", 6), ("b", 6), ("c", 0))] == [(n, False) for n in range(3)]
    assert compared == ["b", "a", "b", "c"]

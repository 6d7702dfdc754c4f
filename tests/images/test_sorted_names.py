"""Packed names are found again as they were given, in folders of any size."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.images import find
from vqa_client.images.find import Row, SortedNames

STEMS = st.text("ab1_-. é", min_size=1, max_size=6)
NAMES = st.lists(st.builds("{}{}.{}".format, STEMS, st.integers(0, 25) | st.just(""), st.sampled_from(["png", "jp2"])))


def all_of(rows: list[Row]) -> list[str]:
    return [name for row in rows for name in row.names()]


@given(names=NAMES, start=STEMS)
def test_names_that_go_on_behind_an_id_are_found_and_no_others(names: list[str], start: str) -> None:
    found = all_of(list(SortedNames(names).after(start)))
    going_on = [name for name in names if name.startswith(start) and name[len(start) :][:1] in ("-", ".", "_")]
    assert set(going_on) <= set(found) <= set(names)
    assert all(name.startswith(start) for name in found)


@given(names=NAMES)
def test_every_name_is_found_by_its_stem(names: list[str]) -> None:
    packed = SortedNames(names)
    for name in names:
        stem = name.rpartition(".")[0]
        before = packed.before(stem + ".")
        rows = [*([before] if before else []), *packed.after(stem)]
        assert name in [row.named(stem) for row in rows]
    assert len(packed) == len(names)


@pytest.mark.parametrize("chunk_names", [50, 8192])
def test_thousands_of_documents_are_found_and_their_pages_are_one_entry(
    monkeypatch: pytest.MonkeyPatch, chunk_names: int
) -> None:
    monkeypatch.setattr(find, "_CHUNK_NAMES", chunk_names)
    names = [f"{document:04x}_page_{page:03}.png" for document in range(1_000) for page in range(1, 13)]
    random.Random(1).shuffle(names)
    packed = SortedNames(names)
    assert len(packed) == len(names)
    for document in range(1_000):
        (row,) = packed.after(f"{document:04x}")
        assert row.names() == [f"{document:04x}_page_{page:03}.png" for page in range(1, 13)]


def test_an_id_that_begins_many_others_is_not_sought_among_them() -> None:
    packed = SortedNames([*(f"6{number:05}_1.png" for number in range(500)), "6-1.png", "6_2.png"])
    assert all_of(list(packed.after("6"))) == ["6-1.png", "6_2.png"]


def test_without_names_nothing_is_found() -> None:
    packed = SortedNames([])
    assert (list(packed.after("a")), packed.before("a"), len(packed)) == ([], None, 0)

"""In a folder of any size, the names that begin with an id are found, and no others."""

from hypothesis import given
from hypothesis import strategies as st

from vqa_client.images.find import names_behind

STEMS = st.text("ab1_-. é", min_size=1, max_size=6)
NAMES = st.lists(st.builds("{}{}.{}".format, STEMS, st.integers(0, 25) | st.just(""), st.sampled_from(["png", "jp2"])))


@given(names=NAMES, start=STEMS, near=st.integers(0, 20))
def test_names_that_go_on_behind_an_id_are_found_and_no_others(names: list[str], start: str, near: int) -> None:
    names.sort()
    continuing = [name for name in names if name.startswith(start) and name[len(start) :][:1] in ("-", ".", "_")]
    behind = list(names_behind(names, start, min(near, len(names))))
    assert [name for _, name in behind] == continuing
    assert [names[place] for place, _ in behind] == continuing


@given(names=NAMES)
def test_every_name_is_found_by_its_stem(names: list[str]) -> None:
    for name in names:
        assert name in dict(names_behind(sorted(names), name.rpartition(".")[0])).values()


def test_the_pages_of_each_of_thousands_of_documents_are_found() -> None:
    names = sorted(f"{document:04x}_page_{page:03}.png" for document in range(1_000) for page in range(1, 13))
    for document in range(1_000):
        behind = [name for _, name in names_behind(names, f"{document:04x}")]
        assert behind == [f"{document:04x}_page_{page:03}.png" for page in range(1, 13)]


def test_an_id_that_begins_many_others_is_not_sought_among_them() -> None:
    names = sorted([*(f"6{number:05}_1.png" for number in range(500)), "6-1.png", "6_2.png"])
    assert list(names_behind(names, "6")) == [(0, "6-1.png"), (501, "6_2.png")]


def test_without_names_nothing_is_found() -> None:
    assert not list(names_behind([], "a"))

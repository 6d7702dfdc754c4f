"""Stored paths of pages come back unchanged, for all names of documents and folders."""

from hypothesis import given
from hypothesis import strategies as st

from vqa_client.tasks.longbench import ShownPages

IDS = st.text("a1/é.", min_size=1, max_size=4)
ALIKE = st.tuples(IDS, st.lists(st.sampled_from(["_page_1.png", "_page_2.png", ".jpg"])))


@given(st.lists(ALIKE), st.lists(st.tuples(IDS, st.lists(st.text("/a1._", max_size=8)))))
def test_paths_come_back_as_they_were_given(
    alike: list[tuple[str, list[str]]], odd: list[tuple[str, list[str]]]
) -> None:
    given_ = [(name, tuple(f"/pages/{name}{rest}" for rest in rests)) for name, rests in alike]
    given_ += [(name, tuple(paths)) for name, paths in odd]
    shown = ShownPages()
    for name, paths in given_:
        shown.append(name, paths)
    assert [shown.paths(place, name) for place, (name, _) in enumerate(given_)] == [paths for _, paths in given_]


def test_documents_with_the_same_form_of_names_are_stored_once() -> None:
    shown = ShownPages()
    for number in range(1_000):
        shown.append(f"{number:x}", tuple(f"/pages/{number:x}_page_{page}.png" for page in range(20)))
    assert len(shown._shapes) == 1

"""Find the image of a record: where its benchmark keeps it, else by its name anywhere below the image folder."""

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path


class ImageFiles:
    """The images below one root; its folders are walked over once, when the first image isn't where it should be."""

    def __init__(self, root: Path) -> None:
        self._root = os.fspath(root)

    def find(self, places: Iterable[str]) -> str | None:
        """Give the first of `places` (relative to the root) that is a file, else a file of the same name, else None.

        A place outside the root is one by its name alone: a data file may not have any file sent that it names.
        Of several with that name it is one in the folder that the first place begins with, then the first by path.
        """
        wanted = [place for place in places if place]
        for place in filter(_is_below, wanted):
            path = os.path.join(self._root, place)
            if os.path.isfile(path):
                return path
        for place in wanted:
            same_name = self._by_name.get(os.path.basename(place), [])
            folder = os.path.join(self._root, place.split("/")[0], "")
            if same_name:
                return min(same_name, key=lambda path: (not path.startswith(folder), path))
        return None

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for folder, _, names in os.walk(self._root):
            for name in names:
                found.setdefault(name, []).append(os.path.join(folder, name))
        return found


def _is_below(place: str) -> bool:
    return not os.path.isabs(place) and os.pardir not in place.split("/")

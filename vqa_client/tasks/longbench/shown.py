"""The page images of many documents, kept in four bytes a document: most of them are named alike."""

import os
from array import array

Shape = tuple[str, tuple[str, ...]]
"""A folder and what follows the document's id in the names of its pages; without a folder, whole paths."""


class ShownPages:
    """Holds the paths of documents by place; the id that belongs to a place is given again to get them back."""

    def __init__(self) -> None:
        self._numbers: dict[Shape, int] = {}
        self._shapes: list[Shape] = []
        self._held = array("I")

    def append(self, document_id: str, paths: tuple[str, ...]) -> None:
        """Keep the paths of the next document."""
        shape = _shape(document_id, paths)
        number = self._numbers.setdefault(shape, len(self._shapes))
        if number == len(self._shapes):
            self._shapes.append(shape)
        self._held.append(number)

    def paths(self, place: int, document_id: str) -> tuple[str, ...]:
        """The paths of the document that was kept as number `place`, counted from 0."""
        folder, names = self._shapes[self._held[place]]
        if not folder:
            return names
        start = folder + document_id
        return tuple([start + name for name in names])


def _shape(document_id: str, paths: tuple[str, ...]) -> Shape:
    start = os.path.dirname(paths[0]) + os.sep + document_id if paths else ""
    if not start or not all(path.startswith(start) for path in paths):
        return "", paths
    return start.removesuffix(document_id), tuple([path[len(start) :] for path in paths])

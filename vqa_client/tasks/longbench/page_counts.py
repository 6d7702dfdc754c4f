"""Whether the folders of one command show a document on as many pages: their rows stand in one table."""

from array import array
from collections.abc import Callable

from msgspec import Struct

from vqa_client.tasks.longbench import Pages


class _Uneven(Struct):
    document: str
    here: int
    first: int
    documents: int = 0


class PageCounts:
    """Compares each folder with the first; all are asked for the same documents in the same order.

    A document that a folder doesn't have at all is not counted here: it is left out by name. Four bytes are kept of a
    document.
    """

    def __init__(self) -> None:
        self._first = ""
        self._counts = array("I")
        self._uneven: dict[str, _Uneven] = {}

    def counted(self, folder: str, pages: Pages) -> Pages:
        """The same pages, looked at on the way."""
        is_first, place = not self._first, -1
        self._first = self._first or folder

        def look(document_id: str) -> tuple[str, ...]:
            nonlocal place
            found, place = pages(document_id), place + 1
            if is_first:
                self._counts.append(len(found))
            elif found and self._counts[place] and len(found) != self._counts[place]:
                uneven = _Uneven(document=document_id, here=len(found), first=self._counts[place])
                self._uneven.setdefault(folder, uneven).documents += 1
            return found

        return look

    def tell(self, note: Callable[[str], None]) -> None:
        """Say of each folder how many documents differ, and of one how; other type may be the reason, or lost files."""
        for folder, of in self._uneven.items():
            note(
                f"documents with other numbers of pages in {folder} than in {self._first}: {of.documents} "
                f"({of.document} has {of.here}, not {of.first})"
            )

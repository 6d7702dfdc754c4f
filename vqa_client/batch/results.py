"""Files of result lines, in any order, found again by their custom ids."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from vqa_client.batch.lines import Result, key_in, read_result
from vqa_client.errors import UNDECODABLE


class Results:
    """Where each result lies; to be left by `with`. `damaged` are the lines that aren't one, as of a cut download.

    Of two results for one request the first that is an answer counts.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._files: list[IO[bytes]] = []
        self._places: dict[str, tuple[int, int]] = {}
        self._keys: set[str] = set()
        self.damaged: list[bytes] = []
        self.total = 0

    def __enter__(self) -> "Results":
        answered: set[str] = set()
        with ExitStack() as stack:
            self._files = [stack.enter_context(path.open("rb")) for path in self._paths]
            for number, file in enumerate(self._files):
                place = 0
                for line in file:
                    if line.strip() and (found := self._decoded(line)):
                        if found.custom_id not in answered:
                            self._places[found.custom_id] = number, place
                        if found.answered:
                            answered.add(found.custom_id)
                    place += len(line)
            self._stack = stack.pop_all()
        self.total, self._keys = len(self._places), set(map(key_in, self._places))
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stack.close()

    def __contains__(self, key: str) -> bool:
        """Whether there is a result of a question, whatever it was asked."""
        return key in self._keys

    def take(self, custom_id: str) -> Result | None:
        """The result of a request, once."""
        place = self._places.pop(custom_id, None)
        return None if place is None else read_result(self._line(place))

    def left_over(self, known: set[str]) -> Iterator[bytes]:
        """The lines that nobody took, but those of questions that are `known` by their keys."""
        for custom_id, place in self._places.items():
            if key_in(custom_id) not in known:
                yield _whole(self._line(place))

    def _line(self, place: tuple[int, int]) -> bytes:
        file = self._files[place[0]]
        file.seek(place[1])
        return file.readline()

    def _decoded(self, line: bytes) -> Result | None:
        try:
            return read_result(line)
        except UNDECODABLE:
            self.damaged.append(_whole(line))
            return None


def _whole(line: bytes) -> bytes:
    return line.rstrip(b"\n") + b"\n"

"""When two short answers are the same, and which one most annotators gave."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

_OTHER: Final = re.compile(r"[^a-z0-9\s]")
_ARTICLES: Final = frozenset({"a", "an", "the"})


class Majority(Struct, frozen=True, kw_only=True):
    """The answer most annotators gave, normalised; `tied` says that another one was given as often."""

    answer: str
    tied: bool


def normalise(answer: str) -> str:
    """Lower case, letters and digits only, without articles: the published form, in which answers are compared."""
    words = _OTHER.sub(" ", answer.lower()).split()
    return " ".join(word for word in words if word not in _ARTICLES)


def same(answer: str, gold: str) -> bool:
    """Whether two answers are equal when normalised; where that leaves nothing ("寿司", "a"), as they are but for case.

    The published script calls any two answers equal that normalising empties.
    """
    said, wanted = normalise(answer), normalise(gold)
    return said == wanted if said or wanted else _bare(answer) == _bare(gold) != ""


def majority(answers: Sequence[str]) -> Majority | None:
    """The most frequent of the answers, the same for any order; None without an answer.

    Of answers given equally often it is the first in the alphabet; the published script takes the one it met first.
    """
    counts = Counter(filter(None, (normalise(answer) or _bare(answer) for answer in answers)))
    if not counts:
        return None
    most = max(counts.values())
    first, *others = sorted(answer for answer, count in counts.items() if count == most)
    return Majority(answer=first, tied=bool(others))


def _bare(answer: str) -> str:
    return " ".join(answer.casefold().split())

"""Checks that work takes CPU time in proportion to its size; a bad result is measured again before it counts.

No limit is in seconds, because a slow or busy machine takes longer for everything.
"""

import re
import time
from collections.abc import Callable
from functools import cache
from itertools import count
from math import inf
from typing import Any, Final, NamedTuple

PARTS: Final = 4
RATIO: Final = 8.0
"""For four times the text a linear rule takes 4 times as long, or 6 if a cache is too small; a quadratic one 16."""
QUICK_S: Final = 0.00125
"""Work below this isn't measured again: four times that proves nothing."""
TRIES: Final = 8
_REFERENCE: Final = "The answer is B. " * 1_000
_WORD: Final = re.compile(r"\b[a-z]+\b")
_runs: Final = count()

Reads = Callable[[str], object]


class Growth(NamedTuple):
    """The ratio of the times for the whole and for a quarter of it (0 if both are short), and both times.

    `part` and `whole` are multiples of `reference_s`, some milliseconds' work.
    """

    ratio: float
    part: float = 0.0
    whole: float = 0.0


def of_length(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


def cpu_s(work: Callable[[], object]) -> float:
    started_s = time.process_time()
    work()
    return time.process_time() - started_s


def reference_s() -> float:
    """The seconds that this machine needs now to find the words of 17,000 characters, 1 to 2 ms on most."""
    return min(cpu_s(lambda: [word.group() for word in _WORD.finditer(_REFERENCE)]) for _ in range(3))


_usual_reference_s = cache(reference_s)
"""The reference, measured once; enough for work far below its limit, as nearly all is."""


def growth_of(work: Callable[[Any], object], make: Callable[[int], Any], size: int, limit: float = inf) -> Growth:
    """The least growth in several tries of the work on `make(size)` and on a quarter of that size.

    The tries end with the first below `RATIO` whose whole is below the limit, in multiples of `reference_s`.
    """
    least = Growth(inf, inf, inf)
    for times in range(1, TRIES + 1):
        whole_s = _least_s(work, make, size, times)
        if whole_s < QUICK_S:
            return Growth(0.0)
        part_s = _least_s(work, make, size // PARTS, times)
        reference = _usual_reference_s() if times == 1 else reference_s()
        ratio = whole_s / part_s
        least = Growth(*map(min, least, (ratio, part_s / reference, whole_s / reference)))
        if least.ratio < RATIO and least.whole < limit:
            break
    return least


def growth(read: Reads, unit: str, length: int, limit: float = inf) -> Growth:
    """`growth_of` reading a text that repeats a unit; each run has its own text."""
    return growth_of(read, lambda size: f"{of_length(unit, size)}{next(_runs)}", length, limit)


def _least_s(work: Callable[[Any], object], make: Callable[[int], Any], size: int, times: int) -> float:
    """The shortest of several runs, because other work on the machine only adds time."""
    made = [make(size) for _ in range(times)]
    return min(cpu_s(lambda of=of: work(of)) for of in made)  # type: ignore[misc]

"""Whether work takes time in proportion to its size: CPU time, measured again before anything is blamed.

No limit is in seconds: a machine that is slow or busy takes longer for all of it.
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
"""Four times the text takes a linear rule four times as long, or six where a cache is too small; a quadratic one 16."""
QUICK_S: Final = 0.00125
"""Less than this is not measured again: four times it proves nothing."""
TRIES: Final = 8
_REFERENCE: Final = "The answer is B. " * 1_000
_WORD: Final = re.compile(r"\b[a-z]+\b")
_runs: Final = count()

Reads = Callable[[str], object]


class Growth(NamedTuple):
    """How much longer the whole takes than a quarter of it (0 where it is quick), and how long both take.

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
    """What this machine takes now to find the words of a text of 17,000 characters, 1 to 2 ms on most."""
    return min(cpu_s(lambda: [word.group() for word in _WORD.finditer(_REFERENCE)]) for _ in range(3))


_usual_reference_s = cache(reference_s)
"""Once measured: enough for what is far below its limit, as nearly everything is at its first try."""


def growth_of(work: Callable[[Any], object], make: Callable[[int], Any], size: int, limit: float = inf) -> Growth:
    """The least of several tries to do the work on what `make` gives for a size, and for a quarter of it.

    They end with the first below `RATIO` whose whole is below the limit, in multiples of `reference_s`.
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
    """`growth_of` reading a text that repeats a unit; each run has a text of its own."""
    return growth_of(read, lambda size: f"{of_length(unit, size)}{next(_runs)}", length, limit)


def _least_s(work: Callable[[Any], object], make: Callable[[int], Any], size: int, times: int) -> float:
    """The least of several runs: what else the machine does only ever adds."""
    made = [make(size) for _ in range(times)]
    return min(cpu_s(lambda of=of: work(of)) for of in made)  # type: ignore[misc]

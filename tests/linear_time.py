"""Whether reading takes time in proportion to the text: CPU time, measured again before anything is blamed."""

import time
from collections.abc import Callable
from itertools import count
from math import inf
from typing import Final, NamedTuple

PARTS: Final = 4
RATIO: Final = 5.5
"""Four times the text of a linear rule takes four times the time, of a quadratic one sixteen times."""
QUICK_S: Final = 0.00125
"""Less than this is not measured again: four times it is no proof of anything."""
TRIES: Final = 5
_runs: Final = count()

Reads = Callable[[str], object]


class Growth(NamedTuple):
    """How much longer a text takes than a quarter of it (0 where it is quick), and what the two take, in seconds."""

    ratio: float
    part_s: float
    whole_s: float


def of_length(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


def cpu_s(read: Reads, text: str, times: int = 1) -> float:
    """The least of several runs, each of a text of its own: what else the machine does only ever adds."""
    least = inf
    for _ in range(times):
        other = f"{text}{next(_runs)}"
        started = time.process_time()
        read(other)
        least = min(least, time.process_time() - started)
    return least


def growth(read: Reads, unit: str, length: int, part_limit_s: float = inf, limit_s: float = inf) -> Growth:
    """The least of several tries, which end with one that is below `RATIO` and both limits."""
    part, whole = of_length(unit, length // PARTS), of_length(unit, length)
    least = Growth(inf, inf, inf)
    for times in range(1, TRIES + 1):
        whole_s = cpu_s(read, whole, times)
        if whole_s < QUICK_S:
            return Growth(0.0, whole_s, whole_s)
        part_s = cpu_s(read, part, times)
        ratio = whole_s / max(part_s, QUICK_S / PARTS)
        least = Growth(*map(min, least, (ratio, part_s, whole_s)))
        if least.ratio < RATIO and least.part_s < part_limit_s and least.whole_s < limit_s:
            break
    return least

"""Whether reading takes time in proportion to the text: CPU time, measured again before anything is blamed."""

import time
from collections.abc import Callable
from itertools import count
from typing import Final

PARTS: Final = 4
RATIO: Final = 5.5
"""Four times the text of a linear rule takes four times the time, of a quadratic one sixteen times."""
QUICK_S: Final = 0.00125
"""Less than this is not measured again: four times it is no proof of anything."""
TRIES: Final = 5
_runs: Final = count()

Reads = Callable[[str], object]


def of_length(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


def cpu_s(read: Reads, text: str, times: int = 1) -> float:
    """The least of several runs, each of a text of its own: what else the machine does only ever adds."""
    least = float("inf")
    for _ in range(times):
        other = f"{text}{next(_runs)}"
        started = time.process_time()
        read(other)
        least = min(least, time.process_time() - started)
    return least


def growth(read: Reads, unit: str, length: int) -> float:
    """How much longer a text takes than a quarter of it, the least of several tries; 0 where it is quick."""
    part, whole = of_length(unit, length // PARTS), of_length(unit, length)
    ratio = float("inf")
    for times in range(1, TRIES + 1):
        whole_s = cpu_s(read, whole, times)
        if whole_s < QUICK_S:
            return 0.0
        ratio = min(ratio, whole_s / max(cpu_s(read, part, times), QUICK_S / PARTS))
        if ratio < RATIO:
            break
    return ratio

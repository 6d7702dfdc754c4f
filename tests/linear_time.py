"""Whether reading takes time in proportion to the text: CPU time, measured again before anything is blamed."""

import time
from collections.abc import Callable
from itertools import count
from typing import Final

RATIO: Final = 3.0
"""Twice the text of a linear rule takes twice the time, of a quadratic one four times."""
QUICK_S: Final = 0.005
"""Less than this is not measured again: a double of it is no proof of anything."""
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
    """How much longer twice the text takes, the least of several tries; 0 where both are quick."""
    once, twice = of_length(unit, length), of_length(unit, 2 * length)
    ratio = float("inf")
    for times in range(1, TRIES + 1):
        double_s = cpu_s(read, twice, times)
        if double_s < QUICK_S:
            return 0.0
        ratio = min(ratio, double_s / max(cpu_s(read, once, times), QUICK_S / 2))
        if ratio < RATIO:
            break
    return ratio

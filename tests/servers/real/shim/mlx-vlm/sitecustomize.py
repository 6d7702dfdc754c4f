"""Makes mlx-vlm's collection of garbage after each request cheap; found by $PYTHONPATH.

It looks through all that its imports have made, which takes longer than the tiny model's answer. What is there at the
first collection is set aside.
"""

import gc

COLLECT = gc.collect


def collect_and_set_aside(generation: int = 2) -> int:
    """The first collection."""
    found = COLLECT(generation)
    gc.freeze()
    gc.collect = COLLECT
    return found


gc.collect = collect_and_set_aside

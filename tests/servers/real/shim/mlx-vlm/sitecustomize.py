"""Makes mlx-vlm's garbage collection after each request cheap; imported through $PYTHONPATH.

Each collection would walk all objects of the imported modules, which takes longer than the tiny model's answer. So the
objects that exist at the first collection are frozen.
"""

import gc

COLLECT = gc.collect


def collect_and_set_aside(generation: int = 2) -> int:
    """Collect, freeze, and restore the usual function."""
    unreachable = COLLECT(generation)
    gc.freeze()
    gc.collect = COLLECT
    return unreachable


gc.collect = collect_and_set_aside

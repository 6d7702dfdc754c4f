"""A run of thousands of questions through every fault at once: `python -m tests.soak --minutes 5 --seed 1`."""

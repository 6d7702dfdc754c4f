"""Every handed case of failure beside what holds it here: `python -m tests.faults.matrix`."""

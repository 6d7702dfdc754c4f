"""The collected cases of failure and the tests that cover them: `python -m tests.faults.matrix`."""

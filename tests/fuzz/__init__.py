"""Fuzzes every reader of foreign bytes: `python -m tests.fuzz`."""

"""The rules of published scorers, faults included, for numbers that can be compared with theirs."""

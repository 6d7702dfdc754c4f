"""The rules of published scorers, with their faults, for numbers that are comparable with theirs."""

"""The rules of published scorers, with their faults, for numbers that are comparable with theirs.

A rule of one benchmark only is in its file in tasks/. Our own rules never use these.
"""

"""Strings and numbers in, numbers out: what a reply says, and what that is worth.

Published rules that several benchmarks share are in published/, to the letter. Nothing here reads data or knows a
benchmark's task.
"""

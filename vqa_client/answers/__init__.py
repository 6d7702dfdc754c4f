"""Answers from files instead of a server: read, matched by question id, and scored like a run.

`of_benchmark` makes records of them for any benchmark; `annotated` and `explained` score them against annotations.
"""

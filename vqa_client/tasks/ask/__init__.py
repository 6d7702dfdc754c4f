"""A user's own questions: the meaning of each column is detected in all rows, reported with reasons, never guessed.

`survey` reads all rows once, `columns` and `values` decide, `rows` makes the questions, `benchmark` declares them.
"""

"""A user's own questions: the meaning of each column is detected in all rows, reported with reasons, never guessed."""

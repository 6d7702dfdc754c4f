"""A user's own questions: which column is what is found from all rows, reported with reasons, and never guessed."""

"""Answers from files instead of a server: they are read, matched by question id, and scored like a run."""

"""Answers from files instead of a server: read, matched by question id, and scored like a run."""

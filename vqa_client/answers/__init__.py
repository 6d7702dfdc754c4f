"""Answers in files, whoever gave them, in place of a server's: read, matched by question id, scored as a run's are."""

"""Scores for answers in files, whoever made them: read, match by question id, score, write."""

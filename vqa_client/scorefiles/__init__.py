"""Scores for answers that lie in files, whoever made them: read, match by question id, score, write."""

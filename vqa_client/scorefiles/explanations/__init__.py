"""Explanations in files, whoever made them: read, match with those of people, score, write."""

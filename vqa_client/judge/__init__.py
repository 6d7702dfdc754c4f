"""A finished run's replies judged by another model, or by people.

A judge is a benchmark whose questions are a run's records (`benchmark`, `loading`, `kinds`); `beside` and `people`
compare verdicts with the run's own rule.
"""

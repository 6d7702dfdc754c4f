"""A finished run as CSV, JSON Lines, Parquet, Markdown and a JSON summary, for other programs and for papers.

They need only the log and the run file; no benchmark is imported.
"""

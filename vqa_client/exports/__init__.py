"""A finished run as CSV, JSON Lines, Parquet, Markdown and a summary, for other programs and for papers.

Only what is in the log and the run file is used: no benchmark is imported.
"""

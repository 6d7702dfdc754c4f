"""From records to the numbers that people read: summaries, intervals, breakdowns, sections of tables.

A log is read once, by kinds of records, so that its size doesn't matter. The published forms are in tasks/.
"""

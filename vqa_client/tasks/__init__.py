"""One file or folder per benchmark, found by `registry`: what it loads, how it asks, reads and scores.

A benchmark's published rules and report are in its file or folder. What several share of rules is in scoring/, of files
in tables/.
"""

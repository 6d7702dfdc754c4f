"""Check whether a server can be trusted with a benchmark: `examine` as a command, `preflight` before each run.

The small requests for it are in probing/.
"""

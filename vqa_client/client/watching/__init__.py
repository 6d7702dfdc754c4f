"""What servers say and do beside their answers: their metrics and their memory, for the bottleneck in a report.

No question waits for it.
"""

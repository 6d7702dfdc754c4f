"""Whether a server can be trusted with a benchmark, found out by asking it."""

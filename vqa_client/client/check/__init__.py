"""Check whether a server can be trusted with a benchmark."""

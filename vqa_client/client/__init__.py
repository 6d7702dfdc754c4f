"""One server, or several that serve the same model: bodies, connections, retries, and what replies mean.

A benchmark is unknown here. The modules' order is in pyproject.toml, and lint-imports checks it.
"""

"""One server, or several that serve the same model: request bodies, connections, retries, and the reading of replies.

Nothing here knows a benchmark. pyproject.toml lists the order of the modules, and lint-imports checks it.
"""

"""Other evaluators, each in an environment of its own, asked to ask the same questions of the same server."""

"""Other evaluators, each in its own environment, which ask the same server the same questions."""

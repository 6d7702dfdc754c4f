"""Metrics in the form that Hugging Face `evaluate` loads from a path: a folder with a module of the same name."""

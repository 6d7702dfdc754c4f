"""Metrics in the form that Hugging Face `evaluate` loads from a path."""

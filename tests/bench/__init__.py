"""Measures the whole client against the scripts people write; see README.md here."""

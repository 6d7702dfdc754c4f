"""Measures whole commands beside scripts that people write; see README.md in this folder."""

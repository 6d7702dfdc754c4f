"""Rows of data files: finding the form they come in, reading them, and making questions of them."""

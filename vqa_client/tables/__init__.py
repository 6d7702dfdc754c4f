"""Reads rows of data files in their form, and makes questions of them."""

"""Servers that are asked to choose a label, or to weigh them."""

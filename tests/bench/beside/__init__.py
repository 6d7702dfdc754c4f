"""Compares the client with other evaluators and scripts: one command, one table, one plot."""

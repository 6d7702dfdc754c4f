"""Runs: plans made from settings, resuming, asking, and what reads finished runs again.

`plans` makes the plans of a command, step by step; `run_plan` runs one.
"""

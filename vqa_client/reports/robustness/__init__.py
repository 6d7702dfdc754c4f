"""Robustness as reported: one model's run on corrupted images, and the evaluation of several models.

The metrics are in scoring/robustness.py, the figures in plots/.
"""

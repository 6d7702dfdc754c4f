"""Comparisons of runs over the same questions: the differences, their significance, and the questions behind them.

Only logs and run files are read; no benchmark is imported. The tests of significance are in scoring/.
"""

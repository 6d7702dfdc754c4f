"""Comparisons of runs over the same questions: the differences, their significance, and the questions behind them."""

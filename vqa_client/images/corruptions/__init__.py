"""Fourteen image corruptions at five levels. The same image, corruption, level and seed always give the same bytes.

This is true for one version of numpy, OpenCV and Pillow. On another kind of processor, rounding of floating-point sums
changes a few pixels of elastic and snow: at most 16 of 929,000 values were measured, by one grey level.
"""

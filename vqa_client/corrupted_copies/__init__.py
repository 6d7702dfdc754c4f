"""Corrupted copies of a folder of images, one folder for each corruption and level."""

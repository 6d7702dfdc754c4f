"""Documents become page images: rendering, needles, perturbations, contact sheets.

These commands ask no server. Images that are corrupted while a run sends them are in images/.
"""

"""Documents become page images: rendering, needles, perturbations, contact sheets."""

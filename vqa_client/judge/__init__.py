"""A finished run's replies judged by another model, or by people."""

"""Samples of benchmarks of choices, and of yes or no; see samples.py."""

from tests.contract.forms import Sample

SAMPLES: dict[str, Sample] = {}

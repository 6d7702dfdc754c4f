"""Samples of benchmarks of short and long open answers; see samples.py."""

from tests.contract.forms import Sample

SAMPLES: dict[str, Sample] = {}

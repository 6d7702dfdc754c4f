"""Samples of benchmarks of documents and charts; see samples.py."""

from tests.contract.forms import Sample

SAMPLES: dict[str, Sample] = {}

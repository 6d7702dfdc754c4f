"""Fakes that stand on the other side of the wire."""

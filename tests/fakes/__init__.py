"""Fake servers for tests."""

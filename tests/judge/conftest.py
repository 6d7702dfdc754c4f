"""Judges are served by a real socket server."""

from tests.fakes.fixtures import fault_server

__all__ = ["fault_server"]

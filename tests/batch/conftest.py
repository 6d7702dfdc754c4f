"""Runs are tested against a real socket server."""

from tests.fakes.fixtures import fault_process, fault_server

__all__ = ["fault_process", "fault_server"]

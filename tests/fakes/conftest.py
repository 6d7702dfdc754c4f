"""The fault server's own tests use its own fixtures."""

from tests.fakes.fixtures import fault_process, fault_server

__all__ = ["fault_process", "fault_server"]

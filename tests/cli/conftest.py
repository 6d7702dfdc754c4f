"""Commands are tested against a server in a process of its own."""

from tests.fakes.fixtures import fault_process

__all__ = ["fault_process"]

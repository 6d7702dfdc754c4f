"""Commands are processes of their own; the server is in this one."""

from tests.fakes.fixtures import fault_server

__all__ = ["fault_server"]

"""Commands run in their own processes; the server runs in this one."""

from tests.fakes.fixtures import fault_server

__all__ = ["fault_server"]

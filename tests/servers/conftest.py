"""The health of a server is tested at a real socket server."""

from tests.fakes.fixtures import fault_server

__all__ = ["fault_server"]

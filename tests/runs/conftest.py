"""Runs are tested against a real socket server."""

from tests.fakes.fixtures import fault_process, fault_server
from tests.fakes.s3 import store_environment

__all__ = ["fault_process", "fault_server", "store_environment"]

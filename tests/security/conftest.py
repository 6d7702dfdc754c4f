"""Attackers write data files, replies and names; the environment is bare, and waits are short."""

from tests.fakes.fixtures import fault_process, fault_server
from tests.faults.conftest import _bare_environment, _short_waits

__all__ = ["_bare_environment", "_short_waits", "fault_process", "fault_server"]

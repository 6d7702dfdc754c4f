"""Settings of the security tests; waits are short."""

from tests.fakes.fixtures import fault_process, fault_server
from tests.faults.conftest import _short_waits

__all__ = ["_short_waits", "fault_process", "fault_server"]

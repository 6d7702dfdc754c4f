"""Fixtures that stop their servers and fail the test if a client broke a rule.

A conftest imports them: `from tests.fakes.fixtures import fault_process, fault_server`.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Protocol

import pytest

from tests.fakes.process import FaultProcess
from tests.fakes.script import Script
from tests.fakes.server import FaultServer


class StartsServers(Protocol):
    """`fault_server(script, **options)` returns a running `FaultServer`.

    At the test's end its violations must be empty, unless `tolerates_violations=True`.
    """

    def __call__(self, script: Script = ..., *, tolerates_violations: bool = ..., **options: Any) -> FaultServer:
        """Start one."""


class StartsProcesses(Protocol):
    """`fault_process(script_text, *arguments)` returns a running `FaultProcess`."""

    def __call__(self, script: str = ..., *options: str) -> FaultProcess:
        """Start one."""


@pytest.fixture
def fault_server() -> Iterator[StartsServers]:
    """A factory of servers in this process."""
    strict: list[FaultServer] = []
    with ExitStack() as running, ExitStack() as ports:

        def start(script: Script = (), *, tolerates_violations: bool = False, **options: Any) -> FaultServer:
            server = running.enter_context(FaultServer(script, **options))
            ports.callback(server.leave_port)
            if not tolerates_violations:
                strict.append(server)
            return server

        yield start
    assert [text for server in strict for text in server.violations] == []


@pytest.fixture
def fault_process() -> Iterator[StartsProcesses]:
    """A factory of servers in processes of their own."""
    with ExitStack() as running:
        yield lambda script="answer", *options: running.enter_context(FaultProcess(script, *options))

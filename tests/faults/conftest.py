"""Settings of the fault tests; waits are short."""

import pytest

from tests.fakes.fixtures import fault_process, fault_server

__all__ = ["fault_process", "fault_server"]


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqa_client.client.retry.BASE_S", 0.01)
    monkeypatch.setattr("vqa_client.client.probe.POLL_S", 0.1)

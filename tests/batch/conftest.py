"""Runs are tested against a real socket server."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fixtures import fault_process, fault_server
from tests.fakes.server import FaultServer
from tests.fakes.words import oracle
from tests.faults.questions import Notes, Questions, StopsAfter
from vqa_client.batch.parts import PartFolder
from vqa_client.evaluation import Interrupted, arun
from vqa_client.settings.own_commands import McSettings

__all__ = ["fault_process", "fault_server"]
COUNT = 10


class Batched(Questions):
    """Questions that are asked by batches of four."""

    def settings(self, base_url: str, **changes: Any) -> McSettings:
        return super().settings(base_url, **({"max_workers": 128, "poll": 0.01} | changes))

    async def run(self, server: FaultServer, **changes: Any) -> Notes:
        notes = Notes()
        given: dict[str, Any] = {"batch": True, "check": False, "model": "tiny-vlm", "batch_lines": 4}
        await arun(self.settings(server.base_url, **(given | changes)), progress=notes)
        return notes

    def whole_report(self) -> bytes:
        """The report without the path of its folder."""
        return self.report_path().read_bytes().replace(str(self.root).encode(), b"")

    async def interrupted(self, server: FaultServer) -> None:
        """Ask, and stop when all batches are created."""
        stops = StopsAfter(words="batch batch_3:")
        settings = self.settings(server.base_url, batch=True, check=False, model="tiny-vlm", batch_lines=4)
        with pytest.raises(Interrupted):
            await arun(settings, progress=stops, stop=stops.stop)

    @property
    def unfinished(self) -> bool:
        return PartFolder(self.log_path).folder.exists()


@pytest.fixture
def of(tmp_path: Path) -> Batched:
    return Batched(tmp_path, COUNT)


@pytest.fixture(scope="module")
def online(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The report of the same questions without batches."""
    asked = Batched(tmp_path_factory.mktemp("online"), COUNT)
    with FaultServer(oracle(asked.replies())) as server:
        asyncio.run(asked.run(server, batch=False))
    return asked.whole_report()

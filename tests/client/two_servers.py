"""A run against two real servers on one machine."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import vqa_client
from tests.fakes.received import Received
from tests.fakes.script import Script
from tests.fakes.server import FaultServer
from tests.fakes.words import delay, oracle, question_id, when
from tests.runs.sample import Sample
from vqa_client.progress import Progress


class Notes(Progress):
    """Keeps what a run says, and does something when so many questions have ended."""

    def __init__(self, at: int = -1, act: Callable[[], None] | None = None) -> None:
        self.said: list[str] = []
        self._left = at
        self._act = act

    def note(self, text: str) -> None:
        self.said.append(text)

    def finished(self, record: Any) -> None:
        self._left -= 1
        if self._left == 0 and self._act is not None:
            self._act()

    def about(self, *words: str) -> list[str]:
        """The notes that hold all these words."""
        return [note for note in self.said if all(word in note for word in words)]


def knowing(of: Sample) -> Script:
    """The right reply to each question; anything to the pictures that servers are compared by."""
    return when(lambda received: "[[" in received.prompt, oracle(of.replies()), "red")


def slow_until(holds: Callable[[], bool], then: Script) -> Script:
    """So slow at first that a run lasts until it holds, on a busy machine too."""
    return when(lambda _: holds(), (delay(0.01), then), (delay(0.3), then))


def asked(server: FaultServer) -> list[Received]:
    """The benchmark's questions that a server got."""
    return [received for received in server.chats if question_id(received)]


async def run(of: Sample, servers: Sequence[FaultServer], notes: Progress | None = None, **changes: Any) -> Any:
    """Run it all; the one report."""
    settings = of.settings(servers[0].base_url, endpoint=tuple(server.base_url for server in servers), **changes)
    (report,) = await vqa_client.arun(settings, progress=notes)
    return report


def run_file(of: Sample) -> dict[str, Any]:
    """What the run says of itself."""
    found: dict[str, Any] = json.loads((of.output / "clean_mc_eval.run.json").read_bytes())
    return found


def statuses(of: Sample) -> list[tuple[str, str]]:
    """Each question and what became of it, in order."""
    return sorted((record["question_id"], record["status"]) for record in of.records())


def sample(root: Path, count: int, **options: Any) -> Sample:
    """Some questions in a folder of their own."""
    root.mkdir(parents=True, exist_ok=True)
    return Sample(root, count, **options)

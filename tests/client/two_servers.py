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
from tests.faults.questions import Notes
from tests.runs.sample import Sample
from vqa_client.progress import Progress


class ActsAfter(Notes):
    """Calls `act` once `at` questions have ended."""

    def __init__(self, at: int = -1, act: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self._left = at
        self._act = act

    def finished(self, record: Any) -> None:
        self._left -= 1
        if self._left == 0:
            self._act()


def knowing(of: Sample) -> Script:
    """The right reply to each question; any reply to the pictures of the checks."""
    return when(lambda received: "[[" in received.prompt, oracle(of.replies()), "red")


def slow_until(holds: Callable[[], bool], then: Script) -> Script:
    """Slow until `holds` is true, so that the run lasts long enough on a busy machine too."""
    return when(lambda _: holds(), (delay(0.01), then), (delay(0.3), then))


def asked(server: FaultServer) -> list[Received]:
    """The questions of the benchmark that a server got."""
    return [received for received in server.chats if question_id(received)]


async def run(of: Sample, servers: Sequence[FaultServer], notes: Progress | None = None, **changes: Any) -> Any:
    """The report of a whole run."""
    settings = of.settings(servers[0].base_url, endpoint=tuple(server.base_url for server in servers), **changes)
    (report,) = await vqa_client.arun(settings, progress=notes)
    return report


def run_file(of: Sample) -> dict[str, Any]:
    """The content of the run file."""
    found: dict[str, Any] = json.loads((of.output / "clean_mc_eval.run.json").read_bytes())
    return found


def statuses(of: Sample) -> list[tuple[str, str]]:
    """Each question and its status, in order."""
    return sorted((record["question_id"], record["status"]) for record in of.records())


def sample(root: Path, count: int, **options: Any) -> Sample:
    """Some questions in a separate folder."""
    root.mkdir(parents=True, exist_ok=True)
    return Sample(root, count, **options)

"""Checks that the bodies of each client are byte-exact, with a server that reads every body."""

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.cases import Case
from tests.bench.measure import launch
from tests.bench.servers import control, running, verify_command
from tests.bench.workloads import WORKLOADS

CHECKED = {"photo": 200, "document": 10}
"""Workloads, one of each task, and the number of their questions that are asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exactness:
    """How many of a client's bodies were exact, and how many questions it asked."""

    client: str
    workload: str
    asked: int
    requests: int
    exact: int
    questions: int
    problems: Sequence[str]

    @property
    def share(self) -> float:
        """1.0 only if every question was asked and no body was inexact or incomplete."""
        worst = min(self.exact, self.questions) / max(self.requests, self.asked)
        return worst if not self.problems or worst < 1 else 0.0


def check(clients: Sequence[str]) -> list[Exactness]:
    """Check each client on the first questions of each checked workload; raises ClientFailed."""
    found = []
    for workload, asked in CHECKED.items():
        case = Case(workload=WORKLOADS[workload], latency_ms=0, questions=asked)
        with running(verify_command(case.data_json, case.images_dir)) as address:
            for client in clients:
                found.append(check_one(client, case, address))
                print(sentence(found[-1]), file=sys.stderr, flush=True)
    return found


def check_one(client: str, case: Case, address: str) -> Exactness:
    """Check one client on all questions of a case; raises ClientFailed."""
    control(address, "/reset")
    with tempfile.TemporaryDirectory(prefix="vqa-client-bench-") as folder:
        launch(client, case, limit=case.limit, address=address, folder=Path(folder))
    seen = control(address, "/stats")
    return Exactness(client=client, workload=case.workload.name, asked=case.asked, **seen)


def sentence(exactness: Exactness) -> str:
    """A line about a client, and its first problems below."""
    counts = f"{exactness.exact} of {exactness.requests} bodies exact, {exactness.questions} of {exactness.asked} asked"
    return "\n    ".join([f"{exactness.client} on {exactness.workload}: {counts}", *exactness.problems])

"""The measured clients and cases."""

import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from tests.bench.peers.peer import WATCH
from tests.bench.peers.prepared import prepared
from tests.bench.peers.registry import PEERS
from tests.bench.workloads import WORK, WORKLOADS, Workload

WORKERS = 128
FEW_WORKERS = 8
OURS = "ours"
TWO_PROCESSES = "ours_2_processes"
NAIVE = "openai_script"
MODULES = {
    OURS: "vqa_client",
    TWO_PROCESSES: "vqa_client",
    NAIVE: "tests.bench.clients.openai_script",
    "openai_threads": "tests.bench.clients.openai_threads",
    "aiohttp_script": "tests.bench.clients.aiohttp_script",
}
"""Each client is run as `python -m MODULE`, with the flags of the workload's command.

Ours also gets the command's name, `--no-html` (no script draws a page of its run), `--no_check` (a mock server sees no
images) and `--config`; the scripts have model, template and max_tokens in their source, as people do. The evaluators of
peers/ have commands of their own.
"""
CLIENTS = (*MODULES, *PEERS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A workload at a latency with a number of workers; `only` names its clients, () means all.

    `questions` limits the questions, 0 means all; needles are asked by whole documents.
    """

    workload: Workload
    latency_ms: int
    workers: int = WORKERS
    questions: int = 0
    only: tuple[str, ...] = ()
    root: Path = WORK

    @property
    def data_json(self) -> Path:
        """The data file."""
        return self.root / self.workload.name / "data.json"

    @property
    def images_dir(self) -> Path:
        """The folder that contains images/ with the pages."""
        return self.root / self.workload.name / "pages"

    @property
    def limit(self) -> int:
        """The number of records asked: questions for mc, whole documents for niah."""
        wanted = min(self.questions or self.workload.questions, self.workload.questions)
        return math.ceil(wanted / self.workload.questions_per_record)

    @property
    def asked(self) -> int:
        """The number of questions in these records."""
        return self.limit * self.workload.questions_per_record

    @property
    def asked_at_start(self) -> int:
        """The number of questions in the start-up run: those of the first record."""
        return self.workload.questions_per_record

    @property
    def ideal_s(self) -> float:
        """The time of the latency alone, with one question per worker at a time."""
        return self._waves_s(self.asked)

    @property
    def start_ideal_s(self) -> float:
        """The time of the latency alone in the start-up run."""
        return self._waves_s(self.asked_at_start)

    def _waves_s(self, questions: int) -> float:
        return math.ceil(questions / self.workers) * self.latency_ms / 1000

    @property
    def title(self) -> str:
        """The title of the case's table."""
        return f"{self.workload.name}, {self.latency_ms} ms, {self.workers} workers, {self.asked} questions"


BAR_CASES = (
    ("small", 0, WORKERS, ()),
    ("photo", 50, WORKERS, ()),
    ("photo", 500, WORKERS, ()),
    ("document", 1000, WORKERS, ()),
    ("document", 250, FEW_WORKERS, (OURS,)),
)
"""The cases of the bars."""


def bar_cases(questions: int) -> list[Case]:
    """The cases of a run without --workload."""
    return [
        Case(workload=WORKLOADS[name], latency_ms=latency_ms, workers=workers, questions=questions, only=only)
        for name, latency_ms, workers, only in BAR_CASES
    ]


def chosen_cases(workloads: list[str], latencies_ms: list[int], workers: int, questions: int) -> list[Case]:
    """Each of the workloads at each of the latencies; a workload without latencies gets those of the bars."""
    return [
        Case(workload=WORKLOADS[name], latency_ms=latency_ms, workers=workers, questions=questions)
        for name in workloads
        for latency_ms in latencies_ms or _usual_latencies_ms(name)
    ]


def _usual_latencies_ms(name: str) -> list[int]:
    return [latency_ms for bar_name, latency_ms, _, only in BAR_CASES if bar_name == name and not only] or [0]


def own_case(client: str, case: Case) -> Case | None:
    """The case as this client is measured on it: evaluators are asked fewer questions, or none that they can't ask."""
    peer = PEERS.get(client)
    if peer is None:
        return case
    if why_not(client, case):
        return None
    most = peer.questions.get(case.workload.name, case.asked)
    return replace(case, questions=min(case.asked, most))


def why_not(client: str, case: Case) -> str:
    """Why a client is not measured on a case, in words; "" when it is."""
    peer = PEERS.get(client)
    if peer is None:
        return ""
    if not peer.installed:
        return "not installed"
    too_many = peer.most_images is not None and case.workload.pages > peer.most_images
    return f"its questions have {peer.most_images} image at most" if too_many else ""


def environment(client: str) -> dict[str, str]:
    """Environment variables for a client's process, in addition to the benchmark's own."""
    peer = PEERS.get(client)
    return {} if peer is None else {"PYTHONPATH": str(WATCH), **peer.environment}


def command(client: str, case: Case, *, base_url: str, folder: Path, config: Path, limit: int) -> list[str]:
    """The command line with which a client asks the first `limit` records of a case; it writes only below `folder`."""
    if client in PEERS:
        data = {"data_json": case.data_json, "images_dir": case.images_dir, "limit": limit}
        return prepared(client, **data, folder=folder, base_url=base_url, workers=case.workers)
    output = folder / "output"
    words = [sys.executable, "-m", MODULES[client]]
    if MODULES[client] == MODULES[OURS]:
        words += [case.workload.task, "--no-html", "--no_check", "--config", str(config)]
    if client == TWO_PROCESSES:
        words += ["--processes", "2"]
    words += _DATA_FLAGS[case.workload.task](case, output)
    words += ["--base_url", base_url, "--max_workers", str(case.workers)]
    return [*words, "--limit", str(limit)]


def _mc_flags(case: Case, output: Path) -> list[str]:
    return ["--data-json", str(case.data_json), "--images-dir", str(case.images_dir), "--output", str(output)]


def _niah_flags(case: Case, output: Path) -> list[str]:
    images, report = case.images_dir / "images", output / "pages_niah_eval.json"
    return ["--data", str(case.data_json), "--images", str(images), "--output", str(report)]


_DATA_FLAGS = {"mc": _mc_flags, "niah": _niah_flags}

"""One measurement: a client asks the first record of a case, to measure its start-up, then all questions."""

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench import processes
from tests.bench.cases import MODULES, Case, command, environment
from tests.bench.clients.longbench import MAX_TOKENS, MODEL, TEMPLATES
from tests.bench.clients.loop_stall import VARIABLE
from tests.bench.processes import Usage
from tests.bench.servers import REPOSITORY, control

LIMIT_S = 600.0
LOG_TAIL_CHARS = 1500
ANSWER = re.compile(rb'"model_output":\s*"The correct answer is \(B\)\."')
"""The servers' reply to a question, as in the reports of every client and task."""


class ClientFailed(RuntimeError):
    """A client failed or didn't end; the message ends with its output."""

    def __init__(self, client: str, told: str) -> None:
        super().__init__(f"{client} {told}")
        self.client = client


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What one client did in one round; `server` is the mock server's /stats, `timeline` its /timeline.

    `asked` and `asked_at_start` count questions, of the full run and of the start-up run. `answered` is what the report
    says, None where it isn't read: an evaluator's requests are counted at the server.
    """

    client: str
    case: str
    round: int
    asked: int
    asked_at_start: int
    full: Usage
    start: Usage
    server: Mapping[str, Any]
    timeline: Mapping[str, Any]
    answered: int | None
    loop_stall_max_s: float | None


def measure(client: str, case: Case, round_number: int, address: str) -> Run:
    """Run a client with one record, then with all; raises ClientFailed."""
    start = ask(client, case, 1, address).usage
    seen = ask(client, case, case.limit, address)
    return Run(
        client=client,
        case=case.title,
        round=round_number,
        asked=case.asked,
        asked_at_start=case.asked_at_start,
        full=seen.usage,
        start=start,
        server=seen.server,
        timeline=seen.timeline,
        answered=seen.answered,
        loop_stall_max_s=seen.stall_s,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """One process of a client: its resources, the server's figures, and its output."""

    usage: Usage
    server: Mapping[str, Any]
    timeline: Mapping[str, Any]
    answered: int | None
    stall_s: float | None


def ask(client: str, case: Case, limit: int, address: str) -> Seen:
    """Run a client once in a temporary folder; raises ClientFailed, also if questions were not asked."""
    with tempfile.TemporaryDirectory(prefix="vqa-client-bench-") as name:
        folder = Path(name)
        control(address, f"/reset?latency_ms={case.latency_ms}")
        usage = launch(client, case, limit=limit, address=address, folder=folder)
        server = control(address, "/stats")
        if server["replies"] < limit * case.workload.questions_per_record:
            asked = f"on {case.title} asked {server['replies']} only"
            raise ClientFailed(client, f"{asked}:\n{_tail(folder / 'log.txt')}")
        return Seen(
            usage=usage,
            server=server,
            timeline=control(address, "/timeline"),
            answered=_answers(folder / "output") if client in MODULES else None,
            stall_s=_loop_stall_s(folder),
        )


def launch(client: str, case: Case, *, limit: int, address: str, folder: Path) -> Usage:
    """Run a client once, with a new output folder and a new cache; raises ClientFailed."""
    config, log = folder / "config.json", folder / "log.txt"
    settings = {"model_name": MODEL, "max_tokens": MAX_TOKENS, "prompt_template": TEMPLATES[case.workload.task]}
    config.write_text(json.dumps(settings), encoding="utf-8")
    words = command(client, case, base_url=f"{address}/v1", folder=folder, config=config, limit=limit)
    own = _environment(folder) | environment(client)
    usage = processes.run(words, environment=own, log=log, limit_s=LIMIT_S, folder=_place(client, folder))
    if usage.exit_code != 0:
        raise ClientFailed(client, f"on {case.title} ended with {usage.exit_code}:\n{_tail(log)}")
    return usage


def _place(client: str, folder: Path) -> Path:
    """The working folder: the repository for its modules, the output folder for evaluators, which write there."""
    return REPOSITORY if client in MODULES else folder


def _tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL_CHARS:]


def _environment(folder: Path) -> dict[str, str]:
    ours = {
        VARIABLE: str(folder / "stall.json"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "OPENAI_API_KEY": "none",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    return {**os.environ, **ours}


def _answers(output: Path) -> int:
    return sum(len(ANSWER.findall(path.read_bytes())) for path in output.glob("*_eval.json"))


def _loop_stall_s(folder: Path) -> float | None:
    """The longest stall, from the script's file or from our run files, one per process; None without a figure."""
    told = folder / "stall.json"
    if told.exists():
        return float(json.loads(told.read_text(encoding="utf-8"))["loop_stall_max_s"])
    runs = [json.loads(path.read_bytes()) for path in (folder / "output").glob("*.run.json")]
    stalls = [float(session["loop_stall_max_s"]) for run in runs for session in run["sessions"]]
    return max(stalls, default=None)

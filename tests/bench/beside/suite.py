"""The measurements, in parts that can be run separately: cases with alternating clients, then our client alone.

`python -m tests.bench.beside.suite PART ROUNDS CLIENTS FILE` measures one part and keeps the others that FILE has.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.bench.beside.many_records import measure_records
from tests.bench.beside.results import LeftOut, Repeated, Results, Sent, here, read, row, write
from tests.bench.cases import Case, why_not
from tests.bench.measure import ClientFailed, launch
from tests.bench.peers.bodies import bodies_command
from tests.bench.peers.registry import PEERS
from tests.bench.processes import run
from tests.bench.run import measured_case, own_peak_warning, say
from tests.bench.servers import REPOSITORY, control, mock_command, running
from tests.bench.workloads import WORKLOADS

CHECKED = {"small": 20, "document": 5}
"""Workloads, and the number of questions on which an evaluator's bodies are checked."""
HELP = "vqa-client --help"
HELP_WORDS = (sys.executable, "-m", "vqa_client", "--help")


def measured_part(part: str, before: Results | None, rounds: int, clients: Sequence[str]) -> Results:
    """Measure one part again and keep the other parts."""
    results = before or Results(place=here(rounds, clients))
    results = replace(results, place=here(rounds, clients))
    results = PARTS[part](results, rounds, clients)
    return replace(results, place=replace(results.place, load_after=os.getloadavg()[0]))


def _case(results: Results, rounds: int, clients: Sequence[str], *, case: Case) -> Results:
    """After a client's failure, the rounds of this case start over without it."""
    key = case.workload.name, case.latency_ms
    rows = [one for one in results.rows if (one.workload, one.latency_ms) != key]
    out = [one for one in results.left_out if (one.workload, one.latency_ms) != key]
    out += [_left_out(client, case, why_not(client, case)) for client in clients if why_not(client, case)]
    able = [client for client in clients if not why_not(client, case)]
    with running(mock_command()) as address:
        while able:
            try:
                rows += map(row, measured_case(case, able, rounds, address))
                break
            except ClientFailed as failure:
                say(str(failure))
                able.remove(failure.client)
                out.append(_left_out(failure.client, case, "failed"))
    say(own_peak_warning([one.measured() for one in rows]))
    return replace(results, rows=rows, left_out=out)


def _left_out(client: str, case: Case, why: str) -> LeftOut:
    return LeftOut(client=client, workload=case.workload.name, latency_ms=case.latency_ms, why=why)


def _records(results: Results, rounds: int, clients: Sequence[str]) -> Results:
    with running(mock_command()) as address:
        return replace(results, alone=[_help(rounds), *measure_records(rounds, address)])


def _help(rounds: int) -> Repeated:
    found = Repeated(what=HELP)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            log = Path(folder) / "log"
            found.usages.append(run(HELP_WORDS, environment=os.environ, log=log, limit_s=60, folder=REPOSITORY))
    return found


def _bodies(results: Results, rounds: int, clients: Sequence[str]) -> Results:
    """The first part, because it also fills the evaluators' caches of compiled modules and of the disk."""
    return replace(results, sent=[sent for client in clients if client in PEERS for sent in _sent(client)])


def _sent(client: str) -> list[Sent]:
    found = []
    for name, asked in CHECKED.items():
        case = Case(workload=WORKLOADS[name], latency_ms=0, questions=asked)
        if why_not(client, case):
            continue
        server = bodies_command(case.data_json, case.images_dir)
        with running(server) as address, tempfile.TemporaryDirectory(prefix="vqa-client-bench-") as folder:
            launch(client, case, limit=case.limit, address=address, folder=Path(folder))
            found.append(Sent(client=client, workload=name, asked=case.asked, **control(address, "/stats")))
            say(f"bodies of {client} on {name}: {found[-1]}")
    return found


PARTS: dict[str, Callable[[Results, int, Sequence[str]], Results]] = {
    "bodies": _bodies,
    "small-0": partial(_case, case=Case(workload=WORKLOADS["small"], latency_ms=0)),
    "small-50": partial(_case, case=Case(workload=WORKLOADS["small"], latency_ms=50, questions=1280)),
    "small-500": partial(_case, case=Case(workload=WORKLOADS["small"], latency_ms=500, questions=1280)),
    "document": partial(_case, case=Case(workload=WORKLOADS["document"], latency_ms=1000)),
    "records": _records,
}


def main() -> None:
    """Measure one part; an existing file has earlier parts."""
    part, rounds, clients, path = sys.argv[1:]
    kept = Path(path)
    write(measured_part(part, read(kept) if kept.exists() else None, int(rounds), clients.split(",")), kept)


if __name__ == "__main__":
    main()

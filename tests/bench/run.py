"""`python -m tests.bench.run`: measure the clients side by side and compare ours with its bars.

Without options: the cases that the bars are about, in about twelve minutes. Tables go to stdout, progress to stderr.
Exit code 0 when every measured floor is kept, 1 when one is missed or a client fails, 2 for a wrong command line.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from tests.bench.cases import CLIENTS, MODULES, OURS, WORKERS, Case, bar_cases, chosen_cases, own_case, why_not
from tests.bench.check import CHECKED, Exactness, check
from tests.bench.figures import CPU_MS, RSS_MB, SPAN_S, Measured
from tests.bench.measure import ClientFailed, Run, measure
from tests.bench.processes import BYTES_PER_MAXRSS, MB
from tests.bench.servers import REPOSITORY, mock_command, running
from tests.bench.table import bar_table, case_table
from tests.bench.workloads import WORKLOADS


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line; lists are separated by commas."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.run", description=__doc__)
    parser.add_argument("--workload", type=listed(WORKLOADS), default=[], help=f"of {', '.join(WORKLOADS)}")
    parser.add_argument("--latency_ms", type=lambda text: [int(part) for part in text.split(",")], default=[])
    parser.add_argument("--clients", type=listed(CLIENTS), default=list(MODULES), help=f"of {', '.join(CLIENTS)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument(
        "--questions", type=int, default=0, help="only the first N of each workload, of needles in whole documents"
    )
    parser.add_argument("--json", type=Path, help="also write every run to this file")
    parser.add_argument("--check", action="store_true", help="only check that the bodies are byte-exact")
    return parser.parse_args(arguments)


def listed(known: Iterable[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        names = text.split(",")
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(known)}")
        return names

    return parse


def say(text: str) -> None:
    """Print progress."""
    print(text, file=sys.stderr, flush=True)


def make_workloads(names: Iterable[str]) -> None:
    """Make missing workloads in a separate process, because clients inherit the peak memory of this one."""
    say("making the workloads, once")
    subprocess.run([sys.executable, "-m", "tests.bench.workloads", *sorted(set(names))], cwd=REPOSITORY, check=True)


def measured_case(case: Case, clients: Sequence[str], rounds: int, address: str) -> list[Measured]:
    """Measure the clients on one case, in rounds of all clients."""
    cases = {client: own_case(client, case) for client in clients if not case.only or client in case.only}
    for client in (client for client, own in cases.items() if own is None):
        say(f"{case.title}: {client} is left out: {why_not(client, case)}")
    runs: dict[str, tuple[Case, list[Run]]] = {client: (own, []) for client, own in cases.items() if own is not None}
    for round_number in range(rounds):
        for client, (own, own_runs) in runs.items():
            own_runs.append(measure(client, own, round_number, address))
            say(_progress(Measured(client=client, case=own, runs=own_runs[-1:])))
    return [Measured(client=client, case=own, runs=own_runs) for client, (own, own_runs) in runs.items() if own_runs]


def _progress(measured: Measured) -> str:
    figures = ", ".join(f"{figure.title} {figure.cell(measured)}" for figure in (SPAN_S, CPU_MS, RSS_MB))
    return f"{measured.case.title}, round {measured.runs[0].round + 1}: {measured.client}: {figures}"


def measured_cases(cases: Sequence[Case], clients: Sequence[str], rounds: int) -> Iterator[Measured]:
    """Measure everything and print each case's table as soon as it is complete."""
    with running(mock_command()) as address:
        for case in cases:
            if found := measured_case(case, clients, rounds, address):
                print(case_table(found), flush=True)
                yield from found


def exact_share(found: Sequence[Exactness], client: str) -> float | None:
    """The lowest share of a client's byte-exact bodies; None if it wasn't checked."""
    return min((exactness.share for exactness in found if exactness.client == client), default=None)


def write_json(path: Path, results: Sequence[Measured], checked: Sequence[Exactness]) -> None:
    """Write every run as measured, for other tables."""
    runs = [asdict(run) for measured in results for run in measured.runs]
    content = {"cpus": os.cpu_count(), "python": sys.version.split()[0], "runs": runs}
    content["exactness"] = [asdict(exactness) for exactness in checked]
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")


def own_peak_warning(results: Sequence[Measured]) -> str:
    """Say so if the memory column shows this process instead of a client; see processes.Usage."""
    own_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * BYTES_PER_MAXRSS
    least = min((run.start.peak_rss_bytes for measured in results for run in measured.runs), default=own_bytes + 1)
    return "" if own_bytes < least else f"RSS is not to be trusted: this process itself took {own_bytes / MB:.0f} MB"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, measure, print; returns the exit code."""
    chosen = options(arguments)
    cases = [] if chosen.check else _cases(chosen)
    make_workloads([*(case.workload.name for case in cases), *CHECKED])
    checked: list[Exactness] = []
    results: list[Measured] = []
    failed = False
    try:
        checked += check(chosen.clients if chosen.check else [name for name in chosen.clients if name == OURS])
        for measured in measured_cases(cases, chosen.clients, chosen.rounds):
            results.append(measured)  # one by one: a failure keeps the earlier figures
    except ClientFailed as failure:
        say(str(failure))
        failed = True
    if chosen.json:
        write_json(chosen.json, results, checked)
    if not results:
        return int(failed or any(exactness.share < 1 for exactness in checked))
    bars, kept = bar_table(results, exact_share(checked, OURS))
    print(bars)
    say(own_peak_warning(results))
    return int(failed or not kept)


def _cases(chosen: argparse.Namespace) -> list[Case]:
    if not chosen.workload:
        return bar_cases(chosen.questions)
    return chosen_cases(chosen.workload, chosen.latency_ms, chosen.workers, chosen.questions)


if __name__ == "__main__":
    sys.exit(main())

"""`vqa-client judge` on runs of 2,000 and of 20,000 replies: pace beside the server's latency, and memory.

    python -m tests.bench.judging                  # about 4 minutes
    python -m tests.bench.judging --questions 5000 --latency_ms 500

A server that answers "VERDICT: correct" after a fixed latency judges a run that `score` made. Ideal is the time with
`--workers` requests in flight at every moment. Bars: `BARS`.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from math import ceil
from pathlib import Path

from tests.bench import processes
from tests.bench.servers import REPOSITORY, control, mock_command, running

BARS = {"of the ideal pace": 0.9, "MB over the run of few replies": 12.0}
FEW = 2_000
_LIMIT_S = 1_800.0
_MAKE_RUN = """
import sys
from pathlib import Path
from tests.judge.judged import Run
Run(Path(sys.argv[1]), [f"city {n + (n % 10 == 0)}" for n in range(int(sys.argv[2]))])
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures and their bars; returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=128)
    parser.add_argument("--latency_ms", type=float, default=1_000.0)
    given = parser.parse_args(arguments)
    mock = [*mock_command(), "--reply", "VERDICT: correct"]
    with tempfile.TemporaryDirectory(prefix="vqa-client-bench-") as name, running(mock) as address:
        folder = Path(name)
        _, few_mb = _judge(folder / "few", FEW, given.workers, given.latency_ms, address)
        of_ideal, many_mb = _judge(folder / "many", given.questions, given.workers, given.latency_ms, address)
    kept = []
    for (what, bar), value in zip(BARS.items(), (of_ideal, many_mb - few_mb), strict=True):
        kept.append(value <= bar if "MB" in what else value >= bar)
        print(f"{value:7.2f} {what} (bar {bar:g}){'' if kept[-1] else '  MISSED'}")
    return int(not all(kept))


def _judge(folder: Path, questions: int, workers: int, latency_ms: float, address: str) -> tuple[float, float]:
    """Judge a run; returns its pace at the server relative to the ideal, and its peak memory in MB."""
    _run([sys.executable, "-c", _MAKE_RUN, str(folder), str(questions)], folder)
    control(address, f"/reset?latency_ms={latency_ms}")
    judge = [sys.executable, "-m", "vqa_client", "judge", str(folder / "out"), "--base_url", f"{address}/v1"]
    usage = _run([*judge, "--no_check", "--max_workers", str(workers)], folder)
    stats = control(address, "/stats")
    controls = stats["requests"] - questions
    ideal_s = (ceil(controls / workers) + ceil(questions / workers)) * latency_ms / 1000
    peak_mb = usage.peak_rss_bytes / processes.MB
    print(
        f"{questions:,} replies by {workers} workers: {stats['span_s']:.1f} s of the server, ideal {ideal_s:.1f} s; "
        f"whole command {usage.wall_s:.1f} s, {usage.cpu_s:.1f} s of CPU; {peak_mb:.1f} MB"
    )
    return ideal_s / stats["span_s"], peak_mb


def _run(command: Sequence[str], folder: Path) -> processes.Usage:
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    usage = processes.run(command, environment=os.environ, log=log, limit_s=_LIMIT_S, folder=REPOSITORY)
    if usage.exit_code:
        raise RuntimeError(log.read_text()[-1500:])
    return usage


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.bench.beside`: measure our client beside evaluators and scripts; table, plot and bars go to docs/.

First `python -m tests.bench.peers install`; an evaluator that is not installed is left out, and the page says so. Parts
that are not chosen stay as speed.json has them. Exit code 0 when every measured bar is kept, 1 when one is missed.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from tests.bench.beside.claims import CLAIMS, cells, verdict
from tests.bench.beside.page import page
from tests.bench.beside.plot import draw
from tests.bench.beside.results import read
from tests.bench.beside.suite import CHECKED, PARTS
from tests.bench.cases import CLIENTS
from tests.bench.run import listed, make_workloads
from tests.bench.servers import REPOSITORY

NAME = "speed"
MEASURE = (sys.executable, "-m", "tests.bench.beside.suite")


def main() -> int:
    """Measure or read, then write."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.beside", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--parts", type=listed(PARTS), default=list(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--clients", type=listed(CLIENTS), default=list(CLIENTS), help=f"of {', '.join(CLIENTS)}")
    parser.add_argument("--into", type=Path, default=REPOSITORY / "docs", help="gets speed.json, speed.md, speed.svg")
    parser.add_argument("--draw", action="store_true", help="only make page and plot again from speed.json")
    chosen = parser.parse_args()
    chosen.into.mkdir(parents=True, exist_ok=True)
    kept = chosen.into / f"{NAME}.json"
    if not chosen.draw:
        make_workloads(CHECKED)
        for part in chosen.parts:  # each in a process: a part inherits the peak memory of its parent
            words = [*MEASURE, part, str(chosen.rounds), ",".join(chosen.clients), str(kept.resolve())]
            subprocess.run(words, cwd=REPOSITORY, check=True)
    results = read(kept)
    (chosen.into / f"{NAME}.md").write_text(page(results), encoding="utf-8")
    draw(results, chosen.into / f"{NAME}.svg")

    for claim in CLAIMS:
        print("  ".join(cells(claim, results)))
    return int(any(verdict(claim, results) == "**missed**" for claim in CLAIMS))


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.soak --minutes 5 --seed 1`: exit code 0 if nothing was lost, else 1, with what was wrong."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.soak.soak import Plan, soak


def main() -> None:
    """Run one soak and print its results."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=Plan().minutes)
    parser.add_argument("--kills", type=int, default=Plan().kills, help="continue until so many lives were killed")
    parser.add_argument("--questions", type=int, default=Plan().questions)
    parser.add_argument("--workers", type=int, default=Plan().workers)
    parser.add_argument("--seed", type=int, default=Plan().seed)
    plan = Plan(**vars(parser.parse_args()))
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as root:
        outcome = soak(plan, Path(root), lambda text: print(text, file=sys.stderr, flush=True))
    width = max(map(len, outcome.figures))
    for name, figure in outcome.figures.items():
        print(f"{name:{width}}  {figure}")
    for name, reason in outcome.skipped.items():
        print(f"skipped: {name} ({reason})")
    for text in outcome.wrong:
        print(f"WRONG: {text}")
    print(f"seed {plan.seed}, {os.cpu_count()} cores: {'failed' if outcome.wrong else 'passed'}")
    sys.exit(bool(outcome.wrong))


if __name__ == "__main__":
    main()

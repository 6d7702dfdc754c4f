"""The pages of the benchmarks are as their declarations make them."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_pages_of_the_benchmarks_are_up_to_date() -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "docs/benchmarks/make.py", "--check"], capture_output=True, text=True, cwd=ROOT
    )
    assert (made.returncode, made.stdout) == (0, ""), "python docs/benchmarks/make.py writes them again"

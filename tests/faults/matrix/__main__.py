"""Run the tests of each collected case and print case, wanted and got; exit code 1 if anything is wrong."""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable

try:
    import pytest
except ImportError:
    sys.exit("the matrix runs tests: install what they need by pip install -e '.[dev]'")

from tests.faults.matrix.cases import FILE, Case, handed
from tests.faults.matrix.covering import held_by
from tests.faults.matrix.readings import wrong_pairs

WANTED_CHARACTERS, GOT_CHARACTERS = 60, 90


class Outcomes:
    """A pytest plugin that keeps each test's outcome, by its file and its name without parameters."""

    def __init__(self) -> None:
        self._ends: dict[str, list[str]] = defaultdict(list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the outcome of the call, and of a set-up or tear-down that failed or was skipped."""
        if report.when == "call" or not report.passed:
            self._ends[report.nodeid.partition("[")[0]].append(report.outcome)

    def of(self, test: str) -> list[str]:
        """The outcome of a file's tests, or of one test with all its parameters."""
        return [
            end for name, ends in self._ends.items() if name == test or name.startswith(f"{test}::") for end in ends
        ]


def got(case: Case, outcomes: Outcomes | None) -> tuple[bool, str]:
    """Whether a case passes, and what was seen, in words."""
    wrong, tests = wrong_pairs(case), held_by(case)
    told = [f"{len(case.io) - len(wrong)} of {len(case.io)} pairs"] if case.io else []
    told += [f"{pair[:-1]} gives {value!r}" for pair, value in wrong]
    ends = [end for test in tests for end in (outcomes.of(test) if outcomes else ())]
    unseen = [test for test in tests if outcomes and not outcomes.of(test)]
    told += [f"{ends.count(end)} tests {end}" for end in ("passed", "failed", "skipped") if end in ends]
    told += [f"not there: {test}" for test in unseen]
    if not tests and not case.io:
        return True, "not built yet"
    return not wrong and not unseen and "failed" not in ends, ", ".join(told) or f"{len(tests)} tests, not run"


def table(cases: Iterable[Case], outcomes: Outcomes | None) -> tuple[bool, list[str]]:
    """Whether all cases pass, and the lines to print."""
    rows = [(case, *got(case, outcomes)) for case in cases]
    lines = [
        f"{case.id:4} {case.area:10} {_cut(case.expected, WANTED_CHARACTERS):{WANTED_CHARACTERS}} "
        f"{'ok ' if holds else 'BAD'} {_cut(seen, GOT_CHARACTERS)}"
        for case, holds, seen in rows
    ]
    return all(holds for _, holds, _ in rows), [f"{'case':15} {'wanted':{WANTED_CHARACTERS}}     got", *lines]


def main() -> None:
    """Run everything, or only the pairs."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.matrix", description=__doc__)
    parser.add_argument("--pairs", action="store_true", help="compare the pairs alone, run no test")
    only_pairs = parser.parse_args().pairs
    if not FILE.exists():
        print(f"skipped: {FILE.name} is not beside this repository")
        return
    cases, outcomes = handed(), None
    if not only_pairs:
        outcomes = Outcomes()
        names = sorted({test for case in cases for test in held_by(case)})
        pytest.main(["-q", "--no-header", "--tb=short", *names], plugins=[outcomes])
    holds, lines = table(cases, outcomes)
    print("\n".join(lines))
    sys.exit(not holds)


def _cut(text: str, characters: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= characters else text[: characters - 3] + "..."


if __name__ == "__main__":
    main()

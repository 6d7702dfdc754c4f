"""`python -m tests.mutants --seed 1 --n 100`: how often does a test notice that one line of the library was changed?

Draws changes of one line over all of `vqa_client/`, finds the tests that reach each line by one run of the suite, makes
each change in a copy of the tree, runs its tests, and prints the share that was noticed by room, with Wilson intervals,
and the changes that were not. It works in a copy, so you may edit the tree meanwhile.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from tests.mutants.changes import ROOT, Change, drawn
from tests.mutants.reach import AT_ONCE, Reach, environment_of, reach_of, run_pytest
from vqa_client.scoring.statistics import wilson

MOST_S: Final = 240
"""The seconds of tests that are run for a change; on a busy machine a quarter of that is work."""
LIMIT_S: Final = 900
"""A change that makes the tests hang longer counts as noticed."""
COPY: Final = ".mutants-"


def chosen(change: Change, reach: Reach) -> list[str]:
    """Order tests: one of each function first; then those that reach the line, name the file, share its room."""
    stems = {change.path.stem, change.path.parent.name} - {change.room}
    reaching, seconds = reach.tests[change], reach.seconds

    def distance(test: str) -> tuple[bool, bool, bool, float]:
        is_elsewhere = not test.startswith(f"tests/{change.room}/")
        return test not in reaching, not any(stem in test for stem in stems), is_elsewhere, seconds[test]

    seen: Counter[str] = Counter()
    nth = {}
    for test in sorted((each for each in seconds if reaching & {each, each.partition("::")[0]}), key=distance):
        function = test.partition("[")[0]
        nth[test] = seen[function]
        seen[function] += 1
    total, found = 0.0, []
    for test in sorted(nth, key=nth.__getitem__):
        if total + seconds[test] <= MOST_S:
            total += seconds[test]
            found.append(test)
    return found


def failing(tests: list[str], tree: Path) -> list[str]:
    """The first test that fails in a tree; all tests if they don't end in time or can't be collected."""
    (tree / "tests.txt").write_text("\n".join(tests), encoding="utf-8")
    try:
        done = run_pytest(tree, "-x", "-n", "0", "@tests.txt", timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return tests
    return [] if done.returncode == 0 else [test for test in tests if f"\nFAILED {test}" in done.stdout] or tests


def is_noticed(change: Change, tests: list[str], tree: Path) -> bool:
    """Whether a test fails in a tree with the change but not without it."""
    file = tree / change.path.relative_to(ROOT)
    file.write_text(change.text(), encoding="utf-8")
    try:
        failed = failing(tests, tree) if tests else []
    finally:
        shutil.copyfile(change.path, file)
    return bool(failed) and not failing(failed, tree)


def copied(stack: ExitStack) -> Path:
    """A copy beside the tree, from where the tests' data is found."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(dir=ROOT.parent, prefix=COPY))
    ignored = shutil.ignore_patterns(".git", ".venv", "build", ".*_cache", "__pycache__")
    return Path(shutil.copytree(ROOT, folder, ignore=ignored, dirs_exist_ok=True))


def tried(changes: list[Change], reach: Reach) -> list[bool]:
    """Try the changes; prints those that are not noticed."""
    free: SimpleQueue[Path] = SimpleQueue()

    def attempt(change: Change) -> bool:
        tests, tree = chosen(change, reach), free.get()
        noticed = is_noticed(change, tests, tree)
        free.put(tree)
        if not noticed:
            reached = f"{len(tests)} tests of {len(reach.tests[change])} that reach it"
            lines = f"  - {change.before.strip()}\n  + {change.after.strip()}"
            print(f"{change.path.relative_to(ROOT)}:{change.line}, not noticed by {reached}\n{lines}", flush=True)
        return noticed

    with ExitStack() as stack:
        for _ in range(AT_ONCE):
            free.put(copied(stack))
        with ThreadPoolExecutor(AT_ONCE) as threads:
            return list(threads.map(attempt, changes))


def print_shares(changes: list[Change], noticed: list[bool]) -> None:
    """A line for each room, and one for all."""
    by_room = defaultdict(list)
    for change, each in zip(changes, noticed, strict=True):
        by_room[change.room].append(each)
    for room, given in (*sorted(by_room.items()), ("all", noticed)):
        share = sum(given) / len(given)
        low, high = (100 * bound for bound in wilson(share, len(given)))
        print(f"{room:16} {sum(given):4} of {len(given):4}  {100 * share:5.1f} %  ({low:.0f}-{high:.0f})")


def main() -> None:
    """Draw, and try what is drawn."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--n", type=int, default=100, help="how many changes")
    parser.add_argument("--rooms", default="", help="only these folders of vqa_client/, with commas")
    parser.add_argument("tests", nargs="*", help="run only these tests; default: the suite")
    given = parser.parse_args()
    if not ROOT.name.startswith(COPY):
        with ExitStack() as stack:
            tree = copied(stack)
            command = [sys.executable, "-m", "tests.mutants", *sys.argv[1:]]
            sys.exit(subprocess.run(command, cwd=tree, env=environment_of(tree), check=False).returncode)
    changes = drawn(given.seed, given.n, set(filter(None, given.rooms.split(","))))
    with ExitStack() as stack:
        reach = reach_of(changes, copied(stack), given.tests)
    print_shares(changes, tried(changes, reach))


if __name__ == "__main__":
    main()

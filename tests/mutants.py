"""`python -m tests.mutants --seed 1 --n 100`: how often does a test notice that one line of the library was changed?

Draws changes of one line over all of `vqa_client/`, makes each in a copy of the tree, runs the tests that reach the
line, and prints the share that was noticed by room, with Wilson intervals, and the changes that were not. Which tests
reach a line is found out by one run of the suite under coverage: `python -m tests.mutants --map`, some 20 minutes, kept
in `build/mutants/` until the next; `--map tests/client` adds some tests to it. A line that an import runs (a table, a
field) is tried by the tests of the functions that use its name.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from vqa_client.scoring.statistics import wilson

ROOT: Final = Path(__file__).parents[1]
LIBRARY: Final = ROOT / "vqa_client"
MAP: Final = ROOT / "build" / "mutants" / "coverage"
LEFT_OUT: Final = ("tests/servers/real", "tests/bench", "tests/soak")
MOST_TESTS, LIMIT_S = 150, 300
FUNCTION: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
SWAPPED: Final = {
    **{ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="},
    **{ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"},
    **{ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.And: "or", ast.Or: "and"},
}


class Change(NamedTuple):
    """A line of a file as it is changed; `line` counts from 1."""

    path: Path
    line: int
    before: str
    after: str

    def made_in(self, tree: Path) -> None:
        """Write the file with the changed line."""
        lines = self.path.read_text(encoding="utf-8").split("\n")
        lines[self.line - 1] = self.after
        (tree / self.path.relative_to(ROOT)).write_text("\n".join(lines), encoding="utf-8")

    def undone_in(self, tree: Path) -> None:
        """Write the file as it is."""
        shutil.copyfile(self.path, tree / self.path.relative_to(ROOT))


def changes_of(path: Path, text: str) -> Iterator[Change]:
    """Changes of one line each; not of docstrings, annotations, imports and options of classes."""
    lines, tree = text.split("\n"), ast.parse(text)
    skipped = {id(inner) for node in ast.walk(tree) for part in _unread(node) for inner in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        for line, start, end, new in _edits(node, lines):
            before = lines[line - 1]
            raw = before.encode()  # offsets of the parser are in bytes
            after = (raw[:start] + new.encode() + raw[end:]).decode()
            if after != before:
                yield Change(path, line, before, after)


def _unread(node: ast.AST) -> list[ast.AST]:
    """The parts of a node that no test could notice."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [node]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return [node]
    if isinstance(node, ast.ClassDef):
        calls = [each for each in node.decorator_list if isinstance(each, ast.Call)]
        made = [call.keywords for call in calls if isinstance(call.func, ast.Name) and call.func.id == "dataclass"]
        return [*node.keywords, *(keyword for keywords in made for keyword in keywords)]
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return [node]
    annotation = getattr(node, "annotation", None) or getattr(node, "returns", None)
    return [annotation] if annotation is not None else []


def _edits(node: ast.AST, lines: list[str]) -> Iterator[tuple[int, int, int, str]]:
    """Line, first and last byte in it, and what takes their place."""
    if isinstance(node, ast.Constant) and node.lineno == node.end_lineno and node.end_col_offset is not None:
        value = node.value
        if isinstance(value, bool | int | float):
            new = str(not value) if isinstance(value, bool) else str(value + 1)
            yield node.lineno, node.col_offset, node.end_col_offset, new
        elif isinstance(value, str) and lines[node.lineno - 1].encode()[node.col_offset :][:1] in (b'"', b"'"):
            yield node.lineno, node.col_offset, node.end_col_offset, repr(f"{value}x" if value else "x")
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _between(node.left, node.comparators[0], SWAPPED[type(node.ops[0])])
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
        yield from _between(node.left, node.right, SWAPPED[type(node.op)])
    elif isinstance(node, ast.BoolOp):
        yield from _between(node.values[0], node.values[1], SWAPPED[type(node.op)])
    elif isinstance(node, ast.If | ast.While | ast.IfExp) and node.test.lineno == node.test.end_lineno:
        test = node.test
        words = lines[test.lineno - 1].encode()[test.col_offset : test.end_col_offset].decode()
        yield test.lineno, test.col_offset, test.end_col_offset or 0, f"not ({words})"
    elif isinstance(node, ast.ExceptHandler) and node.type is not None and node.type.lineno == node.type.end_lineno:
        yield node.type.lineno, node.type.col_offset, node.type.end_col_offset or 0, "()"
    elif isinstance(node, ast.Return) and node.value is not None and node.lineno == node.end_lineno:
        yield node.lineno, node.col_offset, node.end_col_offset or 0, "return None"


def _between(left: ast.expr, right: ast.expr, new: str) -> Iterator[tuple[int, int, int, str]]:
    if left.end_lineno == right.lineno and left.end_col_offset is not None:
        yield right.lineno, left.end_col_offset, right.col_offset, f" {new} "


def _is_python(change: Change) -> bool:
    lines = change.path.read_text(encoding="utf-8").split("\n")
    lines[change.line - 1] = change.after
    try:
        ast.parse("\n".join(lines))
    except SyntaxError:
        return False
    return True


def room_of(path: Path) -> str:
    """The folder below the library, or the library itself."""
    inner = path.relative_to(LIBRARY).parts
    return inner[0] if len(inner) > 1 else "vqa_client"


def drawn(seed: int, count: int, rooms: set[str]) -> list[Change]:
    """So many changes of as many lines; each line is as likely as any other."""
    by_line: dict[tuple[Path, int], list[Change]] = defaultdict(list)
    for path in sorted(LIBRARY.rglob("*.py")):
        if not rooms or room_of(path) in rooms:
            for change in changes_of(path, path.read_text(encoding="utf-8")):
                by_line[path, change.line].append(change)
    chance = random.Random(seed)
    lines = chance.sample(sorted(by_line), len(by_line))
    return list(islice(filter(_is_python, (chance.choice(by_line[line]) for line in lines)), count))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """While the map is made: name the test that is run to coverage."""
    import coverage

    measuring = coverage.Coverage.current()
    if measuring is not None:
        measuring.switch_context(item.nodeid)
    return (yield)


def make_map() -> None:
    """Run the suite once, or the given part of it, and keep which test ran which line."""
    MAP.parent.mkdir(parents=True, exist_ok=True)
    settings = MAP.with_name("settings.ini")
    settings.write_text(f"[run]\nsource = {LIBRARY}\ndata_file = {MAP}\n", encoding="utf-8")
    ignored = [word for folder in LEFT_OUT for word in ("--ignore", folder)]
    measured = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", "-p", "tests.mutants"]
    measured[4:4] = ["--append"] if sys.argv[2:] else []
    subprocess.run([*measured, "-n", "0", "--timeout", "600", *ignored, *sys.argv[2:]], cwd=ROOT, check=False)


@cache
def tests_by_line(path: Path) -> dict[int, list[str]]:
    """The tests that run each line of a file."""
    from coverage import CoverageData

    data = CoverageData(str(MAP))
    data.read()
    return {line: list(filter(None, tests)) for line, tests in data.contexts_by_lineno(str(path)).items()}


@cache
def statements(path: Path) -> dict[int, list[ast.stmt]]:
    """The statements that each line of a file is in, from the outermost."""
    found: dict[int, list[ast.stmt]] = {}

    def enter(node: ast.AST, around: list[ast.stmt]) -> None:
        for inner in ast.iter_child_nodes(node):
            inside = [*around, inner] if isinstance(inner, ast.stmt) else around
            if isinstance(inner, ast.stmt):
                first = min([inner.lineno, *(each.lineno for each in getattr(inner, "decorator_list", ()))])
                found.update(dict.fromkeys(range(first, (inner.end_lineno or first) + 1), inside))
            enter(inner, inside)

    enter(ast.parse(path.read_text(encoding="utf-8")), [])
    return found


@cache
def mentions(path: Path) -> dict[str, list[int]]:
    """The lines of a file that use each name."""
    found: dict[str, list[int]] = defaultdict(list)
    for line, inside in statements(path).items():
        if not isinstance(inside[-1], ast.Import | ast.ImportFrom):
            for name in set(re.findall(r"\w+", path.read_text(encoding="utf-8").split("\n")[line - 1])):
                found[name].append(line)
    return found


def reaching(path: Path, line: int, seen: set[tuple[Path, int]] | None = None) -> set[str]:
    """The tests that run a line; where it is run at import, those that run a function with a name that it defines."""
    inside, by_line = statements(path).get(line, []), tests_by_line(path)
    function = next((each for each in inside if isinstance(each, FUNCTION)), None)
    if function is not None:
        last = inside[-1]
        if last is function:  # a default or a decorator
            lines = range(function.body[0].lineno, (function.end_lineno or 0) + 1)
        else:  # all of a statement, or the head of a compound one
            body = getattr(last, "body", None)
            lines = range(last.lineno, max(last.lineno + 1, body[0].lineno if body else (last.end_lineno or 0) + 1))
        return {test for each in lines for test in by_line.get(each, ())}
    seen = set() if seen is None else seen
    outer, names = defined(inside[0]), defined(inside[-1])
    shared, found = {name for name in outer if not name.startswith("_")}, set[str]()
    for user in (each for each in sorted(LIBRARY.rglob("*.py")) if each == path or shared & mentions(each).keys()):
        for each in sorted({each for name in names for each in mentions(user).get(name, ())}):
            if (user, each) not in seen and not (user == path and inside[-1] in statements(user)[each]):
                seen.add((user, each))
                found |= reaching(user, each, seen)
    return found or {test for each, tests in by_line.items() if is_in_a_function(path, each) for test in tests}


def is_in_a_function(path: Path, line: int) -> bool:
    """Whether a line is run by a call; coverage ascribes what an import runs to the test that came first."""
    return any(isinstance(each, FUNCTION) for each in statements(path).get(line, ()))


def defined(statement: ast.stmt) -> set[str]:
    """The names that a statement defines."""
    if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", statement)]
    return {node.id for each in targets for node in ast.walk(each) if isinstance(node, ast.Name)}


def chosen(tests: list[str], path: Path, chance: random.Random) -> list[str]:
    """Some of the tests of a file: one of each function first, and of those the ones that name the file or its room."""
    chance.shuffle(tests)
    tests.sort(key=lambda test: (path.stem not in test, not test.startswith(f"tests/{room_of(path)}/")))
    seen: Counter[str] = Counter()
    ranked = []
    for test in tests:
        seen[test.partition("[")[0]] += 1
        ranked.append((seen[test.partition("[")[0]], test))
    return [test for _, test in sorted(ranked, key=lambda each: each[0])][:MOST_TESTS]


def failing(tests: list[str], tree: Path) -> list[str]:
    """The first of the tests that fails in a tree; all of them where they don't end in time or can't be collected."""
    command = [sys.executable, "-W", "error", "-m", "pytest", "-x", "-n", "0", *tests]
    environment = os.environ | {"PYTHONPATH": str(tree)}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return tests
    return [] if done.returncode == 0 else re.findall(r"^FAILED (.+?)(?: - .*)?$", done.stdout, re.MULTILINE) or tests


def is_noticed(change: Change, tests: list[str], tree: Path) -> bool:
    """Whether a test fails in a tree with the change, and doesn't without it."""
    change.made_in(tree)
    try:
        failed = failing(tests, tree)
    finally:
        change.undone_in(tree)
    return bool(failed) and not failing(failed, tree)


def measure(seed: int, count: int, rooms: set[str]) -> None:
    """Draw changes, try each, and print what was noticed."""
    chance = random.Random(seed)
    noticed: dict[str, list[bool]] = defaultdict(list)
    with tempfile.TemporaryDirectory(dir=ROOT.parent, prefix=".mutants-") as folder:  # beside the data of the tests
        tree, ignored = Path(folder), shutil.ignore_patterns(".git", ".venv", "build", ".*_cache", "__pycache__")
        shutil.copytree(ROOT, tree, ignore=ignored, dirs_exist_ok=True)
        for change in drawn(seed, count, rooms):
            room = room_of(change.path)
            reached = sorted(reaching(change.path, change.line))
            beside = ROOT / "tests" / room
            tests = chosen(reached, change.path, chance)
            tests = tests or [str(beside.relative_to(ROOT)) if beside.is_dir() else "tests/contract"]
            noticed[room].append(is_noticed(change, tests, tree))
            if not noticed[room][-1]:
                print(f"not noticed: {change.path.relative_to(ROOT)}:{change.line} ({len(reached)} tests reach it)")
                print(f"  - {change.before.strip()}\n  + {change.after.strip()}", flush=True)
    noticed["all"] = [each for room in sorted(noticed) for each in noticed[room]]
    for room, each in noticed.items():
        share = sum(each) / len(each)
        low, high = (100 * bound for bound in wilson(share, len(each)))
        print(f"{room:12} {sum(each):4} of {len(each):4}  {100 * share:5.1f} %  ({low:.0f}-{high:.0f})")


def main() -> None:
    """Make the map, or draw and try changes."""
    if sys.argv[1:2] == ["--map"]:
        return make_map()
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument(
        "--map", action="store_true", help="run the suite under coverage, or what the words after it name"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--n", type=int, default=100, help="how many changes")
    parser.add_argument("--rooms", default="", help="only these folders of vqa_client/, with commas")
    given = parser.parse_args()
    return measure(given.seed, given.n, set(filter(None, given.rooms.split(","))))


if __name__ == "__main__":
    main()

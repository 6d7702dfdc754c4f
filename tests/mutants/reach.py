"""Finds the tests that reach a line: one run of the suite in a copy in which the drawn lines record the current test.

The environment names the test, so that its child processes record it too. For a line that runs at import (a table, a
field), the functions that use its name are recorded.
"""

import ast
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.mutants.changes import LIBRARY, ROOT, Change

LEFT_OUT: Final = ("tests/servers/real", "tests/bench", "tests/soak", "tests/mutants")
AT_ONCE: Final = 2
PASSED: Final = "passed.log"
FUNCTION: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
SAID: Final = re.compile(r"^(\d+) (tests/.*) (\(\w+\))$", re.MULTILINE)
"""A line that a probe wrote; a process with a limit on file sizes may leave half a line, without a number."""
PROBE: Final = '''"""Which test comes by a drawn line."""
import os
from pathlib import Path

_open, _write, _close = os.open, os.write, os.close  # their values before a test changes them
_LOG = str(Path(__file__).parents[1] / "reached.log")
_seen, caches = set(), []


def _reached_for(number):
    test = os.environ.get("PYTEST_CURRENT_TEST")  # in the processes that a test starts, too
    if test and (number, test) not in _seen:
        _seen.add((number, test))
        try:
            log = _open(_LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            _write(log, f"{number} {test}\\n".encode())
            _close(log)
        except OSError:
            pass


def _cleared_for_tests(function):
    """Have each test come by, not only the first with these arguments."""
    caches.append(function)
    return function
'''


Place = ast.stmt | ast.ExceptHandler


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def places(path: Path) -> dict[int, list[Place]]:
    """The statements that each line of a file is in, from the outermost."""
    found: dict[int, list[Place]] = {}

    def enter(node: ast.AST, around: list[Place]) -> None:
        for inner in ast.iter_child_nodes(node):
            inside = [*around, inner] if isinstance(inner, Place) else around
            if isinstance(inner, Place):
                first = min([inner.lineno, *(each.lineno for each in getattr(inner, "decorator_list", ()))])
                found.update(dict.fromkeys(range(first, (inner.end_lineno or first) + 1), inside))
            enter(inner, inside)

    enter(parsed(path), [])
    return found


@cache
def mentions(path: Path) -> dict[str, list[int]]:
    """By name, the lines of a file that use it."""
    found: dict[str, list[int]] = defaultdict(list)
    lines = path.read_text(encoding="utf-8").split("\n")
    for line, inside in places(path).items():
        if not isinstance(inside[-1], ast.Import | ast.ImportFrom):
            for name in set(re.findall(r"\w+", lines[line - 1])):
                found[name].append(line)
    return found


def defined(statement: Place) -> set[str]:
    """The names that a statement defines."""
    if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", statement)]
    return {node.id for each in targets for node in ast.walk(each) if isinstance(node, ast.Name)}


def function_around(path: Path, line: int) -> Place | None:
    """The outermost function that a line is in."""
    return next((each for each in places(path).get(line, ()) if isinstance(each, FUNCTION)), None)


def passed_by(path: Path, line: int) -> list[tuple[Path, Place]]:
    """The places where a line takes effect: its statement, or the functions that use what it defines at import."""
    inside = places(path)[line]
    if function_around(path, line):
        return [(path, inside[-1])]
    found = users(path, inside, set())
    return found or [(path, each) for line in places(path) if (each := function_around(path, line))]


def users(path: Path, inside: list[Place], seen: set[int]) -> list[tuple[Path, Place]]:
    """The functions that use a name that a statement defines, directly or through further statements at import."""
    found = []
    seen.add(id(inside[-1]))
    shared, names = {name for name in defined(inside[0]) if not name.startswith("_")}, defined(inside[-1])
    for user in (each for each in sorted(LIBRARY.rglob("*.py")) if each == path or shared & mentions(each).keys()):
        for line in sorted({each for name in names for each in mentions(user).get(name, ())}):
            function = function_around(user, line)
            place = function or places(user)[line][-1]
            if id(place) not in seen:
                seen.add(id(place))
                found += [(user, function)] if function else users(user, places(user)[line], seen)
    return found


def with_probes(path: Path, numbers: dict[int, set[int]]) -> str:
    """A file in which places record, when they run, the numbers of their changes."""
    module = parsed(path)

    def calls(place: ast.AST) -> list[ast.stmt]:
        return [ast.parse(f"_reached_for({each})").body[0] for each in sorted(numbers.get(id(place), ()))]

    def enter(node: ast.AST) -> bool:
        holds = id(node) in numbers
        for inner in ast.iter_child_nodes(node):
            holds |= enter(inner)
        for field in ("body", "orelse", "finalbody"):
            if isinstance(block := getattr(node, field, None), list):
                block[:] = [new for each in block for new in (*(() if _is_entered(each) else calls(each)), each)]
        if _is_entered(node):
            start = _after_docstring(node)
            node.body[start:start] = calls(node)
        if isinstance(node, FUNCTION) and holds and any(map(_is_a_cache, node.decorator_list)):
            node.decorator_list.insert(0, ast.Name("_cleared_for_tests"))
        return holds

    enter(module)
    start = _after_docstring(module)
    module.body[start:start] = ast.parse("from vqa_client.reached import _cleared_for_tests, _reached_for").body
    return ast.unparse(ast.fix_missing_locations(module))


def _after_docstring(node: ast.AST) -> int:
    return int(isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) and bool(ast.get_docstring(node)))


def _is_a_cache(decorator: ast.expr) -> bool:
    return bool(re.match(r"(functools\.)?(lru_)?cache\b", ast.unparse(decorator)))


def _is_entered(node: ast.AST) -> bool:
    """Whether the probe of a place is at the start of its body, not before it."""
    return isinstance(node, ast.ExceptHandler | ast.FunctionDef | ast.AsyncFunctionDef)


def pytest_runtest_setup() -> None:
    """In the copy with probes: clear the caches of earlier tests."""
    from vqa_client import reached  # only there

    for each in reached.caches:
        each.cache_clear()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """In the copy with probes: which tests pass, and how many seconds each takes."""
    if report.when == "call" and report.passed and "PYTEST_XDIST_WORKER" not in os.environ:
        with (ROOT / PASSED).open("a", encoding="utf-8") as file:
            file.write(f"{report.duration} {report.nodeid}\n")


class Reach(NamedTuple):
    """For each change, the tests or test files that reach it; for each passing test, its seconds."""

    tests: dict[Change, set[str]]
    seconds: dict[str, float]


def reach_of(changes: list[Change], tree: Path, suite: Sequence[str] = ()) -> Reach:
    """Run the suite, or a part of it, once in a separate copy of the tree."""
    numbers: dict[Path, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for number, change in enumerate(changes):
        for path, place in passed_by(change.path, change.line):
            numbers[path][id(place)].add(number)
    for path, of_path in numbers.items():
        (tree / path.relative_to(ROOT)).write_text(with_probes(path, of_path), encoding="utf-8")
    (tree / "vqa_client" / "reached.py").write_text(PROBE, encoding="utf-8")
    (tree / "reached.log").touch()
    left_out = [f"--ignore={each}" for each in LEFT_OUT]
    done = run_pytest(tree, "-p", "tests.mutants.reach", "-n", str(AT_ONCE), *left_out, *suite)
    if done.returncode > 1:  # 1: a test failed, for example of the files' style
        raise RuntimeError(done.stdout + done.stderr)
    tests = {change: naming(change) for change in changes}
    by_number = {str(number): tests[change] for number, change in enumerate(changes)}
    for number, test, phase in SAID.findall((tree / "reached.log").read_text(encoding="utf-8")):
        if number in by_number:
            by_number[number].add(test if phase == "(call)" else test.partition("::")[0])  # others use it, too
    passed = (line.split(" ", 1) for line in (tree / PASSED).read_text(encoding="utf-8").splitlines())
    return Reach(tests, {test: float(seconds) for seconds, test in passed})


def naming(change: Change) -> set[str]:
    """The test files with the name of what an import runs, and those of its room that walk over the whole room."""
    if function_around(change.path, change.line):
        return set()
    names = defined(places(change.path)[change.line][0])
    files = [*(ROOT / "tests").rglob("test_*.py")]
    walking = {file for file in files if file.parent.name == change.room and change.room in mentions(file)}
    return {str(file.relative_to(ROOT)) for file in files if file in walking or names & mentions(file).keys()}


def run_pytest(tree: Path, *words: str, timeout: float | None = None) -> "subprocess.CompletedProcess[str]":
    """Run pytest in a copy of the tree; raises TimeoutExpired."""
    command = [sys.executable, "-W", "error", "-m", "pytest", *words]
    return subprocess.run(
        command, cwd=tree, env=environment_of(tree), capture_output=True, text=True, timeout=timeout, check=False
    )


def environment_of(tree: Path) -> dict[str, str]:
    """In which Python imports the library of a tree."""
    return os.environ | {"PYTHONPATH": str(tree)}

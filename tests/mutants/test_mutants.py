"""The changes of one line that `python -m tests.mutants` draws, and the tests that it runs for each."""

import ast
import shutil
from pathlib import Path

import pytest

from tests.mutants import reach
from tests.mutants.__main__ import MOST_S, chosen
from tests.mutants.changes import LIBRARY, Change, changes_of, drawn
from tests.mutants.reach import FUNCTION, Reach, naming, passed_by, places, with_probes

ROWS = [
    ("if a < b: pass", ["if a <= b: pass", "if not (a < b): pass"]),
    ("x = a + 1", ["x = a - 1", "x = a + 2"]),
    ("x = a and b", ["x = a or b"]),
    ("x = 'no'", ["x = 'nox'"]),
    ("x = ''", ["x = 'x'"]),
    ("x = ' '", ["x = ' x'"]),
    ("x = r'a word'", ['x = ""']),
    ('x = f"{a}:"', ['x = f"{a}:x"']),
    ('x = f"{a}: {b}"', ['x = ""']),
    ("x = b'no'", []),
    ("x = True", ["x = False"]),
    ("é = a is b", ["é = a is not b"]),
    ("def f() -> 'str':\n    return a", ["    return None"]),
    ("def f() -> bool:\n    return False", ["    return True"]),
    ("def f() -> None:\n    return", []),
    ("try:\n    a()\nexcept OSError:\n    b()", ["except ():"]),
    ('"""Docstring."""', []),
    ("from a import b", []),
    ("__all__ = ['b']", []),
    ("class A(B, frozen=True):\n    c: int", []),
    ("@dataclass(frozen=True)\nclass A:\n    c: int", []),
    ("if TYPE_CHECKING:\n    b = 1", []),
    ("zip(a, b, strict=True)", []),
    ("@lru_cache(maxsize=4)\ndef f(): pass", []),
    ("X = TypeVar('X')", []),
]


@pytest.mark.parametrize(("text", "changed"), ROWS)
def test_each_change_is_of_one_line(text: str, changed: list[str]) -> None:
    assert sorted(change.after for change in changes_of(Path("a.py"), text)) == sorted(changed)


def test_a_seed_draws_the_same_changes_again_and_a_larger_number_more_of_them() -> None:
    few = drawn(1, 3, {"exports"})
    assert few == drawn(1, 5, {"exports"})[:3]
    assert {change.room for change in few} == {"exports"}
    assert all(change.path.is_relative_to(LIBRARY) for change in few)


FILES = {
    "a.py": """LIMITS = (
    1,
    2,
)
_OWN = 3
BOTH = [LIMITS, 4]


class Kept:
    size: int = 5
    name: str = ""


def most(text="6"):
    return (len(text) >
            LIMITS[1])


def least():
    return _OWN
""",
    "b.py": """from a import BOTH, Kept

def all_of(kept):
    if kept.size:
        return BOTH
    elif kept:
        return ()
    try:
        return Kept().name, _OWN
    except OSError:
        pass
""",
}
PASSED_BY = [
    ("a", 3, {("a", "most"), ("b", "all_of")}),  # a table is used in a function, and in another table that is
    ("a", 5, {("a", "least")}),
    ("a", 6, {("b", "all_of")}),
    ("a", 10, {("b", "all_of")}),
    ("a", 14, {("a", "most")}),
    ("a", 16, {("a", "return len(text) > LIMITS[1]")}),
    ("b", 5, {("b", "return BOTH")}),
    ("b", 10, {("b", "except OSError:\n    pass")}),
]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(reach, "LIBRARY", tmp_path)
    return tmp_path


@pytest.mark.parametrize(("file", "line", "expected"), PASSED_BY)
def test_a_line_is_passed_by_where_it_runs_or_where_what_it_defines_is_used(
    file: str, line: int, expected: set[tuple[str, str]], library: Path
) -> None:
    found = passed_by(library / f"{file}.py", line)
    names = [place.name if isinstance(place, FUNCTION) else ast.unparse(place).strip() for _, place in found]
    assert set(zip((path.stem for path, _ in found), names, strict=True)) == expected


def test_a_test_that_walks_over_a_room_is_run_for_what_its_imports_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(reach.ROOT / "tests" / "settings", tmp_path / "tests" / "settings")
    monkeypatch.setattr(reach, "ROOT", tmp_path)
    path = LIBRARY / "settings" / "reports.py"
    lines = path.read_text(encoding="utf-8").split("\n")
    line = next(number for number, text in enumerate(lines, 1) if text.startswith("class LeaderboardSettings"))
    assert "tests/settings/test_defaults.py" in naming(Change(path, line, "", ""))


PROBED = '''"""What it is."""
from vqa_client.reached import _cleared_for_tests, _reached_for

@_cleared_for_tests
@lru_cache(maxsize=4)
def f(a):
    """Words."""
    _reached_for(1)
    if a:
        return 1
    else:
        _reached_for(2)
        if b:
            return 2
    try:
        return 3
    except OSError:
        _reached_for(3)
        return 4'''


def test_probes_are_before_statements_and_in_functions_and_handlers(tmp_path: Path) -> None:
    plain = "\n".join(line for line in PROBED.split("\n") if "_for" not in line)
    path = tmp_path / "a.py"
    path.write_text(plain)
    by_number = {1: 3, 2: 8, 3: 12}  # the lines without probes
    inner = {number: places(path)[line + 1][-1] for number, line in by_number.items()}
    assert with_probes(path, {id(place): {number} for number, place in inner.items()}) == PROBED


TESTS = ["tests/a.py::one[1]", "tests/a.py::one[2]", "tests/client/b.py::two", "tests/c.py::three", "tests/d.py::wire"]


def test_each_function_is_chosen_first_and_those_that_name_the_file() -> None:
    change = Change(LIBRARY / "client" / "wire.py", 1, "", "")
    seconds = dict.fromkeys(TESTS, 1.0) | {"tests/a.py::long": MOST_S, "tests/e.py::other": 0}
    reaching = {*TESTS[:3], "tests/a.py::long", "tests/c.py", "tests/d.py"}
    expected = ["tests/client/b.py::two", "tests/a.py::one[1]", "tests/d.py::wire", "tests/c.py::three", TESTS[1]]
    assert chosen(change, Reach({change: reaching}, seconds)) == expected

"""The changes of one line that `python -m tests.mutants` draws."""

import random
from pathlib import Path

import pytest

from tests import mutants
from tests.mutants import LIBRARY, changes_of, chosen, drawn, reaching, room_of

ROWS = [
    ("if a < b: pass", ["if a <= b: pass", "if not (a < b): pass"]),
    ("x = a + 1", ["x = a - 1", "x = a + 2"]),
    ("x = a and b", ["x = a or b"]),
    ("x = 'no'", ["x = 'nox'"]),
    ("x = ''", ["x = 'x'"]),
    ("x = True", ["x = False"]),
    ("é = a is b", ["é = a is not b"]),
    ("def f() -> 'str':\n    return a", ["    return None"]),
    ("try:\n    a()\nexcept OSError:\n    b()", ["except ():"]),
    ('"""Docstring."""', []),
    ("from a import b", []),
    ("class A(B, frozen=True):\n    c: int", []),
    ("@dataclass(frozen=True)\nclass A:\n    c: int", []),
    ("if TYPE_CHECKING:\n    b = 1", []),
]


@pytest.mark.parametrize(("text", "changed"), ROWS)
def test_each_change_is_of_one_line(text: str, changed: list[str]) -> None:
    assert sorted(change.after for change in changes_of(Path("a.py"), text)) == sorted(changed)


def test_a_seed_draws_the_same_changes_again_and_a_larger_number_more_of_them() -> None:
    few = drawn(1, 3, {"exports"})
    assert few == drawn(1, 5, {"exports"})[:3]
    assert {room_of(change.path) for change in few} == {"exports"}
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
    return Kept().name, _OWN
""",
}
REACHING = [
    (3, {"a:15", "a:16", "b:5"}),  # the table is used in a function, and in another table that is
    (5, {"a:20"}),
    (6, {"b:5"}),
    (10, {"b:4"}),
    (11, {"b:6"}),
    (14, {"a:15", "a:16"}),
    (15, {"a:15", "a:16"}),
]


@pytest.mark.parametrize(("line", "tests"), REACHING)
def test_what_an_import_runs_is_tried_by_the_tests_of_what_uses_it(
    line: int, tests: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(mutants, "LIBRARY", tmp_path)
    monkeypatch.setattr(mutants, "tests_by_line", lambda path: {each: [f"{path.stem}:{each}"] for each in range(22)})
    assert reaching(tmp_path / "a.py", line) == tests


def test_each_function_is_chosen_first_and_those_that_name_the_file() -> None:
    tests = ["tests/a.py::one[1]", "tests/a.py::one[2]", "tests/client/b.py::two", "tests/a.py::three[wire]"]
    found = chosen(tests, LIBRARY / "client" / "wire.py", random.Random(1))
    assert [test.partition("[")[0][-5:] for test in found] == ["three", "::two", "::one", "::one"]

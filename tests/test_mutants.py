"""The changes of one line that `python -m tests.mutants` draws."""

from pathlib import Path

import pytest

from tests.mutants import LIBRARY, changes_of, drawn, room_of

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
]


@pytest.mark.parametrize(("text", "changed"), ROWS)
def test_each_change_is_of_one_line(text: str, changed: list[str]) -> None:
    assert sorted(change.after for change in changes_of(Path("a.py"), text)) == sorted(changed)


def test_a_seed_draws_the_same_changes_again_and_a_larger_number_more_of_them() -> None:
    few = drawn(1, 3, {"exports"})
    assert few == drawn(1, 5, {"exports"})[:3]
    assert {room_of(change.path) for change in few} == {"exports"}
    assert all(change.path.is_relative_to(LIBRARY) for change in few)

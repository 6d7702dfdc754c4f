"""The matrix: every collected case has tests, and every pair has the right result."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.matrix.cases import FILE, handed
from tests.faults.matrix.covering import COVERED, held_by
from tests.faults.matrix.readings import wrong_pairs

ROOT = Path(__file__).parents[3]
absent = pytest.mark.skipif(not FILE.exists(), reason="the handed cases are not beside this repository")


@absent
def test_every_pair_of_every_case_comes_out_right() -> None:
    wrong = [(case.title, found) for case in handed() if (found := wrong_pairs(case))]
    assert wrong == []
    assert sum(len(case.io) for case in handed()) > 90


@absent
def test_every_case_has_tests_and_every_row_a_case_of_its_own() -> None:
    cases = handed()
    assert [case.title for case in cases if not held_by(case)] == []
    hits = Counter(words for case in cases for words in COVERED if words in case.title)
    assert [words for words in COVERED if hits[words] != 1] == []
    assert len(cases) == len(COVERED)


def test_every_test_that_is_named_is_there() -> None:
    named = {test for tests in COVERED.values() for test in tests}
    missing = []
    for test in sorted(named):
        file, _, name = test.partition("::")
        path = ROOT / "tests" / file
        if not path.exists() or (name and name not in _functions(path)):
            missing.append(test)
    assert missing == []


def _functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}

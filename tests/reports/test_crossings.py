"""Two crossed fields are a table where both have several values, in the terminal and in Markdown."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.cli.test_worded import SUMMARY, TALLY, lines, report
from vqa_client.aggregates import Totals
from vqa_client.cli.report_tables import as_tables
from vqa_client.reports.overview import crossing_tables
from vqa_client.task import Breakdown, Description
from vqa_client.tasks.report import DeclaredSummary

NONE = replace(TALLY, total=1_000, accuracy=None)
NO_TOTALS: Totals = {}
CELLS = {"easy": {"long": TALLY, "short": NONE}, "hard": {"long": TALLY, "unknown": TALLY}}
TABLE = ["easy hard", "short - (1,000) -", "long 50.0 (4) 50.0 (4)", "unknown - 50.0 (4)"]


def summary(pair: tuple[str, str], cells: Any) -> DeclaredSummary:
    return DeclaredSummary(**SUMMARY | {"breakdowns": {}, "crossings": {pair: cells}}, totals=NO_TOTALS)


def flipped(cells: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    columns = dict.fromkeys(name for row in cells.values() for name in row)
    return {name: {outer: row[name] for outer, row in cells.items() if name in row} for name in columns}


@pytest.mark.parametrize(
    ("pair", "cells", "shown"),
    [
        (("of_level", "length"), CELLS, ["% (n) by length and of level " + TABLE[0], *TABLE[1:]]),
        (("length", "of_level"), flipped(CELLS), ["% (n) by length and of level " + TABLE[0], *TABLE[1:]]),
        (("level", "length"), {"easy": CELLS["easy"]}, []),
        (("level", "length"), {"easy": {"long": TALLY}, "hard": {"long": TALLY}}, []),
        (("level", "length"), {}, []),
        (("corruption", "level"), CELLS, []),
    ],
)
def test_the_field_with_more_values_has_the_rows(pair: tuple[str, str], cells: Any, shown: list[str]) -> None:
    assert lines(crossing_tables(summary(pair, cells), lambda field: ())) == shown


def test_of_several_folders_each_has_its_table_in_the_declared_order() -> None:
    described = Description(headline="", breakdowns=(Breakdown("length", order=("long", "short")),))
    whole = replace(report(summary(("level", "length"), CELLS)), description=described)
    clean = replace(whole, folder="clean", path=Path("none.json"))
    nothing = summary(("level", "length"), CELLS)
    unanswered = replace(whole, folder="v", summary=replace(nothing, overall=replace(TALLY, answered=0)))
    text = [" ".join(line.split()) for line in as_tables([whole, clean, unanswered]).splitlines()]
    rows = [TABLE[2], TABLE[1], TABLE[3]]
    at = text.index("t: % (n) by length and level easy hard")
    assert [line for line in text[at:] if line.strip(" ─")][:8] == [
        "t: % (n) by length and level easy hard",
        *rows,
        "clean: % (n) by length and level easy hard",
        *rows,
    ]
    assert not any(line.startswith("v: %") for line in text)

"""Cells that a spreadsheet would run: prefixed in every CSV file with --csv_safe, else written unchanged."""

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compare.logged import put
from tests.compare.logged import record as compared
from tests.fakes.fixtures import StartsServers
from tests.html.samples import record, write_run
from tests.reports.robustness_records import curves, on_disk, pairs_of
from tests.runs.explain_sample import own
from tests.security.hostile import FORMULAS
from tests.tasks.explain.samples import vqax
from vqa_client import arun
from vqa_client.cli.main import run_command
from vqa_client.tables.delimited import harmless

NUMBERS = ("-1", "+1.5", "-1e-05", "1", "-0.0")


def cells(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return [cell for row in csv.reader(file) for cell in row]


def runs_something(cell: str) -> bool:
    return cell[:1] in "=+-@\t\r\n＝＋－＠" and cell != "" and not cell.lstrip("+-")[:1].isdigit()


@given(st.sampled_from(FORMULAS) | st.text(max_size=5))
def test_a_cell_is_left_alone_or_made_text(cell: str) -> None:
    (kept,) = harmless([cell])
    assert kept in (cell, f"'{cell}")
    assert not runs_something(kept)


@pytest.mark.parametrize("number", [*NUMBERS, 1, 2.5, None, True])
def test_numbers_stay_numbers(number: object) -> None:
    assert harmless([number]) == [number]


def test_a_report_has_no_cell_that_runs(tmp_path: Path) -> None:
    log = write_run(
        tmp_path,
        [
            record(at, output=text, answer=text, groups={"kind": text}, cluster=text, references=(text,), rule=text)
            for at, text in enumerate(FORMULAS)
        ],
    )
    assert run_command(["report", str(log), "--csv"]) == 0
    table = tmp_path / "clean_mc_eval.records.csv"
    assert set(FORMULAS) <= set(cells(table))
    assert run_command(["report", str(log), "--csv", "--csv_safe"]) == 0
    assert [cell for cell in cells(table) if runs_something(cell)] == []


def test_a_comparison_has_no_cell_that_runs(tmp_path: Path) -> None:
    for side, score in (("a", 1.0), ("b", 0.0)):
        records = [
            compared(f"{text}{at}", score=score, answer=text, groups={text: text, "kind": text}, cluster=text)
            for at, text in enumerate(FORMULAS)
        ]
        put(tmp_path / side, records, model=f"=model {side}")
    out = tmp_path / "out"
    sides = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert run_command(["compare", *sides, "-o", str(out), "--csv_safe"]) == 0
    tables = list(out.glob("*.csv"))
    assert len(tables) == 2
    assert [cell for table in tables for cell in cells(table) if runs_something(cell)] == []


def test_a_robustness_evaluation_has_no_cell_that_runs(tmp_path: Path) -> None:
    on_disk(tmp_path / "runs", "=1+1", pairs_of(curves(0.8, 0.5, ("snow",)), questions=20, seed=1))
    out = tmp_path / "out"
    words = ["robustness", "evaluate", str(tmp_path / "runs"), "-o", str(out)]
    assert run_command(words) == 0
    assert "=1+1" in cells(out / "robustness_levels.csv")
    assert run_command([*words, "--csv_safe"]) == 0
    tables = list(out.glob("*.csv"))
    assert len(tables) == 2
    assert [cell for table in tables for cell in cells(table) if runs_something(cell)] == []


async def test_an_explanation_table_has_no_cell_that_runs(tmp_path: Path, fault_server: StartsServers) -> None:
    rows = {str(at): vqax(question=text, number=at + 1, explanation=[text]) for at, text in enumerate(FORMULAS)}
    names = [f"val2014/{row['image_name']}" for row in rows.values()]
    of = own(tmp_path / "root", "vqax", "test", json.loads(json.dumps(rows)), *names)
    server = fault_server(f"{FORMULAS[0]} because {FORMULAS[1]}")
    await arun(of.settings(server.base_url, csv_safe=True))
    (table,) = of.results.rglob("*_eval.csv")
    assert any(cell.startswith("'=") for cell in cells(table))
    assert [cell for cell in cells(table) if runs_something(cell)] == []

"""Mistakes that newcomers make: each is understood at first reading. And what narrow or plain terminals show."""

import io
import json
from pathlib import Path

import pytest

from vqa_client.cli import streams
from vqa_client.cli.main import run_command
from vqa_client.cli.tables import as_text
from vqa_client.reports.sections import Section

RECORD = {"_id": "a", "question": "?", "answer": "A", **{f"choice_{letter}": letter for letter in "ABCD"}}
MISTAKES = [
    ("_id,question\n1,what\n", [], "looks like CSV, not JSON (`vqa-client ask` reads it)"),
    ("PAR1", [], "is Parquet, not JSON (`vqa-client ask` reads it)"),
    ('[{"id": "x", "options": []}]', [], "missing required field `_id`; it has id, options"),
    (json.dumps([RECORD]), [], "a_page_001.png is not in pages, which has b_page_001.png and 1 more"),
    (json.dumps([RECORD | {"_id": "b"}]), ["-o", "t.json"], "--output t.json is a file's name"),
    (json.dumps([RECORD]), ["--retry", "timeouts"], "did you mean timeout?"),
    (json.dumps([RECORD]), ["--max_workers", "many"], '"many" into a whole number or auto'),
    (json.dumps([RECORD]), ["--config", "bad.json"], "unknown key 'max_token'\nhint: did you mean max_tokens?"),
    (json.dumps([RECORD]), ["--images", "~/pages"], "/pages: No such file or directory"),
]


@pytest.mark.parametrize(("data", "options", "said"), MISTAKES)
def test_a_mistake_is_named_with_its_way_out(
    data: str,
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    Path("data.json").write_text(data)
    Path("bad.json").write_text('{"model_name": "m", "max_token": 5}')
    Path("pages").mkdir()
    for name in "bc":
        Path(f"pages/{name}_page_001.png").touch()
    given = options if "--images" in options else ["--images", "pages", *options]
    assert run_command(["mc", "--data", "data.json", *given, "--wait_for_server", "0"]) == 2
    assert said in capsys.readouterr().err
    assert not Path("~").exists()


@pytest.mark.parametrize(("width", "tables"), [(40, 3), (60, 2), (120, 1)])
def test_columns_that_do_not_fit_a_narrow_terminal_are_in_a_further_table(
    width: int, tables: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.cli.tables.WIDTH", width)
    columns = ["folder", *(f"accuracy {number}" for number in range(1, 6))]
    row = ["a_folder_with_a_long_name", *(f"{number}.0-99.9" for number in range(1, 6))]
    shown = as_text([Section(columns=columns, rows=[row])])
    assert "…" not in shown
    assert all(f"{number}.0-99.9" in shown for number in range(1, 6))
    assert shown.count("folder ") == tables
    assert max(map(len, shown.splitlines())) <= width


def test_lines_and_dots_are_ascii_where_a_terminal_has_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="ascii"))
    streams.prepare_streams()
    streams.emit("── 3 · 4 … é")
    assert written.getvalue() == b"-- 3 - 4 ... \\xe9"


@pytest.mark.parametrize("command", [["mc"], ["niah"], ["vqa2"], ["explain"], ["run", "docvqa"]])
def test_every_benchmark_takes_the_same_options_without_noise_in_its_help(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run_command([*command, "--help"])
    shown = capsys.readouterr().out
    for option in ("data", "output", "config", "model", "limit", "sample", "temperature", "prompt", "header"):
        assert f"--{option} " in shown, option
    assert "default: (" not in shown
    assert "default: False" not in shown

"""The commands report and view, from their command lines."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests import forked
from tests.html.samples import facts, failed, mixed, record, write_run
from vqa_client.cli.main import run_command
from vqa_client.cli.pages_beside import write_again

ENDINGS = (".html", ".records.csv", ".summary.json", ".records.parquet", ".md")


def test_a_page_is_written_beside_the_log_and_nothing_else_is_touched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_run(tmp_path, mixed())
    before = log.read_bytes()
    assert run_command(["report", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "clean_mc_eval.html",
        "clean_mc_eval.records.jsonl",
        "clean_mc_eval.run.json",
    ]
    assert log.read_bytes() == before
    page = tmp_path / "clean_mc_eval.html"
    assert capsys.readouterr() == (
        "mc clean · org/model-7b\n"
        "  accuracy by the robust parser 60.0 % (50.2-69.1) of 100 questions, 85 answered\n"
        f"  {page}\n",
        "",
    )
    page.unlink()
    write_again(log)
    assert not page.exists()


def test_an_unfinished_run_is_called_so_in_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [record(1, variant="repeat/2", right=False), record(1, variant="repeat/1")]
    log = write_run(tmp_path, records, run=facts(expected=5))
    with log.open("ab") as file:
        file.write(b"{\n")
    assert run_command(["report", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert told.splitlines() == [
        "mc clean · variant repeat/1 · org/model-7b",
        "  accuracy by the robust parser 100.0 % (20.7-100.0) of 1 question of variant repeat/1, 1 answered; "
        "2 variants, each in the page's table; 2 of 5, not finished",
        "  1 line of the log can't be read: 3",
        f"  {tmp_path / 'clean_mc_eval.html'}",
    ]
    assert "\n  1 line of the log can't be read: 3\n" in told


def test_every_form_is_written_on_request(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow (extra parquet) is not installed")
    log = write_run(tmp_path / "run", mixed(), name="a")
    forms = ["--html", "--csv", "--json", "--parquet", "--md"]
    assert run_command(["report", str(log), "-o", str(tmp_path / "out"), *forms]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {f"a{ending}" for ending in ENDINGS}


def test_missing_data_is_looked_for_once_for_all_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write_run(tmp_path, [record(1)], run=facts() | {"identity": {"task": "ask"}})
    assert run_command(["report", str(log), "--csv", "--jsonl", "--json"]) == 0
    assert capsys.readouterr().err.count("without the columns of the data: ") == 1


def test_failed_questions_do_not_make_the_command_fail(tmp_path: Path) -> None:
    assert run_command(["report", str(write_run(tmp_path, [failed(1)])), "--json"]) == 0
    found = json.loads((tmp_path / "clean_mc_eval.summary.json").read_text())
    assert (found["overall"]["accuracy"], found["failed"]) == (None, 1)


def test_a_log_without_a_record_is_refused_once_the_other_runs_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path, [record()])
    (tmp_path / "a.records.jsonl").write_text("no record\n")
    assert run_command(["report", str(tmp_path), "--md"]) == 2
    assert "a.records.jsonl: no line of it is a record" in capsys.readouterr().err
    assert [path.name for path in tmp_path.glob("*.md")] == ["clean_mc_eval.md"]


def test_runs_of_one_name_from_several_folders_keep_their_folders(tmp_path: Path) -> None:
    for folder in ("a", "b/results", "c/results"):
        write_run(tmp_path / "runs" / folder, [record()])
    assert run_command(["report", str(tmp_path / "runs"), "-o", str(tmp_path / "out"), "--md"]) == 0
    assert sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "out").rglob("*.md")) == [
        "out/a/clean_mc_eval.md",
        "out/b/results/clean_mc_eval.md",
        "out/c/results/clean_mc_eval.md",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report", "absent"], "absent does not exist"),
        (["report", "absent", "--html_images", "all"], "thumbs"),
        (["view", "absent"], "absent does not exist"),
        (["view", "absent", "--port", "70000"], "--port is 70000"),
    ],
)
def test_mistakes_are_named(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(arguments) == 2
    assert said in capsys.readouterr().err


def test_view_prints_its_address_and_ends_with_an_interrupt(tmp_path: Path) -> None:
    write_run(tmp_path, mixed())
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with forked.popen(["view", str(tmp_path)], text=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = process.stdout.readline().removesuffix("\n")
        try:
            with urllib.request.urlopen(address, timeout=60) as reply:
                assert b"over all questions" in reply.read()
        finally:
            os.kill(process.pid, signal.SIGINT)
        assert process.wait(120) == 0
        follows = "open this address; the page follows the run. Ctrl-C ends the server, not the run\n"
        assert (process.stdout.read(), process.stderr.read()) == ("", f"{follows}stopped\n")


def test_the_command_line_starts_without_what_reports_need() -> None:
    code = "import sys, vqa_client.cli.main; print({'jinja2', 'pyarrow', 'PIL', 'http.server'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"

"""Mistakes of newcomers: each message is understood at first reading. And the output of narrow or plain terminals."""

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests import forked
from tests.kept_runs import HERE, lay_out
from vqa_client.cli import streams
from vqa_client.cli.app import app
from vqa_client.cli.commands import COMMANDS
from vqa_client.cli.main import run_command
from vqa_client.cli.streams import folded
from vqa_client.cli.tables import as_text
from vqa_client.reports.sections import Section

RECORD = {"_id": "a", "question": "?", "answer": "A", **{f"choice_{letter}": letter for letter in "ABCD"}}
MISTAKES = [
    ("_id,question\n1,what\n", [], "looks like CSV, not JSON; `vqa-client ask` reads it"),
    ("PAR1", [], "is Parquet, not JSON; `vqa-client ask` reads it"),
    ('[{"id": "x", "options": []}]', [], "field `_id` is missing; it has id, options"),
    (json.dumps({"data": [RECORD]}), [], "it has a list of records in `data`: give a file with that list alone"),
    (json.dumps([RECORD]), [], "a_page_001.png is not in pages, which has b_page_001.png and 1 more"),
    (json.dumps([RECORD]), ["--retry", "timeouts"], "did you mean timeout?"),
    (json.dumps([RECORD]), ["--max_workers", "many"], "--max_workers is 'many'; it must be a whole number or auto"),
    (json.dumps([RECORD]), ["--max_workers", "2.5"], "--max_workers is '2.5'; it must be a whole number or auto"),
    (json.dumps([RECORD]), ["--limit", "2.5"], "--limit is '2.5'; it must be a whole number\n"),
    (json.dumps([RECORD]), ["--config", "bad.json"], "unknown key 'max_token'\nhint: did you mean max_tokens?"),
    (json.dumps([RECORD]), ["--images", "~/pages"], "/pages does not exist"),
    ('[{"_id": "a", "quest', [], "record 1: the JSON breaks off"),
    (json.dumps([RECORD]), ["--temperature", "hot"], "--temperature is 'hot'; it must be a number\n"),
    (json.dumps([RECORD]), ["--output", ""], "--output is empty\nhint: is a variable of the shell not set?"),
    (json.dumps([RECORD]), ["--base_url="], "--base_url is empty"),
]
OTHER_COMMANDS = [
    (["list", "mmmu"], "'mmmu' is one argument too many"),
    (["ask"], "DATA is missing\nhint: for example: vqa-client ask questions.csv"),
    (["compare"], "RUNS is missing\nhint: for example: vqa-client compare results/a"),
    (["ask", ""], "an argument is empty"),
    (["ask", "photo.jpg"], "is a JPEG image: these are not rows\nhint: give the file with the questions"),
    (["ask", "rows.csv", "--map", "question=q"], "--question COLUMN"),
    (["ask", "rows.csv", "--to", "rows.csv"], "--to rows.csv: a benchmark is a Python file\nhint: --to rows.py"),
    (["run", "chartqa", "--data", ".", "--limit", "2.5"], "--limit is '2.5'; it must be a whole number\n"),
    (["run", "--limit", "3"], "vqa-client run needs a benchmark\nhint: name one that `vqa-client list` shows"),
    (["batch", "reed"], "STEP is 'reed'; it must be one of write, read, status, cancel\nhint: did you mean read?"),
    (["view", "a", "--port", "1", "--port", "2"], "--port is given twice\n"),
    (["ask", "x.csv", "--json=maybe"], "--json is 'maybe'; it must be true or false\n"),
    (["ask", "x.csv", "--answer_from", "b"], "--answer_from is 'b'; it must be one of letter, text, 0, 1\n"),
    (
        ["run", "rows.csv"],
        "no benchmark 'rows.csv'\nhint: `vqa-client ask rows.csv` asks your own questions; `vqa-client",
    ),
    (
        ["suite", "rows.csv"],
        "there is no suite 'rows.csv'\nhint: `vqa-client ask rows.csv` asks your own questions; a suite is documents, "
        "general, smoke, or the path of a file that ends in .toml\n",
    ),
    (
        ["ask", "rows.csv", "--prompt", "Hi", "--base_url", "http://host:99999"],
        "warning: --prompt has no {question} and no other {column}: the same words are sent for every row\n",
    ),
    (
        ["run", "chartqa", "--data", ".", "--judge", "j", "--batch_command", "a {input} {output}"],
        "--judge j has no server: --batch_command asks none, and no base_url is given\n"
        "hint: vqa-client judge RESULTS --batch_command '...' judges the run later\n",
    ),
    (["robustness", "run"], "--task is missing: the benchmark to run\nhint: --task mc; `vqa-client list` shows all\n"),
    *(
        (
            ["run", "chartqa", "--data", ".", "--shard", "next/2", "-o", "o", *words],
            f"error: {words[0]} can't be combined with --shard next/N\nhint: --shard K/N takes it\n",
        )
        for words in (["--fresh"], ["--max_cost", "1"], ["--max_minutes", "1"])
    ),
    (
        ["score", "--task", "vqa2", "-p", "a.json", "--data", ".", "--num_questions", "3"],
        "error: --num_questions says what is asked, and a file's answers are there\nhint: leave --num_questions out\n",
    ),
    (["compare", "a", "b", "--html_images", "auto"], "--html_images is 'auto'; it must be a whole number\n"),
    (["ctl", "results", "--max_workers", "2.0"], "--max_workers is '2.0'; it must be a whole number"),
    (["ask", "rows.csv", "--to", "task"], "--to task: a benchmark is a Python file\nhint: --to task.py"),
    (
        ["ask", "rows.csv", "--to", "typo.py"],
        "--to typo.py: the file is there already\nhint: name another file, or remove this one",
    ),
    (["mc", "--data", "hf://a/b", "--images", "."], "`vqa-client ask` and `run` read hf://OWNER/NAME"),
    (["mc", "--data", ".", "--images", "."], ". is a folder, not a file"),
    (["mc", "--data", "nowhere.json"], "nowhere.json"),
    (["render", "--pdf", "nowhere", "-o", "p"], "nowhere does not exist"),
    (["render", "-o", "p"], "--data or --pdf is missing"),
    (["render", "--data", "pdfs", "-o", "p"], "--pdf pdfs draws its PDF files"),
    (["robustness", "run", "--task", "mc", "--data", "x", "--images", "y", "--corruption", "snow"], "is --corruptions"),
    (["vqa2", "--data", "nowhere"], "nowhere does not exist"),
    (["explain", "--n_samples", "few"], "--n_samples is 'few'; it must be a whole number of at least 0, None or all"),
    (
        ["ask", "rows.csv", "--split", "x", "--base_url", "http://h"],
        "your own data has no splits, and --split is 'x'\nhint: name a split's own file",
    ),
    (["ask", "rows.csv", "--score", "accuracy"], "f1, none\n"),
    (["ask", "rows.csv", "--config", "rows.csv"], "the config rows.csv is not JSON"),
    (["ask", "rows.csv", "--config", "pdfs"], "the config pdfs is a folder\nhint: give one of its JSON files"),
    (["ask", "rows.csv", "--config", "pdfs/a.pdf"], "the config pdfs/a.pdf is not JSON"),
    (["render", "--data", "pdfs", "-o", "photo.jpg"], "--output photo.jpg can't be written: photo.jpg is a file"),
    (
        ["batch", "read", "results"],
        "batch read takes the command that asks, with its options, not 'results'\nhint: for",
    ),
    (
        ["batch", "cancel"],
        "batch cancel takes the command that asks, with its options\nhint: for example: vqa-client batch",
    ),
    (["parse", "results", "--explain"], "--explain needs a value\nhint: for example: vqa-client parse results"),
    (["run", "chartqa", "--data"], "--data needs a value\nhint: --help lists all options"),
    (
        ["ask", "rows.csv", "--corruptions", "snow"],
        "unknown option --corruptions\nhint: `vqa-client robustness run --task",
    ),
    (
        ["run", "pope", "--levels", "1"],
        "unknown option --levels\nhint: `vqa-client robustness run --task NAME` takes --corr",
    ),
    (["mc", "-d", "x", "--split", "val"], "unknown option --split\nhint: --help lists all options"),
    (["compare", "a", "b", "--level", "2"], "unknown option --level\nhint: --help lists all options"),
    (["judge", "x", "--model", "m"], "unknown option --model\nhint: --judge names the model that judges"),
    (["niah", "--shuffle-choices"], "unknown option --shuffle-choices\nhint: `ask`, `mc` and benchmarks with choices"),
    (["run", "chartqa", "--circular"], "unknown option --circular\nhint: `ask`, `mc` and benchmarks with choices"),
    (["vqa2", "--choice_mode", "text"], "unknown option --choice_mode\nhint: `ask`, `mc` and benchmarks with choices"),
    (["ask", "rows.csv", "--base_url", "http://host:99999"], "host or port\nhint: such as http://localhost:8000/v1"),
    (["run", "chartqa", "--data", "hf://nobody"], "hf://nobody is not a dataset\nhint: hf://owner/name"),
    (["run", "ask"], "there is no data to ask\nhint: --data FILE, a folder, or a quoted glob"),
    (["score", "-p", "a.json"], "--annotations or --task is missing\nhint: for example: vqa-client score"),
    (["score", "-p", "a.json", "-atypo.py"], "a.json does not exist"),
    (["score", "-p", "photo.jpg", "-a", "typo.py"], "\nhint: a file is a JSON list, one JSON object per line, or CSV"),
    (["score", "-p", "pdfs/a.pdf", "-a", "typo.py"], "pdfs/a.pdf is empty\nhint: a file is a JSON list"),
    (["leaderboard", "."], "cut.records.jsonl: no record in it can be compared\nhint: give a run"),
    (["report", "cut.records.jsonl"], "cut.records.jsonl: no line of it is a record\nhint: give a run"),
    (["run", "broken.py"], "broken.py can't be loaded\nTraceback"),
    (["run", "broken.py"], "ModuleNotFoundError: No module named 'not_there'"),
    (["run", "broken.v2.py"], "broken.v2.py can't be loaded\nTraceback"),
    (["run", "typo.py"], "SyntaxError"),
]


@pytest.mark.parametrize(("data", "options", "said"), MISTAKES)
def test_a_mistake_is_reported_with_its_way_out(
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


@pytest.mark.parametrize(("words", "said"), OTHER_COMMANDS)
def test_a_mistake_with_another_command_is_reported_with_its_way_out(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("photo.jpg").write_bytes(b"\xff\xd8\xff\xe0\0\x10JFIF")
    Path("rows.csv").write_text("question,image\nWhat?,photo.jpg\n")
    for name in ("broken.py", "broken.v2.py"):
        Path(name).write_text("import not_there\n")
    Path("typo.py").write_text("def f(:\n")
    Path("cut.records.jsonl").write_text('{"question_id": "q\n')
    Path("pdfs").mkdir()
    Path("pdfs/a.pdf").touch()
    assert run_command(words) == 2
    assert said in capsys.readouterr().err


SHOTS = "mc, niah, vqa2 and explain ask as published, without worked examples; `run` and `ask` take --shots"
OPTIONS = [
    (["mc", "-d", "x", "--shots", "2"], "unknown option --shots", SHOTS),
    (["niah", "--shots_from", "x"], "unknown option --shots_from", SHOTS),
    (
        ["mc", "-d", "x", "--pages", "all"],
        "unknown option --pages",
        "benchmarks of long documents, such as `run mp-docvqa`, take --pages",
    ),
    *(
        (["niah", f"--{given}", "x"], f"unknown option --{given}", f"the option is --{meant}")
        for given, meant in (
            *(("prompt_template", "prompt"), ("system_prompt", "system"), ("max_completion_tokens", "max_tokens")),
            *(("images_dir", "images"), ("output-dir", "output")),
        )
    ),
    (["list", "mmmu"], "'mmmu' is one argument too many", "--help lists the arguments"),
]


@pytest.mark.parametrize(("words", "said", "hint"), OPTIONS)
def test_an_option_of_another_command_or_program_is_refused_with_ours(
    words: list[str], said: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(words) == 2
    assert capsys.readouterr().err == f"error: {said}\nhint: {hint}\n"


def test_all_samples_may_be_asked_where_another_program_has_imported_pydantic(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where pydantic is imported, cyclopts lets it check values against their types."""
    pytest.importorskip("pydantic")
    assert run_command(["explain", "--task", "vqax", "--data", str(tmp_path), "--n_samples", "ALL"]) == 2
    assert re.match(r"error: VQA-X: .* does not exist\n", capsys.readouterr().err)


@pytest.mark.parametrize("words", [["merge", "results"], ["robustness", "evaluate", "results"], ["run", "pope"]])
def test_ctrl_c_while_data_is_read_prints_stopped(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for read in ("runs.merge", "robustness.evaluate", "evaluate.evaluate"):
        monkeypatch.setattr(f"vqa_client.cli.{read}", interrupt)
    assert run_command(words) == 130
    assert capsys.readouterr().err == "stopped\n"


INTERRUPTED = """
import os, signal, sys
before = set(sys.modules)
import vqa_client.__main__ as program
print(*sorted(set(sys.modules) - before), flush=True)

class Interrupt:
    def find_spec(name, *_):
        if name == "vqa_client.cli":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt)
program.entry()
"""


def test_ctrl_c_at_the_start_ends_without_a_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    assert done.stdout.split() == ["vqa_client", "vqa_client.__main__", "vqa_client.version"], (
        "read before Ctrl-C ends it"
    )


NOWHERE = "http://127.0.0.1:9/v1"
FORBIDDEN = [
    (["ask", "locked"], "locked: Permission denied\nhint: this user needs the right"),
    (
        ["ask", "rows.csv", "-o", "locked/x", "--base_url", NOWHERE, "--wait_for_server", "0"],
        "locked is not writable\nhint: choose another",
    ),
    (["report", "locked"], "locked: Permission denied\nhint: this user needs the right"),
    (["merge", "locked"], "locked: Permission denied\nhint: this user needs the right"),
    (["ctl", "locked"], "locked: Permission denied\nhint: this user needs the right"),
    (["robustness", "evaluate", "locked"], "locked: Permission denied\nhint: this user needs the right"),
    (["run", "chartqa", "--data", "locked"], "locked: Permission denied\nhint: this user needs the right"),
    (["leaderboard", "."], "./locked: Permission denied\nhint: this user needs the right"),
    (
        ["rescore", "results/mc", "--write"],
        "results/mc/clean_mc_eval.records.jsonl can't be written: Permission denied\n"
        "hint: make room or allow writing there, then run the same command again\n",
    ),
    (["rescore", "run"], "run/a.run.json: Permission denied\nhint: this user needs"),
    (
        ["ask", "rows.csv", "--config", "locked.json"],
        "can't read the config locked.json: Permission denied\nhint: ",
    ),
    (["ask", "run/a.run.json"], "can't read run/a.run.json: Permission denied\nhint: this user needs the right"),
    (["needles", "-d", "locked.csv", "-o", "x"], "can't read locked.csv: Permission denied\nhint: this user needs"),
    (["suite", "locked.toml"], "can't read locked.toml: Permission denied\nhint: this user needs the right"),
    (["score", "-p", "locked.csv", "-a", "x"], "can't read locked.csv: Permission denied\nhint: this user needs"),
    (["report", "run"], "run/a.run.json: Permission denied\nhint: this user needs"),
]


@pytest.mark.parametrize(("words", "said"), FORBIDDEN)
def test_a_file_that_a_user_may_not_read_or_write_is_named(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:  # not below a folder that only this user may enter
        os.chmod(folder, 0o755)
        monkeypatch.chdir(folder)
        Path("photo.jpg").write_bytes(b"\xff\xd8\xff\xe0\0\x10JFIF")
        Path("rows.csv").write_text("question,image\nWhat?,photo.jpg\n")
        Path("locked").mkdir(mode=0)
        lay_out(HERE / "0.1.0", Path())
        Path("results/mc/clean_mc_eval.records.jsonl").chmod(0o444)
        Path("run").mkdir()
        Path("run/a.records.jsonl").write_text('{"question_id": "q", "status": "ok"}\n')
        for name in ("run/a.run.json", "locked.toml", "locked.csv", "locked.json"):
            Path(name).write_text("x")
            Path(name).chmod(0)
        user = os.geteuid()
        if user == 0:  # root may read everything
            run_command(words)  # imports what another user may not even read
            capsys.readouterr()
            os.seteuid(65534)
        try:
            assert run_command(words) == 2
        finally:
            os.seteuid(user)
        assert said in capsys.readouterr().err
        monkeypatch.undo()


@pytest.mark.parametrize("words", [command.example for command in COMMANDS.values()])
def test_the_example_of_a_help_page_is_a_command_line(words: str) -> None:
    app.parse_args(shlex.split(words), print_error=False, exit_on_error=False)


@pytest.mark.parametrize("words", [["--help"], ["run", "chartqa", "--help"], ["--version"], ["list"], []])
def test_a_full_disk_under_standard_output_is_one_line(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = forked.run(words, stdout=full)
    assert done.returncode == 2
    hint = b"hint: files that a run has written are complete\n"
    assert done.stderr == b"error: standard output can't be written: No space left on device\n" + hint


def test_lines_break_between_words_and_commands_stay_whole() -> None:
    line = "error: no answer from http://localhost:9999/v1: nothing listens on localhost:9999"
    assert folded(line, 60) == line.replace("nothing ", "nothing\n")
    assert folded(line, 0) == line
    assert folded("  a: 0.0 in a.json,\n  b: 0.5", 10) == "  a: 0.0\n  in\n  a.json,\n  b: 0.5"
    assert folded("a well-known word-by-word", 10) == "a\nwell-known\nword-by-word"
    assert folded("one\ntwo three four", 10) == "one\ntwo three\nfour"
    command = f"stopped. Resume with: vqa-client mc --data {'x' * 80} -o r"
    assert folded(command, 60) == command


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


def test_lines_and_dots_are_ascii_on_a_terminal_with_a_small_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="ascii"))
    streams.prepare_streams()
    streams.emit("── 3 · 4 … é ━│–—×±→≥ ╭╮╰╯┌┐└┘├┤┬┴┼╸╺")
    assert written.getvalue() == b"-- 3 - 4 ... \\xe9 -|--x+-->>= " + b"+" * 15


@pytest.mark.parametrize("command", [["mc"], ["niah"], ["vqa2"], ["explain"], ["run", "docvqa"]])
def test_every_benchmark_takes_the_same_options_without_noise_in_its_help(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run_command([*command, "--help"])
    shown = capsys.readouterr().out
    for option in ("data", "output", "config", "model", "limit", "sample", "temperature", "prompt", "header"):
        assert f"--{option} " in shown, option
    judge = ["Judge"] if command[0] == "run" else []
    asked, divided = ["Data", "Server", "Request", "Run", "Questions", "Images"], "Several processes or machines"
    panels = [*asked, "Batch", *judge, "Limits", divided, "Dry run"]
    assert re.findall("^╭─ (.*?) ─", shown, re.MULTILINE) == panels
    assert f"Example: vqa-client {' '.join(command)} --" in " ".join(shown.split())
    assert "default: (" not in shown
    assert "default: False" not in shown

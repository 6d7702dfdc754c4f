"""What commands print: few plain lines in a file, nothing that controls a terminal, a form for every letter."""

import json
import os
import pty
import re
import select
from pathlib import Path

import pytest

from tests import forked
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import answer, by_question, echo_question_id, error, oracle
from tests.faults.commands import ROOT, TIMEOUT_S, TRACEBACKS, Finished, Variables, environment, ran
from tests.faults.questions import Questions
from vqa_client.shipped import shipped

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = "see [/INST] and [bold]x \x1b[2J\x1b]0;title\x07 \u202egnp"
MARKUP = "see [/INST] and [bold]x"


def on_terminal(arguments: list[str], columns: int = 80, env: Variables | None = None) -> Finished:
    """Run a command with its output on a terminal of this width."""
    ours, theirs = pty.openpty()
    process = forked.popen(
        arguments,
        cwd=ROOT,
        env=environment({"COLUMNS": str(columns), **(env or {})}),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    try:
        while select.select([ours], [], [], TIMEOUT_S)[0]:
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # Linux reports this when the other side is closed
                break
            if not piece:
                break
            shown += piece
        return Finished(code=process.wait(TIMEOUT_S), out=shown.decode("utf-8", "replace"), err="")
    finally:
        process.kill()
        process.wait()
        os.close(ours)


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1", "TERM": None}, {"COLUMNS": "20", "TERM": "dumb"}])
def test_a_log_file_gets_few_plain_lines(
    env: dict[str, str | None], tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 500 if not env else 40)
    server = fault_server(oracle(of.replies(), pattern=r"(\[\[q\d+\]\])"), keep_bodies=False)
    done = ran(of.arguments(server.base_url), env)
    assert (done.code, done.is_clean()) == (0, True), done.text
    assert len(done.text.splitlines()) <= 50
    assert "\x1b" not in done.text
    assert "\r" not in done.text
    assert f"{len(of.ids)}/{len(of.ids)}" in done.err
    assert "100.0" in done.out


def test_machine_output_is_alone_on_standard_output(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 8, folders=("clean", "adv_dpi_56"))
    done = ran(of.arguments(fault_server(oracle(of.replies())).base_url, "--json"))
    rows = json.loads(done.out)
    assert [row["variant"] for row in rows] == ["adv_dpi_56", "clean"]
    assert all(row["overall"]["accuracy"] == 1.0 for row in rows)
    assert done.err


def test_machine_output_is_strict_ascii_or_utf8_for_any_names(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2, folders=("größe [x]",))
    done = ran(of.arguments(fault_server("B").base_url, "--json"), {"PYTHONIOENCODING": "ascii"})
    assert [row["variant"] for row in json.loads(done.out)] == ["größe [x]"]


def test_a_terminal_gets_the_same(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 30)
    done = on_terminal(of.arguments(fault_server(echo_question_id(0.05)).base_url), 100)
    assert (done.code, done.is_clean()) == (0, True), done.out
    assert "\x1b[" in done.out
    assert "30/30" in done.out


def test_a_narrow_terminal_stops_nothing(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 10)
    done = on_terminal(of.arguments(fault_server(echo_question_id(0.02)).base_url), 20)
    assert (done.code, done.is_clean()) == (0, True), done.out


def test_a_terminal_without_colours_gets_none(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 10)
    done = on_terminal(of.arguments(fault_server(echo_question_id(0.02)).base_url), env={"NO_COLOR": "1"})
    assert (done.code, done.is_clean()) == (0, True), done.out
    codes = {code for found in COLOUR.findall(done.out) for code in found[2:-1].split(";")}
    assert not codes & {str(code) for code in (*range(30, 39), *range(40, 49), *range(90, 108))}, codes


def test_a_dumb_terminal_gets_no_control_codes(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 10)
    done = on_terminal(of.arguments(fault_server(echo_question_id(0.02)).base_url), env={"TERM": "dumb"})
    assert (done.code, done.is_clean()) == (0, True), done.out
    assert "\x1b" not in done.out
    assert not re.search(r"\r(?!\n)", done.out)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_server_s_words_are_printed_on_every_console(
    encoding: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 6, folders=("größe",))
    of.images = of.pages_dir / "größe" / "images"
    script = by_question({"[[q0]]": "答案 ✓ B", "[[q1]]": answer("B", reasoning="思考")}, error(400, "错误 ✗"))
    server = fault_server(script, models=("模型-7b",))
    done = ran(
        of.arguments(server.base_url, "--breaker_after", "4", "--max_workers", "1"), {"PYTHONIOENCODING": encoding}
    )
    assert (done.code, done.is_clean()) == (3, True), done.text
    assert ("\\u9519\\u8bef" in done.err) == (encoding != "utf-8")
    log = (of.output / "größe_mc_eval.records.jsonl").read_bytes().decode("utf-8")
    assert "答案 ✓ B" in log
    assert "错误 ✗" in log


@pytest.mark.parametrize("terminal", [False, True])
def test_foreign_text_is_shown_and_neither_read_as_markup_nor_obeyed(
    terminal: bool, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path / "imgs[slug]" / "[", 6, folders=("[bold]pages",))
    of.change("q0", domain="[/a]", difficulty="[red]hard")
    plays = {"[[q0]]": HOSTILE, "[[q1]]": HOSTILE}
    server = fault_server(by_question(plays, error(400, HOSTILE)), models=("[bold]m[/INST]\x1b[2J",))
    show = on_terminal if terminal else ran
    done = show(of.arguments(server.base_url, "--breaker_after", "4", "--max_workers", "1"))
    text = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", done.text).split())  # lines on a terminal break between words
    assert (done.code, done.is_clean()) == (3, True), done.text
    assert MARKUP in text
    assert "[bold]m[/INST]" in text
    for obeyed in ("\x1b[2J", "\x1b]0;", "\x07", "\u202e"):
        assert obeyed not in done.text


def test_paths_and_names_in_brackets_are_printed_whole(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path / "imgs[slug]", 4, folders=("[bold]pages", "[x]"))
    of.change("q0", difficulty="[red]hard")
    done = ran(of.arguments(fault_server("B", models=("[dim]m",)).base_url))
    assert (done.code, done.is_clean()) == (0, True), done.text
    for words in ("[dim]m", "[bold]pages", "[x]", "[red]hard", "imgs[slug]"):
        assert words in done.out.replace("\n", "")


@pytest.mark.parametrize(
    "name", ["org/name:bf16", "..\\x", "../../x", "CON", "m" * 300, "a b\tc", "/etc/passwd", "模型"]
)
async def test_a_models_name_names_no_file_and_is_kept_as_it_is(
    name: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path / "of", 1)
    before = set(tmp_path.rglob("*"))
    await of.ask(fault_server("B"), model=name)
    assert of.report()["model"] == of.run_file()["identity"]["model"]["model_name"] == name
    files = [of.output / f"clean_mc_eval.{ending}" for ending in ("json", "records.jsonl", "run.json")]
    assert set(tmp_path.rglob("*")) - before == {of.output, *files}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["mc", "--data_json", "x.json", "-o", "o", "--no-such-option", "1"], "no-such-option"),
        (["mc", "--data_json", "x.json"], "x.json"),
        (["mc", "--data_json", str(shipped("data") / "longbench/data.json")], "--images"),
        (["mc", "--data_json", "x.json", "-o", "o", "--images_dir", "i", "--max_workers", "many"], "max"),
        (["mc", "--data_json", "x.json", "-o", "o", "--images_dir", "i", "--max_workers", "0"], "max_workers"),
        (["mc", "--data_json", "x.json", "-o", "o", "--images_dir", "nowhere"], "nowhere"),
        (["nonsense"], "nonsense"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2_and_names_what_is_wrong(arguments: list[str], named: str) -> None:
    done = ran(arguments)
    assert (done.code, done.is_clean()) == (2, True), done.text
    assert named in done.text.replace("-", "_") or named in done.text
    assert not any(word in done.text for word in TRACEBACKS)

"""A command's help has cyclopts' options, the texts under their settings, and the width of the terminal.

`python -m tests.cli.test_help_pages` writes the list of commands again.
"""

import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from rich.console import Console

from vqa_client.cli.app import app
from vqa_client.cli.benchmark import settings_command
from vqa_client.cli.commands import COMMANDS
from vqa_client.cli.help_pages import print_page
from vqa_client.cli.main import run_command

KEPT = Path(__file__).with_name("help.txt")


def listed() -> str:
    """The commands by group with their help, without frames; an example of each, and its first argument."""
    shown = io.StringIO()
    for words in ([], ["robustness"]):
        print_page(app, words, console=Console(file=shown, width=160))
    lines = (line.strip("╭╰│╮╯─ ") for line in shown.getvalue().splitlines())
    examples = (each.example for each in COMMANDS.values())
    first = (f"{name}: {each.first[0]}: {each.first[2]}" for name, each in COMMANDS.items() if each.first)
    return "".join(f"{line}\n" for line in (*filter(None, lines), *examples, *first))


def test_each_command_is_listed_with_what_it_does_and_has_an_example() -> None:
    assert listed() == KEPT.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "shown", "hidden"),
    [
        (["judge"], {"--judge", "--max_workers"}, {"--blind", "--processes", "--shard", "--ray"}),
        (["ask"], {"--images", "--shots"}, {"--data", "--split", "--submission", "--prompt_form"}),
        (["selftest"], {"--data", "--split", "--limit"}, {"--output", "--base_url", "--rpm", "--circular", "--pages"}),
        (["selftest", "mmlongbench-doc"], {"--data"}, {"--output", "--pages"}),
        (["run", "docvqa"], {"--submission", "--prompt_form"}, set()),
        (["run", "pope"], {"--prompt_form", "--seed"}, {"--submission"}),
    ],
)
def test_a_page_leaves_out_the_options_that_the_command_does_not_use(
    words: list[str], shown: set[str], hidden: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command([*words, "--help"]) == 0
    options = set(re.findall(r"^│ (--\w+)", capsys.readouterr().out, re.MULTILINE))
    assert (shown - options, hidden & options) == (set(), set())


ASKING = "Server, Request, Run, Questions, Images, Batch"
DIVIDED = "Limits, Several processes or machines, Dry run"


@pytest.mark.parametrize(
    ("words", "titles"),
    [
        (["ask"], f"Arguments, Data, Columns, {ASKING}, Judge, {DIVIDED}"),
        (["robustness", "run", "--task", "pope"], f"Corruptions, Data, {ASKING}, Judge, {DIVIDED}"),
        (["judge"], f"Arguments, Judgement, People, {ASKING}, {DIVIDED}"),
        (["render"], "Data, Style, Run"),
        (["report"], "Parameters, Forms"),
    ],
)
def test_the_options_of_a_page_are_in_groups_with_these_titles(
    words: list[str], titles: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command([*words, "--help"]) == 0
    assert ", ".join(re.findall(r"^╭─ (.+?) ─", capsys.readouterr().out, re.MULTILINE)) == titles


def page(*words: str, width: int) -> list[str]:
    shown = io.StringIO()
    print_page(app, words, console=Console(file=shown, width=width))
    return shown.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 57, 80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_the_boxes_of_a_page_are_as_wide_as_it_and_no_line_is_wider(name: str, width: int) -> None:
    lines = page(*name.split(), width=width)
    assert max(map(len, lines)) <= width
    assert {len(line) for line in lines if line[:1] in ("╭", "│", "╰")} <= {width}


@pytest.mark.parametrize(
    "name", ["", "--install-completion", *(name for name, of in COMMANDS.items() if not of.hidden)]
)
def test_a_page_has_the_words_of_cyclopts_own_page(name: str) -> None:
    theirs = io.StringIO()
    app.help_print(name.split(), console=Console(file=theirs, width=200))
    pages = ("\n".join(page(*name.split(), width=200)), theirs.getvalue())
    ours, known = (text.replace("│", " ").split() for text in pages)
    assert ours == known


@dataclass(kw_only=True)
class Shade:
    shade: str
    """The shade,
    or several: 灰色の濃淡."""
    depth: int = 3
    """Of the base."""


@dataclass(kw_only=True)
class DeepShade(Shade):
    depth: Literal[3, 4] = 4
    """How deep it is, as a number with an-unusually-long-word-that-no-line-of-this-narrow-box-can-hold."""
    no_text: bool = False


def test_a_page_has_the_texts_under_the_fields_of_a_type_and_its_bases(capsys: pytest.CaptureFixture[str]) -> None:
    command = settings_command("vqa-client run shades", DeepShade)
    print_page(command, hidden=["no_text"], console=Console(width=44))
    assert capsys.readouterr().out == SHADES


SHADES = """\
Usage: vqa-client run shades --shade STR 
[OPTIONS]

╭─ Parameters ─────────────────────────────╮
│ *  --shade STR     The shade, or         │
│                    several: 灰色の濃淡.  │
│                    [required]            │
│    --depth CHOICE  How deep it is, as a  │
│                    number with           │
│                    an-unusually-long-wor │
│                    d-that-no-line-of-thi │
│                    s-narrow-box-can-hold │
│                    . [choices: 3, 4]     │
│                    [default: 4]          │
╰──────────────────────────────────────────╯
"""


@pytest.mark.parametrize("terminal", ["stdin", "stdout", "stderr"])
def test_a_page_is_as_wide_as_the_terminal_at_any_of_the_three_streams(terminal: str) -> None:
    termios, (leader, follower) = pytest.importorskip("termios"), os.openpty()
    termios.tcsetwinsize(follower, (24, 61))
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    words = [sys.executable, "-m", "vqa_client", "rescore", "--help"]
    done = subprocess.run(words, timeout=300, check=True, env=environment, **streams | {terminal: follower})
    shown = os.read(leader, 10_000) if terminal == "stdout" else done.stdout
    os.close(leader)
    os.close(follower)
    assert [len(line) for line in re.findall("╭─.*╮", shown.decode())] == [61]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        *((["serve", *more, "--help"], 0) for more in ([], ["vllm"], ["--port", "1"], ["--help"], ["-h"])),
        *((["run", *more, "-h"], 0) for more in ([], ["pope"], ["pope", "--limit", "1"])),
        *((words, 0) for words in (["-h"], ["--version", "--help"], ["--help", "serve"], ["robustness", "--help"])),
        *((words, 2) for words in (["sevre", "--help"], ["robustness", "vqa2", "--help"], ["run", "none", "--help"])),
    ],
)
def test_help_is_shown_wherever_its_flag_is_and_a_wrong_command_has_none(
    words: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(words) == code
    assert capsys.readouterr().out.startswith("Usage: vqa-client") == (code == 0)


if __name__ == "__main__":
    KEPT.write_text(listed(), encoding="utf-8")

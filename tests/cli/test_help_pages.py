"""A command's help is printed from the cache as long as its sources have not changed.

`python -m tests.cli.test_help_pages` writes the list of commands again.
"""

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from vqa_client.cli.app import app
from vqa_client.cli.commands import COMMANDS
from vqa_client.cli.help_pages import page_of
from vqa_client.cli.main import run_command

KEPT = Path(__file__).with_name("help.txt")


def listed() -> str:
    """The commands by group with their help, without frames; an example of each, and its first argument."""
    shown = io.StringIO()
    for words in ([], ["robustness"]):
        app.help_print(words, console=Console(file=shown, width=160))
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


def helped(cache: Path, *words: str, version: str = "", **variables: str) -> subprocess.CompletedProcess[bytes]:
    environment = os.environ | {"XDG_CACHE_HOME": str(cache), **variables}
    code = f"import vqa_client.version as of\nof.__version__ = {version!r} or of.__version__\n" + (
        "import sys\nsys.argv[0] = 'vqa-client'\nfrom vqa_client.__main__ import entry\n"
        "try:\n    entry()\nfinally:\n    print('cyclopts' in sys.modules, file=sys.stderr)"
    )
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, env=environment, timeout=300)


def test_a_page_is_made_again_only_if_its_width_or_its_sources_changed(tmp_path: Path) -> None:
    first, again, narrow = (helped(tmp_path, "serve", "--help", COLUMNS=width) for width in ("80", "80", "50"))
    assert (first.stdout, first.returncode, again.returncode) == (again.stdout, 0, 0)
    assert b"Usage: vqa-client serve" in first.stdout
    assert [each.stderr.split() for each in (first, again, narrow)] == [[b"True"], [b"False"], [b"True"]]
    assert narrow.stdout != first.stdout
    assert helped(tmp_path, "serve", "--help", version="9.9", COLUMNS="80").stderr.split() == [b"True"]
    for page in tmp_path.rglob("help-*"):
        page.write_bytes(b"older sources\nan older page\n")
    assert helped(tmp_path, "serve", "--help", COLUMNS="80").stdout == first.stdout


@pytest.mark.parametrize("terminal", ["stdin", "stdout", "stderr"])
def test_a_page_is_as_wide_as_the_terminal_at_any_of_the_three_streams(tmp_path: Path, terminal: str) -> None:
    termios, (leader, follower), wide = pytest.importorskip("termios"), os.openpty(), tmp_path / "wide"
    termios.tcsetwinsize(follower, (24, 61))
    code = f"import vqa_client.cli.help_pages as of\nopen({str(wide)!r}, 'w').write(str(of.columns()))"
    given: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL) | {terminal: follower}
    subprocess.run([sys.executable, "-c", code], timeout=300, check=True, **given)
    os.close(leader)
    os.close(follower)
    assert wide.read_text() == "61"


def test_a_benchmarks_page_is_kept_until_a_package_is_installed_which_may_bring_one(tmp_path: Path) -> None:
    packages, words = tmp_path / "site-packages", ("run", "chartqa", "--help")
    own = os.pathsep.join(filter(None, (str(packages), os.environ.get("PYTHONPATH"))))
    packages.mkdir()
    first, again = (helped(tmp_path, *words, PYTHONPATH=own) for _ in range(2))
    assert b"Usage: vqa-client run chartqa" in first.stdout
    assert (again.stdout, again.returncode) == (first.stdout, 0)
    assert [each.stderr.split() for each in (first, again)] == [[b"True"], [b"False"]]
    brought = packages / "own-1.dist-info"
    brought.mkdir()
    (brought / "METADATA").write_text("Name: own\nVersion: 1\nSummary: Charts of our own\n")
    (brought / "entry_points.txt").write_text("[vqa_client.benchmarks]\nchartqa = vqa_client.tasks.pope\n")
    assert b"Charts of our own" in helped(tmp_path, *words, PYTHONPATH=own).stdout


def test_a_cache_that_cannot_be_written_and_a_wrong_command_keep_no_page(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = helped(tmp_path / "file", "serve", "--help")
    assert (done.returncode, b"Usage: vqa-client serve" in done.stdout) == (0, True)
    assert helped(tmp_path / "cache", "sevre", "--help").returncode == 2
    assert not list(tmp_path.rglob("help-*"))


@pytest.mark.parametrize(
    "words",
    [
        *([], ["list"], ["serve"], ["--version", "--help"], ["score", "--task", "-h"], ["run", "own.py", "--help"]),
        *(["run", "../tasks/pope", "--help"], ["run", "none-such", "--help"], ["run", "pope", "more", "--help"]),
    ],
)
def test_only_a_commands_own_help_is_a_page(words: list[str]) -> None:
    assert page_of(words) is None


@pytest.mark.parametrize(
    "words",
    [["-h"], ["serve", "-h"], ["robustness", "run", "--help"], ["run", "pope", "--help"], ["selftest", "pope", "-h"]],
)
def test_each_commands_help_is_a_page(words: list[str]) -> None:
    assert page_of(words) is not None


if __name__ == "__main__":
    KEPT.write_text(listed(), encoding="utf-8")

"""The README and docs: links lead somewhere, examples are asked, and pages made from declarations are up to date."""

import ast
import os
import re
import runpy
import subprocess
import sys
import tomllib
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import pytest

from tests.contract.forms import draw
from tests.fakes.fixtures import StartsServers
from vqa_client.cli.commands import COMMANDS
from vqa_client.cli.main import run_command
from vqa_client.model_config import ModelSettings
from vqa_client.types import STATUSES

ROOT = Path(__file__).parents[2]


def test_the_pages_of_the_benchmarks_are_up_to_date() -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "docs/benchmarks/make.py", "--check"], capture_output=True, text=True, cwd=ROOT
    )
    assert (made.returncode, made.stdout) == (0, ""), "python docs/benchmarks/make.py writes them again"


def test_the_site_has_every_command_option_and_key_and_its_links_lead_somewhere() -> None:
    pages: dict[str, str] = runpy.run_path(str(ROOT / "docs/site.py"))["pages"]()
    names = [name.partition(" ")[0] for name in COMMANDS]
    assert {f"reference/commands/{name}.md" for name in names} <= pages.keys()
    assert all("`--max_retries INT`" in pages[f"reference/commands/{name}.md"] for name in ("run", "ask", "mc"))
    assert "`request_bytes`" in pages["reference/record.md"]
    assert "`system_prompt`" in pages["reference/config.md"]
    assert "## vqa_accuracy" in pages["reference/python.md"]
    for name, text in pages.items():
        found = re.findall(r"\]\((?!http|#|mailto)([^)#\s]+\.md)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
        assert [link for link in found if os.path.normpath(Path(name).parent / link) not in pages] == [], name


@pytest.mark.parametrize("status", sorted(STATUSES))
def test_each_status_is_explained(status: str) -> None:
    assert f"`{status}`" in (ROOT / "docs/statuses.md").read_text(encoding="utf-8")


def test_the_table_of_config_keys_has_all_of_them() -> None:
    table = (ROOT / "config/README.md").read_text(encoding="utf-8").partition("## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == {each.name for each in fields(ModelSettings)}


def test_every_room_is_in_the_table_and_its_first_file_says_what_belongs_there() -> None:
    table = (ROOT / "docs/development.md").read_text(encoding="utf-8")
    firsts = sorted((ROOT / "vqa_client").rglob("__init__.py"))
    modules = [path.name for path in (ROOT / "vqa_client").glob("*.py") if not path.name.startswith("__")]
    rooms = [f"{path.parent.name}/" for path in firsts if path.parents[1].name == "vqa_client"]
    assert [room for room in sorted(modules + rooms) if f"`{room}`" not in table] == []
    rows = {
        name.rstrip("/").removesuffix(".py"): number
        for number, row in enumerate(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE))
        for name in re.findall(r"`([\w./]+)`", row)
    }
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = [
        [rows[name.removeprefix("vqa_client.")] for name in layer.split(" | ")]
        for layer in reversed(contracts[0]["layers"])
    ]
    assert [pair for pair in pairwise(layers) if max(pair[0]) > min(pair[1])] == [], "the table has the layers' order"
    assert [str(path) for path in firsts if not ast.get_docstring(ast.parse(path.read_bytes()))] == []


OWN_DATA = (ROOT / "docs/own-data.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```\w+ (\S+)\n(.*?)```", OWN_DATA, re.DOTALL)


def test_own_data_has_its_examples() -> None:
    assert [name for name, _ in EXAMPLES] == [
        "photos.csv",
        "exam.tsv",
        "open.jsonl",
        "choices.json",
        "coco.json",
        "chat.jsonl",
    ]


@pytest.mark.parametrize(("name", "content"), EXAMPLES)
def test_the_examples_of_own_data_are_asked_as_they_stand(
    tmp_path: Path, fault_server: StartsServers, name: str, content: str
) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.png").write_bytes(draw(number))
    (tmp_path / name).write_text(content, encoding="utf-8")
    server = fault_server("A")
    asked = ["ask", str(tmp_path / name), "-o", str(tmp_path / "out"), "--base_url", server.base_url, "--no_check"]
    assert run_command([*asked, "--no-html"]) == 0
    assert len(server.chats) == 2
    assert sum(len(chat.images) for chat in server.chats) in (2, 3)


PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), ROOT / "config/README.md", ROOT / "data/README.md"]


@pytest.mark.parametrize("page", sorted((ROOT / "docs/benchmarks").glob("*.md")), ids=lambda path: path.stem)
def test_a_row_of_data_is_shown_with_all_columns(page: Path) -> None:
    about = page.read_text(encoding="utf-8").partition("## Data")[0].splitlines()
    followed = [after for line, after in pairwise(about) if line.startswith("    ")]
    assert [line for line in followed if line and not line.startswith("    ")] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\((?!http|#|mailto)([^)#\s]+)", text)
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_readme_names_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = set(re.findall(r"[a-z]+", (ROOT / "README.md").read_text(encoding="utf-8").partition("## Install")[2]))
    assert extras.keys() - named == {"dev"}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 180

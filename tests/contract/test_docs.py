"""The README and docs: links lead somewhere, examples are asked, and pages made from declarations are up to date."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.forms import draw
from tests.fakes.fixtures import StartsServers
from vqa_client.cli.main import run_command

ROOT = Path(__file__).parents[2]


def test_the_pages_of_the_benchmarks_are_up_to_date() -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "docs/benchmarks/make.py", "--check"], capture_output=True, text=True, cwd=ROOT
    )
    assert (made.returncode, made.stdout) == (0, ""), "python docs/benchmarks/make.py writes them again"


OWN_DATA = (ROOT / "docs/own-data.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```\w+ (\S+)\n(.*?)```", OWN_DATA, re.DOTALL)


def test_own_data_has_its_examples() -> None:
    assert [name for name, _ in EXAMPLES] == ["photos.csv", "exam.tsv", "open.jsonl", "choices.json", "chat.jsonl"]


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


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\((?!http|#|mailto)([^)#\s]+)", text)
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 180

"""The examples of docs/asking.md that need no server print the output shown there."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.html.samples import record, write_run
from vqa_client.cli.main import run_command

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "asking.md"


def example(heading: str) -> list[str]:
    """The lines of the first block of output below a heading."""
    if not DOCS.exists():
        pytest.skip("docs/ is not here")
    (found,) = re.findall(rf"^## {re.escape(heading)}.*?^```\n(.*?)^```", DOCS.read_text(), re.DOTALL | re.MULTILINE)
    return [line.rstrip() for line in found.splitlines()]


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_the_example_of_a_dry_run_is_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = example("`--dry_run`")
    config = tmp_path / "priced.json"
    prices = {"input": 2.5, "output": 10}
    config.write_text(json.dumps({"model_name": "big-vlm", "max_tokens": 1024, "prices": prices}))
    arguments: list[Any] = [
        "niah",
        "--input",
        ROOT / "data" / "niah",
        "-o",
        tmp_path / "out",
        "-c",
        config,
        "--dry_run",
    ]
    assert run_command([*map(str, arguments), "--rate", "0.5", "--context_length", "1800"]) == 0
    assert printed(capsys)[: len(wanted)] == wanted
    assert not (tmp_path / "out").exists()


def test_the_example_of_an_explained_reading_is_what_it_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = example("`parse --explain`")
    texts = re.findall(r"([A-D])\. (.*?)(?=  [A-D]\. |$)", wanted[3].removeprefix("choices: "))
    kept = record(
        question_id="cdb9d634c9fe9947c3af289c",
        variant="clean",
        status="ambiguous",
        prompt="Why?\n\n" + "\n".join(f"{label}. {text}" for label, text in texts),
        output="It is either (D) or (A).",
        answer=None,
        rule="identity",
        rivals=("A", "D"),
        references=("D",),
        score=0.0,
        parts={"robust": 0.0, "published": 1.0, "longbench": 0.0},
    )
    monkeypatch.chdir(tmp_path)
    write_run(Path("out"), [kept])
    assert run_command(["parse", "out", "--explain", kept.question_id]) == 0
    assert printed(capsys)[:-1] == wanted[:-1]  # the last line is of the data file, which isn't named here

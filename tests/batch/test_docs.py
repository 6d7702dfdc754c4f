"""The examples of docs/batch.md are asked as they stand."""

import re
import shlex
from pathlib import Path

import pytest

from tests.contract.forms import draw
from tests.fakes.batches import Batches
from tests.fakes.fixtures import StartsServers
from vqa_client.cli.main import run_command

PAGE = (Path(__file__).parents[2] / "docs/batch.md").read_text(encoding="utf-8")
DRY, ASKS, WRITES, READS = (
    line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pictures").mkdir()
    Path("pictures/1.png").write_bytes(draw(1))
    Path("questions.csv").write_text("image,question,answer\n1.png,What is it?,a square\n")


def asked(line: str, base_url: str) -> int:
    words = shlex.split(line.replace("$URL", base_url))[1:]
    return run_command([*words, "--no_check", "--no-html", "--poll", "0.01"])


def test_batches(fault_server: StartsServers, capsys: pytest.CaptureFixture[str]) -> None:
    batches = Batches()
    server = fault_server(batches.rule("a square"), models=("some-vlm",))
    assert asked(DRY, server.base_url) == 0
    assert "1 batch file of at most 90 MB" in capsys.readouterr().out
    assert asked(ASKS, server.base_url) == 0
    assert (len(batches.batches), batches.faults, len(server.chats)) == (1, [], 0)


def test_files_and_results(capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(WRITES, "") == 0
    assert re.search(r"vllm run-batch .*", PAGE)[0] in capsys.readouterr().out  # type: ignore[index]
    part = Path("results/ask.batches/part-0001.jsonl")
    answer = '{"status_code": 200, "body": {"choices": [{"message": {"content": "a square"}}]}}'
    custom_id = re.search(r'"custom_id":"(\w+)"', part.read_text())[1]  # type: ignore[index]
    part.with_suffix(".out.jsonl").write_text(f'{{"custom_id": "{custom_id}", "response": {answer}}}\n')
    assert asked(READS, "") == 0

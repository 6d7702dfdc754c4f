"""Every command that the README and the docs show is run as it is shown, against a fake server.

A page's commands run in their order, as a reader would type them, which takes longer than a test should.
"""

import json
import re
import shlex
import shutil
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from tests.contract.forms import draw, write
from tests.contract.samples import SAMPLES
from tests.fakes.fixtures import StartsServers
from tests.fakes.server import FaultServer
from vqa_client.cli.app import app
from vqa_client.cli.main import run_command
from vqa_client.shipped import shipped
from vqa_client.tasks import registry

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *ROOT.glob("docs/*.md"), ROOT / "config/README.md", ROOT / "data/README.md"]
PAGES += [*ROOT.glob("serve/*.md"), ROOT / "serve/tiny_vlm/README.md"]
COMMAND = re.compile(r"^(?: {4})?(?:[A-Z_]+=\S* |srun |# .*: )*vqa-client ((?:[^\n\\]|\\\n)*)", re.MULTILINE)
ADDRESS = re.compile(r"https?://[^\s\"']+")
ASKING = ("ask ", "run ", "mc ", "niah ", "vqa2 ", "explain ", "robustness run ")
ELSEWHERE = {
    "demo": "tests/servers/real/test_demo.py, with the real reader",
    "check ": "tests/client/check; what it says of a fake server is no example",
    "--batch_command": "runs vLLM; tests/batch/test_steps.py, tests/servers/real/test_run_batch.py",
    "--batch": "tests/batch/test_docs.py, which answers",
    "batch write ": "the same",
    "batch read ": "the same",
    "view ": "serves until it is stopped; tests/html/test_viewer.py",
    "label ": "serves until it is stopped; tests/browser/test_label_page.py",
    "judge ": "needs a server that judges; tests/judge",
    "hf://": "fetches from the network; tests/tables/test_hub.py",
    "--ray": "needs a cluster; tests/servers/real",
    "s3://": "needs an object store; tests/runs/test_object_stores.py",
    "mmlongbench-doc": "reads all sample pages by OCR; tests/reader/test_sample_data.py",
    "suite general": "needs eleven data sets; tests/contract/test_suite.py",
    "--legibility": "OCR of a minute; tests/cli/test_legibility.py",
    "robustness plot": "needs matplotlib; tests/plots",
}
"""Commands that are only parsed here, and the place of the tests that run them."""
DATA = ("data", "materials", "nle", "vqa2")
"""Folders of `named` that commands only read."""
SHORTER = {"serve": ["--dry_run"], "robustness run": ["--corruptions", "brightness", "--levels", "0-1", "--limit", "1"]}
"""Options that are added so that a command ends soon."""


def shown(page: Path) -> Iterator[list[str]]:
    """The words of each command of a page, without its comment."""
    for found in COMMAND.finditer(page.read_text(encoding="utf-8")):
        yield [word for word in shlex.split(found[1].replace("\\\n", " "), comments=True) if word != "&"]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files that the commands name: one document of the sample data, and files of our own."""
    made = tmp_path_factory.mktemp("named")
    data = shipped("data")
    for task in ("niah", "longbench"):
        first = json.loads((data / task / "data.json").read_bytes())[:1]
        for image in (data / task / "clean/images").glob(f"{first[0]['_id']}_page_*"):
            (made / image.relative_to(data.parent)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(image, made / image.relative_to(data.parent))
        (made / "data" / task / "data.json").write_text(json.dumps(first))
    shutil.copytree(data / "shapes", made / "data/shapes")
    shutil.copytree(made / "data/longbench/clean/images", made / "pages")
    shutil.copy(made / "data/longbench/data.json", made)
    shutil.copytree(data / "shapes/vqa2", made / "vqa2")
    shutil.copytree(data / "shapes/vqa2", made / "materials/vqa2")
    shutil.copytree(data / "shapes/explain", made / "nle")
    shutil.copy(made / "nle/nle_data/VQA-X/vqaX_val.json", made / "nle/nle_data/VQA-X/vqaX_test.json")
    for name in ("1.png", "2.png", "photos/cat/1.png", "receipts/1.png"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_bytes(draw(1))
    examples = dict(re.findall(r"```\w+ (\S+)\n(.*?)```", (ROOT / "docs/own-data.md").read_text(), re.DOTALL))
    (made / "photos.csv").write_text(examples["photos.csv"])
    table = {"image": [draw(1)], "question": ["Which?"], "options": [["a", "b"]], "answer": ["A"], "subject": ["x"]}
    pyarrow.parquet.write_table(pyarrow.table(table), made / "data/test-0.parquet")
    (made / "row.json").write_text(json.dumps({"question": "Which?", "answers": ["a"]}))
    with tarfile.open(made / "shard.tar", "w") as shard:
        shard.add(made / "1.png", "0001.png")
        shard.add(made / "row.json", "0001.json")
    docvqa = registry.find("docvqa")
    write(docvqa.make(docvqa.settings()), SAMPLES["docvqa"], 0, made / "DocVQA")
    (made / "receipts.py").write_text(
        re.findall(r"```python\n(.*?)```", (ROOT / "docs/own-benchmark.md").read_text(), re.DOTALL)[0]
    )
    (made / "receipts/receipts.jsonl").write_text('{"photo": "1.png", "total": "12.40", "shop": "Corner"}\n')
    (made / "answers.jsonl").write_text('{"question_id": "receipts#0", "answer": "12.40"}\n')
    (made / "mine.toml").write_text('[docvqa]\ndata = "DocVQA"\n\n["receipts.py"]\ndata = "receipts"\n')
    for name in ("big", "big-model", "judge"):
        shutil.copy(shipped("config") / "qwen3-vl.json", made / f"{name}.json")
    shutil.copy(made / "vqa2/annotations.json", made / "v2_mscoco_val2014_annotations.json")
    rows = json.loads((made / "vqa2/annotations.json").read_bytes())["annotations"]
    answers = [{"question_id": row["question_id"], "answer": "red"} for row in rows]
    (made / "answers.json").write_text(json.dumps(answers))
    with FaultServer("A") as server:
        for run, again in {"small": "a", "large": "b"}.items():
            asked = ["niah", "--input", f"{made}/data/niah", "-o", f"{made}/results/{run}", "--model", run]
            assert run_command([*asked, "--base_url", server.base_url, "--no-html", "--no_check"]) == 0
            shutil.copytree(made / "results" / run, made / "results" / again)
    return made


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(shown(page))], ids=lambda path: str(path.relative_to(ROOT))
)
def test_the_commands_of_a_page_run(
    page: Path, named: Path, tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "there"
    shutil.copytree(named, there, ignore=lambda folder, _: DATA if folder == str(named) else ())
    for name in DATA:
        (there / name).symlink_to(named / name)
    monkeypatch.chdir(there)
    for name, value in {"TASK_ID": "1", "TASK_MIN": "1", "TASK_MAX": "1", "TASK_STEP": "1"}.items():
        monkeypatch.setenv(f"SLURM_ARRAY_{name}", value)
    servers: dict[str, str] = defaultdict(lambda: fault_server("A").base_url)
    record = json.loads(next(Path("results/small").rglob("*.records.jsonl")).read_text().partition("\n")[0])
    for number, shown_words in enumerate(shown(page)):
        line = shlex.join(shown_words)
        if any(part in line for part in ELSEWHERE):
            app.parse_args(shown_words, print_error=False, exit_on_error=False)
            continue
        words = [ADDRESS.sub(lambda found: servers[found[0]], word) for word in shown_words]
        words = [word.removeprefix("/") if word.startswith("/data/") else word for word in words]
        words = [record["question_id"] if word == "QUESTION_ID" else word for word in words]
        words += next((more for start, more in SHORTER.items() if line.startswith(start)), [])
        if line.startswith(ASKING):
            words += [] if {"--base_url", "--endpoint"} & set(words) else ["--base_url", servers[""]]
            words += [
                *([] if "-o" in words or words[0] != "ask" else ["-o", f"out{number}"]),
                "--no_check",
                "--no-html",
            ]
        assert run_command(words) == 0, line


def test_the_readmes_python_runs(named: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(named)
    shown = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert shown
    exec(ADDRESS.sub(fault_server("A").base_url, shown[1]), {})
    assert (named / "results/ask.records.jsonl").exists()


def test_the_pages_show_commands() -> None:
    assert sum(1 for page in PAGES for _ in shown(page)) > 50

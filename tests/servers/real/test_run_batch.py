"""`vllm run-batch` without a server: files that `batch write` makes, and results that `batch read` takes over."""

import shlex
import subprocess
from pathlib import Path

import pytest

from tests.servers.real import easy
from tests.servers.real.commands import command, records
from tests.servers.real.environments import missing, python
from tests.servers.real.serving import CONTEXT_TOKENS, ENVIRONMENT, OFFLINE, checkpoint, locked

COUNT = 12
ARGUMENTS = ("--served-model-name", "tiny-vlm", "--max-model-len", str(CONTEXT_TOKENS), "--enforce-eager")


def run_batch(source: str, target: str, media: Path) -> list[str]:
    """The words of the program, with the environment in which it finds the model and no network."""
    given = {**OFFLINE, **ENVIRONMENT["vllm"]}
    words = ["-m", "vllm.entrypoints.cli.main", "run-batch", "-i", source, "-o", target, "--model", str(checkpoint())]
    variables = [f"{name}={value}" for name, value in given.items()]
    return ["env", *variables, str(python("vllm")), *words, *ARGUMENTS, "--allowed-local-media-path", str(media)]


def test_files_are_answered_and_their_results_make_the_run(tmp_path: Path) -> None:
    if reason := missing("vllm"):
        pytest.skip(reason)
    asked = easy.coloured(COUNT)
    data, pages = easy.write_longbench(tmp_path, asked)
    (pages / "clean" / "images" / f"{asked[0].id}_page_001.png").unlink()
    (pages / "clean" / "images" / f"{asked[0].id}_page_001.png").write_bytes(b"no picture")
    run = ("mc", "--data_json", data, "--images_dir", pages, "-o", tmp_path / "out", "--model", "tiny-vlm")
    written = command("batch", "write", *run, "--max_tokens", "32", "--file_urls")
    assert written.returncode == 1, written.stderr  # one can't be asked
    folder = tmp_path / "out" / "clean_mc_eval.batches"
    source = folder / "part-0001.jsonl"
    assert (str(source) in written.stdout, len(source.read_bytes().splitlines())) == (True, COUNT - 1)
    media = asked[1].pictures[0].parent
    words = run_batch(str(source), str(source.with_suffix(".out.jsonl")), media)
    with locked("starting"):
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    read = command("batch", "read", *run, "--max_tokens", "32", "--file_urls")
    kept = records(tmp_path / "out")
    assert set(kept) == {each.id for each in asked[1:]}, read.stderr
    assert sum(record.score == 1.0 for record in kept.values()) >= 0.9 * (COUNT - 1)
    assert all(record.status == "ok" and record.images and record.prompt_tokens for record in kept.values())


def test_one_command_writes_asks_and_reads_and_asks_nothing_twice(tmp_path: Path) -> None:
    if reason := missing("vllm"):
        pytest.skip(reason)
    asked = easy.coloured(COUNT)
    data, pages = easy.write_longbench(tmp_path, asked)
    program = shlex.join(run_batch("{input}", "{output}", asked[0].pictures[0].parent))
    run = ("mc", "--data_json", data, "--images_dir", pages, "-o", tmp_path / "out", "--model", "tiny-vlm")
    words = (*run, "--max_tokens", "32", "--file_urls", "--batch_command", program)
    with locked("starting"):
        ended = command(*words)
    assert ended.returncode == 0, ended.stderr[-3000:]
    kept = records(tmp_path / "out")
    assert set(kept) == {each.id for each in asked}
    assert sum(record.score == 1.0 for record in kept.values()) >= 0.9 * COUNT
    results = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.out.jsonl")}
    again = command(*words)  # the program would take half a minute, and write its results anew
    assert (again.returncode, records(tmp_path / "out")) == (0, kept), again.stderr[-3000:]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.out.jsonl")} == results

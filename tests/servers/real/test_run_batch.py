"""`vllm run-batch` without a server, with the files of `batch write`; `batch read` reads its results."""

import json
import shlex
from pathlib import Path

import pytest

from tests.servers.real import easy
from tests.servers.real.commands import command, records
from tests.servers.real.environments import missing, python
from tests.servers.real.serving import CONTEXT_TOKENS, ENVIRONMENT, OFFLINE, checkpoint, locked

COUNT = 12
ARGUMENTS = ("--served-model-name", "tiny-vlm", "--max-model-len", str(CONTEXT_TOKENS), "--enforce-eager")


def run_batch(source: str, target: str, media: Path) -> list[str]:
    """The command line of the program, with environment variables for the model and without network."""
    given = {**OFFLINE, **ENVIRONMENT["vllm"], "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}  # saves a process
    words = ["-m", "vllm.entrypoints.cli.main", "run-batch", "-i", source, "-o", target, "--model", str(checkpoint())]
    variables = [f"{name}={value}" for name, value in given.items()]
    return ["env", *variables, str(python("vllm")), *words, *ARGUMENTS, "--allowed-local-media-path", str(media)]


def test_one_command_and_its_three_steps_write_ask_and_read_the_same(tmp_path: Path) -> None:
    if reason := missing("vllm"):
        pytest.skip(reason)
    asked = easy.coloured(COUNT)
    data, pages = easy.write_longbench(tmp_path, asked)
    (seen := tmp_path / "seen").mkdir()
    keeps = f'"$@" && cp {{input}} {{output}} {shlex.quote(str(seen))}'
    program = shlex.join(["sh", "-c", keeps, "sh", *run_batch("{input}", "{output}", asked[0].pictures[0].parent)])
    run = ("mc", "--data_json", data, "--images_dir", pages, "--model", "tiny-vlm", "--max_tokens", "32", "--file_urls")
    words = (*run, "-o", tmp_path / "out", "--batch_command", program)
    with locked("starting"):
        ended = command(*words)
    assert ended.returncode == 0, ended.stderr[-3000:]
    kept = records(tmp_path / "out")
    assert set(kept) == {each.id for each in asked}
    assert sum(record.score == 1.0 for record in kept.values()) >= 0.9 * COUNT
    (results,) = seen.glob("*.out.jsonl")
    answered_ns = results.stat().st_mtime_ns
    again = command(*words)  # must not run the program, which takes half a minute and would write its results again
    assert (again.returncode, records(tmp_path / "out")) == (0, kept), again.stderr[-3000:]
    assert results.stat().st_mtime_ns == answered_ns

    broken = pages / "clean" / "images" / f"{asked[0].id}_page_001.png"
    broken.unlink()
    broken.write_bytes(b"no picture")
    written = command("batch", "write", *run, "-o", tmp_path / "steps")
    assert written.returncode == 1, written.stderr  # one question has a bad image
    source = tmp_path / "steps" / "clean_mc_eval.batches" / "part-0001.jsonl"
    lines = source.read_bytes().splitlines()
    assert (str(source) in written.stdout, len(lines)) == (True, COUNT - 1)
    assert lines == (seen / "part-0001.jsonl").read_bytes().splitlines()[1:]  # the same lines, which vLLM has answered
    ids = [json.loads(line)["custom_id"] for line in lines]
    answers = [line for line in results.read_bytes().splitlines() if json.loads(line)["custom_id"] in ids]
    source.with_suffix(".out.jsonl").write_bytes(b"\n".join(answers))
    read = command("batch", "read", *run, "-o", tmp_path / "steps")
    kept = records(tmp_path / "steps")
    assert set(kept) == {each.id for each in asked[1:]}, read.stderr
    assert sum(record.score == 1.0 for record in kept.values()) >= 0.9 * (COUNT - 1)
    assert all(record.status == "ok" and record.images and record.prompt_tokens for record in kept.values())

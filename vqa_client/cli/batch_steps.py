"""Steps of a batched run: its files are written, or its batches shown or cancelled."""

import shlex
from collections.abc import Sequence
from functools import partial

import anyio

from vqa_client.cli.streams import EXIT_FAILED_QUESTIONS, EXIT_OK, EXIT_SERVER, emit_json, emit_lines, say
from vqa_client.reports.names import count
from vqa_client.runs.batched import Written, show_batches, write_batches
from vqa_client.settings.run import RunSettings


def run_step(several: Sequence[RunSettings]) -> int:
    """Write the files of runs, or show or cancel their batches; the exit code is 3 if a batch can't be reached."""
    if (step := several[0].batch_step) != "write":
        code = EXIT_OK
        for run in several:
            lines, all_known = anyio.run(partial(show_batches, run, say, cancel=step == "cancel"))
            emit_lines(*lines)
            code = code if all_known else EXIT_SERVER
        return code
    written = [files for run in several for files in anyio.run(write_batches, run, say)]
    if several[0].json:
        emit_json([{"file": str(path), "lines": lines} for run in written for path, lines in run.files.items()])
    else:
        emit_lines(*(line for run in written for line in _file_lines(run)))
    return EXIT_FAILED_QUESTIONS if any(run.left_out for run in written) else EXIT_OK


def _file_lines(written: Written) -> list[str]:
    """The files of a run, the questions that are in none, and an example of the next command."""
    lines = [f"{path}: {count(lines, 'question')}" for path, lines in written.files.items()]
    if written.left_out:
        lines.append(f"{count(len(written.left_out), 'question')} can't be asked: {', '.join(written.left_out[:3])}")
    for path in list(written.files)[:1]:
        files = ["-i", str(path), "-o", str(path.with_suffix(".out.jsonl"))]
        words = shlex.join(["vllm", "run-batch", *files, "--model", written.model])
        lines.append(f"for example: {words}; then `vqa-client batch read` with the same options")
    return lines or [f"{written.title}: nothing is left to ask"]

"""Makes the runs of one version: the server fails once, and the same command asks that question again."""

import asyncio
import json
import os
import shutil
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from tests.fakes.script import Script
from tests.fakes.server import FaultServer
from tests.fakes.words import answer, error, in_turn
from tests.kept_runs import HERE, RUNS, lay_out, settings
from vqa_client.evaluation import arun

CUT = answer("Let me look at the drawing first. There is a", finish_reason="length")
DOWN, TOO_LONG = error(500), error(400, "maximum context length is 10 tokens")
SAID: dict[str, tuple[Script, ...]] = {
    "mc": ("The correct answer is (B).", "I can't tell.", DOWN, TOO_LONG, CUT, "**Answer: C**"),
    "niah": (
        "The secret number is 3847.",
        "Venus",
        "It is 12.",
        "Mars, as the page says: größer, 图",
        DOWN,
        CUT,
        "3849",
    ),
    "vqa2": ("no", "No.", "one", "1", DOWN, "", "yes"),
    "explain": (
        "1 because the image shows a black circle",
        "no since it is black",
        DOWN,
        "circle",
        "yes because of it",
    ),
}
"""Replies in the order of the questions, for one worker; the last is the second reply to the failed question."""


async def make(place: Path) -> None:
    """Run every command twice."""
    for name in RUNS:
        with FaultServer(in_turn(*SAID[name])) as server:
            for _ in range(2):
                await arun(settings(name, server.base_url))


def keep(results: Path, to: Path) -> None:
    """Copy record logs and run files, without paths and descriptions of this machine."""
    for path in sorted(results.rglob("*.records.jsonl")):
        run = path.with_name(path.name.replace(".records.jsonl", ".run.json"))
        found = json.loads(run.read_bytes())
        described = found["described"]
        described["versions"].pop("platform", None)
        for field in ("data_path", "images_dir"):
            described[field] = os.path.relpath(described[field])
        folder = to / path.relative_to(results).parent
        folder.mkdir(parents=True)
        shutil.copy(path, folder)
        (folder / run.name).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


with tempfile.TemporaryDirectory() as made, chdir(made):
    lay_out(Path(made, "none"), Path(made))
    asyncio.run(make(Path(made)))
    keep(Path(made, "results"), HERE / sys.argv[1])

"""`python -m tests.bench.peers.prepared`: write an evaluator's input and print its command.

A process of its own, since what the questions take here would show in the peak memory of the next client that the
benchmark starts; see processes.Usage.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from tests.bench.clients.longbench import load
from tests.bench.peers.peer import REPOSITORY, Asked
from tests.bench.peers.registry import PEERS


def prepared(
    name: str, *, data_json: Path, images_dir: Path, limit: int, folder: Path, base_url: str, workers: int
) -> list[str]:
    """The command with which an evaluator asks the first `limit` records, with its input in `folder`."""
    words = [sys.executable, "-m", "tests.bench.peers.prepared", name, "--data_json", str(data_json)]
    words += ["--images_dir", str(images_dir), "--limit", str(limit), "--folder", str(folder)]
    words += ["--base_url", base_url, "--workers", str(workers)]
    done = subprocess.run(words, cwd=REPOSITORY, stdout=subprocess.PIPE, check=True)
    command: list[str] = json.loads(done.stdout)
    return command


def main() -> None:
    """Prepare and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    for place in ("--data_json", "--images_dir", "--folder"):
        parser.add_argument(place, type=Path)
    for count in ("--limit", "--workers"):
        parser.add_argument(count, type=int)
    parser.add_argument("--base_url")
    chosen = parser.parse_args()
    items = load(chosen.data_json, chosen.images_dir, chosen.limit)
    asked = Asked(items=items, folder=chosen.folder, base_url=chosen.base_url, workers=chosen.workers)
    print(json.dumps(PEERS[chosen.name].prepare(asked)))


if __name__ == "__main__":
    main()

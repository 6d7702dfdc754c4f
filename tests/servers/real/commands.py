"""`vqa-client` as a process, and the records that it writes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.servers.real.serving import RealServer
from vqa_client.records import RecordLog
from vqa_client.types import Record


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command, without the keys and addresses of this process's environment."""
    given = {name: value for name, value in os.environ.items() if not name.startswith(("VQA_CLIENT_", "OPENAI_"))}
    return subprocess.run(
        [sys.executable, "-m", "vqa_client", *map(str, words)], env=given, capture_output=True, text=True, check=False
    )


def config(server: RealServer, folder: Path, **changes: Any) -> Path:
    """Write a config for the server."""
    path = folder / "tiny.json"
    path.write_text(json.dumps(server.config(**changes)))
    return path


def records(folder: Path) -> dict[str, Record]:
    """All records below a folder, by their questions."""
    found: dict[str, Record] = {}
    for path in folder.rglob("*.records.jsonl"):
        with RecordLog(path) as log:
            found.update({record.question_id: record for record in log})
    return found

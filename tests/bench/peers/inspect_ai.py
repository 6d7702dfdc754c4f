"""inspect-ai: a task file, `--max-connections 128`, `--max-samples 128`, and the OpenAI-compatible provider.

What its documentation offers for speed is used: no image copies in the log (`--no-log-images`), no terminal display,
no adaptive connections, no realtime log. It sends files as they are.
"""

import json
import shutil

from tests.bench.clients.longbench import MAX_TOKENS, MODEL
from tests.bench.peers.peer import TASKS, Asked, Peer

NAME = "inspect-ai"


def prepare(asked: Asked) -> list[str]:
    """Write data.jsonl, and beside it the task file that reads it; its command runs there."""
    data = asked.folder / "data.jsonl"
    rows = (
        {"id": item.ident, "prompt": item.prompt, "target": item.answer, "pages": list(map(str, item.pages))}
        for item in asked.items
    )
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    shutil.copy(TASKS / "inspect_questions.py", asked.folder)
    words = [PEER.program("inspect"), "eval", "inspect_questions.py", "-T", f"data={data}"]
    words += ["--model", f"openai-api/mock/{MODEL}", "--model-base-url", asked.base_url]
    words += ["--max-connections", str(asked.workers), "--max-samples", str(asked.workers)]
    words += ["--max-tokens", str(MAX_TOKENS), "--temperature", "0", "--display", "none", "--no-log-images"]
    return [*words, "--no-log-realtime", "--log-dir", str(asked.folder / "output")]


PEER = Peer(name=NAME, prepare=prepare, questions={"small": 256, "document": 60}, environment={"MOCK_API_KEY": "none"})

"""vlmeter: a JSONL file of questions and a model registry with `concurrency: 128`.

Each question goes as its task "vqa" with `match: contains`, its scoring without a judge; it sends files below 4 MB as
they are. A question has one image, so it has no form for documents of several pages.
"""

import json

from tests.bench.clients.longbench import MAX_TOKENS, MODEL
from tests.bench.peers.peer import Asked, Peer

NAME = "vlmeter"


def prepare(asked: Asked) -> list[str]:
    """Write data.jsonl and models.yaml (JSON is YAML)."""
    data, registry = asked.folder / "data.jsonl", asked.folder / "models.yaml"
    rows = (
        {"id": item.ident, "image": str(item.pages[0]), "question": item.prompt, "answer": "(B)", "match": "contains"}
        for item in asked.items
    )
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    model = {"provider": "openai", "model": MODEL, "base_url": asked.base_url, "max_tokens": MAX_TOKENS}
    limits = {"concurrency": asked.workers, "timeout": 600, "price_input": 0, "price_output": 0}
    registry.write_text(json.dumps({"models": {"mock": model | limits}}), encoding="utf-8")
    words = [PEER.program("vlmeter"), "run", "--models", "mock", "--data", str(data), "--registry", str(registry)]
    return [*words, "--results-dir", str(asked.folder / "output")]


PEER = Peer(
    name=NAME,
    prepare=prepare,
    questions={"small": 512},
    most_images=1,
)

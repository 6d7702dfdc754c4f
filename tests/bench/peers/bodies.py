"""Checks that an evaluator's bodies contain what was asked: `python -m tests.bench.peers.bodies`, like verify_server.

An evaluator may word its prompt as it likes and send its images in another form. So a body is right when the question's
text is in it, and so many images as the question has pages, in their order: each the file's bytes, or else a picture of
as many pixels. GET /stats tells how many bodies had the files' bytes and how many other pictures.
"""

import base64
import io
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.clients.longbench import Item
from tests.bench.verify_server import PROBLEMS_KEPT, Inexact, VerifyServer, main

NUMBER = re.compile(r"Question (\d+):")
"""The unique mark in every question of the workloads."""


@dataclass(slots=True)
class Bodies:
    """Counts of the received requests; `problems` are the first wrong bodies."""

    requests: int = 0
    as_files: int = 0
    as_pictures: int = 0
    questions: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

    def stats(self) -> dict[str, Any]:
        """The answer to GET /stats."""
        counts = {"requests": self.requests, "as_files": self.as_files, "as_pictures": self.as_pictures}
        return {**counts, "questions": len(self.questions), "problems": self.problems[:PROBLEMS_KEPT]}


class BodiesServer(VerifyServer):
    """Checks requests and gives the mock server's answers."""

    def __init__(self, items: list[Item]) -> None:
        super().__init__(items)
        self.by_number = {NUMBER.search(item.prompt)[1]: item for item in items}
        self.seen = Bodies()

    def answer(self, method: str, path: str, body: bytes) -> dict[str, Any]:
        """Check a chat request, or answer a control path."""
        if path.startswith("/reset"):
            self.seen = Bodies()
            return {}
        return super().answer(method, path, body)

    def _note(self, body: bytes) -> None:
        self.seen.requests += 1
        try:
            item, exact = checked(body, self.by_number)
        except (Inexact, ValueError, KeyError, TypeError) as problem:
            self.seen.problems.append(repr(problem))
            return
        self.seen.questions.add(item.ident)
        self.seen.as_files += exact
        self.seen.as_pictures += not exact


def checked(body: bytes, by_number: dict[str, Item]) -> tuple[Item, bool]:
    """The question that a body asks, and whether its images are the files' bytes; raises Inexact."""
    content = [part for message in json.loads(body)["messages"] for part in _parts(message["content"])]
    text = "\n".join(part["text"] for part in content if part["type"] == "text")
    found = NUMBER.search(text)
    item = by_number.get(found[1]) if found else None
    if item is None or item.prompt.partition("\n")[0] not in text:
        raise Inexact(f"no question is in {text[:80]!r}")
    urls = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    if len(urls) != len(item.pages):
        raise Inexact(f"{item.ident}: {len(urls)} images instead of {len(item.pages)}")
    as_files = [_is_file(url, page) for url, page in zip(urls, item.pages, strict=True)]
    return item, all(as_files)


def _parts(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _is_file(url: str, page: Path) -> bool:
    from PIL import Image

    sent, kept = base64.b64decode(url.partition(",")[2], validate=True), page.read_bytes()
    if sent == kept:
        return True
    sizes = [Image.open(io.BytesIO(picture)).size for picture in (sent, kept)]
    if sizes[0] != sizes[1]:
        raise Inexact(f"{page.name}: {sizes[0]} pixels instead of {sizes[1]}")
    return False


def bodies_command(data_json: Path, images_dir: Path) -> list[str]:
    """The command that starts this server on a free port."""
    module = [sys.executable, "-m", "tests.bench.peers.bodies"]
    return [*module, "--data_json", str(data_json), "--images_dir", str(images_dir)]


if __name__ == "__main__":
    main(BodiesServer)

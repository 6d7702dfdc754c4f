"""The slow form of mock_server.c: reads every body and checks byte for byte that it asks what the data says.

`python -m tests.bench.verify_server --data_json FILE --images_dir FOLDER [--port 0]` prints "listening on PORT". A body
is exact when it is valid JSON that ends where its Content-Length says, holds one user message whose text is the prompt
of exactly one question, and before it that question's pages in order, each with its file's bytes and true type.
GET /stats tells how many were exact, how many distinct questions they asked, and what was wrong with the others.
"""

import argparse
import asyncio
import base64
import ctypes
import hashlib
import json
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.clients.longbench import Item, load

PROBLEMS_KEPT = 5
HEAD_LIMIT_BYTES = 1 << 16
REPLY = {
    "id": "chatcmpl-0",
    "object": "chat.completion",
    "created": 1700000000,
    "model": "mock-vlm",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "The correct answer is (B)."},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 1024, "completion_tokens": 8, "total_tokens": 1032},
}
MODELS = {"object": "list", "data": [{"id": "mock-vlm", "object": "model", "created": 1700000000, "owned_by": "mock"}]}
SIGNATURES = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png"}
PR_SET_PDEATHSIG = 1
"""From Linux's <sys/prctl.h>."""


class Inexact(Exception):
    """A body is wrong; the message says where."""


@dataclass(slots=True)
class Seen:
    """Counts of the received requests; `problems` are the first wrong bodies."""

    requests: int = 0
    exact: int = 0
    questions: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

    def stats(self) -> dict[str, Any]:
        """The answer to GET /stats."""
        return {
            "requests": self.requests,
            "exact": self.exact,
            "questions": len(self.questions),
            "problems": self.problems[:PROBLEMS_KEPT],
        }


def check(body: bytes, by_prompt: Mapping[str, Item]) -> str:
    """The id of the question that the body asks; raises Inexact."""
    images, prompt = _parts(body)
    item = by_prompt.get(prompt)
    if item is None:
        raise Inexact(f"no question has the prompt {prompt[:80]!r}")
    if len(images) != len(item.pages):
        raise Inexact(f"{item.ident}: {len(images)} images instead of {len(item.pages)}")
    for url, page in zip(images, item.pages, strict=True):
        _check_image(url, page)
    return item.ident


def _parts(body: bytes) -> tuple[list[str], str]:
    try:
        (message,) = json.loads(body.decode("utf-8"))["messages"]
        *images, text = message["content"]
        shape = [part["type"] for part in message["content"]], message["role"]
        if shape != (["image_url"] * len(images) + ["text"], "user"):
            raise Inexact(f"the message is {shape}")
        return [image["image_url"]["url"] for image in images], text["text"]
    except (ValueError, KeyError, TypeError) as error:
        raise Inexact(f"not the JSON of a chat request: {error!r}") from error


def _check_image(url: str, page: Path) -> None:
    prefix, _, encoded = url.partition(",")
    expected = page.read_bytes()
    mime = next(mime for signature, mime in SIGNATURES.items() if expected.startswith(signature))
    if prefix != f"data:{mime};base64":
        raise Inexact(f"{page.name}: sent as {prefix[:40]!r} instead of {mime}")
    try:
        sent = base64.b64decode(encoded, validate=True)
    except ValueError as error:
        raise Inexact(f"{page.name}: {error}") from error
    if hashlib.sha256(sent).digest() != hashlib.sha256(expected).digest():
        raise Inexact(f"{page.name}: other bytes than the file's ({len(sent)} against {len(expected)})")


async def read_request(reader: asyncio.StreamReader) -> tuple[str, str, bytes]:
    """Read one request: method, path and the whole body, sized or chunked."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return method, path, await _read_chunks(reader)
    return method, path, await reader.readexactly(int(headers.get("content-length", 0)))


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    chunks = []
    while size_bytes := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        chunks.append(await reader.readexactly(size_bytes))
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass
    return b"".join(chunks)


class VerifyServer:
    """Checks requests and gives the mock server's answers."""

    def __init__(self, items: list[Item]) -> None:
        self.by_prompt = {item.prompt: item for item in items}
        self.seen = Seen()

    def answer(self, method: str, path: str, body: bytes) -> dict[str, Any]:
        """Check a chat request, or answer a control path."""
        if method == "POST":
            self._note(body)
            return REPLY
        if path.startswith("/reset"):
            self.seen = Seen()
        return self.seen.stats() if path.startswith("/stats") else MODELS

    def _note(self, body: bytes) -> None:
        self.seen.requests += 1
        try:
            self.seen.questions.add(check(body, self.by_prompt))
            self.seen.exact += 1
        except Inexact as problem:
            self.seen.problems.append(str(problem))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until the client closes it; bytes that aren't a request are a problem too."""
        try:
            while True:
                request = await read_request(reader)
                json_bytes = json.dumps(self.answer(*request)).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
                writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(json_bytes), json_bytes))
                await writer.drain()
        except asyncio.IncompleteReadError as error:
            if error.partial:
                self.seen.problems.append(f"the connection ended within a request: {error.partial[:80]!r}")
        except (ValueError, asyncio.LimitOverrunError) as error:
            self.seen.problems.append(f"not HTTP: {error}")
        except ConnectionError:
            pass
        finally:
            writer.close()


async def _serve(checks: VerifyServer, port: int) -> None:
    server = await asyncio.start_server(checks.serve, "127.0.0.1", port, limit=HEAD_LIMIT_BYTES)
    print(f"listening on {server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def main(make: type[VerifyServer]) -> None:
    """Serve until killed, by the arguments of the command line."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)  # never outlive the benchmark
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_json", type=Path, required=True)
    parser.add_argument("--images_dir", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    asyncio.run(_serve(make(load(given.data_json, given.images_dir)), given.port))


if __name__ == "__main__":
    main(VerifyServer)

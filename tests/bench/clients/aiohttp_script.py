"""The best script with a library alone: aiohttp, and bodies encoded piece by piece while they are sent."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
from pybase64 import b64encode

from tests.bench.clients.longbench import MAX_TOKENS, MIME, MODEL, Item, load, options, result, write
from tests.bench.clients.loop_stall import watched

PIECE_BYTES = 48 * 1024
"""A multiple of 3, so that no base64 padding falls between two pieces."""
MARK = "\ue000"
"""Marks the place of an image in the JSON text; a private character that no prompt of the workloads contains."""


class Body:
    """A request's JSON as segments of text, with images between them."""

    def __init__(self, item: Item) -> None:
        images = [
            {"type": "image_url", "image_url": {"url": f"data:{MIME[p.suffix]};base64,{MARK}"}} for p in item.pages
        ]
        content = [*images, {"type": "text", "text": item.prompt}]
        request = {"model": MODEL, "max_tokens": MAX_TOKENS, "messages": [{"role": "user", "content": content}]}
        self.segments = [part.encode() for part in json.dumps(request, ensure_ascii=False).split(MARK)]
        self.pages = item.pages

    def size_bytes(self) -> int:
        """The length of the body, known from the sizes of the files."""
        encoded = sum((page.stat().st_size + 2) // 3 * 4 for page in self.pages)
        return encoded + sum(map(len, self.segments))

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body in pieces, as they are sent."""
        for segment, page in zip(self.segments, self.pages, strict=False):
            yield segment
            for piece in _encoded(page):
                yield piece
        yield self.segments[-1]


def _encoded(page: Path) -> Iterator[bytes]:
    with page.open("rb", buffering=0) as file:
        while piece := file.read(PIECE_BYTES):
            yield b64encode(piece)


async def ask(session: aiohttp.ClientSession, url: str, item: Item) -> dict[str, Any]:
    """Ask one question; a failure gives a row with an error."""
    body = Body(item)
    headers = {"Content-Type": "application/json", "Content-Length": str(body.size_bytes())}
    try:
        async with session.post(url, data=body.pieces(), headers=headers) as response:
            response.raise_for_status()
            reply = await response.json()
    except (aiohttp.ClientError, TimeoutError) as error:
        return result(item, "") | {"error": str(error)}
    return result(item, reply["choices"][0]["message"]["content"])


async def main() -> None:
    """Ask all questions with a fixed number of workers on one iterator, then write the report."""
    chosen = options()
    items = iter(load(chosen.data_json, chosen.images_dir, chosen.limit))
    results: list[dict[str, Any]] = []
    url = f"{chosen.base_url}/chat/completions"

    async def work(session: aiohttp.ClientSession) -> None:
        for item in items:
            results.append(await ask(session, url, item))

    async with watched(), aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*[work(session) for _ in range(chosen.max_workers)])
    write(results, chosen.output)


if __name__ == "__main__":
    asyncio.run(main())

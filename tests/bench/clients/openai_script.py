"""The script people write: AsyncOpenAI, a semaphore, base64 into a data URL, gather over everything."""

import asyncio
import base64
from typing import Any

from openai import AsyncOpenAI

from tests.bench.clients.longbench import MAX_TOKENS, MIME, MODEL, Item, load, options, result, write
from tests.bench.clients.loop_stall import watched


def messages(item: Item) -> Any:
    """Build the one user message: the pages as data URLs, then the prompt."""
    content: list[dict[str, Any]] = []
    for page in item.pages:
        encoded = base64.b64encode(page.read_bytes()).decode("utf-8")
        content.append({"type": "image_url", "image_url": {"url": f"data:{MIME[page.suffix]};base64,{encoded}"}})
    return [{"role": "user", "content": [*content, {"type": "text", "text": item.prompt}]}]


async def ask(client: AsyncOpenAI, semaphore: asyncio.Semaphore, item: Item) -> dict[str, Any]:
    """Ask one question; a failure gives a row with an error, and the others are still asked."""
    async with semaphore:
        try:
            completion = await client.chat.completions.create(
                model=MODEL, messages=messages(item), max_tokens=MAX_TOKENS
            )
        except Exception as error:
            return result(item, "") | {"error": str(error)}
        return result(item, completion.choices[0].message.content or "")


async def main() -> None:
    """Ask everything, then write everything."""
    chosen = options()
    items = load(chosen.data_json, chosen.images_dir, chosen.limit)
    semaphore = asyncio.Semaphore(chosen.max_workers)
    async with watched(), AsyncOpenAI(base_url=chosen.base_url, api_key="none") as client:
        results = await asyncio.gather(*[ask(client, semaphore, item) for item in items])
    write(results, chosen.output)


if __name__ == "__main__":
    asyncio.run(main())

"""The other script that people write: the synchronous OpenAI client in a pool of threads."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from openai import OpenAI

from tests.bench.clients.longbench import MAX_TOKENS, MODEL, Item, load, options, result, write
from tests.bench.clients.openai_script import messages


def ask(client: OpenAI, item: Item) -> dict[str, Any]:
    """Ask one question; a failure gives a row with an error."""
    try:
        completion = client.chat.completions.create(model=MODEL, messages=messages(item), max_tokens=MAX_TOKENS)
    except Exception as error:
        return result(item, "") | {"error": str(error)}
    return result(item, completion.choices[0].message.content or "")


def main() -> None:
    """Ask everything, then write everything."""
    chosen = options()
    items = load(chosen.data_json, chosen.images_dir, chosen.limit)
    with (
        OpenAI(base_url=chosen.base_url, api_key="none") as client,
        ThreadPoolExecutor(chosen.max_workers) as pool,
    ):
        results = list(pool.map(lambda item: ask(client, item), items))
    write(results, chosen.output)


if __name__ == "__main__":
    main()

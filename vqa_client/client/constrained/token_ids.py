"""The tokens by which a model may begin to write a label, as numbers: told by vLLM's /tokenize."""

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

import httpx2
import msgspec

from vqa_client.client.endpoint import GET_TIMEOUT_S, Endpoint
from vqa_client.client.probing.replies import json_object

BEFORE: Final = ("", " ", "\n", "(")
"""What may stand before a label: the last token of " A" is " A" in one vocabulary and "A" in another."""


async def ids_of_labels(endpoint: Endpoint, model_name: str, labels: Sequence[str]) -> list[int]:
    """All tokens that end in a label of one letter; none where the server doesn't say, or takes labels for the same."""
    found: dict[str, set[int]] = {}
    if not await _tokens(endpoint, model_name, "".join(labels)):
        return []
    for label in labels if all(len(label) == 1 for label in labels) else ():
        tokenised = [await _tokens(endpoint, model_name, before + label) for before in BEFORE]
        found[label] = {tokens[-1] for tokens in tokenised if tokens}
    ids = sorted(set[int]().union(*found.values()))
    return ids if all(found.values()) and len(ids) == sum(map(len, found.values())) else []


async def _tokens(endpoint: Endpoint, model_name: str, text: str) -> list[int]:
    """The tokens of a text; none where that isn't told."""
    body = msgspec.json.encode({"model": model_name, "prompt": text, "add_special_tokens": False})
    try:
        async with asyncio.timeout(GET_TIMEOUT_S):
            response = await endpoint.at_root().post("/tokenize", body)
    except (TimeoutError, httpx2.TransportError, OSError):
        return []
    tokens = json_object(response.content).get("tokens") if response.status_code == HTTPStatus.OK else None
    if not isinstance(tokens, list) or not all(isinstance(token, int) for token in tokens):
        return []
    return tokens

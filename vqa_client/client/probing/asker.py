"""The wire of a check: one request at a time is sent, and whatever becomes of it is a reply."""

import asyncio
from typing import Any

import httpx2
import msgspec
from msgspec import Struct

from vqa_client.client.body import Dialect
from vqa_client.client.endpoint import Endpoint
from vqa_client.client.probing.asks import USUAL, Ask, Reply, body_of, heard, json_object
from vqa_client.model_config import ModelSettings

TIMEOUT_S = 30.0
GET_TIMEOUT_S = 3.0


class Got(Struct, frozen=True, kw_only=True):
    """What a GET brought; `http_status` is 0 where nothing came."""

    http_status: int = 0
    headers: dict[str, str] = {}
    body: dict[str, Any] = {}


class Asker:
    """Sends the requests of a check to one address, and keeps the replies that were completions in `answered`."""

    def __init__(self, endpoint: Endpoint, model: ModelSettings, *, timeout_s: float = TIMEOUT_S) -> None:
        self.endpoint = endpoint
        self.model = model.model_copy(update={"thinking": None})  # its form is what the check finds out
        self.timeout_s = timeout_s
        self.dialect = Dialect()
        self.answered: list[Reply] = []

    async def ask(self, ask: Ask) -> Reply:
        """Ask, and once more for each way in which the server wants a plain request to be different."""
        sent = self.dialect
        reply = await self._ask(ask, sent)
        while (
            not ask.fields
            and reply.completion is None
            and (wanted := self.dialect.after(reply.refusal, USUAL, sent=sent))
        ):
            sent = self.dialect = wanted
            reply = await self._ask(ask, sent)
        if reply.completion is not None:
            self.answered.append(reply)
        return reply

    async def all(self, asks: tuple[Ask, ...]) -> list[Reply]:
        return list(await asyncio.gather(*map(self.ask, asks)))

    async def get(self, path: str, *, at_root: bool = False) -> Got:
        """GET a path under the base address, or under what stands before /v1."""
        endpoint = self.endpoint.at_root() if at_root else self.endpoint
        try:
            response = await endpoint.get(path, timeout_s=GET_TIMEOUT_S)
        except (httpx2.TransportError, OSError):
            return Got()
        return Got(http_status=response.status_code, headers=response.headers, body=json_object(response.content))

    async def _ask(self, ask: Ask, dialect: Dialect) -> Reply:
        body = body_of(ask, self.model, dialect)
        try:
            async with asyncio.timeout(self.timeout_s):
                response = await self.endpoint.chat(body)
        except (TimeoutError, httpx2.TimeoutException):
            return Reply(refusal=f"no reply within {self.timeout_s:g} s", status="timeout")
        except (httpx2.TransportError, OSError) as error:
            return Reply(refusal=str(error) or type(error).__name__, status="connection")
        reply = heard(response.status_code, response.headers, response.content)
        return msgspec.structs.replace(reply, refusal=self.endpoint.redacted(reply.refusal))

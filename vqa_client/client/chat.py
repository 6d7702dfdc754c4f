"""Ask one question until it is answered or has failed for good."""

import asyncio
import math
import random
import re
import time
from collections.abc import Callable
from http import HTTPStatus

import httpx2
import msgspec

from vqa_client.client.body import Body, Dialect, EncodedPieces, RequestTemplate, Upload
from vqa_client.client.endpoint import Endpoint
from vqa_client.client.failures import BODY_CHARACTERS, MEGABYTE, Verdict
from vqa_client.client.limits import Outage, Pause
from vqa_client.client.retry import backoff_s, retry_after_s
from vqa_client.client.wire import NotACompletion, read_reply
from vqa_client.errors import QuestionFailed
from vqa_client.model_config import ModelSettings
from vqa_client.types import Completion, Request, Status

RATE_LIMIT_PATIENCE_S = 3600.0
"""How long one question may be put off by a server that limits the rate of requests."""
STILL_ANSWERS_S = 60.0
TEMPLATE_TOKENS, CHARACTERS_PER_TOKEN, LEAST_IMAGE_TOKENS = 40, 3, 10
"""Generous for what a chat template adds and a text needs; the smallest image costs any model more than the last."""
PAUSES = {
    "named": "the server asks for a pause of {:.0f} s; all workers wait",
    "rate_limited": "the server limits the rate of requests; all workers slow down",
    "server_error": "the server is loading its model; all workers wait",
}
LOADING_POLL_S = 1.0
LOST_CONNECTIONS = 20
"""How often one question waits for a server that answers a probe and then refuses the question's connection."""

_LOST = Verdict("connection", retry=True)


class ChatClient:
    """The asker that all workers share; `note` is told what people should know, once."""

    def __init__(
        self,
        endpoint: Endpoint,
        model: ModelSettings,
        *,
        encode: EncodedPieces,
        outage: Outage,
        max_retries: int,
        loading_patience_s: float,
        note: Callable[[str], None],
    ) -> None:
        self.endpoint = endpoint
        self.model = model
        self._encode = encode
        self.outage = outage
        self.max_retries = max_retries
        self.loading_patience_s = loading_patience_s
        self.note = note
        self.chance = random.Random()
        self._told: set[str] = set()
        self.answered_s = -math.inf
        self.pause = Pause()
        self.dialect = Dialect()
        self.template = RequestTemplate(model, self.dialect, encode)

    async def complete(self, request: Request) -> Completion:
        """Ask, and ask again where that may help; raises QuestionFailed, or ServerUnusable when the server is gone."""
        return await _Asking(self, request).complete()

    def adapted(self, message: str, template: RequestTemplate) -> bool:
        """Change the request's dialect where a complaint about `template` names what is wanted; True: ask again."""
        if self.template is not template:  # another worker has changed it meanwhile
            return True
        dialect = self.dialect
        if dialect.max_tokens_name == "max_tokens" and _OTHER_LIMIT.search(message):
            dialect.max_tokens_name = "max_completion_tokens"
        elif dialect.send_temperature and "temperature" in template.parameters and _NO_TEMPERATURE.search(message):
            dialect.send_temperature = False
        else:
            return False
        self.template = RequestTemplate(self.model, dialect, self._encode)
        self.note(f"the server wants another form of request: {'; '.join(dialect.described())} (recorded)")
        return True

    def doubt_sight(self, prompt_tokens: int | None, request: Request) -> None:
        """Say so once when the server counted no more tokens than the text alone may have."""
        images = request.images
        most = TEMPLATE_TOKENS + len(request.text) / CHARACTERS_PER_TOKEN + LEAST_IMAGE_TOKENS * len(images)
        if images and prompt_tokens is not None and prompt_tokens < most and "blind" not in self._told:
            self._told.add("blind")
            shown = f"{len(images)} images" if len(images) > 1 else "an image"
            self.note(f"the server counted {prompt_tokens} prompt tokens for a text and {shown}: does it see images?")

    def pause_all(self, seconds: float, why: str) -> None:
        """Let no worker send for so long; `why` is a key of PAUSES."""
        if why in PAUSES and seconds > 1 and self.pause.left_s == 0 and why not in self._told:
            self.note(PAUSES[why].format(seconds))
            self._told |= {why} - {"named"}
        self.pause.ask(seconds)


class _Asking:
    """One question's way through the attempts."""

    def __init__(self, chat: ChatClient, request: Request) -> None:
        self._chat = chat
        self._request = request
        self._attempts = 0
        self._failures = 0
        self._limited = 0
        self._cuts = 0
        self._lost = 0
        self._put_off_s = 0.0
        self._started_s = 0.0
        self._spent_s = 0.0
        self._size_bytes = 0

    async def complete(self) -> Completion:
        while True:
            await self._chat.pause.over()
            template = self._chat.template
            body = template.body(self._request)
            self._size_bytes = body.size_bytes
            noticed_s = time.monotonic()
            try:
                response = await self._send(body)
                self._attempts += 1
                return self._answer(response, body)
            except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
                await self._wait_for_server(error, noticed_s)
            except httpx2.TransportError as error:
                self._attempts += 1
                await self._connection_lost(error, body)
            except NotACompletion as reply:
                if not self._chat.adapted(reply.message, template):
                    await self._refused(reply, response.headers, response.status_code)

    async def _send(self, body: Body) -> httpx2.Response:
        """One attempt within what is left of the question's time, which runs from its first byte sent.

        What the server asked to wait, and its absence, are no time of the question's: a Retry-After loses none.
        """
        endpoint = self._chat.endpoint
        left_s = self._chat.model.timeout_s - self._spent_s
        self._started_s = math.inf
        try:
            async with asyncio.timeout(None) as deadline:

                def started() -> None:
                    self._started_s = time.monotonic()
                    deadline.reschedule(asyncio.get_running_loop().time() + left_s)

                return await endpoint.send(endpoint.chat_request(Upload(body, started), body.size_bytes))
        except (TimeoutError, httpx2.ReadTimeout):
            self._attempts += 1
            raise self._too_late() from None
        finally:
            self._spent_s += max(0.0, time.monotonic() - self._started_s)

    def _too_late(self) -> QuestionFailed:
        message = f"no complete reply within {self._chat.model.timeout_s:g} s"
        if self._attempts > 1:
            message += f" in {self._attempts} attempts"
        hint = "raise --timeout or the config's timeout, or lower --max_workers"
        return self._failed("timeout", message, hint=hint)

    def _answer(self, response: httpx2.Response, body: Body) -> Completion:
        content_type = response.headers.get("content-type", "")
        completion = read_reply(response.status_code, content_type, response.content, body.size_bytes)
        self._chat.doubt_sight(completion.prompt_tokens, self._request)
        self._chat.answered_s = time.monotonic()
        latency_s = self._chat.answered_s - self._started_s
        return msgspec.structs.replace(
            completion, latency_s=latency_s, attempts=self._attempts, request_bytes=body.size_bytes
        )

    async def _wait_for_server(self, error: httpx2.TransportError, noticed_s: float) -> None:
        self._lost += 1
        if self._lost > LOST_CONNECTIONS:
            raise self._failed("connection", f"no connection to the server: {error}")
        await self._chat.outage.over(noticed_s)

    async def _connection_lost(self, error: httpx2.TransportError, body: Body) -> None:
        self._cuts += 1
        if self._cuts > 1 and body.size_bytes > MEGABYTE and await self._answers_others():
            message = f"the server cut the connection twice on a body of {body.size_bytes / MEGABYTE:.1f} MB: {error}"
            raise self._failed(
                "rejected", message, hint="a gateway's limit may be below that: --max_pixels, --max_pages"
            )
        await self._again(_LOST, str(error) or type(error).__name__)

    async def _answers_others(self) -> bool:
        try:
            return (await self._chat.endpoint.get("/models")).status_code < HTTPStatus.INTERNAL_SERVER_ERROR
        except httpx2.TransportError:
            return False

    async def _refused(self, reply: NotACompletion, headers: httpx2.Headers, http_status: int) -> None:
        """Wait where the server only puts the question off; other faults are charged to it."""
        verdict = reply.verdict
        wish_s = retry_after_s(headers, time.time()) if verdict.retry else None
        wait_s = self._put_off(verdict, wish_s)
        if wait_s is not None:
            self._put_off_s += wait_s
            patience_s = self._chat.loading_patience_s if verdict.loading else RATE_LIMIT_PATIENCE_S
            if self._put_off_s <= patience_s:
                self._chat.pause_all(wait_s, verdict.status if wish_s is None else "named")
                return
            verdict = msgspec.structs.replace(verdict, retry=False)
        await self._again(verdict, reply.message, http_status=http_status, body=reply.body, wish_s=wish_s)

    def _put_off(self, verdict: Verdict, wish_s: float | None) -> float | None:
        """For how long the question is put off without a charge; None where the refusal is a fault.

        A rate limit that names no time is a fault only where nobody was answered for a while.
        """
        if verdict.loading:
            return wish_s or LOADING_POLL_S
        if verdict.status != "rate_limited" or wish_s is not None:
            return wish_s if verdict.status == "rate_limited" else None
        if time.monotonic() - self._chat.answered_s > STILL_ANSWERS_S:
            return None
        self._limited += 1
        return backoff_s(self._limited, self._chat.chance)

    async def _again(
        self,
        verdict: Verdict,
        message: str,
        *,
        http_status: int | None = None,
        body: str = "",
        wish_s: float | None = None,
    ) -> None:
        self._failures += 1
        if not verdict.retry or self._failures > self._chat.max_retries:
            raise self._failed(verdict.status, message, http_status=http_status, body=body, hint=verdict.hint)
        wait_s = wish_s if wish_s is not None else backoff_s(self._failures, self._chat.chance)
        if wish_s is not None or verdict.status == "rate_limited":
            self._chat.pause_all(wait_s, verdict.status if wish_s is None else "named")
        else:
            self._spent_s += wait_s
            if self._spent_s >= self._chat.model.timeout_s:
                raise self._too_late()
            await asyncio.sleep(wait_s)

    def _failed(
        self, status: Status, message: str, *, http_status: int | None = None, body: str = "", hint: str = ""
    ) -> QuestionFailed:
        return QuestionFailed(
            status,
            self._chat.endpoint.redacted(message)[:BODY_CHARACTERS],
            http_status=http_status,
            body=self._chat.endpoint.redacted(body)[:BODY_CHARACTERS],
            hint=hint,
            attempts=self._attempts,
            request_bytes=self._size_bytes,
        )


_OTHER_LIMIT = re.compile(
    r"max_tokens.{0,80}(unsupported|not supported|deprecated|instead).{0,80}max_completion_tokens|"
    r"(unsupported|unknown|unrecogni[sz]ed).{0,60}max_tokens.{0,120}max_completion_tokens|"
    r"use ['\"`]?max_completion_tokens",
    re.IGNORECASE | re.DOTALL,
)
"""A complaint about the limit's name, and not about its size."""
_NO_TEMPERATURE = re.compile(
    r"temperature.{0,80}(unsupported|not support|only the default|deprecated)|"
    r"(unsupported|does not support).{0,80}temperature",
    re.IGNORECASE | re.DOTALL,
)

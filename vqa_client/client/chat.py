"""Ask one question until it is answered or fails."""

import asyncio
import math
import random
import time
from http import HTTPStatus

import httpx2
import msgspec
from msgspec.structs import replace

from vqa_client.client.body import THINKING, Body, Dialect, RequestTemplate, Upload
from vqa_client.client.direct import CONNECT_TIMEOUT_S
from vqa_client.client.failures import BODY_CHARACTERS, MEGABYTE
from vqa_client.client.limits import BatchGate, BatchSlot
from vqa_client.client.messages import Response
from vqa_client.client.probing.findings import CHARACTERS_PER_TOKEN, TEMPLATE_TOKENS
from vqa_client.client.reply_room import without_frames
from vqa_client.client.retry import (
    LOST_CONNECTIONS,
    STILL_ANSWERS_S,
    Again,
    Cut,
    Fail,
    Late,
    Limits,
    Move,
    Outcome,
    Refused,
    Resend,
    ServerLost,
    Stop,
    Tried,
    Unconnected,
    next_step,
    retry_after_s,
)
from vqa_client.client.routes import Route, Routes
from vqa_client.client.streamed import first_text_end
from vqa_client.client.wire import NotACompletion, read_reply
from vqa_client.errors import QuestionFailed, ServerUnusable
from vqa_client.model_config import ModelSettings
from vqa_client.types import Completion, Note, Parts, Request

LEAST_IMAGE_TOKENS = 10
"""Every model counts more for the smallest image."""


class Doubts:
    """Doubts about the server that replies raise; each is noted once."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._named = ""
        self._renamed = self._sees = False

    def trust_sight(self) -> None:
        """The check found that the server sees images: don't doubt it because of token counts."""
        self._sees = True

    def check_reply(self, completion: Completion, request: Request) -> None:
        """Compare a reply with its request and with earlier replies."""
        if completion.prompt_tokens is not None and not self._sees:
            self._doubt_sight(completion.prompt_tokens, request.parts())
        if completion.model != self._named and completion.model:
            self._doubt_model(completion.model)

    def _doubt_sight(self, prompt_tokens: int, parts: Parts) -> None:
        """Note if the server counted no more tokens than the text alone may have."""
        texts = [part for part in parts if isinstance(part, str)]
        images = len(parts) - len(texts)
        most = TEMPLATE_TOKENS + sum(map(len, texts)) / CHARACTERS_PER_TOKEN + LEAST_IMAGE_TOKENS * images
        if images and prompt_tokens < most:
            self._sees = True  # note it only once
            shown = f"{images} images" if images > 1 else "an image"
            self._note(f"the server counted {prompt_tokens} prompt tokens for a text and {shown}: does it see images?")

    def _doubt_model(self, named: str) -> None:
        """Note if the model's name has changed: the server may have been replaced during the run."""
        if self._named and not self._renamed:
            self._renamed = True
            self._note(f"replies name {named[:80]}, and {self._named[:80]} before: is it still the same model?")
        self._named = self._named or named


PAUSES = {
    "named": "{} asks for a pause of {:.0f} s; all its workers wait",
    "rate_limited": "{} limits the rate of requests; all its workers slow down",
    "server_error": "{} is loading its model; all its workers wait",
}
MISSES = 2
"""How often one question may find that the server has dropped its images."""


class _ServerLost(Exception):
    """The server was lost during the attempt; the question goes to another server without a charge."""


class _Late(Exception):
    """There was no reply in time."""


class ChatClient:
    """The client that all workers share; `note` gets what the user should know, once."""

    def __init__(self, routes: Routes, model: ModelSettings, *, limits: Limits, dialect: Dialect, note: Note) -> None:
        self.routes = routes
        self.model = model
        self.late_s = model.timeout_s / 2
        self.limits = limits
        self.note = note
        self.chance = random.Random()
        self.doubts = Doubts(note)
        self._noted: set[str] = set()
        self.template = RequestTemplate(model, dialect)

    async def complete(self, request: Request) -> Completion:
        """Ask, with retries where they may help; raises QuestionFailed, or ServerUnusable if the server is gone."""
        return await _Asking(self, request).complete()

    def adapt_dialect(self, message: str, template: RequestTemplate) -> bool:
        """Change the dialect if a complaint about `template` asks for it; True if the question has to be sent again."""
        dialect = self.template.dialect.after(message, template.parameters, sent=template.dialect)
        if dialect is not None and dialect != self.template.dialect:
            self.template = RequestTemplate(self.model, dialect)
            self.note(f"the server needs a different request format: {'; '.join(dialect.described())} (recorded)")
        return dialect is not None

    def switch_thinking(self, kind: str) -> None:
        """Send the switch of thinking in the form for a kind of server."""
        dialect = replace(self.template.dialect, thinking=THINKING.get(kind, Dialect().thinking))
        self.template = RequestTemplate(self.model, dialect)

    def pause(self, route: Route, seconds: float, why: str) -> None:
        """Pause all workers' requests to this server; `why` may be a key of PAUSES."""
        if why in PAUSES and seconds > 1 and route.pause.left_s == 0 and why not in self._noted:
            self.note(PAUSES[why].format(self.routes.name_of(route), seconds))
            self._noted |= {why} - {"named"}
        route.pause.extend(seconds)


class _Asking:
    """The attempts of one question: send the request, describe its outcome to the policy, and follow the policy."""

    def __init__(self, chat: ChatClient, request: Request) -> None:
        self._chat = chat
        self._request = request
        self._tried = Tried()
        self._failed_at: Route | None = None
        self._attempts = self._misses = self._ahead = self._answered_before = 0
        self._suspected = False
        self._size_bytes = 0
        self._started_s = self._took_s = 0.0
        self._slot: BatchSlot

    async def complete(self) -> Completion:
        routes, first = self._chat.routes, False
        while True:
            tokens, outcome = await routes.allowance.enter(self._request, self._chat.model.max_tokens), None
            try:
                free = routes.take_free(self._request, self._failed_at)
                route = free or await routes.take(self._request, self._failed_at, first=first)
                self._took_s = 0.0
                try:
                    outcome = await self._outcome(route, self._chat.template)
                    if isinstance(outcome, Completion):
                        return outcome
                    step = self._follow_policy(route, outcome)
                finally:
                    route.window.leave()
            finally:
                routes.allowance.leave(tokens, outcome)
            if step.wait_s:
                routes.repeating += 1
                try:
                    await asyncio.sleep(step.wait_s)
                finally:
                    routes.repeating -= 1
            first = step.first

    def _follow_policy(self, route: Route, outcome: Outcome) -> Again:
        """Take the policy's next step after an outcome; raises QuestionFailed or ServerUnusable."""
        routes, before = self._chat.routes, self._tried
        self._tried, step = next_step(before, outcome, self._took_s, self._chat.limits, self._chat.chance)
        if isinstance(step, Stop):
            hint = "run the same command again after that time"
            raise ServerUnusable(f"{routes.name_of(route)} {step.message}", hint=hint)
        if isinstance(step, Move):
            if step.drain:
                routes.drain(route, step.drain)
            return Again()
        if step.fault:
            self._failed_at = route
            routes.count_fault(route, step.fault)
            if route.lost:
                self._tried = replace(self._tried, failures=before.failures, spent_s=before.spent_s)
                return Again(first=isinstance(step, Again) and step.first)
        if isinstance(step, Fail):
            raise self._failure(route, step)
        if step.pause_s is not None:
            self._chat.pause(route, step.pause_s, step.why)
        return step

    async def _outcome(self, route: Route, template: RequestTemplate) -> Completion | Outcome:
        noticed_s = time.monotonic()
        try:
            if route.gate is None:
                return await self._attempt(route, template)
            return await self._attempt_in_batch(route, route.gate, template)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            return await self._after_no_connection(route, error, noticed_s)
        except httpx2.TransportError as error:
            return await self._after_lost_connection(route, error)
        except NotACompletion as reply:
            without_frames(reply)
            return self._refusal(route, reply, template)
        except _Late:
            return Late(
                route.window.note_timeout(
                    sent_s=self._started_s,
                    timeout_s=self._chat.limits.timeout_s,
                    ahead=self._ahead,
                    answered=route.answered - self._answered_before,
                )
            )
        except _ServerLost:
            return ServerLost()

    async def _attempt(self, route: Route, template: RequestTemplate) -> Completion:
        if route.uploads is None:
            return self._completion_of(route, await self._send(route, template.body(self._request)))
        with await route.uploads.sending(self._request.images, whole=self._misses > 1) as sending:
            if route.lost:
                raise _ServerLost
            completion = self._completion_of(
                route, await self._send(route, template.body(self._request, sending.parts()))
            )
            sending.arrived()
            return completion

    async def _attempt_in_batch(self, route: Route, gate: BatchGate, template: RequestTemplate) -> Completion:
        """One attempt at a server that answers in batches: only requests with equal settings are in flight with it."""
        kind = template, msgspec.json.encode(self._request.parameters)
        async with gate.slot(kind, alone=self._suspected) as self._slot:
            if route.lost:
                raise _ServerLost
            return await self._attempt(route, template)

    def _completion_of(self, route: Route, response: Response) -> Completion:
        status, headers = response.status_code, response.headers
        if len(self._chat.routes.all) == 1:
            self._chat.routes.allowance.read_headers(headers)
        location = route.endpoint.redirected_to(response) if 300 <= status < 400 else ""
        try:
            completion = read_reply(
                status, headers.get("content-type", ""), response.content, self._size_bytes, location
            )
        except NotACompletion as reply:
            reply.http_status, reply.headers = status, headers
            raise
        self._chat.doubts.check_reply(completion, self._request)
        answered_s = time.monotonic()
        latency_s = answered_s - self._started_s
        route.note_answer(answered_s)
        route.window.note_answer(late=latency_s > self._chat.late_s)
        return replace(
            completion,
            latency_s=latency_s,
            ttft_s=self._ttft_s(response) if self._chat.template.dialect.stream else None,
            attempts=self._attempts,
            request_bytes=self._size_bytes,
        )

    def _ttft_s(self, response: Response) -> float | None:
        """The time to the first token; None if the reply is not a stream."""
        end = first_text_end(response.content) or math.inf
        return next((at_s - self._started_s for at_s, size_bytes in response.arrived if size_bytes >= end), None)

    async def _send(self, route: Route, body: Body) -> Response:
        """Send one attempt, within the rest of the question's time, which starts with its first byte.

        Pauses that the server asked for, and its outages, don't count as the question's time. Each upload of the body
        counts as an attempt, whichever layer repeats it.
        """
        self._size_bytes = body.size_bytes
        left_s = self._chat.limits.timeout_s - self._tried.spent_s
        self._started_s = math.inf
        try:
            async with asyncio.timeout(None) as deadline:

                def started() -> None:
                    self._attempts += 1
                    if self._started_s < math.inf:
                        return
                    self._started_s = time.monotonic()
                    self._ahead, self._answered_before = route.at_work, route.answered
                    route.at_work += 1
                    if not route.lost:
                        route.deadlines.set(deadline, left_s)

                route.deadlines.set(deadline, math.inf)
                return await route.endpoint.post(Upload(body, started), timeout_s=left_s)
        except (TimeoutError, httpx2.ReadTimeout):
            raise (_ServerLost if route.lost else _Late) from None
        finally:
            route.deadlines.discard(deadline)
            route.at_work -= self._started_s < math.inf
            self._took_s = max(0.0, time.monotonic() - self._started_s)

    async def _after_no_connection(self, route: Route, error: httpx2.TransportError, noticed_s: float) -> Outcome:
        if self._tried.unconnected < LOST_CONNECTIONS:
            await self._chat.routes.drain_or_wait(route, _words(error), noticed_s)
        if isinstance(error, httpx2.ConnectTimeout) and not route.lost:  # the server was there: charge the time
            return Unconnected(str(error), min(CONNECT_TIMEOUT_S, self._chat.limits.timeout_s - self._tried.spent_s))
        return Unconnected(str(error))

    async def _after_lost_connection(self, route: Route, error: httpx2.TransportError) -> Outcome:
        if await self._chat.routes.is_gone(route, _words(error)):
            return ServerLost()
        large_again = self._tried.cuts > 0 and self._size_bytes > MEGABYTE
        return Cut(_words(error), self._size_bytes, large_again and await route.endpoint.answers())

    def _refusal(self, route: Route, reply: NotACompletion, template: RequestTemplate) -> Outcome:
        """Describe a refusal to the policy; a server with too many requests gets a smaller window."""
        if (
            self._chat.adapt_dialect(reply.message, template)
            or self._misses_images(route, reply.message)
            or self._may_be_anothers_failure(route, reply.http_status)
        ):
            return Resend()
        refused = Refused(
            reply.verdict,
            route.endpoint.redacted(reply.message)[:BODY_CHARACTERS],
            reply.http_status,
            body=reply.body,
            wish_s=retry_after_s(reply.headers, time.time()) if reply.verdict.retry else None,
            others=self._chat.routes.has_others(route),
            answers=time.monotonic() - route.answered_s <= STILL_ANSWERS_S,
        )
        if not refused.crowded:
            return refused
        return replace(refused, kept=route.window.note_refusal(limited=refused.limited))

    def _may_be_anothers_failure(self, route: Route, http_status: int) -> bool:
        """Whether another question of the batch may have caused the failure: then ask this one again, alone."""
        if route.gate is None or self._slot.alone or http_status != HTTPStatus.INTERNAL_SERVER_ERROR:
            return False
        self._suspected = True
        return True

    def _misses_images(self, route: Route, message: str) -> bool:
        """Whether the server lacks images that were sent by name; raises ServerUnusable if it reads no files."""
        uploads = route.uploads
        if uploads is None:
            return False
        if end := uploads.ending_error(message):
            raise end
        if self._misses < MISSES and uploads.note_miss(message, self._request.images):
            self._misses += 1
            return True
        return False

    def _failure(self, route: Route, fail: Fail) -> QuestionFailed:
        message, hint = fail.message, fail.hint
        if fail.status == "timeout":
            again = f" in {self._attempts} attempts" if self._attempts > 1 else ""
            message = f"no complete reply within {self._chat.limits.timeout_s:g} s{again}"
            hint = "raise --timeout or the config's timeout, or lower --max_workers"
        return QuestionFailed(
            fail.status,
            route.endpoint.redacted(message)[:BODY_CHARACTERS],
            http_status=fail.http_status,
            body=route.endpoint.redacted(fail.body)[:BODY_CHARACTERS],
            hint=hint,
            attempts=self._attempts,
            request_bytes=self._size_bytes,
        )


def _words(error: httpx2.TransportError) -> str:
    return str(error) or type(error).__name__

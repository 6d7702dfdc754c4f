"""Ask one question until it is answered or has failed."""

import asyncio
import math
import random
import time
from collections.abc import Callable
from http import HTTPStatus

import httpx2
import msgspec

from vqa_client.client.body import Body, Dialect, EncodedPieces, RequestTemplate, Upload
from vqa_client.client.direct import CONNECT_TIMEOUT_S
from vqa_client.client.doubts import Doubts
from vqa_client.client.failures import BODY_CHARACTERS, CROWDED, FAULTS, LOST, MEGABYTE, Verdict
from vqa_client.client.flight import Flight, Seat
from vqa_client.client.messages import Response
from vqa_client.client.reply_room import without_frames
from vqa_client.client.retry import backoff_s, retry_after_s
from vqa_client.client.routes import MOVE_S, Route, Routes
from vqa_client.client.uploading.uploads import Uploads
from vqa_client.client.wire import NotACompletion, read_reply
from vqa_client.errors import QuestionFailed, ServerUnusable
from vqa_client.model_config import ModelSettings
from vqa_client.types import Completion, Request, Status

RATE_LIMIT_PATIENCE_S = 3600.0
"""How long one question may be put off by a server that limits the rate of requests."""
STILL_ANSWERS_S = 60.0
TURNS = 1
"""How often one question only waits for another one to end; one that is refused more often slows all workers down."""
PAUSES = {
    "named": "{} asks for a pause of {:.0f} s; all its workers wait",
    "rate_limited": "{} limits the rate of requests; all its workers slow down",
    "server_error": "{} is loading its model; all its workers wait",
}
LOADING_POLL_S = 1.0
LOST_CONNECTIONS = 20
"""How often one question waits for a server that answers a probe and then refuses the question's connection."""

MISSES = 2
"""How often one question may be told that an image has to be sent again."""


class _Moved(Exception):
    """The server was given up while it had the question, which goes to another one as if it had not been asked."""


class _Late(Exception):
    """No reply in time."""


class ChatClient:
    """The asker that all workers share; `note` is told what people should know, once."""

    def __init__(
        self,
        routes: Routes,
        model: ModelSettings,
        *,
        encode: EncodedPieces,
        max_retries: int,
        loading_patience_s: float,
        note: Callable[[str], None],
    ) -> None:
        self.routes = routes
        self.model = model
        self.late_s = model.timeout_s / 2
        self._encode = encode
        self.max_retries = max_retries
        self.loading_patience_s = loading_patience_s
        self.note = note
        self.chance = random.Random()
        self.doubts = Doubts(note)
        self._told: set[str] = set()
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
        if not dialect.adapted(message, template.parameters):
            return False
        self.template = RequestTemplate(self.model, dialect, self._encode)
        self.note(f"the server wants another form of request: {'; '.join(dialect.described())} (recorded)")
        return True

    def pause(self, route: Route, seconds: float, why: str) -> None:
        """Let no worker send to this server for so long; `why` is a key of PAUSES."""
        if why in PAUSES and seconds > 1 and route.pause.left_s == 0 and why not in self._told:
            self.note(PAUSES[why].format(self.routes.name(route), seconds))
            self._told |= {why} - {"named"}
        route.pause.ask(seconds)


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
        self._misses = 0
        self._put_off_s = 0.0
        self._started_s = 0.0
        self._spent_s = 0.0
        self._lately_s = 0.0
        self._size_bytes = 0
        self._suspected = False
        self._first = False
        self._wait_s = 0.0
        self._ahead = self._answered_before = 0
        self._route: Route
        self._seat: Seat
        self._http_status = 0
        self._headers: dict[str, str]

    async def complete(self) -> Completion:
        while True:
            if self._wait_s:
                await asyncio.sleep(self._wait_s)
                self._wait_s = 0.0
            routes = self._chat.routes
            self._route = route = routes.ready(self._request) or await routes.take(self._request, first=self._first)
            template = self._chat.template
            noticed_s = time.monotonic()
            self._lately_s = 0.0
            self._first = False
            try:
                if route.flight is None:
                    return await self._attempt(route, template)
                return await self._in_flight(route, route.flight, template)
            except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
                await self._not_connected(route, error, noticed_s)
            except httpx2.TransportError as error:
                await self._connection_lost(route, error)
            except NotACompletion as reply:
                without_frames(reply)
                if not self._chat.adapted(reply.message, template):
                    self._refused(route, reply)
            except _Late:
                self._timed_out(route)
            except _Moved:
                self._spent_s -= self._lately_s
            finally:
                route.window.leave()

    async def _attempt(self, route: Route, template: RequestTemplate) -> Completion:
        if route.uploads is None:
            return self._answer(route, await self._send(route, template.body(self._request)))
        return await self._with_ways(route, route.uploads, template)

    async def _in_flight(self, route: Route, flight: Flight, template: RequestTemplate) -> Completion:
        """One attempt at a server that answers in batches, with none but its like in flight, or with none at all."""
        kind = template, msgspec.json.encode(self._request.parameters)
        async with flight.seat(kind, alone=self._suspected) as self._seat:
            if route.lost:
                raise _Moved
            return await self._attempt(route, template)

    def _failed_in_company(self, route: Route) -> bool:
        """Whether the failure may be another question's of the same batch: then this one is asked again, alone."""
        if route.flight is None or self._seat.alone or self._http_status != HTTPStatus.INTERNAL_SERVER_ERROR:
            return False
        self._suspected = True
        return True

    async def _with_ways(self, route: Route, uploads: Uploads, template: RequestTemplate) -> Completion:
        """One attempt, its images in the ways that this server takes them."""
        with await uploads.sending(self._request.images, whole=self._misses > 1) as sending:
            if route.lost:
                raise _Moved
            response = await self._send(route, template.body(self._request, sending.parts()))
            completion = self._answer(route, response)
            sending.arrived()
            return completion

    def _answer(self, route: Route, response: Response) -> Completion:
        self._http_status, self._headers = response.status_code, response.headers
        completion = read_reply(
            response.status_code,
            response.headers.get("content-type", ""),
            response.content,
            self._size_bytes,
            route.endpoint.redirected_to(response) if 300 <= response.status_code < 400 else "",
        )
        self._chat.doubts.look_at(completion, self._request)
        answered_s = time.monotonic()
        route.well(answered_s)
        route.window.answered(late=answered_s - self._started_s > self._chat.late_s)
        return msgspec.structs.replace(
            completion,
            latency_s=answered_s - self._started_s,
            attempts=self._attempts,
            request_bytes=self._size_bytes,
        )

    async def _send(self, route: Route, body: Body) -> Response:
        """One attempt within what is left of the question's time, which runs from its first byte sent.

        Time that the server asked to wait, and time that it was away, doesn't count against the question. Each pass
        over the body counts as a request sent, whichever layer repeats it.
        """
        self._size_bytes = body.size_bytes
        left_s = self._chat.model.timeout_s - self._spent_s
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
                        deadline.reschedule(asyncio.get_running_loop().time() + left_s)

                route.deadlines.add(deadline)
                return await route.endpoint.chat(Upload(body, started), timeout_s=left_s)
        except (TimeoutError, httpx2.ReadTimeout):
            raise (_Moved if route.lost else _Late) from None
        finally:
            route.deadlines.discard(deadline)
            route.at_work -= self._started_s < math.inf
            self._lately_s = max(0.0, time.monotonic() - self._started_s)
            self._spent_s += self._lately_s

    def _timed_out(self, route: Route) -> None:
        """Ask again where too many were asked at once; what is late by itself has failed."""
        lateness = route.window.timed_out(
            sent_s=self._started_s,
            timeout_s=self._chat.model.timeout_s,
            ahead=self._ahead,
            answered=route.answered - self._answered_before,
        )
        if lateness == "own":
            self._chat.routes.fault(route, "no reply in time")
            if route.lost:
                self._spent_s -= self._lately_s
                return
            raise self._too_late()
        self._failures += lateness == "backlog"
        if self._failures > self._chat.max_retries:
            raise self._too_late()
        self._spent_s = 0.0

    def _too_late(self) -> QuestionFailed:
        message = f"no complete reply within {self._chat.model.timeout_s:g} s"
        if self._attempts > 1:
            message += f" in {self._attempts} attempts"
        hint = "raise --timeout or the config's timeout, or lower --max_workers"
        return self._failed("timeout", message, hint=hint)

    async def _not_connected(self, route: Route, error: httpx2.TransportError, noticed_s: float) -> None:
        self._lost += 1
        if self._lost > LOST_CONNECTIONS:
            raise self._failed("connection", f"no connection to the server: {error}")
        await self._chat.routes.refused(route, str(error) or type(error).__name__, noticed_s)
        if isinstance(error, httpx2.ConnectTimeout) and not route.lost:  # it was there, and the time the question's
            self._spent_s += min(CONNECT_TIMEOUT_S, self._chat.model.timeout_s - self._spent_s)
            if self._spent_s >= self._chat.model.timeout_s:
                raise self._failed("connection", f"{error}, though the server answers others")

    async def _connection_lost(self, route: Route, error: httpx2.TransportError) -> None:
        if await self._chat.routes.gone(route, str(error) or type(error).__name__):
            self._spent_s -= self._lately_s
            return
        self._cuts += 1
        if self._cuts > 1 and self._size_bytes > MEGABYTE and await route.endpoint.answers():
            message = f"the server cut the connection twice on a body of {self._size_bytes / MEGABYTE:.1f} MB: {error}"
            raise self._failed(
                "rejected", message, hint="a gateway's limit may be below that: --max_pixels, --max_pages"
            )
        self._again(route, LOST, str(error) or type(error).__name__)

    def _refused(self, route: Route, reply: NotACompletion) -> None:
        """Wait where the server only puts the question off; other faults are charged to it."""
        verdict = reply.verdict
        if self._goes_otherwise(route, reply.message) or self._failed_in_company(route):
            return
        if verdict.loading and self._chat.routes.others(route):
            self._chat.routes.drain(route, reply.message)
            return
        wish_s = retry_after_s(self._headers, time.time()) if verdict.retry else None
        if wish_s is not None and wish_s > RATE_LIMIT_PATIENCE_S:
            self._too_long_a_pause(route, wish_s, reply.message)
            return
        limited, others_are_kept = verdict.status == "rate_limited", False
        if limited or (self._http_status in CROWDED and not verdict.loading):
            self._first = True
            others_are_kept = route.window.refused(limited=limited)
        wait_s = self._put_off(route, verdict, wish_s)
        if wait_s and wish_s is None and others_are_kept and self._limited <= TURNS:
            wait_s = 0.0  # the place that another one leaves is soon enough
        if wait_s is not None:
            self._put_off_s += min(wait_s, MOVE_S) if self._chat.routes.others(route) else wait_s
            patience_s = self._chat.loading_patience_s if verdict.loading else RATE_LIMIT_PATIENCE_S
            if self._put_off_s <= patience_s:
                self._chat.pause(route, wait_s, verdict.status if wish_s is None else "named")
                return
            verdict = msgspec.structs.replace(verdict, retry=False)
        self._again(route, verdict, reply.message, http_status=self._http_status, body=reply.body, wish_s=wish_s)

    def _too_long_a_pause(self, route: Route, wish_s: float, message: str) -> None:
        """Leave the server to itself; raises ServerUnusable where there is no other: nothing is charged."""
        routes = self._chat.routes
        said = f"asks for a pause of {wish_s:,.0f} s: {route.endpoint.redacted(message)[:BODY_CHARACTERS]}"
        if not routes.others(route):
            raise ServerUnusable(f"{routes.name(route)} {said}", hint="the same command goes on after that time")
        routes.drain(route, said)

    def _goes_otherwise(self, route: Route, message: str) -> bool:
        """Whether it was the images' way that was refused; raises ServerUnusable where that can't be helped."""
        uploads = route.uploads
        if uploads is None:
            return False
        if end := uploads.ends(message):
            raise end
        if self._misses < MISSES and uploads.missed(message, self._request.images):
            self._misses += 1
            return True
        return False

    def _put_off(self, route: Route, verdict: Verdict, wish_s: float | None) -> float | None:
        """For how long the question is put off without a charge; None where the refusal is a fault.

        A rate limit that names no time is a fault only where nobody was answered for a while.
        """
        if verdict.loading:
            return wish_s or LOADING_POLL_S
        if verdict.status != "rate_limited" or wish_s is not None:
            return wish_s if verdict.status == "rate_limited" else None
        if time.monotonic() - route.answered_s > STILL_ANSWERS_S:
            return None
        self._limited += 1
        return backoff_s(self._limited, self._chat.chance)

    def _again(
        self,
        route: Route,
        verdict: Verdict,
        message: str,
        *,
        http_status: int | None = None,
        body: str = "",
        wish_s: float | None = None,
    ) -> None:
        if verdict.status in FAULTS:
            self._chat.routes.fault(route, message)
            if route.lost:
                self._spent_s -= self._lately_s
                return
        self._failures += 1
        if not verdict.retry or self._failures > self._chat.max_retries:
            raise self._failed(verdict.status, message, http_status=http_status, body=body, hint=verdict.hint)
        wait_s = wish_s if wish_s is not None else backoff_s(self._failures, self._chat.chance)
        if wish_s is not None or verdict.status == "rate_limited":
            self._chat.pause(route, wait_s, verdict.status if wish_s is None else "named")
        else:
            self._spent_s += wait_s
            if self._spent_s >= self._chat.model.timeout_s:
                raise self._too_late()
            self._wait_s = wait_s

    def _failed(
        self, status: Status, message: str, *, http_status: int | None = None, body: str = "", hint: str = ""
    ) -> QuestionFailed:
        return QuestionFailed(
            status,
            self._route.endpoint.redacted(message)[:BODY_CHARACTERS],
            http_status=http_status,
            body=self._route.endpoint.redacted(body)[:BODY_CHARACTERS],
            hint=hint,
            attempts=self._attempts,
            request_bytes=self._size_bytes,
        )

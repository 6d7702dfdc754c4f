"""Questions are asked until they are answered or fail, over a transport that plays the server."""

import asyncio
import json
import time
from collections.abc import Callable

import httpx2
import pytest

from vqa_client.client.body import Dialect
from vqa_client.client.chat import ChatClient, Doubts
from vqa_client.client.endpoint import Endpoint, headers_for
from vqa_client.client.limits import Outage, Patience, Pause
from vqa_client.client.retry import Limits
from vqa_client.client.routes import Route, Routes
from vqa_client.errors import QuestionFailed, ServerAway
from vqa_client.model_config import ModelSettings
from vqa_client.types import Completion, Image, Request

GOOD = {"choices": [{"message": {"content": "B"}, "finish_reason": "stop"}]}
Play = Callable[[int, httpx2.Request], httpx2.Response]


class Server:
    """Answers the n-th request (from 0) by `play`, and keeps the requests."""

    def __init__(self, play: Play) -> None:
        self.requests: list[dict[str, object]] = []
        self.times_s: list[float] = []
        self.notes: list[str] = []
        self.outages = 0
        self._play = play

    async def _handle(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(json.loads(await request.aread()))
        self.times_s.append(time.monotonic())
        return self._play(len(self.requests) - 1, request)

    async def _back(self, patience_s: float) -> None:
        self.outages += 1

    def client(self, *, max_retries: int = 3, timeout: float = 5.0, temperature: float | None = 0.0) -> ChatClient:
        base = httpx2.URL("http://server/v1")
        return ChatClient(
            Routes(
                [Route(Endpoint(base, httpx2.MockTransport(self._handle), headers_for(base, "SECRET-KEY-1")))],
                outage=Outage(self._back, Patience(1.0)),
            ),
            ModelSettings(model_name="m", max_tokens=9, temperature=temperature, timeout=timeout),
            limits=Limits(max_retries, timeout, 1.0),
            note=self.notes.append,
            dialect=Dialect(),
        )


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqa_client.client.retry.backoff_s", lambda failures, chance: 0.0)


def good() -> httpx2.Response:
    return httpx2.Response(200, json=GOOD)


def first(n: int, *others: Callable[[], httpx2.Response]) -> Play:
    return lambda number, request: others[number % len(others)]() if number < n else good()


async def failure(server: Server, **settings: object) -> QuestionFailed:
    with pytest.raises(QuestionFailed) as caught:
        await server.client(**settings).complete(Request(content=("?",)))  # type: ignore[arg-type]
    return caught.value


async def test_a_good_reply_costs_one_request() -> None:
    server, started_s = Server(first(0)), time.monotonic()
    client = server.client()
    completion = await client.complete(Request(content=("?",)))
    assert (completion.text, completion.attempts, len(server.requests)) == ("B", 1, 1)
    assert 0 <= completion.latency_s <= time.monotonic() - started_s
    assert (completion.ttft_s, client.routes.all[0].at_work) == (None, 0)
    assert completion.request_bytes > 50
    assert server.client(timeout=5.0).late_s == 2.5


@pytest.mark.parametrize(("left", "tokens"), [("5", 10 + 16), ("unknown", 0)])
async def test_the_limits_in_a_replys_headers_are_kept(left: str, tokens: int) -> None:
    headers = {"x-ratelimit-remaining-requests": left, "x-ratelimit-limit-requests": "60"}
    client = Server(lambda *_: httpx2.Response(200, json=GOOD, headers=headers)).client()
    await client.complete(Request(content=("?",)))
    assert (await client.routes.allowance.enter(Request(content=("x" * 40,)), 16)).all == tokens


@pytest.mark.parametrize("status", [408, 409, 425, 500, 502, 503, 504, 529])
async def test_a_transient_fault_is_retried_and_every_attempt_counted(status: int) -> None:
    client = Server(first(2, lambda: httpx2.Response(status, text="<html>busy</html>"))).client()
    completion = await client.complete(Request(content=("?",)))
    assert (completion.text, completion.attempts) == ("B", 3)
    assert client.routes.all[0].window.refusals == (2 if status in (503, 529) else 0), "of a server that is full"


async def test_questions_that_wait_for_a_retry_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqa_client.client.retry.backoff_s", lambda failures, chance: 0.001)
    server = Server(first(2, lambda: httpx2.Response(503)))
    client = server.client()
    asking = asyncio.create_task(client.complete(Request(content=("?",))))
    counts = []
    while not asking.done():
        await asyncio.sleep(0)
        counts.append(client.routes.repeating)
    assert (min(counts), max(counts), client.routes.repeating) == (0, 1, 0)


async def test_a_lasting_fault_gets_exactly_the_allowed_retries() -> None:
    server = Server(first(99, lambda: httpx2.Response(503, json={"error": {"message": "busy"}})))
    failed = await failure(server, max_retries=2)
    assert (failed.status, failed.attempts, len(server.requests)) == ("server_error", 3, 3)
    assert (failed.http_status, str(failed)) == (503, "busy")


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (400, "This model's maximum context length is 16384 tokens.", "too_long"),
        (400, "At most 1 image(s) may be provided in one request.", "too_many_images"),
        (500, "Generation failed: Failed to load image from x", "bad_image"),
        (422, "odd", "rejected"),
        (505, "odd", "rejected"),
        (404, "The model does not exist", "rejected"),
        (413, "too large", "rejected"),
        (402, "Insufficient credits", "rejected"),
    ],
)
async def test_a_permanent_fault_costs_exactly_one_request(status: int, message: str, expected: str) -> None:
    server = Server(first(99, lambda: httpx2.Response(status, json={"message": message})))
    failed = await failure(server)
    assert (failed.status, len(server.requests)) == (expected, 1)


async def test_a_long_refusal_is_kept_in_part() -> None:
    failed = await failure(Server(first(99, lambda: httpx2.Response(400, content=b"\xffno " * 10_000))))
    assert (len(str(failed)), len(failed.body), failed.body[:3]) == (2_000, 2_000, "\ufffdno")


async def test_an_error_inside_http_200_is_retried_and_never_an_empty_answer() -> None:
    hidden = {"choices": None, "error": {"message": "Provider returned error", "code": 502}}
    server = Server(first(2, lambda: httpx2.Response(200, json=hidden)))
    completion = await server.client().complete(Request(content=("?",)))
    assert (completion.text, completion.attempts) == ("B", 3)


async def test_an_html_page_with_status_200_is_retried_and_then_a_bad_response() -> None:
    server = Server(first(99, lambda: httpx2.Response(200, html="<html><title>Sign in</title></html>")))
    failed = await failure(server, max_retries=2)
    assert (failed.status, failed.attempts, len(server.requests)) == ("bad_response", 3, 3)
    assert "Sign in" in str(failed)
    untyped = await failure(Server(first(99, lambda: httpx2.Response(200, content=b"?"))), max_retries=0)
    assert str(untyped) == "the reply is not a chat completion (HTTP 200, no content type): '?'"


async def test_a_redirection_names_its_target_without_secrets() -> None:
    there = {"location": "https://other.example/sign-in?token=abcdef&back=1"}
    failed = await failure(Server(first(99, lambda: httpx2.Response(302, headers=there))))
    assert (failed.status, str(failed)) == (
        "rejected",
        "redirected to https://other.example/sign-in?token=<key>&back=1",
    )
    assert "--base_url" in failed.hint


async def test_a_refusal_of_a_content_filter_is_an_answer_and_not_retried() -> None:
    refusal = {"error": {"message": "The response was filtered", "code": "content_filter"}}
    server = Server(first(99, lambda: httpx2.Response(400, json=refusal)))
    completion = await server.client().complete(Request(content=("?",)))
    assert (completion.text, completion.finish_reason, completion.attempts) == ("", "content_filter", 1)


@pytest.mark.parametrize(("header", "wait_s"), [("0.2", 0.2), ("0", 0.0), ("soon", 0.0)])
async def test_all_workers_keep_a_pause_that_the_server_asks_for(header: str, wait_s: float) -> None:
    server = Server(first(1, lambda: httpx2.Response(429, headers={"Retry-After": header})))
    client = server.client()
    await asyncio.gather(client.complete(Request(content=("?",))), client.complete(Request(content=("?",))))
    assert server.times_s[2] - server.times_s[0] >= wait_s


async def test_a_rate_limit_with_a_time_costs_no_retry() -> None:
    server = Server(first(10, lambda: httpx2.Response(429, headers={"retry-after-ms": "1"})))
    assert (await server.client(max_retries=1).complete(Request(content=("?",)))).attempts == 11


def test_each_named_pause_is_noted_and_other_kinds_once() -> None:
    server = Server(first(0))
    client = server.client()
    (route,) = client.routes.all
    client.pause(route, 1, "named")
    assert server.notes == [], "a second is no pause to speak of"
    for why in ("named", "named", "rate_limited", "rate_limited", "server_error", "server_error"):
        route.pause = Pause()
        client.pause(route, 60, why)
        client.pause(route, 70, why)
    assert server.notes == [
        *["the server asks for a pause of 60 s; all its workers wait"] * 2,
        "the server limits the rate of requests; all its workers slow down",
        "the server is loading its model; all its workers wait",
    ]


async def test_a_rate_limit_costs_no_retry_while_others_are_answered() -> None:
    server = Server(lambda number, request: good() if number % 4 == 0 else httpx2.Response(429))
    client = server.client(max_retries=1)
    completions = await asyncio.gather(*(client.complete(Request(content=("?",))) for _ in range(16)))
    assert {completion.text for completion in completions} == {"B"}
    assert max(completion.attempts for completion in completions) > 2


async def test_a_rate_limit_while_no_question_is_answered_is_a_failure() -> None:
    server = Server(first(99, lambda: httpx2.Response(429)))
    failed = await failure(server, max_retries=2)
    assert (failed.status, len(server.requests)) == ("rate_limited", 3)


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "max_tokens is deprecated, use max_completion_tokens",
    ],
)
async def test_a_server_that_wants_another_name_for_the_limit_gets_it_in_all_later_requests(message: str) -> None:
    def play(number: int, request: httpx2.Request) -> httpx2.Response:
        wrong = "max_tokens" in server.requests[number]
        return httpx2.Response(400, json={"error": {"message": message}}) if wrong else good()

    server = Server(play)
    client = server.client()
    assert (await client.complete(Request(content=("?",)))).text == "B"
    assert (await client.complete(Request(content=("?",)))).attempts == 1
    assert [sorted(set(r) & {"max_tokens", "max_completion_tokens"}) for r in server.requests] == [
        ["max_tokens"],
        ["max_completion_tokens"],
        ["max_completion_tokens"],
    ]
    assert client.template.dialect.described() == ["max_completion_tokens instead of max_tokens"]
    assert server.notes == [
        "the server needs a different request format: max_completion_tokens instead of max_tokens (recorded)"
    ]


async def test_a_server_without_temperature_is_asked_without_it() -> None:
    def play(number: int, request: httpx2.Request) -> httpx2.Response:
        message = (
            "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default is supported."
        )
        wrong = "temperature" in server.requests[number]
        return httpx2.Response(400, json={"error": {"message": message}}) if wrong else good()

    server = Server(play)
    assert (await server.client().complete(Request(content=("?",)))).text == "B"
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "message",
    [
        "max_completion_tokens and max_tokens are both wrong",
        "'max_tokens' or 'max_completion_tokens' is too large: 9. This model supports at most 8 completion tokens.",
    ],
)
async def test_a_complaint_that_no_dialect_answers_is_not_retried(message: str) -> None:
    server = Server(first(99, lambda: httpx2.Response(400, json={"message": message})))
    failed = await failure(server)
    assert (failed.status, len(server.requests)) == ("rejected", 1)


async def test_a_lost_server_is_waited_for_without_a_charge() -> None:
    def play(number: int, request: httpx2.Request) -> httpx2.Response:
        if number < 5:
            raise httpx2.ConnectError("refused")
        return good()

    server = Server(play)
    completion = await server.client(max_retries=0).complete(Request(content=("?",)))
    assert (completion.text, server.outages) == ("B", 5)


async def test_a_server_that_is_there_and_takes_no_connection_costs_the_questions_time() -> None:
    def play(number: int, request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectTimeout("too slow")

    failed = await failure(Server(play))
    assert (failed.status, str(failed)) == ("connection", "too slow, though the server answers others")


async def test_a_server_that_stays_away_ends_the_run() -> None:
    def play(number: int, request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    async def never(patience_s: float) -> None:
        patiences_s.append(patience_s)
        raise ServerAway("gone")

    client = Server(play).client()
    patiences_s: list[float] = []
    client.routes.outage = Outage(never, Patience(30.0))
    for _ in range(2):
        with pytest.raises(ServerAway):
            await client.complete(Request(content=("?",)))
    assert patiences_s == [30.0, 0.0], "what follows looks once"


async def test_a_broken_connection_is_retried_and_then_reported() -> None:
    def play(number: int, request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadError("closed")

    server = Server(play)
    failed = await failure(server, max_retries=2)
    assert (failed.status, failed.attempts) == ("connection", 3)


async def test_a_late_reply_is_a_timeout_and_not_retried() -> None:
    server = Server(first(0))

    async def slow(request: httpx2.Request) -> httpx2.Response:
        server.requests.append(json.loads(await request.aread()))
        await asyncio.sleep(30)
        return good()

    client = server.client(timeout=0.05)
    client.routes.all[0].endpoint = Endpoint(httpx2.URL("http://server/v1"), httpx2.MockTransport(slow), {})
    with pytest.raises(QuestionFailed) as caught:
        await client.complete(Request(content=("?",)))
    assert (caught.value.status, caught.value.attempts, len(server.requests)) == ("timeout", 1, 1)
    assert str(caught.value) == "no complete reply within 0.05 s"


async def test_all_attempts_of_a_question_share_its_time() -> None:
    server = Server(first(0))

    async def slow_and_broken(request: httpx2.Request) -> httpx2.Response:
        server.requests.append(json.loads(await request.aread()))
        await asyncio.sleep(0.2)
        return httpx2.Response(503, json={"message": "overloaded"})

    client = server.client(timeout=0.5, max_retries=50)
    client.routes.all[0].endpoint = Endpoint(httpx2.URL("http://server/v1"), httpx2.MockTransport(slow_and_broken), {})
    started_s = time.monotonic()
    with pytest.raises(QuestionFailed) as caught:
        await client.complete(Request(content=("?",)))
    assert (caught.value.status, caught.value.hint) == (
        "timeout",
        "raise --timeout or the config's timeout, or lower --max_workers",
    )
    tries = len(server.requests)
    assert str(caught.value) == "no complete reply within 0.5 s" + (f" in {tries} attempts" if tries > 1 else "")
    assert time.monotonic() - started_s > 0.45
    assert len(server.requests) <= 3


async def test_a_pause_that_the_server_asks_for_does_not_count_as_the_questions_time() -> None:
    wait = httpx2.Response(429, headers={"retry-after-ms": "300"}, json={"message": "slow down"})
    server = Server(first(2, lambda: wait))
    completion = await server.client(timeout=0.25).complete(Request(content=("?",)))
    assert (completion.text, completion.attempts) == ("B", 3)


async def test_a_key_that_the_server_echoes_is_not_kept() -> None:
    server = Server(
        lambda number, request: httpx2.Response(400, json={"message": f"bad: {request.headers['authorization']}"})
    )
    failed = await failure(server)
    assert "SECRET-KEY-1" not in f"{failed} {failed.body}"
    assert "<key>" in str(failed)


@pytest.mark.parametrize(
    ("images", "tokens", "shown"), [(1, 59, "an image"), (1, 60, ""), (2, 69, "2 images"), (2, 70, ""), (0, 1, "")]
)
def test_too_few_prompt_tokens_for_text_and_images_are_noted_once(images: int, tokens: int, shown: str) -> None:
    notes: list[str] = []
    doubts = Doubts(notes.append)
    image = Image(name="a.png", sha256="0" * 64, size_bytes=3, mime="image/png")
    request = Request(content=(*(image,) * images, "x" * 30))
    for _ in range(2):
        doubts.check_reply(Completion(text="B", prompt_tokens=tokens), request)
    note = f"the server counted {tokens} prompt tokens for a text and {shown}: does it see images?"
    assert notes == ([note] if shown else [])
    doubts.trust_sight()
    doubts.check_reply(Completion(text="B", prompt_tokens=1), request)
    assert len(notes) == bool(shown)


async def test_replies_that_name_another_model_are_noted_once() -> None:
    first, second = "a" * 81, "b" * 81
    names = [first, first, None, second, second, "model-c"]
    server = Server(lambda n, _: httpx2.Response(200, json=GOOD | ({"model": names[n]} if names[n] else {})))
    client = server.client()
    for _ in names:
        await client.complete(Request(content=("?",)))
    assert server.notes == [f"replies name {'b' * 80}, and {'a' * 80} before: is it still the same model?"]

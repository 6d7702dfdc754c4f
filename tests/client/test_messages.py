"""Whole messages and hints for invalid addresses, keys, proxies and replies."""

import asyncio
import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx2
import pytest

from tests.client.check.playing import endpoint_playing, model
from vqa_client.client.check.preflight import check_before
from vqa_client.client.direct import DirectTransport
from vqa_client.client.endpoint import headers_for, proxy_for, tls_context
from vqa_client.client.failures import judge
from vqa_client.client.messages import Response, Target, unpack_reply
from vqa_client.client.probe import Served, wait_for_server
from vqa_client.client.probing.findings import Fingerprint, Sight
from vqa_client.client.probing.identity import ShortCheck
from vqa_client.client.reply_room import ReplyRoom
from vqa_client.client.servers import difference
from vqa_client.client.session import Session, open_session, reused
from vqa_client.client.streamed import completion_in_events
from vqa_client.client.uploading.file_proof import forbids_files, unchanged_state
from vqa_client.client.url import candidates
from vqa_client.client.wire import NotACompletion, read_reply
from vqa_client.data_url import changed
from vqa_client.errors import QuestionFailed, ServerUnusable, UsageError
from vqa_client.model_config import ModelSettings
from vqa_client.settings.run import RunSettings
from vqa_client.types import Image

BASE = httpx2.URL("http://server.example/v1")
ADDRESS = "such as http://localhost:8000/v1"
SOCKS = "socks5://user:secret@proxy.example:1"
ELSEWHERE = Image(name="", mime="", sha256="", size_bytes=3, path="nowhere.png")
ROWS: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: candidates("http://h:65536"), "--base_url 'http://h:65536' has no such host or port", ADDRESS),
    (lambda: candidates("http://h:0"), "--base_url 'http://h:0' has no such host or port", ADDRESS),
    (
        lambda: candidates("ftp://h", "--endpoint"),
        "--endpoint 'ftp://h' is not an http or https address",
        "such as http://localhost:8000/v1",
    ),
    (lambda: candidates("http://h:port"), "--base_url 'http://h:port' is not an address: Invalid port: 'port'", ""),
    (
        lambda: candidates("https://x.openai.azure.com/openai/deployments/gpt"),
        "--base_url https://x.openai.azure.com/openai/deployments/gpt needs an api-version",
        "add ?api-version=2024-10-21 to it, quoted",
    ),
    (
        lambda: headers_for(BASE, "schlüssel"),
        "the API key contains a character that no header can",
        "look at where it comes from",
    ),
    (
        lambda: tls_context(Path("nowhere.pem"), insecure=False),
        "--ca_bundle nowhere.pem does not exist",
        "",
    ),
    (
        lambda: proxied(SOCKS),
        "HTTP_PROXY names a SOCKS proxy, socks5://proxy.example:1",
        f"{sys.executable} -m pip install 'httpx2[socks]', or add the server's host to NO_PROXY",
    ),
    (
        lambda: proxied("http://"),
        "HTTP_PROXY is not a proxy's address: http://",
        "such as http://proxy.example:3128; or add the server's host to NO_PROXY",
    ),
    (
        lambda: raised(changed(ELSEWHERE)),
        "nowhere.png: changed while it was being sent; it had 3 bytes",
        "run again once nothing writes to the image folder",
    ),
    (lambda: unchanged_state(ELSEWHERE), "nowhere.png: No such file or directory", ""),
]
KEY = "give it as --api_key, or in VQA_CLIENT_API_KEY"
PROBED: list[tuple[int | Exception, str, str]] = [
    *((each, f"http://server/v1 refuses the key (HTTP {each}): no", KEY) for each in (401, 403)),
    (503, "no answer from http://server/v1: HTTP 503: no", "RUNNING"),
    (httpx2.ConnectError("[Errno 111] x"), "no answer from http://server/v1: nothing listens on server:80", "RUNNING"),
    (httpx2.ConnectError("refused"), "no answer from http://server/v1: nothing listens on server:80", "RUNNING"),
    *(
        (httpx2.ConnectError(words), "no answer from http://server/v1: there is no host 'server'", "RUNNING")
        for words in (
            *("Name or service not known", "nodename nor servname provided", "No address associated with hostname"),
            *("getaddrinfo failed", "Temporary failure in name resolution"),
        )
    ),
    (httpx2.ReadError(""), "no answer from http://server/v1: ReadError", "RUNNING"),
    (
        httpx2.ConnectError("[SSL: WRONG_VERSION_NUMBER]"),
        "no trusted connection to http://server/v1: [SSL: WRONG_VERSION_NUMBER]",
        "is it an http:// address?",
    ),
    (
        httpx2.ConnectError("CERTIFICATE_VERIFY_FAILED"),
        "no trusted connection to http://server/v1: CERTIFICATE_VERIFY_FAILED",
        "--ca_bundle FILE trusts its authority; --insecure skips the check, and the run records it",
    ),
]
RUNNING = "is the server running there? --base_url names it, --wait_for_server SECONDS waits longer"
REFUSED = [
    *((each, "the server redirects elsewhere: give that address as --base_url") for each in (300, 302)),
    (400, ""),
    (401, "the server refuses the key: --api_key or VQA_CLIENT_API_KEY"),
    (402, "the account has no credits left: add some, or use another --api_key"),
    (403, "the server refuses the key or the model: --api_key, --model"),
    (404, "the server knows no such path or model: --base_url, --model"),
    (407, "the proxy wants a name and a password: http://NAME:PASSWORD@HOST:PORT"),
    (413, "the body is larger than the server or its gateway takes: --max_pixels, --max_pages"),
    (501, ""),
]
STREAMS = [
    ("hello", "no stream of events"),
    ("data: 1\n\n", "an event is not a chunk of a completion"),
    ('data: {"choices": [{"delta": {"content": "a"}}]}\n\n', "the stream has no end"),
]


@pytest.mark.parametrize(("version", "said"), [("0.32.0", "vllm 0.32.0"), (None, "vllm"), ("", "vllm")])
def test_a_server_without_a_version_is_described_by_its_kind(version: str | None, said: str) -> None:
    seen = Fingerprint(kind="vllm", version=version)
    assert ShortCheck(served=Served(base=BASE), fingerprint=seen).version == said


def nature(models: str = "m", context: int | None = None, picture: int | None = None) -> ShortCheck:
    cards = tuple({"id": each, "max_model_len": context} for each in models.split())
    return ShortCheck(served=Served(base=BASE, cards=cards), fingerprint=Fingerprint(picture_tokens=picture))


UNLIKE = [
    (nature(), nature("a b"), "it lists a, b, and not m"),
    (nature("a b"), nature(), "it lists m, and the first only a, b"),
    (nature(""), nature("a"), ""),
    (nature("a"), nature("b"), ""),
    (nature(context=8), nature(context=4), "its longest prompt in tokens: 4, the first's: 8"),
    (nature(context=8), nature(), ""),
    (nature(), nature(context=8), ""),
    (nature(picture=8), nature(picture=4), "its prompt tokens of a small picture: 4, the first's: 8"),
    (nature(picture=8), nature(picture=8), ""),
]


@pytest.mark.parametrize(("one", "other", "said"), UNLIKE)
def test_the_difference_between_two_servers_is_named(one: ShortCheck, other: ShortCheck, said: str) -> None:
    assert difference(one, other, "m") == said


def raised(error: Exception) -> None:
    raise error


def proxied(proxy: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("http_proxy", proxy)
        patch.delenv("no_proxy", raising=False)
        patch.setattr("vqa_client.client.endpoint.find_spec", lambda _: None)
        proxy_for(BASE)


@pytest.mark.parametrize(("made", "said", "hint"), ROWS, ids=[said for _, said, _ in ROWS])
def test_an_invalid_value_is_named_with_a_hint(made: Callable[[], Any], said: str, hint: str) -> None:
    with pytest.raises((UsageError, QuestionFailed)) as caught:
        made()
    assert (str(caught.value), caught.value.hint) == (said, hint)


@pytest.mark.parametrize(("answer", "said", "hint"), PROBED)
def test_a_server_that_does_not_answer_is_named_with_a_hint(answer: int | Exception, said: str, hint: str) -> None:
    def play(_: dict[str, Any], request: httpx2.Request) -> httpx2.Response:
        if isinstance(answer, Exception):
            raise answer
        return httpx2.Response(answer, json={"error": {"message": "no"}})

    endpoint = endpoint_playing(play)
    with pytest.raises(ServerUnusable) as caught:
        asyncio.run(wait_for_server(endpoint, [endpoint.base], patience_s=0, note=print, model_is_named=False))
    assert (str(caught.value), caught.value.hint) == (said, RUNNING if hint == "RUNNING" else hint)
    if hint == KEY:
        endpoint.headers.pop("Authorization")
        with pytest.raises(ServerUnusable, match=f"^http://server/v1 wants an API key, and none is set .HTTP {answer}"):
            asyncio.run(wait_for_server(endpoint, [endpoint.base], patience_s=0, note=print, model_is_named=False))


@pytest.mark.parametrize(("http_status", "hint"), REFUSED)
def test_a_status_without_words_has_a_hint(http_status: int, hint: str) -> None:
    assert (judge(http_status, "no").status, judge(http_status, "no").hint) == ("rejected", hint)


@pytest.mark.parametrize("size_bytes", [1_000_000, 1_000_001, 2_500_000])
def test_the_hint_for_a_large_body_names_its_size(size_bytes: int) -> None:
    more = f"the body was {size_bytes / 1e6:.1f} MB: a gateway's limit may be below that, try --max_pixels"
    usual = dict(REFUSED)[404]
    assert judge(404, "no", size_bytes).hint == (f"{usual}; {more}" if size_bytes > 1_000_000 else usual)
    assert judge(400, "no", size_bytes).hint == (more if size_bytes > 1_000_000 else "")
    assert judge(401, "no", size_bytes).hint == dict(REFUSED)[401]


@pytest.mark.parametrize(("text", "said"), STREAMS)
def test_an_invalid_or_cut_stream_is_named(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}$"):
        completion_in_events(text)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Cannot load local files without `--allowed-local-media-path`.", True),
        ("set allowed-local-media-path", True),
        ("file:// URLs are not allowed", True),
        ("start it with --media-path", True),
        ("cannot load local files", True),
        ("no such file", False),
    ],
)
def test_a_server_that_may_not_read_files_is_known_by_its_message(message: str, expected: bool) -> None:
    assert forbids_files(message) is expected


def ended_by(finish_reason: str) -> bytes:
    return json.dumps({"choices": [{"message": {}, "finish_reason": finish_reason}]}).encode()


NOT_COMPLETIONS: list[tuple[tuple[Any, ...], str]] = [
    ((200, "text/plain", b"hello"), "the reply is not a chat completion (HTTP 200, text/plain): 'hello'"),
    ((200, "", b"{}"), "no choices in the reply (HTTP 200, no content type): '{}'"),
    ((503, "", b""), "HTTP 503 with an empty body"),
    ((302, "", b"", 0, "http://x/"), "redirected to http://x/"),
    ((302, "", b"moved", 0, "http://x/"), "redirected to http://x/: moved"),
    (
        (200, "", ended_by("insufficient_system_resource")),
        "the server lacks the resources for a reply, finish_reason is 'insufficient_system_resource'",
    ),
    *(
        (
            (200, "a/b", ended_by(word)),
            f"no text in the reply, finish_reason is {word!r} (HTTP 200, a/b): {ended_by(word).decode()!r}",
        )
        for word in ("error", "tool_calls")
    ),
]


@pytest.mark.parametrize(("given", "said"), NOT_COMPLETIONS)
def test_the_whole_message_for_a_reply_that_is_not_a_completion(given: tuple[Any, ...], said: str) -> None:
    with pytest.raises(NotACompletion) as caught:
        read_reply(*given)
    assert caught.value.message == said


PACKED = [
    ("gzip," * 9, b"x", f"the reply is packed 9 times over: '{'gzip, ' * 6}gzip'"),
    ("b" * 41, b"x", f"the reply comes in a coding that was not requested: '{'b' * 40}'"),
    ("gzip", gzip.compress(b"x")[:-1], "the reply says that it is gzip and is not: its end is missing"),
    ("gzip", gzip.compress(b"") * 65, "the reply says that it is gzip and is not: something follows its end"),
    ("gzip", gzip.compress(bytes(16_000_001)), "the reply is larger than 16000000 bytes"),
]


@pytest.mark.parametrize(("coding", "body", "said"), PACKED, ids=[said for *_, said in PACKED])
def test_the_error_for_a_reply_that_can_not_be_unpacked_says_why(coding: str, body: bytes, said: str) -> None:
    response = Response(200, {"content-encoding": coding}, body)
    with pytest.raises(httpx2.RemoteProtocolError) as caught:
        asyncio.run(unpack_reply(response, ReplyRoom()))
    assert str(caught.value) == said


OK = b"HTTP/1.1 200 OK\r\n"
BROKEN = [
    (b"", "the server closed the connection without a reply"),
    (OK + b"Content-Length: 5\r\n\r\nab", "the server closed the connection in the middle of its reply"),
    (OK + b"x: " + b"y" * 1_000_001, "the reply's headers are larger than 1000000 bytes"),
    (b"SSH-2.0\r\n", "the server does not speak HTTP"),
]


@pytest.mark.parametrize(("played", "said"), BROKEN, ids=[said for _, said in BROKEN])
async def test_the_error_for_a_broken_connection_says_when_and_how(played: bytes, said: str) -> None:
    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(played)
        writer.close()

    server = await asyncio.start_server(play, "127.0.0.1", 0)
    target = Target("GET", httpx2.URL(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"), ())
    async with server, DirectTransport() as transport:
        with pytest.raises(httpx2.TransportError) as caught:
            await transport.send(target, None, 60.0)
    assert str(caught.value).partition(": Expected")[0] == said


SHOWS = "`vqa-client check` shows details; --no_check runs anyway"
ASKED_OF = "does it see images? run `vqa-client check`"
CHECKED: list[tuple[Sight, int, str, str]] = [
    ("colours", 0, "", ""),
    ("text", 0, "", ""),
    (
        "same",
        0,
        f"warning: tiny-vlm at http://server/v1 gave the same answer for a red and a blue image; {ASKED_OF}",
        "",
    ),
    (
        "differs",
        0,
        f"warning: tiny-vlm at http://server/v1 named the colours of a red and a blue test image wrongly; {ASKED_OF}",
        "",
    ),
    ("unknown", 500, "warning: tiny-vlm at http://server/v1 gave no usable reply to two small images: HTTP 500", ""),
    ("unknown", 404, "tiny-vlm at http://server/v1: HTTP 404", "choose one that it lists: a, b, c, d, e"),
    ("blind", 0, "tiny-vlm at http://server/v1 answers without seeing the images that are sent", SHOWS),
]


@pytest.mark.parametrize(("sight", "http_status", "said", "hint"), CHECKED)
async def test_the_whole_message_of_the_check_before_a_run(
    sight: Sight, http_status: int, said: str, hint: str
) -> None:
    notes, trusted = list[str](), list[bool]()
    error = f"HTTP {http_status}" if http_status else ""
    seen = Fingerprint(sight=sight)
    check = ShortCheck(served=Served(base=BASE), fingerprint=seen, error=error, http_status=http_status)
    doubts = SimpleNamespace(trust_sight=lambda: trusted.append(True))
    session = Session(
        chat=cast(Any, SimpleNamespace(routes=SimpleNamespace(check=check), doubts=doubts)),
        model=model(),
        server={"base_url": "http://server/v1", "models": list("abcdef")},
        prompt_limit=None,
    )
    if hint:
        with pytest.raises(ServerUnusable) as caught:
            await check_before(session, notes.append)
        assert (str(caught.value), caught.value.hint, notes) == (said, hint, [])
    else:
        checked = await check_before(session, notes.append)
        assert (notes, bool(trusted)) == ([said] if said else [], sight in ("colours", "text"))
        assert checked.server["fingerprint"] == ({} if sight == "unknown" else {"sight": sight})


SENT = "model {} at http://server/v1, max_tokens {}, temperature {}"
OPENED: list[tuple[dict[str, Any], ModelSettings | None, list[str], list[str]]] = [
    ({}, None, ["a"], [SENT.format("a", 1024, "0")]),
    ({}, ModelSettings(model_name="a", max_tokens=9), ["a", "b"], [SENT.format("a", 9, "not sent")]),
    (
        {"temperature": 0.5},
        ModelSettings(model_name="m", max_tokens=9),
        list("abcdef"),
        [
            "warning: the server does not list m; it lists a, b, c, d, e (choose with --model)",
            SENT.format("m", 9, "0.5"),
        ],
    ),
    (
        {"insecure": True},
        None,
        ["a"],
        ["--insecure: the server's certificate is not verified (recorded)", SENT.format("a", 1024, "0")],
    ),
    (
        {"endpoint": ("http://server/v1",), "base_url": "http://user:secret@other/v1"},
        None,
        ["a"],
        ["--endpoint is given: http://other/v1 is not asked", SENT.format("a", 1024, "0")],
    ),
]


@pytest.mark.parametrize(("given", "config", "listed", "said"), OPENED)
async def test_a_session_notes_its_settings_and_a_model_that_is_not_listed(
    given: dict[str, Any], config: ModelSettings | None, listed: list[str], said: list[str]
) -> None:
    def models(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json={"data": [{"id": name} for name in listed]})

    settings, notes = RunSettings(**({"base_url": "http://server/v1"} | given)), list[str]()
    wire = httpx2.MockTransport(models)
    async with open_session(settings, config, note=notes.append, transport=wire) as session:
        assert notes == said
        assert reused(session, settings, session.model, None, note=notes.append) is session
        other = reused(session, settings, ModelSettings(model_name="z", max_tokens=3), None, note=notes.append)
        assert (other.model.model_name, other.endpoint) == ("z", session.endpoint)
        assert notes == [*said, f"model z, max_tokens 3, temperature {given.get('temperature', 'not sent')}"]


@pytest.mark.parametrize(("count", "listed"), [(20, ""), (21, ", ...")])
async def test_of_many_models_twenty_are_named(count: int, listed: str) -> None:
    names = [f"m{number}" for number in range(count)]
    wire = httpx2.MockTransport(lambda _: httpx2.Response(200, json={"data": [{"id": name} for name in names]}))
    settings = RunSettings(base_url="http://server/v1")
    with pytest.raises(UsageError) as caught:
        async with open_session(settings, None, note=print, transport=wire):
            pass
    assert str(caught.value) == f"http://server/v1 lists {count} models"
    assert caught.value.hint == f"choose one with --model: {', '.join(names[:20])}{listed}"

"""A key is sent only to the server and is in no output, even if something fails or the server repeats it."""

import base64
import json
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest

import vqa_client
from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.script import Script
from tests.fakes.words import (
    answer,
    at_path,
    body_of,
    echo_authorization_in_400,
    error,
    first_n,
    hang,
    only_path,
    oracle,
    require_key,
)
from tests.faults.commands import ROOT, TIMEOUT_S, environment, ran, running, wait_for, wait_until
from tests.faults.questions import Notes, Questions
from vqa_client.client.endpoint import Endpoint, headers_for
from vqa_client.client.url import without_secrets
from vqa_client.errors import UsageError, VqaClientError

KEY = "SECRET-XYZ-0123456789"
BASIC = base64.b64encode(f"user:{KEY}".encode()).decode()


def leaks(text: str) -> list[str]:
    """The forms of the key in a text."""
    return [form for form in (KEY, BASIC) if form in text]


def leaking_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and leaks(path.read_bytes().decode("latin-1"))]


def repeats_in(status: int) -> Script:
    """A server that repeats the request in a page, between other words."""
    return lambda received: body_of(
        f"<html><title>{received.headers.get('authorization')}</title>{dict(received.headers)}".encode(), status
    )


def given(way: str, base_url: str) -> tuple[str, list[str], dict[str, str]]:
    """A way to pass a key: the address, further arguments, and the environment."""
    match way:
        case "--api_key":
            return base_url, [way, KEY], {}
        case "--api-key=":
            return base_url, [f"{way}{KEY}"], {}
        case "userinfo":
            return base_url.replace("://", f"://user:{KEY}@"), [], {}
        case variable:
            return base_url, [], {variable: KEY}


@pytest.mark.parametrize("way", ["--api_key", "--api-key=", "VQA_CLIENT_API_KEY", "userinfo"])
def test_a_key_that_a_server_repeats_is_repeated_nowhere_else(
    way: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 6)
    plays: dict[str, Script] = {
        "[[q0]]": echo_authorization_in_400(),
        "[[q1]]": repeats_in(200),
        "[[q2]]": repeats_in(500),
        "[[q3]]": "B",
        "[[q4]]": "B",
        "[[q5]]": repeats_in(404),
    }
    server = fault_server(oracle(plays))
    base_url, arguments, env = given(way, server.base_url)
    done = ran(of.arguments(base_url, "--max_retries", "0", "--breaker_after", "0", *arguments), env)
    assert (done.code, done.is_clean()) == (1, True), done.text
    assert all(KEY in chat.headers["authorization"] or BASIC in chat.headers["authorization"] for chat in server.chats)
    assert leaks(done.text) == []
    assert leaking_files(of.output) == []
    assert "<key>" in of.log_path.read_text()


def repeats_its_path(received: Received) -> Script:
    """The server repeats its path in two answers that refuse the first questions."""
    failing = {"[[q0]]": 400, "[[q1]]": 500}
    status = next((status for name, status in failing.items() if name in received.prompt), 0)
    return error(status, f"Cannot {received.method} {received.path}") if status else "B"


def path_of(form: str) -> str:
    return f"/{KEY}/v1/chat/completions" if "/{key}" in form else "/v1/chat/completions"


@pytest.mark.parametrize(
    "form", ["{origin}/{key}/v1", "{host}/{key}/v1", "{origin}/v1?k={key}", "{host}/v1?v=1&k={key}"]
)
def test_a_key_in_the_path_or_the_query_of_an_address_is_not_repeated(
    form: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 8)
    server = fault_server(only_path(path_of(form), then=repeats_its_path))
    address = form.format(origin=server.origin, host=server.origin.removeprefix("http://"), key=KEY)
    done = ran(of.arguments(address, "--max_retries", "0", "--breaker_after", "0"))
    assert (done.code, done.is_clean()) == (1, True), done.text
    assert {KEY in chat.path for chat in server.chats} == {True}
    assert "<key>" in of.log_path.read_text()
    assert leaks(done.text) == []
    assert leaking_files(of.output) == []


@pytest.mark.parametrize("form", ["{origin}/{key}/v1", "{host}/v1?v=1&k={key}"])
def test_no_command_repeats_a_key_in_an_address(form: str, tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 8)
    server = fault_server(only_path(path_of(form), then=repeats_its_path))
    address = form.format(origin=server.origin, host=server.origin.removeprefix("http://"), key=KEY)
    checked = ran(["check", "--base_url", address, "--json", "--model", "m"])
    before = server.counts["requests"]
    with running(of.arguments(address, "--fresh")) as command:
        assert wait_for(server, "requests", before + 4)
        command.signal(signal.SIGINT)
        command.signal(signal.SIGINT)
        stopped = command.finished()
    viewed = ran(["report", str(of.log_path), "--json"])
    refused = ran(
        of.arguments(address.replace(server.origin.rpartition(":")[2], "1"), "--wait_for_server", "0", "--fresh")
    )
    assert refused.code == 3, refused.text
    assert leaks(checked.text + viewed.text + stopped.text + refused.text) == []
    assert leaking_files(of.output) == []


@pytest.mark.parametrize(
    ("way", "play"),
    [
        ("--api_key", echo_authorization_in_400()),
        ("OPENAI_API_KEY", repeats_in(401)),
        ("userinfo", repeats_in(403)),
        ("userinfo", repeats_in(503)),
    ],
    ids=["400", "401", "403", "503"],
)
def test_a_run_that_can_not_start_or_stops_prints_no_key(
    way: str, play: Script, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 6)
    server = fault_server(at_path("/v1/models", play, then=play))
    base_url, arguments, env = given(way, server.base_url)
    more = ("--max_retries", "0", "--breaker_after", "2", "--wait_for_server", "0", "--model", "m")
    done = ran(of.arguments(base_url, *more, *arguments), env)
    assert (done.code, done.is_clean()) == (3, True), done.text
    assert leaks(done.text) == []
    assert leaking_files(tmp_path) == []


def test_the_command_to_resume_has_no_password(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 4)
    server = fault_server(hang())
    address = server.base_url.replace("://", f"://user:{KEY}@")
    with running(of.arguments(address)) as command:
        assert wait_for(server, "requests", 1 + 4)
        command.signal(signal.SIGINT)
        assert wait_until(lambda: any("stopping" in line for _, line in command.errors))
        command.signal(signal.SIGINT)
        done = command.finished()
    assert done.code == 130
    assert leaks(done.text) == []


def test_the_command_to_resume_has_no_key(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 4)
    server = fault_server(first_n(2, "B", then=hang()))
    with running(of.arguments(server.base_url, "--api-key", KEY, "--max_workers", "2")) as command:
        assert wait_for(server, "requests", 1 + 4)
        command.signal(signal.SIGINT)
        assert wait_until(lambda: any("stopping" in line for _, line in command.errors))
        command.signal(signal.SIGINT)
        done = command.finished()
    assert (done.code, leaks(done.text), leaking_files(of.output)) == (130, [], [])
    assert "Resume with" in done.err


@pytest.mark.parametrize(
    "arguments",
    [["--api_key", KEY, "--no-such-option", "1"], ["--api_key", KEY, "--max_workers", "many"], ["--api_key", KEY, KEY]],
)
def test_a_wrong_command_line_is_not_repeated_with_its_key(arguments: list[str]) -> None:
    done = ran(["mc", "--data_json", "x.json", "-o", "o", "--images_dir", "i", *arguments[:-1]])
    assert done.code == 2
    assert leaks(done.text) == []


@pytest.mark.parametrize("padding", [1980, 1985, 1990, 180, 185, 190])
async def test_no_half_of_a_key_is_left_where_a_message_is_cut(
    padding: int, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    said = ("word " * 500)[:padding] + "x " + KEY
    play = body_of(said.encode(), 200 if padding < 1000 else 400, content_type="text/plain")
    await of.ask(fault_server(play), api_key=KEY, max_retries=0)
    assert "x S" not in of.log_path.read_text()


@pytest.mark.parametrize("with_locals", [False, True])
@pytest.mark.parametrize("place", ["chat.read_reply", "direct.DirectTransport._send"])
async def test_the_traceback_of_a_bug_shows_no_key_even_where_variables_are_shown(
    place: str, with_locals: bool, tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug(*_: object) -> None:
        raise RuntimeError("a bug")

    of = Questions(tmp_path, 2)
    settings = of.settings(fault_server("B").base_url, api_key=KEY)
    monkeypatch.setattr(f"vqa_client.client.{place}", bug)
    with pytest.raises(RuntimeError) as caught:
        await vqa_client.arun(settings)
    told = traceback.TracebackException.from_exception(caught.value, capture_locals=with_locals)
    shown = "".join(told.format())
    assert "a bug" in shown
    assert leaks(shown) == []


def test_a_bug_in_the_command_shows_no_key_either(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    code = (
        "import sys, vqa_client.client.chat as chat\n"
        "chat.read_reply = lambda *_: 1 / 0\n"
        "from vqa_client.cli.main import main\n"
        "sys.argv[0] = 'vqa-client'\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", code, *of.arguments(fault_server("B").base_url, "--api_key", KEY)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode != 0
    assert "ZeroDivisionError" in done.stderr
    assert leaks(done.stdout + done.stderr) == []
    assert leaking_files(tmp_path) == []


async def test_settings_and_notes_have_no_key(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server(require_key(KEY, oracle(of.replies())))
    notes = Notes()
    settings = of.settings(server.base_url, api_key=KEY)
    await vqa_client.arun(settings, progress=notes)
    assert leaks(repr(settings) + str(settings) + "".join(notes.said)) == []
    assert leaking_files(of.output) == []


async def test_a_wrong_key_is_one_error_that_does_not_repeat_it(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server(require_key("another", answer()))
    with pytest.raises(VqaClientError, match="key") as caught:
        await of.ask(server, api_key=KEY)
    assert leaks(f"{caught.value!r} {caught.value} {caught.value.hint}") == []
    assert len(server.requests) == 1


async def test_a_key_with_a_line_feed_from_a_file_is_used_or_named(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 1)
    server = fault_server("B", tolerates_violations=True)
    told = ""
    try:
        await of.ask(server, api_key=KEY + "\n", wait_for_server=0)
    except VqaClientError as error:
        told = f"{error} {error.hint}"
    assert leaks(told) == []
    assert told or server.chats[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}\r\n", f'{KEY}"x', f"{KEY}\\x", f"{KEY}/%x"])
def test_no_form_in_which_a_key_is_repeated_is_kept(key: str) -> None:
    base = httpx2.URL("http://h/v1")
    headers = headers_for(base, key)
    assert headers["Authorization"] == f"Bearer {key.strip()}"
    endpoint = Endpoint(base, httpx2.MockTransport(lambda request: httpx2.Response(200)), headers)
    said = f"{key} {json.dumps({'key': key})} {quote(key.strip(), safe='')}"
    assert not leaks(endpoint.redacted(said))


@pytest.mark.parametrize(
    "address",
    [
        f"http://bob:{KEY}@h/v1",
        f"http://{KEY}@h/v1",
        f"http://h/v1?api-key={KEY}&v=1",
        f"http://h/v1?code={KEY}",
        f"http://h/v1?k={KEY}",
        f"http://h/{KEY}/v1",
    ],
)
def test_a_key_in_the_address_is_not_repeated(address: str) -> None:
    base = httpx2.URL(address)
    endpoint = Endpoint(base, httpx2.MockTransport(lambda request: httpx2.Response(200)), headers_for(base, None))
    assert endpoint.redacted(f"Cannot POST /v1/chat/completions?key={KEY} for {KEY}").count("<key>") == 2
    assert not leaks(without_secrets(base))


@pytest.mark.parametrize("key", ["kéy-with-accent", "two\nlines", "a\x00b"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(UsageError, match="a character that no header can") as refused:
        headers_for(httpx2.URL("http://h/v1"), key)
    assert key not in str(refused.value)

"""A key is in no error about an address, and in no log at any level."""

import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.fixtures import StartsServers
from tests.fakes.words import echo_authorization_in_400, error, first_n_of_each, oracle
from tests.faults.commands import ROOT, TIMEOUT_S, environment
from tests.faults.questions import Questions
from tests.faults.test_secrets import KEY, leaking_files, leaks
from vqa_client.client.url import candidates, without_secrets
from vqa_client.errors import UsageError

WRONG = (
    f"http://user:{KEY}@localhost:99999/v1",
    f"user:{KEY}@localhost:99999",
    f"http://user:{KEY}@:8000",
    f"ftp://user:{KEY}@localhost",
    f"http://user:{KEY}@[::1/v1",
    f"http://user:{KEY}@loc\x01al",
    f"http://user:a@{KEY}@localhost:99999",
    f"http://localhost:99999/v1?api_key={KEY}",
    f"ws://localhost/v1?token={KEY}",
)


@pytest.mark.parametrize("address", WRONG)
def test_an_address_that_is_none_is_named_without_its_password(address: str) -> None:
    with pytest.raises(UsageError) as refused:
        candidates(address)
    assert leaks(f"{refused.value} {refused.value.hint} {refused.value!r}") == []


@given(st.text(alphabet=st.characters(exclude_characters="/?#@", exclude_categories=["Cs", "Z", "C"]), max_size=20))
def test_no_password_is_left_in_an_address_that_is_shown(password: str) -> None:
    shown = without_secrets(f"no answer from https://user:{KEY}{password}@host/v1: refused by me@host")
    assert shown == "no answer from https://host/v1: refused by me@host"


async def test_no_logger_hears_a_key(
    tmp_path: Path, fault_server: StartsServers, caplog: pytest.LogCaptureFixture
) -> None:
    of = Questions(tmp_path, 4)
    server = fault_server(first_n_of_each(1, error(500), then=oracle({"q0": echo_authorization_in_400(), "q": "B"})))
    with caplog.at_level(logging.DEBUG):
        for engine in ("direct", "httpx2"):
            await of.ask(server, api_key=KEY, engine=engine, fresh=True)
    assert len(server.chats) >= 8
    assert leaks(caplog.text) == []
    assert leaking_files(tmp_path) == []


@pytest.mark.parametrize("engine", ["direct", "httpx2"])
def test_a_process_in_debug_mode_prints_no_key(engine: str, tmp_path: Path, fault_server: StartsServers) -> None:
    """Keys in header and query, with asyncio's debug mode, all loggers on, and a traceback with all locals."""
    of = Questions(tmp_path, 3)
    server = fault_server(oracle({"q0": echo_authorization_in_400(), "q": "B"}))
    code = (
        "import logging, sys, traceback\n"
        "logging.basicConfig(level=logging.DEBUG)\n"
        "import vqa_client.runner as runner\n"
        "runner.kept_prompt = lambda *_: 1 / 0\n"
        "def shown(kind, error, trace):\n"
        "    told = traceback.TracebackException(kind, error, trace, capture_locals=True)\n"
        "    print(''.join(told.format()), file=sys.stderr)\n"
        "sys.excepthook = shown\n"
        "from vqa_client.cli.main import main\n"
        "main()\n"
    )
    other = KEY[::-1]
    arguments = of.arguments(f"{server.base_url}?k={other}", "--api_key", KEY, "--engine", engine)
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", code, *arguments],
        cwd=ROOT,
        env=environment({"PYTHONASYNCIODEBUG": "1"}),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert "ZeroDivisionError" in done.stderr
    assert server.chats
    told = re.sub(r"argv?\w* = .*|arguments = .*|tokens = .*", "", done.stderr)
    assert leaks(done.stdout) == []
    assert leaks(told) == [], [line for line in told.splitlines() if KEY in line]
    assert other not in done.stdout + told
    assert leaking_files(tmp_path) == []

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request

import anyio
import pytest

from tests.servers.processes import alive, children, gone
from vqa_client.errors import UsageError
from vqa_client.servers import reader

needs_tesseract = pytest.mark.skipif("not __import__('importlib').util.find_spec('tesserocr')", reason="no tesserocr")


def test_a_missing_extra_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(reader, "EXTRA", ("json", "no_such_module"))
    with pytest.raises(UsageError, match="the page reader needs no_such_module") as caught:
        reader.launch()
    assert caught.value.hint.endswith("pip install 'vqa-client[reader]'")


def test_the_users_python_path_is_kept(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/mine")
    monkeypatch.setattr(reader, "EXTRA", ())
    assert (reader.launch().env["OMP_THREAD_LIMIT"], reader.launch().grace_s) == ("1", 5.0)
    ours, theirs = reader.launch().env["PYTHONPATH"].split(os.pathsep)
    assert os.path.isfile(os.path.join(ours, "reader", "__main__.py"))
    assert theirs == "/mine"


def test_the_reader_is_ready_only_after_its_whole_announcement():
    assert anyio.run(reader.ready, "listening on http://127.0.0.1:80") == "http://127.0.0.1:80/v1"
    assert anyio.run(reader.ready, "loading\nlistening on \n") is None


@needs_tesseract
def test_the_reader_starts_from_any_folder_and_leaves_no_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def main():
        async with reader.start() as server:
            with urllib.request.urlopen(f"{server.base_url}/models") as reply:
                return json.load(reply)["data"][0]["id"], server.pid, children(server.pid)

    model, pid, workers = anyio.run(main)
    assert model == "page-reader-ocr-baseline"
    assert len(workers) >= 2
    assert gone([pid, *workers])


STARTER = """
import anyio
from vqa_client.servers import reader

async def main():
    async with reader.start() as server:
        print(server.pid, flush=True)
        await anyio.sleep(60)

anyio.run(main)
"""


@needs_tesseract
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_reader_and_its_workers_end_with_a_killed_starter(number):
    with subprocess.Popen(
        [sys.executable, "-c", STARTER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as starter:
        pid = int(starter.stdout.readline())
        family = [pid, *children(pid)]
        assert all(map(alive, family))
        os.kill(starter.pid, number)
        starter.wait(120)
    assert gone(family)


UNGUARDED = """
import os, subprocess, sys, time
from vqa_client.servers import reader

launch = reader.launch()
environment = {**os.environ, **launch.env}
server = subprocess.Popen(launch.command, env=environment, stdout=subprocess.PIPE, start_new_session=True)
server.stdout.readline()
print(server.pid, flush=True)
time.sleep(60)
"""


@needs_tesseract
def test_the_reader_ends_by_itself_when_its_starter_is_killed():
    with subprocess.Popen([sys.executable, "-c", UNGUARDED], stdout=subprocess.PIPE) as starter:
        pid = int(starter.stdout.readline())
        family = [pid, *children(pid)]
        starter.kill()
    assert gone(family)


@needs_tesseract
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_reader_started_by_hand_ends_with_its_workers(number):
    launch = reader.launch()
    environment = {**os.environ, **launch.env}
    with subprocess.Popen(
        launch.command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout.readline().startswith("listening on http://127.0.0.1:")
        family = [server.pid, *children(server.pid)]
        os.kill(server.pid, number)
        if number != signal.SIGKILL:  # then the semaphores of the worker pool are cleaned up with a warning
            assert server.stderr.read() == ""
        assert server.wait(120) == {signal.SIGINT: 130}.get(number, -number)
    assert gone(family)


@needs_tesseract
def test_a_taken_port_is_an_error_of_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        launch = reader.launch(port=port)
        environment = {**os.environ, **launch.env}
        ended = subprocess.run(launch.command, env=environment, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: ")
    assert ended.stderr.count("\n") == 1

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from types import SimpleNamespace

import anyio
import pytest

from tests.servers.processes import alive, gone
from vqa_client.errors import ServerUnusable
from vqa_client.servers import guard
from vqa_client.servers.process import Launch

SLEEPER = "import time; print('up at http://here', flush=True); time.sleep(60)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPER}"
PARENT_OF_TWO = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEPER!r}]); {SLEEPER}"

BY_HAND = "start the server by hand to see all that it prints, and give its address with --base_url"


def python(code):
    return [sys.executable, "-c", code]


async def up(log):
    return "http://here/v1" if "up at" in log else None


def running(command, *, ready=up, start_timeout_s=60.0, **given):
    return Launch(name="the server", command=command, ready=ready, **given).running(start_timeout_s)


def run_once(code, *, inside=None, **settings):
    async def main():
        async with running(python(code), **settings) as server:
            assert alive(server.pid)
            if inside:
                await inside(server)
            return server

    return anyio.run(main)


def test_a_server_runs_while_the_block_runs_and_is_gone_after_it():
    server = run_once(SLEEPER)
    assert server.base_url == "http://here/v1"
    assert not alive(server.pid)


def test_a_server_gets_the_environment_and_its_own_variables():
    async def word_seen(log):
        return "url" if "PATH and word" in log else None

    async def main():
        code = "import os, time; print('PATH' * ('PATH' in os.environ), 'and', os.environ['W'], flush=True)"
        command = python(f"{code}; time.sleep(60)")
        async with running(command, ready=word_seen, env={"W": "word"}) as server:
            return server.base_url

    assert anyio.run(main) == "url"


def test_a_server_that_ends_early_is_reported_with_its_last_lines():
    code = "import sys; [print('line', i) for i in range(100)]; sys.exit('no room for the model')"
    with pytest.raises(ServerUnusable, match=r"the server ended with exit status 1 before it was ready") as caught:
        run_once(code)
    assert "| line 99\n" in str(caught.value)
    assert str(caught.value).endswith("| no room for the model")
    assert str(caught.value).count("\n  | ") == 12
    assert caught.value.hint == BY_HAND


def test_a_server_that_was_killed_early_is_reported_with_the_signal():
    with pytest.raises(ServerUnusable, match=r"was ended by SIGKILL before it was ready and printed nothing"):
        run_once("import os; os.kill(os.getpid(), 9)")


def test_a_server_that_dies_after_its_announcement_is_not_ready():
    async def late(log):
        await anyio.sleep(0.3)
        return None

    async def main():
        async with running(python("print('up at http://here')"), ready=late):
            pass

    with pytest.raises(ServerUnusable, match="up at http://here"):
        anyio.run(main)


def test_a_server_that_is_never_ready_is_stopped_and_reported(monkeypatch):
    now_s = 0.0
    monkeypatch.setattr("vqa_client.servers.process.time", SimpleNamespace(monotonic=lambda: now_s))

    async def never(log):
        nonlocal now_s
        now_s += 0.6 * ("loading as" in log)

    code = "import os, time; print('loading as', os.getpid(), flush=True); time.sleep(60)"
    with pytest.raises(ServerUnusable, match=r"was not ready after 0.5 s") as caught:
        run_once(code, ready=never, start_timeout_s=0.5)
    assert not alive(int(str(caught.value).rsplit(" ", 1)[1]))
    assert caught.value.hint == BY_HAND


def test_a_command_that_does_not_exist_is_named(capfd):
    async def main():
        async with running(["/no/such/server"]):
            pass

    with pytest.raises(ServerUnusable) as caught:
        anyio.run(main)
    assert str(caught.value) == "the server can't be started: /no/such/server: No such file or directory"
    assert caught.value.hint == "install it, or check the path"
    assert capfd.readouterr().err == ""


def test_bytes_that_are_not_utf_8_do_not_hide_the_last_lines():
    with pytest.raises(ServerUnusable, match="real reason"):
        run_once(r"import os, sys; os.write(1, b'\xff\xfe real reason\n'); sys.exit(1)")


def test_a_server_that_ignores_sigterm_is_killed_after_the_grace_time():
    started = time.monotonic()
    server = run_once(DEAF, grace_s=0.3)
    assert time.monotonic() - started < 30
    assert not alive(server.pid)


def test_the_servers_child_processes_end_with_it():
    groups = []

    async def inside(server):
        listing = subprocess.run(["ps", "-A", "-o", "pid=,pgid="], capture_output=True, text=True).stdout
        groups.extend(int(line.split()[0]) for line in listing.splitlines() if int(line.split()[1]) == server.pid)

    run_once(PARENT_OF_TWO, inside=inside)
    assert len(groups) == 2
    assert gone(groups)


def test_an_error_inside_the_block_stops_the_server_and_is_raised():
    seen = []

    async def inside(server):
        seen.append(server.pid)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_once(SLEEPER, inside=inside)
    assert not alive(seen[0])


def test_a_cancelled_block_stops_the_server():
    seen = []

    async def main():
        with anyio.CancelScope() as scope:
            async with running(python(SLEEPER)) as server:
                seen.append(server.pid)
                scope.cancel()
                await anyio.sleep(60)

    anyio.run(main)
    assert not alive(seen[0])


def test_a_server_may_tidy_up_within_its_grace_time(tmp_path):
    tidied = tmp_path / "tidied"
    ends = f"def end(*_):\n    time.sleep(0.2)\n    open({str(tidied)!r}, 'w').close()\n    sys.exit()"
    code = (
        f"import signal, sys, time\n{ends}\nsignal.signal(signal.SIGTERM, end)\nprint('up', flush=True)\ntime.sleep(60)"
    )
    with subprocess.Popen(python(code), stdout=subprocess.PIPE, start_new_session=True) as server:
        server.stdout.readline()
        threading.Thread(target=server.wait).start()  # else the zombie would stay in its group
        guard.end_group(server.pid, grace_s=10.0)
    assert (server.returncode, tidied.exists()) == (0, True)


STARTER = textwrap.dedent(f"""
    import anyio, sys
    from vqa_client.servers.process import Launch

    async def ready(log):
        return "url" if "up at" in log else None

    async def main():
        launch = Launch(command=[sys.executable, "-c", {DEAF!r}], ready=ready, name="it", grace_s=0.3)
        async with launch.running(60.0) as server:
            print(server.pid, flush=True)
            await anyio.sleep(60)

    anyio.run(main)
""")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_server_ends_with_its_starter(number):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(python(STARTER), **pipes, start_new_session=True) as starter:
        server = int(starter.stdout.readline())
        assert alive(server)
        os.killpg(starter.pid, number)  # as Ctrl-C does, and a scheduler that ends a job
        starter.wait(60)
    assert gone([server], within_s=40), "before it ends by itself"

"""Runs from Python: twice, in a notebook, in threads, stopped in between, with nothing left open."""

import asyncio
import gc
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

import vqa_client
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import delay, error, hang, oracle
from tests.faults.commands import ROOT, TIMEOUT_S, environment
from tests.faults.questions import Questions
from vqa_client.errors import ServerUnusable

SCRIPT = """
import asyncio, sys
from pathlib import Path
import vqa_client

root, base_url = Path(sys.argv[1]), sys.argv[2]

def settings(name, **more):
    return vqa_client.McSettings(
        data=root / "data.json", images=root / "pages", output=root / engine / name, base_url=base_url,
        api_key=None, max_workers=8, engine=engine, **more,
    )

async def twice():
    first = await vqa_client.arun(settings("in_loop_1"))
    return first + vqa_client.run(settings("in_loop_2"))

for engine in ("direct", "httpx2"):
    reports = vqa_client.run(settings("one")) + vqa_client.run(settings("two")) + asyncio.run(twice())
    try:
        vqa_client.run(settings("one", model="other"))
    except Exception as error:
        print(type(error).__name__)
    print([report.summary.overall.correct for report in reports])
"""


def test_many_runs_in_one_process_leave_nothing_behind(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 10)
    server = fault_server(oracle(of.replies()))
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", SCRIPT, str(tmp_path), server.base_url],
        cwd=ROOT,
        env=environment({"PYTHONASYNCIODEBUG": "1"}),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    slow = [line for line in done.stderr.splitlines() if not line.startswith("Executing <")]  # messages of debug mode
    assert (done.returncode, slow) == (0, [])
    assert done.stdout.split("\n")[:4] == ["IdentityError", "[10, 10, 10, 10]"] * 2


def test_a_running_loop_is_no_obstacle(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 4)
    server = fault_server(oracle(of.replies()))

    async def cell() -> int:
        found = vqa_client.run(of.settings(server.base_url, fresh=True))
        return found[0].summary.overall.correct

    async def notebook() -> list[int]:
        return [await cell(), await cell()]

    assert asyncio.run(notebook()) == [4, 4]


def test_two_threads_run_side_by_side(tmp_path: Path, fault_server: StartsServers) -> None:
    of = [Questions(tmp_path / name, 20) for name in ("a", "b")]
    server = fault_server((delay(0.01), oracle(of[0].replies())))
    correct: list[int] = []

    def work(each: Questions) -> None:
        correct.append(vqa_client.run(each.settings(server.base_url))[0].summary.overall.correct)

    threads = [threading.Thread(target=work, args=(each,)) for each in of]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert correct == [20, 20]


async def test_two_runs_in_one_loop_continue_side_by_side(tmp_path: Path, fault_server: StartsServers) -> None:
    of = [Questions(tmp_path / name, 20) for name in ("a", "b")]
    server = fault_server((delay(0.01), oracle(of[0].replies())))
    found = await asyncio.gather(*(vqa_client.arun(each.settings(server.base_url)) for each in of))
    assert [reports[0].summary.overall.correct for reports in found] == [20, 20]


async def test_a_cancelled_run_keeps_what_is_done_and_leaves_nothing_open(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 40)
    server = fault_server((delay(0.02), oracle(of.replies())))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        running = asyncio.create_task(vqa_client.arun(of.settings(server.base_url, max_workers=4)))
        while len(server.chats) < 12:
            await asyncio.sleep(0.005)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        gc.collect()
    assert of.report()["incomplete"]
    assert 8 <= len(of.outcomes()) < 40
    server.wait_until(lambda: server.log.in_flight == 0)
    records = await of.ask(server)
    assert len(records) == 40


async def test_a_failed_run_can_be_followed_by_a_good_one(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 20)
    before = asyncio.all_tasks()
    with pytest.raises(ServerUnusable):
        await of.ask(fault_server(error(500)), breaker_after=3, max_retries=0)
    with pytest.raises(ServerUnusable):
        await of.ask(fault_server(hang()), breaker_after=3, max_retries=0, timeout=0.2)
    records = await of.ask(fault_server(oracle(of.replies())))
    assert {record["status"] for record in records.values()} == {"ok"}
    assert asyncio.all_tasks() == before

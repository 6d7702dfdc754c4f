"""`vqa-client ctl` changes runs in progress."""

import asyncio
import fcntl
import json
import os
import platform
import shutil
import socket
import stat
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.server import FaultServer
from tests.fakes.words import answer, delay
from tests.faults.questions import Notes, Questions
from vqa_client.cli.main import run_command
from vqa_client.cli.processes import locked_runs
from vqa_client.evaluation import Interrupted, arun, arun_several
from vqa_client.files import removed_unlocked
from vqa_client.runs.control import LONGEST_PATH, PREFIX


async def ctl(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = await asyncio.to_thread(run_command, ["ctl", *words])
    printed = capsys.readouterr()
    return code, printed.out + printed.err


@asynccontextmanager
async def asking(of: Questions, server: FaultServer, **changes: object) -> AsyncIterator[Notes]:
    running = asyncio.create_task(arun(of.settings(server.base_url, **changes), progress=(notes := Notes())))
    try:
        async with asyncio.timeout(60):
            while not (records(of) and len(server.chats) > 2):
                await asyncio.sleep(0.01)
        yield notes
        with pytest.raises(Interrupted):
            await running
    finally:
        running.cancel()


def records(of: Questions) -> Sequence[Path]:
    return sorted(of.output.glob("*.ctl"))


async def test_a_run_in_progress_is_changed_paused_resumed_and_stopped(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    of = Questions(tmp_path / ("long" * 40), 400)
    server = fault_server((delay(0.05), answer("B")))
    async with asking(of, server, max_workers=2) as notes:
        [record] = records(of)
        place = Path(json.loads(record.read_bytes())["socket"])
        assert len(str(record)) > LONGEST_PATH >= len(str(place))
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (record, place, place.parent)]
        assert modes == [0o600, 0o600, 0o700]
        assert not removed_unlocked(place.parent)

        code, said = await ctl(capsys, str(of.output), "--max-workers", "9")
        assert (code, "running" in said, "9 at most" in said, "of 400 done · 0 failed" in said) == (0, True, True, True)
        async with asyncio.timeout(60):
            while server.in_flight_peak < 9:
                await asyncio.sleep(0.01)

        for _ in range(2):
            code, said = await ctl(capsys, str(of.output / "clean_mc_eval.records.jsonl"), "--pause")
        assert (code, "paused" in said) == (0, True)
        assert 1 < float(said.rpartition(" · ")[2].removesuffix(" q/s\n")) < 1_000
        async with asyncio.timeout(60):
            while "0 in flight" not in said:
                code, said = await ctl(capsys, str(of.output))
        asked = len(server.chats)
        await asyncio.sleep(0.1)
        code, said = await ctl(capsys, str(of.output))
        assert (len(server.chats), "paused" in said, "0 in flight" in said) == (asked, True, True)

        assert (await ctl(capsys, str(of.output), "--max_workers", "auto", "--resume"))[0] == 0
        async with asyncio.timeout(60):
            while len(server.chats) == asked:
                await asyncio.sleep(0.01)
        code, said = await ctl(capsys, str(of.output), "--stop")
        assert (code, "stopping" in said) == (0, True)
    assert [each for each in notes.said if each.startswith("ctl: ")] == [
        "ctl: 9 workers",
        "ctl: paused; questions in flight end",
        "ctl: --max_workers auto",
        "ctl: resumed",
        "ctl: stopping; waiting a moment for running requests",
    ]
    assert (records(of), place.parent.exists()) == ([], False)
    session = of.run_file()["sessions"][-1]
    assert session["auto_workers"]["most"] >= 9, "the search begins at the present number"
    workers = session.get("workers", {})
    assert workers.get("paused", 0) == 0, "what a person pauses is not held up"
    assert 0 < len(of.records()) < 400


async def test_an_order_of_workers_holds_for_later_benchmarks_too(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    of, (first, second) = Questions(tmp_path, 30), (fault_server((delay(0.05), answer("B"))) for _ in range(2))
    settings = [
        of.settings(server.base_url, output=of.output / name, max_workers=4, check=False, metrics=False)
        for server, name in ((first, "first"), (second, "second"))
    ]
    running = asyncio.create_task(arun_several(settings))
    while len(first.chats) < 5:
        await asyncio.sleep(0.01)
    assert (await ctl(capsys, str(of.output), "--max_workers", "1"))[0] == 0
    assert len(await running) == 2
    assert (first.in_flight_peak, second.in_flight_peak) == (4, 1)
    files = [json.loads(path.read_bytes())["described"] for path in sorted(of.output.rglob("*.run.json"))]
    assert [file["settings"]["max_workers"] for file in files] == [4, 4]  # as given: merge joins runs of equal settings


async def test_a_run_between_two_shards_is_not_taken_for_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.runs.control.BETWEEN_S", 0.05)
    with locked_runs([Questions(tmp_path, 1).settings("http://127.0.0.1:9/v1", output=tmp_path)], shared=True):
        for place in (tmp_path, tmp_path / "clean_mc_eval.json"):
            code, said = await ctl(capsys, str(place), "--stop")
            assert (code, "its command begins, is between two shards, or merges" in said) == (2, True), said
            assert "hint: give the order again in a moment" in said
    assert "no run is asking questions" in (await ctl(capsys, str(tmp_path)))[1]


async def test_a_run_that_can_take_no_orders_says_so_and_goes_on(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.runs.control._root", lambda: str(tmp_path / "gone"))
    of, notes = Questions(tmp_path, 2), Notes()
    await arun(of.settings(fault_server(answer("B")).base_url), progress=notes)
    (said,) = notes.about("ctl")
    assert said.startswith(
        f"vqa-client ctl can't reach this run: [Errno 2] No such file or directory: '{tmp_path}/gone/"
    )
    assert len(of.run_file()["sessions"]) == 1


async def test_a_silent_connection_does_not_delay_a_run(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 40)
    running = asyncio.create_task(of.ask(fault_server((delay(0.05), answer("B"))), max_workers=4))
    while not records(of):
        await asyncio.sleep(0.01)
    _, writer = await asyncio.open_unix_connection(json.loads(records(of)[0].read_bytes())["socket"])
    async with asyncio.timeout(60):
        assert len(await running) == 40
    writer.close()
    await writer.wait_closed()


async def test_the_file_of_a_killed_run_is_removed_and_no_run_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, record = Path(tempfile.mkdtemp(prefix=PREFIX)), tmp_path / "clean_mc_eval.ctl"
    place = {"socket": str(folder / "socket"), "host": platform.node(), "pid": 1}
    record.write_text(json.dumps(place))
    code, said = await ctl(capsys, str(tmp_path))
    assert (code, record.exists(), folder.exists()) == (2, False, False)
    assert f"error: no run is asking questions in {tmp_path} now" in said
    code, said = await ctl(capsys, str(tmp_path / "reslts"))
    assert (code, f"error: {tmp_path / 'reslts'} does not exist" in said) == (2, True)


async def test_any_run_removes_the_folders_of_killed_runs_and_no_others(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    dead, begun, live = (Path(tempfile.mkdtemp(prefix=PREFIX)) for _ in range(3))
    lock = os.open(live, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_SH)
    for folder in (dead, live):
        with socket.socket(socket.AF_UNIX) as of_another_machine:  # connections to it are refused here
            of_another_machine.bind(str(folder / "socket"))
        os.utime(folder, (1, 1))
    await Questions(tmp_path, 1).ask(fault_server(answer("B")))
    os.close(lock)
    assert [folder.exists() for folder in (dead, begun, live)] == [False, True, True]
    for folder in (begun, live):
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("content", "words", "said"),
    [
        ('{"socket":"/tmp/x/socket","host":"elsewhere","pid":7}', (), "the run is on elsewhere, as process 7"),
        ("{", (), "no run is asking questions"),
        ("", ("--pause", "--resume"), "--pause and --resume can't be combined"),
        ("", ("--max_workers", "0"), "--max_workers is 0"),
    ],
)
async def test_orders_that_ctl_can_not_give_are_refused(
    content: str, words: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.ctl").write_text(content)
    code, printed = await ctl(capsys, str(tmp_path), *words)
    assert (code, said in printed) == (2, True), printed


async def test_a_run_of_another_user_or_one_that_does_not_answer_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = {"socket": f"{folder}/socket", "host": platform.node(), "pid": 7}
        (tmp_path / "run.ctl").write_text(json.dumps(place))
        async with await asyncio.start_unix_server(lambda reader, writer: writer.close(), place["socket"]):
            code, printed = await ctl(capsys, str(tmp_path / "run.run.json"))
            assert (code, "error: run.ctl: process 7 does not answer: " in printed) == (2, True)
            monkeypatch.setattr("os.getuid", lambda: -1)
            code, printed = await ctl(capsys, str(tmp_path / "run.json"))
            assert (code, printed) == (2, "error: run.ctl: the run is another user's, as process 7\n")
            monkeypatch.setattr(Path, "read_bytes", Mock(side_effect=PermissionError))
            code, printed = await ctl(capsys, str(tmp_path / "run.json"))
            assert (code, printed) == (2, "error: run.ctl: the run is another user's\n")

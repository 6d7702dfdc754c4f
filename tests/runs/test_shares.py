"""Workers that share an object store: leases divide the shards, and a dead worker's records are used."""

import asyncio
import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tests.fakes import s3
from tests.fakes.fixtures import StartsServers
from tests.fakes.s3 import BUCKET, store_of
from tests.fakes.words import delay, error, first_n, hold, oracle
from tests.faults.questions import Questions
from vqa_client.cli import turns
from vqa_client.cli.main import run_command
from vqa_client.cli.progress import LiveCounts
from vqa_client.cli.turns import check_locks, in_turns
from vqa_client.errors import IdentityError, OutputError, ServerUnusable, UsageError
from vqa_client.evaluation import Interrupted, arun
from vqa_client.reports.report import Report
from vqa_client.runs import leases
from vqa_client.runs.control import Order, order_all
from vqa_client.runs.leases import Lease, Leases
from vqa_client.runs.reopened import rescore
from vqa_client.settings.divided import Shard

pytestmark = pytest.mark.usefixtures("store_environment")
SHARE = f"s3://{BUCKET}/a/run"


class Heard(LiveCounts):
    """Keeps the notes."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[s3._Server]:
    scheme = getattr(request, "param", "s3")
    monkeypatch.setattr(f"{__name__}.SHARE", f"{scheme}://{BUCKET}/a/run")
    for module, name, value in (
        (turns, "POLL_S", 0.05),
        (turns, "KEPT_S", 0.02),
        (turns, "RENEWED_S", 0.1),
        (leases, "LOOKED_S", 0.0),
    ):
        monkeypatch.setattr(module, name, value)
    with store_of(tmp_path / "bucket", signed=scheme == "s3") as server:
        for name, value in ({"AWS_ENDPOINT_URL": server.address} | s3.google(server.address)).items():
            monkeypatch.setenv(name, value)
        yield server


def expiring(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    for module in (leases, turns):
        monkeypatch.setattr(module, "EXPIRED_S", seconds)


async def worker(of: Questions, base_url: str, name: str, **changes: Any) -> Report:
    progress, stop = changes.pop("progress", Heard()), changes.pop("stop", asyncio.Event())
    given = {"shard": "next/3", "share": SHARE, "max_workers": 2, "output": of.root / name}
    settings = of.settings(base_url, **(given | changes))
    [report] = await in_turns([settings], progress, stop)
    return report


async def whole(of: Questions, base_url: str) -> bytes:
    [report] = await arun(of.settings(base_url, output=of.root / "whole"))
    return report.path.read_bytes()


def taken(share: Leases, shard: Shard) -> Lease:
    lease = share.take(shard)
    assert lease is not None
    return lease


@pytest.mark.parametrize("store", ["s3", "gs"], indirect=True)
async def test_workers_without_a_common_folder_ask_each_question_once(
    tmp_path: Path, fault_server: StartsServers, store: s3._Server
) -> None:
    of = Questions(tmp_path, 17)
    server = fault_server((delay(0.02), oracle(of.replies())))
    found = await asyncio.gather(*(worker(of, server.base_url, name) for name in "ab"))
    assert len(server.chats) == 17
    expected = await whole(of, server.base_url)
    late = await worker(of, server.base_url, "late")
    assert [report.path.read_bytes() for report in (*found, late)] == [expected] * 3
    assert len(server.chats) == 17 * 2
    assert not rescore(late.log, write=False).changes
    names = [path.relative_to(store.folder / "a/run").as_posix() for path in store.folder.rglob("*") if path.is_file()]
    assert not [name for name in names if ".new/" in name or name.startswith("check/")]


OTHERS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a model": ({"model": "m1"}, {"model": "m2"}, "model.model_name: 'm1' in .*, 'm2' now"),
    "a model where it was the served one": ({}, {"model": "m2"}, "model.model_name: .*, 'm2' now"),
    "a temperature": ({"model": "m1"}, {"model": "m1", "temperature": 0.5}, "model.temperature: 0.0 in .*, 0.5 now"),
    "a temperature for the served model": ({}, {"temperature": 0.5}, "model.temperature: 0.0 in .*, 0.5 now"),
    "a prompt": ({}, {"prompt": "{question}\n\n{choices}"}, "model.prompt_template: None in .* now"),
    "pixels": ({}, {"max_pixels": 100_000}, "images.max_pixels: .*, 100000 now"),
    "questions": ({"limit": 1}, {}, "expected: 1 in .*, 2 now"),
    "texts": ({}, {"text_only": True}, "clean_mc.* doesn't belong to this command"),
}


@pytest.mark.parametrize(("first", "then", "said"), OTHERS.values(), ids=OTHERS)
async def test_another_runs_shards_are_refused(
    first: dict[str, Any],
    then: dict[str, Any],
    said: str,
    tmp_path: Path,
    fault_server: StartsServers,
    store: s3._Server,
) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server(oracle(of.replies()))
    report = await worker(of, server.base_url, "a", shard="next/1", **first)
    asked = len(server.chats)
    with pytest.raises(IdentityError, match=f"(?s){SHARE} belong to a different run.*{said}") as caught:
        await worker(of, server.base_url, "b", shard="next/1", **then)
    assert caught.value.hint == "give another --share"
    assert (len(server.chats), (of.root / "b").exists()) == (asked, False)
    shutil.rmtree(store.folder / "a/run/done")  # as while it was asked
    if "expected" not in said:
        with pytest.raises(IdentityError, match=said):
            await worker(of, server.base_url, "b", shard="next/1", **then)
        assert len(server.chats) == asked
    again = await worker(of, server.base_url, "again", shard="next/1", **first)
    assert again.path.read_bytes() == report.path.read_bytes()


async def test_a_finished_run_of_another_served_model_is_refused_and_needs_no_server(
    tmp_path: Path, fault_server: StartsServers, store: s3._Server
) -> None:
    of = Questions(tmp_path, 2)
    first = fault_server(oracle(of.replies()), models=("m1",))
    report = await worker(of, first.base_url, "a", shard="next/1")
    other = fault_server(oracle(of.replies()), models=("m2",))
    with pytest.raises(IdentityError, match=r"model.model_name: 'm1' in .*, 'm2' now"):
        await worker(of, other.base_url, "b", shard="next/1")
    again = await worker(of, "http://127.0.0.1:9/v1", "again", shard="next/1")
    assert (again.path.read_bytes(), other.chats) == (report.path.read_bytes(), [])


async def test_failed_questions_are_asked_again(tmp_path: Path, fault_server: StartsServers, store: s3._Server) -> None:
    of, server = Questions(tmp_path, 4), fault_server(first_n(4, error(500), "B"))
    failed = [(await worker(of, server.base_url, name, max_retries=0)).failed for name in "ab"]
    assert (failed, len(server.chats)) == ([4, 0], 8)


async def test_ctl_finds_a_worker_by_its_output_folder(
    tmp_path: Path, fault_server: StartsServers, store: s3._Server
) -> None:
    of = Questions(tmp_path, 40)
    server = fault_server((delay(0.05), oracle(of.replies())))
    working = asyncio.create_task(worker(of, server.base_url, "a", shard="next/2"))
    await asyncio.to_thread(server.wait_for_requests, 4)
    [standing] = await asyncio.to_thread(order_all, of.root / "a", Order(stop=True))
    assert ("shard" in standing.title, standing.workers, standing.stopping) == (True, 2, True)
    with pytest.raises(Interrupted):
        await working
    assert not list((of.root / "a").glob("*.ctl"))


async def test_another_run_that_began_at_the_same_time_is_refused(
    tmp_path: Path, fault_server: StartsServers, store: s3._Server
) -> None:
    of = Questions(tmp_path, 4)
    server = fault_server((delay(0.05), oracle(of.replies())))
    both = [worker(of, server.base_url, name, model=name, shard="next/2") for name in ("m1", "m2")]
    found = await asyncio.gather(*both, return_exceptions=True)
    assert any(isinstance(each, IdentityError) for each in found)
    assert not [each for each in found if isinstance(each, Report) and each.model != each.path.parent.name]


@pytest.mark.parametrize("store", ["s3", "gs"], indirect=True)
async def test_a_dead_workers_shard_is_resumed_with_its_kept_records(
    tmp_path: Path, fault_server: StartsServers, store: s3._Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = Questions(tmp_path, 9)
    server = fault_server(oracle(of.replies()))
    [report] = await arun(of.settings(server.base_url, shard="1/3", output=tmp_path / "dead"))
    run = report.log.with_name(report.log.name.replace(".records.jsonl", ".run.json"))
    share = Leases(SHARE, 3)
    head, *lines = report.log.read_bytes().splitlines(keepends=True)
    lease = taken(share, Shard(1, 3))
    share.keep(lease, {f"0/{run.name}": run.read_bytes()}, {f"0/{report.log.name}": head})
    share.keep(lease, {}, {f"0/{report.log.name}": lines[0]})
    expiring(monkeypatch, 1.0)
    begun_s = time.monotonic()
    found = await worker(of, server.base_url, "a")
    assert time.monotonic() - begun_s > 0.5
    assert len(server.chats) == 3 + (3 - 2) + 6
    share.keep(lease, {}, {f"0/{report.log.name}": lines[1]})  # on its way when it died
    assert found.path.read_bytes() == await whole(of, server.base_url)
    assert (await worker(of, server.base_url, "late")).path.read_bytes() == found.path.read_bytes()


async def test_a_worker_that_has_lost_its_lease_stops_and_nothing_counts_twice(
    tmp_path: Path, fault_server: StartsServers, store: s3._Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = Questions(tmp_path, 12)
    server = fault_server((delay(0.1), oracle(of.replies())))
    slow, progress = Leases(SHARE, 1), Heard()
    working = asyncio.create_task(worker(of, server.base_url, "a", progress=progress, shard="next/1", max_workers=1))
    await asyncio.to_thread(server.wait_for_requests, 2)
    slow.finished(Shard(1, 1))
    with monkeypatch.context() as patched:
        patched.setattr(leases, "EXPIRED_S", -1.0)
        lease = taken(slow, Shard(1, 1))
    async with asyncio.timeout(120):
        while not any("another worker has its lease" in said for said in progress.said):
            await asyncio.sleep(0.01)
    asked = len(server.chats)
    await asyncio.sleep(0.3)
    assert len(server.chats) == asked < 12
    slow.release(lease)
    report = await working
    records = [json.loads(line)["question_id"] for line in report.log.read_bytes().splitlines()]
    assert sorted(records) == sorted(of.ids)
    assert report.path.read_bytes() == await whole(of, server.base_url)


@pytest.mark.parametrize("store", ["s3", "gs"], indirect=True)
async def test_a_stopped_worker_keeps_its_records_and_frees_its_shard(
    tmp_path: Path, fault_server: StartsServers, store: s3._Server
) -> None:
    of = Questions(tmp_path, 12)
    server = fault_server(first_n(1, oracle(of.replies()), then=(hold(), oracle(of.replies()))))
    stop = asyncio.Event()
    working = asyncio.create_task(worker(of, server.base_url, "a", stop=stop, shard="next/1"))
    await asyncio.to_thread(server.wait_for_requests, 4)
    stop.set()
    server.release()
    with pytest.raises(Interrupted):
        await working
    assert (await worker(of, server.base_url, "b", shard="next/1")).summary.overall.total == 12
    assert len(server.chats) == 12


async def test_a_lease_is_renewed_while_the_files_of_its_shard_come_and_go(
    tmp_path: Path, fault_server: StartsServers, store: s3._Server
) -> None:
    of, stop = Questions(tmp_path, 12), asyncio.Event()
    server = fault_server(first_n(1, oracle(of.replies()), then=(hold(), oracle(of.replies()))))
    working = asyncio.create_task(worker(of, server.base_url, "a", stop=stop, shard="next/1"))
    await asyncio.to_thread(server.wait_for_requests, 4)
    stop.set()
    server.release()
    with pytest.raises(Interrupted):
        await working
    waited: list[str] = []

    def renewals() -> int:
        return sum(asked == "PUT a/run/leases/1-of-1" for asked in store.asked)

    def until_renewed(asked: str) -> None:
        if re.match(r"GET .*\.new/|PUT .*records\.jsonl$", asked) and asked[:3] not in waited:
            waited.append(asked[:3])
            until, end_s = renewals() + 3, time.monotonic() + 120  # the first may have been on its way
            while renewals() < until:
                assert time.monotonic() < end_s, asked
                time.sleep(0.01)

    store.before = until_renewed
    assert (await worker(of, server.base_url, "b", shard="next/1")).summary.overall.total == 12
    assert (waited, len(server.chats)) == (["GET", "PUT"], 12)


async def test_an_unreachable_store_does_not_mean_that_another_worker_has_the_shard(
    tmp_path: Path, fault_server: StartsServers, store: s3._Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    of, progress, stop = Questions(tmp_path, 100), Heard(), asyncio.Event()
    server = fault_server((delay(0.3), oracle(of.replies())))
    given: dict[str, Any] = {"shard": "next/1", "max_workers": 1, "progress": progress, "stop": stop}
    working = asyncio.create_task(worker(of, server.base_url, "a", **given))
    await asyncio.to_thread(server.wait_for_requests, 2)

    def gone(asked: str) -> None:
        raise ConnectionError

    expiring(monkeypatch, 0.5)
    store.before = gone
    async with asyncio.timeout(120):
        while not any(
            "shard 1/1: its lease could not be renewed for too long: s3://" in said for said in progress.said
        ):
            await asyncio.sleep(0.01)
    stop.set()
    with pytest.raises((Interrupted, OutputError)):  # it may ask the store again first
        await working
    assert not any("another worker" in said for said in progress.said)


@pytest.mark.parametrize("store", ["s3", "gs"], indirect=True)
def test_a_renewal_counts_even_if_its_reply_was_lost(store: s3._Server, monkeypatch: pytest.MonkeyPatch) -> None:
    share, put = Leases(SHARE, 1), Leases._put
    lease = taken(share, Shard(1, 1))

    def lost(self: Leases, *given: Any) -> None:
        put(self, *given)
        raise TimeoutError

    with monkeypatch.context() as patched:
        patched.setattr(Leases, "_put", lost)
        with pytest.raises(TimeoutError):
            share.renew(lease)
    assert share.renew(lease)
    assert share.renew(lease)


async def test_a_failed_worker_frees_its_shard(tmp_path: Path, fault_server: StartsServers, store: s3._Server) -> None:
    of = Questions(tmp_path, 3)
    server = fault_server(error(401, "no"))
    with pytest.raises(ServerUnusable):
        await worker(of, server.base_url, "a", shard="next/1", breaker_after=1)
    assert Leases(SHARE, 1).take(Shard(1, 1)) is not None


@pytest.mark.parametrize("store", ["s3", "gs"], indirect=True)
def test_of_two_workers_one_gets_a_shard(store: s3._Server, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, shard = Leases(SHARE, 2), Leases(SHARE, 2), Shard(2, 2)
    assert not other.finished(shard)  # so that it has an old list of the leases
    lease = taken(one, shard)
    assert other.take(shard) is None
    assert one.renew(lease)
    one.release(lease)
    second = taken(other, shard)
    assert not one.renew(lease)
    one.release(lease)
    assert other.renew(second)
    monkeypatch.setattr(leases, "EXPIRED_S", -1.0)
    third = taken(one, shard)
    assert (second.piece, other.renew(second), one.renew(third)) == (0, False, True)


async def test_a_store_without_conditional_writes_is_refused(
    tmp_path: Path, store: s3._Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = Questions(tmp_path, 2)
    taken(Leases(SHARE, 2), Shard(1, 2))
    with pytest.raises(UsageError, match="has shards of 2, not of 3") as caught:
        await worker(of, "http://127.0.0.1:9/v1", "a")
    assert caught.value.hint == "the same N, or another --share"
    store.conditions = False
    with pytest.raises(UsageError, match="has no conditional writes: two workers could get one shard"):
        await worker(of, "http://127.0.0.1:9/v1", "a")
    with monkeypatch.context() as lacking:
        lacking.setattr(Leases, "_put", Mock(side_effect=NotImplementedError))
        with pytest.raises(UsageError, match="has no conditional writes: two workers could get one shard"):
            await worker(of, "http://127.0.0.1:9/v1", "a")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ANOTHER")
    s3.objects._store.cache_clear()
    with pytest.raises(UsageError, match="access is denied"):
        await worker(of, "http://127.0.0.1:9/v1", "a")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--share", SHARE], "--share needs --shard next/N"),
        (["--share", "results", "--shard", "next/2"], "'results' is not an object store"),
        (["--share", f"s3://{BUCKET}/run?key=hidden", "--shard", "next/2"], "a query or user in an address"),
    ],
)
def test_options_that_share_excludes_are_named(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(Questions(tmp_path, 1).arguments("http://127.0.0.1:9/v1", *options)) == 2
    told = capsys.readouterr().err
    assert (said in told, "hidden" in told) == (True, False), told


def test_a_file_system_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_locks(tmp_path / "new")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"file has no locks: File exists$") as caught:
        check_locks(tmp_path / "file")
    assert caught.value.hint.endswith("or another --output")
    monkeypatch.setattr("fcntl.flock", lambda file, operation: None)
    with pytest.raises(UsageError, match="don't exclude other processes") as caught:
        check_locks(tmp_path)
    assert caught.value.hint == "--shard K/N for each worker and then `vqa-client merge`, or another --output"

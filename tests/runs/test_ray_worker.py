"""A worker of `--ray` sends its shard's files as they grow; these tests need no Ray."""

import asyncio
import dataclasses
import itertools
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.words import answer
from tests.faults.questions import Questions
from vqa_client.cli.processes import locked_runs
from vqa_client.cli.progress import LiveCounts, PlainDisplay
from vqa_client.cli.ray_driver import _Driver, on_ray
from vqa_client.cli.ray_worker import STOPPED, Sent, Worker
from vqa_client.cli.streams import EXIT_SERVER, EXIT_USAGE
from vqa_client.cpus import CPU_COUNT
from vqa_client.errors import Busy, ServerUnusable, UsageError, VqaClientError
from vqa_client.version import __version__

LOG, RUN = "0/clean_mc_eval.shard-1-of-2.records.jsonl", "0/clean_mc_eval.shard-1-of-2.run.json"


def of_question(line: bytes) -> str:
    return str(json.loads(line)["question_id"])


def asked(
    of: Questions, base_url: str, kept: Mapping[str, bytes], config: str, *, stopped: bool = False
) -> Sequence[Sent]:
    """All messages of a worker without access to the config file."""
    content = Path(config).read_bytes()
    settings = of.settings(base_url, shard="1/2", config="/of/the/driver/model.json", output=Path("/nowhere/to/write"))
    worker = Worker(cpus=3)
    if stopped:
        worker.stop()
    return list(worker.run([settings], {"/of/the/driver/model.json": content}, kept, {}))


def test_a_worker_sends_its_shard_and_does_not_ask_the_records_that_it_gets(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CPU_COUNT, "2")
    of = Questions(tmp_path, 8)
    server = fault_server(answer("The answer is A."))
    config = of.config()
    *sent, last = asked(of, server.base_url, {}, config)
    assert (last.code, last.message, os.environ[CPU_COUNT]) == (0, "", "3")
    log = b"".join(each.lines.get(LOG, b"") for each in sent)
    run = [each.files[RUN] for each in sent if RUN in each.files][-1]
    first = next(number for number, each in enumerate(sent) if each.lines)
    assert any(RUN in each.files for each in sent[: first + 1])
    assert sorted(map(of_question, log.splitlines())) == ["q0", "q1", "q2", "q3"]
    assert json.loads(run)["identity"]["model"]["model_name"] == "tiny-vlm"
    assert [said["done"] for each in sent for said in each.display if said.get("ended")] == [4]

    half = b"".join(log.splitlines(keepends=True)[:2])
    *sent, last = asked(of, server.base_url, {LOG: half, RUN: run}, config)
    assert last.code == 0
    assert len(server.chats) == 6
    more = b"".join(each.lines.get(LOG, b"") for each in sent)
    assert sorted(map(of_question, (half + more).splitlines())) == ["q0", "q1", "q2", "q3"]


def test_a_worker_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CPU_COUNT, "2")
    of = Questions(tmp_path, 2)
    of.data_json.unlink()
    last = asked(of, "http://127.0.0.1:9/v1", {}, of.config())[-1]
    assert (last.code, str(of.data_json) in last.message) == (2, True)


def test_a_stopped_worker_asks_nothing_more(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CPU_COUNT, "2")
    of = Questions(tmp_path, 100)
    server = fault_server(answer("The answer is A."))
    last = asked(of, server.base_url, {}, of.config(), stopped=True)[-1]
    assert (last.code, last.message) == (-1, "")
    assert len(server.chats) < 50


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ray": "auto"}, "--ray needs --shards"),
        ({"shards": 4}, "--shards needs --ray"),
        ({"ray_cpus": 2}, "--ray_cpus needs --ray"),
        ({"ray": "auto", "shards": 0}, "--shards is 0"),
        ({"ray": "auto", "shards": 2, "shard": "1/2"}, "--ray and --shard can't"),
        ({"ray": "auto", "shards": 2, "processes": "2"}, "--ray and --processes can't"),
        ({"ray": "ray://10.0.0.1:10001", "shards": 2}, "is a client's address"),
    ],
)
def test_options_for_ray_are_checked(given: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        Questions(tmp_path, 1).settings("http://127.0.0.1:9/v1", **given)
    assert said in str(caught.value)


async def test_a_cluster_that_does_not_start_ends_the_run_with_rays_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def init(address: str, **given: Any) -> None:
        assert (address, given["num_cpus"]) == ("local", 2)
        raise Exception("The current node timed out during startup.\nThis could happen because ...")

    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_worker_niceness"):
        monkeypatch.setenv(name, "0")
    monkeypatch.setenv(CPU_COUNT, "64")
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init))
    settings = Questions(tmp_path, 2).settings("http://127.0.0.1:9/v1", ray="local", shards=2)
    with pytest.raises(
        ServerUnusable, match=r"local can't be reached: The current node timed out during startup\.$"
    ) as caught:
        await on_ray([settings], LiveCounts(), asyncio.Event())
    assert caught.value.hint == "`ray start` on this machine makes it a node; --ray local starts a cluster here"


async def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    settings = Questions(tmp_path, 2).settings("http://127.0.0.1:9/v1", ray="local", shards=2)
    with pytest.raises(UsageError, match=r"^--ray needs ray$") as caught:
        await on_ray([settings], LiveCounts(), asyncio.Event())
    assert "vqa-client[ray]" in caught.value.hint


class RayError(Exception):
    """Replaces Ray's base class of errors."""


class RayTaskError(RayError):
    """Replaces Ray's error for a fault in a worker's code."""


class ActorDiedError(RayError):
    """Replaces Ray's error for a lost worker."""


def cluster(ends: Exception | Sent, *, version: str = __version__, fails: Sequence[bool] = (False,)) -> SimpleNamespace:
    """Replaces the module ray: a node with two processors and one that is gone, whose workers all end with this.

    `fails` says of each start in turn, over and over, whether the worker ends at once.
    """
    failing = itertools.cycle(fails)

    async def about() -> dict[str, str]:
        if next(failing):
            raise cast(Exception, ends)
        return {"vqa_client": version, "node": "n1"}

    async def run(*given: Any) -> AsyncIterator[Any]:
        if not isinstance(ends, Sent):
            raise ends
        yield asyncio.sleep(0, ends)

    def noop(*given: Any, **options: Any) -> None:
        """Accept Ray's arguments."""

    actor = SimpleNamespace(
        about=SimpleNamespace(remote=about),
        run=SimpleNamespace(options=lambda **given: SimpleNamespace(remote=run)),
        stop=SimpleNamespace(remote=noop),
    )
    actors = SimpleNamespace(options=lambda **given: SimpleNamespace(remote=lambda cpus: actor))
    nodes = [{"Alive": True, "Resources": {"CPU": 2.0}}, {"Alive": False, "Resources": {"CPU": 64.0}}]
    return SimpleNamespace(
        **{"init": noop, "shutdown": noop, "kill": noop, "put": noop, "nodes": lambda: nodes},
        **{
            "remote": lambda worker: actors,
            "exceptions": SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError),
        },
    )


LOST = ["shard 1/1: its worker on n1 is lost (ActorDiedError); another resumes it"] * 2
CLUSTERS = [
    (cluster(ActorDiedError()), {}, "shard 1/1: lost 3 workers (ActorDiedError)", LOST),
    (cluster(RayTaskError("a bug")), {}, "a bug", []),
    (cluster(ActorDiedError(), fails=(True, True, False)), {}, "shard 1/1: lost 3 workers", LOST),
    (
        cluster(RayError("a\nno room\n"), fails=(True,)),
        {},
        "no worker starts on the Ray cluster: no room",
        [],
    ),
    (
        cluster(RayError(), version="0"),
        {},
        f"node n1 has vqa-client 0, this one {__version__}\n"
        f"{sys.executable} -m pip install vqa-client=={__version__}, on every node",
        [],
    ),
    (cluster(Sent(code=EXIT_USAGE, message="odd rows", hint="look")), {}, "on n1: odd rows\nlook", []),
    (cluster(Sent(code=EXIT_SERVER, message="it is gone", hint="look")), {}, "shard 1/1: it is gone\nlook", []),
    (cluster(Sent(code=STOPPED)), {}, "stopped\nrun the same command again to resume", []),
    (cluster(RayError()), {"ray_cpus": 4}, "--ray_cpus is 4; no node has more than 2", []),
]


@pytest.mark.parametrize(("ray", "given", "message", "notes"), CLUSTERS, ids=[message for _, _, message, _ in CLUSTERS])
async def test_a_cluster_that_loses_or_lacks_workers_says_so(
    ray: Any,
    given: dict[str, Any],
    message: str,
    notes: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "ray", ray)
    settings = Questions(tmp_path, 2).settings("http://127.0.0.1:9/v1", ray="auto", shards=1, **given)
    with pytest.raises((VqaClientError, RayTaskError)) as caught:
        await on_ray([settings], PlainDisplay(), asyncio.Event())
    assert message in f"{caught.value}\n{getattr(caught.value, 'hint', '')}"
    assert [line for line in capsys.readouterr().err.splitlines() if "lost" in line] == notes


async def test_a_worker_gets_its_share_of_the_limits_and_paths_that_hold_in_any_folder(tmp_path: Path) -> None:
    places = {"data": Path("hf://o/n/rows.csv"), "images": Path("s3://bucket/pages"), "output": Path("out")}
    given = {
        "max_workers": 9,
        "rpm": 600,
        "max_cost": 8.0,
        "max_minutes": 3.0,
        "fresh": True,
        "ray": "auto",
        "shards": 4,
    }
    whole = dataclasses.replace(Questions(tmp_path, 2).settings("http://127.0.0.1:9/v1", **given), **places)
    [share] = _Driver(cluster(RayError()), [whole], LiveCounts(), asyncio.Event())._settings
    assert [getattr(share, name) for name in places] == [places["data"], places["images"], Path.cwd() / "out"]
    assert (share.max_workers, share.rpm, share.max_cost, share.max_minutes, share.fresh) == (4, 300, 2.0, None, False)


@pytest.mark.parametrize(
    ("there", "kept"), [(b"", b"3\n"), (b"1\n", b"1\n3\n"), (b"1\n2", b"1\n2\n3\n"), (b"\n", b"\n3\n")]
)
async def test_lines_that_arrive_begin_a_line_behind_those_of_a_killed_driver(
    tmp_path: Path, there: bytes, kept: bytes
) -> None:
    settings = Questions(tmp_path, 2).settings("http://127.0.0.1:9/v1", ray="local", shards=2)
    settings.output.mkdir()
    log = settings.output / "a.records.jsonl"
    log.write_bytes(there)
    driver = _Driver(cluster(RayError()), [settings], LiveCounts(), asyncio.Event())
    driver._keep(Sent(files={"0/a.run.json": b"{}"}, lines={f"0/{log.name}": b"3\n"}))
    assert (log.read_bytes(), log.with_name("a.run.json").read_bytes()) == (kept, b"{}")


async def test_a_second_driver_of_a_run_is_refused_and_takes_no_shard_from_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", cluster(ActorDiedError()))
    settings = Questions(tmp_path, 2).settings("http://127.0.0.1:9/v1", ray="auto", shards=1)
    with locked_runs([settings]), pytest.raises(Busy, match="another command is asking this run in"):
        await on_ray([settings], LiveCounts(), asyncio.Event())

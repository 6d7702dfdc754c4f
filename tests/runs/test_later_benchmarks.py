"""How long the later benchmarks of a command wait for servers that failed an earlier one."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.client.two_servers import ActsAfter, knowing, sample
from tests.fakes.fixtures import StartsServers
from tests.fakes.server import FaultServer
from tests.fakes.words import delay, error, first_n, restart
from tests.faults.questions import Notes
from tests.runs.sample import Sample
from vqa_client.evaluation import ModelsFailed, arun_several


class AtSkip(ActsAfter):
    """Calls `at_skip` when a benchmark is skipped, before the next one begins; `at` and `act` as in ActsAfter."""

    def __init__(self, at_skip: Callable[[], Any], at: int = -1, act: Callable[[], None] = lambda: None) -> None:
        super().__init__(at, act)
        self._at_skip = at_skip

    def note(self, text: str) -> None:
        super().note(text)
        if text.startswith("skipping") and len(self.about("skipping")) == 1:
            self._at_skip()


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqa_client.client.probe.POLL_S", 0.05)


OTHER_SESSION = {"max_retries": 1}


async def ask_twice(of: Sample, address: str, notes: Notes, second: dict[str, Any], **given: Any) -> ModelsFailed:
    """Ask the same questions twice, the second time with other settings; one of the two fails."""
    settings = [
        of.settings(address, output=of.output / name, **given | more)
        for name, more in (("first", {}), ("second", second))
    ]
    with pytest.raises(ModelsFailed) as failed:
        await arun_several(settings, progress=notes)
    return failed.value


async def test_a_server_that_was_alive_when_a_run_stopped_is_waited_for(tmp_path: Path) -> None:
    with FaultServer(error(500)) as server:
        notes = AtSkip(server.stop)
        given = {"max_retries": 0, "breaker_after": 2, "wait_for_server": 0.3, "check": False}
        failed = await ask_twice(sample(tmp_path, 3), server.base_url, notes, OTHER_SESSION, **given)
    assert "the server itself is alive" in notes.about("skipping")[0]
    assert len(failed.errors) == 2
    assert notes.about("waiting up to"), notes.said


@pytest.mark.parametrize("second", [{}, OTHER_SESSION], ids=["one session", "two"])
async def test_a_server_that_is_there_again_is_seen_by_the_next_benchmark_which_waits_for_it_when_it_dies(
    second: dict[str, Any], tmp_path: Path
) -> None:
    of = sample(tmp_path, 3)
    with FaultServer() as server:
        pass
    dies_once = first_n(2, knowing(of), then=first_n(1, restart(0.2), then=knowing(of)))
    with ExitStack() as stack:
        back = AtSkip(lambda: stack.enter_context(FaultServer(dies_once, port=server.port)))
        failed = await ask_twice(of, server.base_url, back, second, wait_for_server=1.0, check=False)
    assert [report.summary.overall.correct for report in failed.reports] == [3]


async def test_after_a_failed_wait_for_several_servers_the_next_benchmark_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.client.servers.HURRY_S", 60.0)  # so that nothing else looks
    of = sample(tmp_path, 30)
    servers = [FaultServer((delay(0.01), knowing(of))).start() for _ in range(2)]
    addresses = tuple(server.base_url for server in servers)

    def stop() -> None:
        for server in servers:
            server.stop()

    with ExitStack() as stack:
        back = AtSkip(lambda: stack.enter_context(FaultServer(knowing(of), port=servers[1].port)), 10, stop)
        failed = await ask_twice(of, addresses[0], back, {}, endpoint=addresses, wait_for_server=0.3)
    assert [report.summary.overall.correct for report in failed.reports] == [30]


async def test_each_change_of_what_is_sent_is_noted_also_back_to_what_was_noted_before(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of, notes = sample(tmp_path, 2), Notes()
    server = fault_server(knowing(of))
    limits = (7, 5, 7, 5, 5)
    settings = [
        of.settings(server.base_url, output=of.output / str(number), max_tokens=limit)
        for number, limit in enumerate(limits)
    ]
    assert len(await arun_several(settings, progress=notes)) == len(limits)
    said = [text.rpartition("max_tokens ")[2].partition(",")[0] for text in notes.said if "max_tokens" in text]
    assert said == ["7", "5", "7", "5"]

"""Runs within limits of rate, cost and time: they stop in order at the limit, and resume."""

import time
from pathlib import Path

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.words import answer, delay, first_n, hang, oracle
from tests.faults.commands import ran
from tests.faults.questions import Notes, Questions
from vqa_client.errors import UsageError
from vqa_client.evaluation import Interrupted, arun
from vqa_client.model_config import ModelSettings, Prices
from vqa_client.runs.stage import Budget
from vqa_client.types import Record


async def test_requests_stay_within_rpm(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 40)
    server = fault_server(oracle(of.replies()))
    for _ in range(3):  # a busy machine prepares longer than it has to pause
        started_s = time.monotonic()
        await of.ask(server, rpm=1200.0, fresh=True)
        assert time.monotonic() - started_s > 0.95  # 20 at once, and 20 a second
        workers = of.run_file()["sessions"][0]["workers"]
        if workers["paused"] > workers["preparing"]:
            break
    assert workers["paused"] > workers["preparing"]


async def test_a_run_stops_before_it_costs_too_much_and_resumes(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 60)
    server = fault_server((delay(0.01), answer("A")))
    config = of.config(prices={"input": 1.0, "output": 1000.0})
    settings = of.settings(server.base_url, config=config, max_workers=2, max_cost=0.02)
    with pytest.raises(Interrupted) as caught:
        await arun(settings, progress=(notes := Notes()))
    [report] = caught.value.reports
    tokens = [(each["prompt_tokens"], each["completion_tokens"]) for each in of.records()]
    spent = sum(prompt + 1000 * reply for prompt, reply in tokens) / 1e6
    assert (report.incomplete, 0.01 < spent <= 0.02) == (True, True)
    assert len(server.chats) == len(of.records())  # what was in flight has ended
    assert notes.about("--max_cost $0.02")
    before = len(server.chats)
    with pytest.raises(Interrupted):
        await arun(settings)
    assert len(server.chats) > before
    await of.ask(server, config=config)
    assert len(server.chats) == 60
    assert [start.get("stopped", False) for start in of.run_file()["sessions"]] == [True, True, False]


def test_workers_between_two_questions_count_in_the_cost() -> None:
    budget = Budget(3.5, (said := Notes()).note)
    budget.of_model(ModelSettings(model_name="m", max_tokens=1, prices=Prices(input=1e6, output=0)))
    assert budget.has_room(1)
    for others in (1, 0):  # both end before either worker takes the next question up
        budget.finished(Record(question_id="1", status="ok", prompt="", prompt_tokens=1), others)
    assert [budget.has_room(in_flight) for in_flight in (0, 1)] == [True, False]
    assert (budget.over, budget.spent) == (True, 2.0)
    assert said.said == ["$2.00 of --max_cost $3.50 are spent: questions in flight end"]
    below_a_cent = Budget(0.005, said.note)
    below_a_cent.of_model(ModelSettings(model_name="m", max_tokens=1, prices=Prices(input=4000, output=0)))
    below_a_cent.finished(Record(question_id="1", status="ok", prompt="", prompt_tokens=1), 0)
    assert said.said[1:] == ["$0.0040 of --max_cost $0.0050 are spent: questions in flight end"]


async def test_max_cost_needs_prices(tmp_path: Path) -> None:
    of = Questions(tmp_path, 2)
    with pytest.raises(UsageError, match="--max_cost needs the model's prices") as caught:
        await of.ask("http://127.0.0.1:9/v1", max_cost=1.0)
    assert caught.value.hint == '"prices": {"input": 2.5, "output": 10} in its --config'


async def test_max_cost_needs_a_server_that_counts_tokens(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 9)
    server = fault_server(answer("A", usage=None))
    config = of.config(prices={"input": 1.0, "output": 1.0})
    with pytest.raises(Interrupted):
        await arun(of.settings(server.base_url, config=config, max_workers=1, max_cost=5), progress=(notes := Notes()))
    assert len(server.chats) == 1
    assert notes.about("--max_cost") == ["--max_cost needs token counts, which the server doesn't report"]


@pytest.mark.parametrize("processes", ["1", "2"])
def test_max_minutes_stops_a_run_as_ctrl_c_does(processes: str, tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 60)
    asked = of.arguments(fault_server(first_n(9, answer("A"), then=hang())).base_url, "--max_workers", "2")
    for minutes in ("0.02", "0.2", "1"):  # a busy machine begins late
        done = ran([*asked, "--max_minutes", minutes, "--processes", processes])
        assert (done.code, done.is_clean()) == (130, True), done.text
        assert f"--max_minutes {minutes} are over; waiting a moment for running requests" in done.err
        assert "Resume with: vqa-client mc" in done.err
        if of.report_path().exists():
            break
    assert 0 < len(of.report()["results"]) < 60

"""Servers that refuse every question: a run that they stop asks all questions again later."""

from pathlib import Path

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.script import Script
from tests.fakes.words import (
    error,
    first_n,
    json_reply,
    oracle,
    redirect,
)
from tests.faults.questions import Questions
from vqa_client.errors import ServerUnusable

NOT_THE_QUESTIONS: list[tuple[Script, str]] = [
    (error(402, "insufficient credits"), "credits"),
    (error(401, "no"), "key"),
    (json_reply([{"error": {"code": 400, "message": "API key not valid", "status": "INVALID_ARGUMENT"}}], 400), "key"),
    (error(400, "The model `tiny-vlm` does not exist", shape="flat"), "model"),
    (json_reply({"object": "error", "code": 404, "message": "the model tiny-vlm does not exist"}), "model"),
    (json_reply({"object": "error", "code": 402, "message": "no"}), "credits"),
    (error(407, "no"), "proxy"),
    (error(413, "no"), "larger"),
    (error(422, "no"), "repair the server"),
    (error(451, "no"), "repair the server"),
    (redirect("https://elsewhere.example/v1", 302), "--base_url"),
]


@pytest.mark.parametrize(("play", "cause"), NOT_THE_QUESTIONS)
async def test_what_stopped_a_run_settles_no_question_and_the_same_command_asks_all(
    play: Script, cause: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 30)
    with pytest.raises(ServerUnusable, match="10 questions in a row failed") as stopped:
        await of.ask(fault_server(first_n(1, oracle(of.replies()), then=play)), check=False, breaker_after=10)
    assert cause in stopped.value.hint
    assert stopped.value.hint.endswith("; then run the same command again (--breaker_after sets this limit)")
    records = await of.ask(fault_server(oracle(of.replies())))
    assert {record["status"] for record in records.values()} == {"ok"}
    assert of.report()["accuracy"] == 100.0


async def test_questions_that_are_rejected_once_more_say_nothing_about_the_server(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of, server = Questions(tmp_path, 6), fault_server(error(400, "no such option"))
    for given in ({"breaker_after": 0}, {"breaker_after": 3, "retry": "failed"}):
        records = await of.ask(server, check=False, **given)
        assert [record["status"] for record in records.values()] == ["rejected"] * 6
    assert len(server.chats) == 12
    with pytest.raises(ServerUnusable, match="3 questions in a row failed"):
        await of.ask(server, check=False, breaker_after=3, fresh=True)


async def test_a_server_that_filters_everything_is_asked_to_the_end(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 30)
    server = fault_server(error(400, "filtered by the content policy", shape="openai", code="content_filter"))
    records = await of.ask(server, check=False, breaker_after=5)
    assert {(record["status"], record["score"]) for record in records.values()} == {("refused", 0.0)}
    assert len(server.chats) == 30

"""The steps after failed attempts, as a table: no clock, no server, no waiting."""

import random

import pytest
from msgspec.structs import astuple, replace

from vqa_client.client.failures import GLITCH, Verdict
from vqa_client.client.retry import (
    LOADING_POLL_S,
    LOST_CONNECTIONS,
    MOVE_S,
    RATE_LIMIT_PATIENCE_S,
    Again,
    Cut,
    Fail,
    Late,
    Limits,
    Move,
    Outcome,
    Refused,
    Resend,
    ServerLost,
    Step,
    Stop,
    Tried,
    Unconnected,
    next_step,
)

LIMITS = Limits(max_retries=2, timeout_s=60.0, loading_patience_s=10.0)
BUSY, FULL, LOADING = (
    Refused(Verdict("server_error", retry=True), "busy", 500),
    Refused(Verdict("server_error", retry=True), "full", 503),
    Refused(Verdict("server_error", retry=True, loading=True), "loading model", 503),
)
RATE = Refused(Verdict("rate_limited", retry=True), "slow down", 429, answers=True)
TOO_LONG = Refused(Verdict("too_long", hint="send less"), "prompt is too long", 400, body="{}")
BUSY_FAILS = Fail(status="server_error", message="busy", http_status=500, fault="busy")
CUT_TWICE = "the server cut the connection twice on a body of 2.0 MB: reset"
GATEWAY = "a gateway's limit may be below that: --max_pixels, --max_pages"

ROWS: dict[str, tuple[Tried, Outcome, Step, Tried]] = {
    "a question of a lost server moves without a charge": (Tried(1), ServerLost(), Move(), Tried(1)),
    "a request in another form costs only its time": (Tried(), Resend(), Again(), Tried(spent_s=5)),
    "late because others are late: again with the whole timeout": (
        Tried(spent_s=9), Late("crowded"), Again(), Tried()
    ),
    "late behind a backlog is charged": (Tried(1, spent_s=9), Late("backlog"), Again(), Tried(2)),
    "late behind a backlog too often": (Tried(2), Late("backlog"), Fail(status="timeout"), Tried(3)),
    "late by itself fails at once": (
        Tried(), Late("own"), Fail(status="timeout", fault="no reply in time"), Tried(spent_s=5)
    ),
    "a refused connection costs no retry": (Tried(), Unconnected("refused"), Again(), Tried(unconnected=1, spent_s=5)),
    "no connection for the whole timeout, though the server is there": (
        Tried(spent_s=10), Unconnected("slow", 45),
        Fail(status="connection", message="slow, though the server answers others"), Tried(unconnected=1, spent_s=60),
    ),
    "the last allowed refused connection": (
        Tried(unconnected=LOST_CONNECTIONS - 1), Unconnected("refused"), Again(),
        Tried(unconnected=LOST_CONNECTIONS, spent_s=5),
    ),
    "a refused connection too often": (
        Tried(unconnected=LOST_CONNECTIONS), Unconnected("refused"),
        Fail(status="connection", message="no connection to the server: refused"),
        Tried(unconnected=LOST_CONNECTIONS + 1, spent_s=5),
    ),
    "a cut connection delays only the question": (
        Tried(), Cut("reset", 9, alive=False), Again(wait_s=0.5, fault="reset"), Tried(1, cuts=1, spent_s=5.5)
    ),
    "a cut connection too often": (
        Tried(2, cuts=2), Cut("reset", 9, alive=False), Fail(status="connection", message="reset", fault="reset"),
        Tried(3, cuts=3, spent_s=5),
    ),
    "a large body that a running server cuts twice": (
        Tried(1, cuts=1), Cut("reset", 2_000_000, alive=True),
        Fail(status="rejected", message=CUT_TWICE, hint=GATEWAY), Tried(1, cuts=2, spent_s=5),
    ),
    "a server error delays only the question": (Tried(), BUSY, Again(wait_s=0.5, fault="busy"), Tried(1, spent_s=5.5)),
    "a server error too often": (Tried(2), BUSY, BUSY_FAILS, Tried(3, spent_s=5)),
    "no time is left for a wait": (
        Tried(spent_s=54.8), BUSY, Fail(status="timeout", fault="busy"), Tried(1, spent_s=60.3)
    ),
    "a server error with a pause stops all workers": (
        Tried(), replace(BUSY, wish_s=7), Again(pause_s=7, why="named", fault="busy"), Tried(1, spent_s=5)
    ),
    "a full server is asked again before those that wait": (
        Tried(), FULL, Again(wait_s=0.5, first=True, fault="full"), Tried(1, spent_s=5.5)
    ),
    "an invalid reply is not a fault of the server": (
        Tried(), Refused(GLITCH, "empty", 200), Again(wait_s=0.5), Tried(1, spent_s=5.5)
    ),
    "a fault of the question fails at once": (
        Tried(), TOO_LONG,
        Fail(status="too_long", message="prompt is too long", http_status=400, body="{}", hint="send less"),
        Tried(1, spent_s=5),
    ),
    "a rate limit pauses all workers without a charge": (
        Tried(), RATE, Again(pause_s=0.5, why="rate_limited", first=True), Tried(limited=1, put_off_s=0.5, spent_s=5)
    ),
    "if the server kept other requests, the question waits for a free place": (
        Tried(), replace(RATE, kept=True), Again(pause_s=0.0, why="rate_limited", first=True),
        Tried(limited=1, spent_s=5),
    ),
    "but only once": (
        Tried(limited=1), replace(RATE, kept=True), Again(pause_s=0.5, why="rate_limited", first=True),
        Tried(limited=2, put_off_s=0.5, spent_s=5),
    ),
    "a rate limit with a time": (
        Tried(), replace(RATE, wish_s=30), Again(pause_s=30, why="named", first=True), Tried(put_off_s=30, spent_s=5)
    ),
    "with other servers the pause counts until the move": (
        Tried(), replace(RATE, wish_s=30, others=True), Again(pause_s=30, why="named", first=True),
        Tried(put_off_s=MOVE_S, spent_s=5),
    ),
    "a rate limit while no question is answered is a failure": (
        Tried(), replace(RATE, answers=False), Again(pause_s=0.5, why="rate_limited", first=True), Tried(1, spent_s=5)
    ),
    "delayed for too long": (
        Tried(put_off_s=RATE_LIMIT_PATIENCE_S), replace(RATE, wish_s=30),
        Fail(status="rate_limited", message="slow down", http_status=429),
        Tried(1, put_off_s=RATE_LIMIT_PATIENCE_S + 30, spent_s=5),
    ),
    "a pause that is too long ends the run": (
        Tried(), replace(RATE, wish_s=3601), Stop("asks for a pause of 3,601 s: slow down"), Tried(spent_s=5)
    ),
    "a pause of an hour is not too long": (
        Tried(), replace(RATE, wish_s=3600), Again(pause_s=3600, why="named", first=True),
        Tried(put_off_s=3600, spent_s=5),
    ),
    "a pause that is too long moves the question to another server": (
        Tried(), replace(RATE, wish_s=7200, others=True), Move("asks for a pause of 7,200 s: slow down"),
        Tried(spent_s=5),
    ),
    "a question waits for a model that is loading": (
        Tried(), LOADING, Again(pause_s=LOADING_POLL_S, why="server_error"), Tried(put_off_s=LOADING_POLL_S, spent_s=5)
    ),
    "a model that is loading for too long": (
        Tried(put_off_s=10), LOADING,
        Fail(status="server_error", message="loading model", http_status=503, fault="loading model"),
        Tried(1, put_off_s=11, spent_s=5),
    ),
    "a model that only this server is still loading": (
        Tried(), replace(LOADING, others=True), Move("loading model"), Tried(spent_s=5)
    ),
}  # fmt: skip


@pytest.mark.parametrize(("tried", "outcome", "step", "then"), ROWS.values(), ids=list(ROWS))
def test_the_step_after_an_attempt_of_five_seconds(
    tried: Tried, outcome: Outcome, step: Step, then: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.client.retry.backoff_s", lambda failures, chance: 0.5)
    after, decided = next_step(tried, outcome, 5.0, LIMITS, random.Random(0))
    assert decided == step
    assert astuple(after) == pytest.approx(astuple(then))


@pytest.mark.parametrize(("outcome", "crowded"), [(RATE, True), (FULL, True), (BUSY, False), (LOADING, False)])
def test_a_window_shrinks_only_if_there_are_too_many_requests(outcome: Refused, crowded: bool) -> None:
    assert not any(astuple(Tried())), "at first a question has cost nothing"
    assert outcome.crowded == crowded
    assert not replace(outcome, wish_s=2 * RATE_LIMIT_PATIENCE_S).crowded

"""The first token's logprobs: recorded forms, invalid forms, and none."""

import json
from math import exp, log
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vqa_client.client.wire import read_reply

WIRE = Path(__file__).parents[3] / "shared/data/wire"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["token", "logprob", "top_logprobs", "content", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def first_token(logprobs: Any) -> dict[str, float] | None:
    choice = {"message": {"content": "B"}, "finish_reason": "length", "logprobs": logprobs}
    return read_reply(200, "application/json", json.dumps({"choices": [choice]}).encode()).first_token


def told(token: Any, logprob: Any, *others: tuple[Any, Any]) -> dict[str, Any]:
    alternatives = [{"token": text, "logprob": value} for text, value in others]
    return {"content": [{"token": token, "logprob": logprob, "top_logprobs": alternatives}, {"token": "!"}]}


@pytest.mark.parametrize("server", ["vllm", "mlx-vlm", "llamacpp"])
def test_recorded_replies_are_read(server: str) -> None:
    path = WIRE / server / "chat_logprobs.json"
    if not path.exists():
        pytest.skip("the recorded replies are not here")
    body = json.loads(path.read_text())["response"]["body"]
    found = read_reply(200, "application/json", json.dumps(body).encode()).first_token
    assert found is not None
    assert list(found) == ["red", "brown", "no", "blue", "triangle"]
    assert found["red"] == pytest.approx(-0.0007, abs=1e-4)


def test_the_sampled_token_counts_once() -> None:
    assert first_token(told("B", -0.1, ("B", -0.1), ("A", -2.5))) == {"B": -0.1, "A": -2.5}
    assert first_token(told("B", -0.1, ("A", -2.5))) == {"A": -2.5, "B": -0.1}
    assert first_token(told("B", -0.1)) == {"B": -0.1}


def test_tokens_with_the_same_text_add_up() -> None:
    found = first_token(told("A", log(0.5), ("A", log(0.5)), ("A", log(0.25))))
    assert found is not None
    assert exp(found["A"]) == pytest.approx(0.75)


@pytest.mark.parametrize(
    "logprobs",
    [
        None, {}, [], "x", 0, {"content": None}, {"content": []}, {"content": [None]}, {"content": {"token": "A"}},
        told(None, -0.1), told("A", None), told("A", "high"), told("A", float("nan")), told("A", float("-inf")),
        told("A", -(10**400)), told("A", -(10**6)),
    ],
)  # fmt: skip
def test_invalid_logprobs_are_none(logprobs: Any) -> None:
    assert first_token(logprobs) is None


def test_an_invalid_alternative_does_not_lose_the_others() -> None:
    assert first_token(told("A", -0.5, ("B", float("nan")), (3, -1.0), ("C", -2.0))) == {"C": -2.0, "A": -0.5}


def test_a_logprob_above_zero_becomes_zero() -> None:
    assert first_token(told("A", 0.0004)) == {"A": 0.0}
    assert first_token(told("A", 1 - 10**6)) == {"A": 1 - 10**6}


@given(logprobs=JSON)
@settings(max_examples=300, deadline=None)
def test_invalid_logprobs_never_lose_the_answer(logprobs: Any) -> None:
    found = first_token(logprobs)
    assert found is None or all(value <= 0.0 for value in found.values())

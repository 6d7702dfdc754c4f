"""The sentences of reports, word for word: on bottlenecks, on judges, and on files that are not runs."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.html.samples_judged import sample_judged
from tests.reports.paces import served, start
from vqa_client.errors import DataError
from vqa_client.reports.judged import (
    MAJORITY,
    JudgeLog,
    Verdicts,
    agreement,
    calibration_text,
    coverage,
    kappa_text,
    name_of,
)
from vqa_client.reports.limiting import limits_of, states_of
from vqa_client.reports.log_reader import find_logs
from vqa_client.scoring.agreement import Kappa
from vqa_client.scoring.choices.modes import Calibration
from vqa_client.scoring.paired import Difference
from vqa_client.scoring.statistics import Interval

RUN = "give a run: its folder, its report, its *.run.json or its *.records.jsonl"
SETTLED = [
    ("", "the questions ended before there were too many"),
    ("refused", "the server refused some of more (429 or 503), or was late with them"),
    ("queue", "more waited in the server's queue"),
    ("latency", "with more each took longer, and no more were answered in a second"),
    ("most", "auto tries no more"),
]
FULL = served(
    *(4, 1), prefix_hit_rate=0.5, mm_hit_rate=0.25, kv_use_max=0.875, generation_tokens_s=1234.4, preemptions=1001
)
STOOD = [
    (
        start(preparing=1, repeating=2, paused=3, sending=4, at_server=16, servers=[FULL]),
        [
            "of 32 workers, on average: 1.0 waiting for images, 2.0 waiting to repeat a request, 3.0 in a pause, "
            "4.0 sending, 11.0 in the server's preprocessing, 1.0 in its queue, 4.0 running there, "
            "6.0 without a question.",
            "the server at http://one:8000/v1: prefix cache 50 % hits, image cache 25 % hits, "
            "KV cache up to 88 % full, 1,234 tokens generated per second, 1,001 requests preempted.",
        ],
    ),
    (start(at_server=31.96), ["of 32 workers, on average: 32.0 waiting for the server."]),
    (start(at_server=31, client={"watched_s": 1.9}), []),
    ({}, []),
]
GAP = Difference(value=0.25, low=-0.05, high=0.5, n=8, clusters=8, higher=3, lower=1, p=0.5, draws=0)
KAPPA = Kappa(value=0.5, low=0.25, high=0.75, agreement=0.75, n=1_200, clusters=8)


@pytest.mark.parametrize(("why", "said"), SETTLED)
def test_the_workers_of_auto_are_given_with_the_reason_why_not_more(why: str, said: str) -> None:
    auto = {"last": 1_024, "most": 2_048, "why": why}
    *_, settled = limits_of(start(at_server=31, servers=[served(28, 0)], auto_workers=auto))
    assert settled == f"--max_workers auto: 1,024 workers at the end, 2,048 at most: {said}."


@pytest.mark.parametrize(("session", "lines"), STOOD)
def test_the_states_of_workers_and_servers_are_listed(session: dict[str, Any], lines: list[str]) -> None:
    assert list(states_of(session)) == lines


def test_the_first_token_has_its_median_and_the_speed_after_it() -> None:
    times = {"ttft_s": {"median": 0.1234, "p95": 1.5}}
    first = "time to the first token: 0.123 s (median), 1.5 s (95 % within)"
    assert limits_of(times) == [f"{first}."]
    assert limits_of(times | {"reply_tokens_per_s": {"median": 1234.56}}) == [
        f"{first}, then 1,234.6 tokens/s in the median reply."
    ]


def test_what_is_not_a_run_is_named_with_what_is(tmp_path: Path) -> None:
    shard = tmp_path / "shards" / "a.shard-1-of-2.records.jsonl"
    shard.parent.mkdir()
    shard.touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    for name, said, hint in (
        ("shards", " contains only shards of runs", f"vqa-client merge {tmp_path / 'shards'}"),
        ("empty", ": no record log in it or its folders", RUN),
        ("file", ": no record log belongs to it", RUN),
        ("no", " does not exist", RUN),
    ):
        with pytest.raises(DataError) as caught:
            find_logs(tmp_path / name)
        assert (str(caught.value), caught.value.hint) == (f"{tmp_path / name}{said}", hint)


def judged(**changes: Any) -> Verdicts:
    (of,) = sample_judged(name="judge").verdicts
    judge = {name: changes.pop(name) for name in tuple(changes) if name in JudgeLog.__struct_fields__}
    return replace(of, judge=replace(of.judge, **judge), **changes)


def test_a_judge_is_named_with_the_models_that_answered() -> None:
    assert name_of(judged()) == "judge"
    assert name_of(judged(answered_by=("a", "b"))) == "judge (answered as a, b)"
    assert name_of(judged(answered_by=("judge",))) == "judge"
    assert name_of(judged(name=MAJORITY)) == "majority of all judges"


def test_what_a_judge_covers_is_listed() -> None:
    assert list(coverage(judged())) == [
        "judged 8 of 10; 1 without a reply; 1 undecided (1 unclear)",
        "controls: right 20/20, injected 18/20",
    ]
    undecided = {"no_label": 2, "not_in_reply": 1}
    more = judged(undecided=undecided, controls={}, order_decided=2, unsteady=0.25, repeats=3, not_asked=4)
    assert list(coverage(replace(more, undecided=3))) == [
        "judged 8 of 10; 1 without a reply; 3 undecided (2 verdict not offered, 1 answer not in the reply); "
        "4 not asked about, scored by the rule",
        "2 pairs judged by the order of the replies, counted as equal",
        "repeats: 25.0 % of verdicts differ (3 each)",
    ]
    plain = judged(undecided={}, controls={}, prompt_tokens=1_000, completion_tokens=20)
    assert list(coverage(plain))[1:] == ["cost: 1,000 + 20 tokens"]
    assert list(coverage(judged(controls={}, prompt_tokens=1, dollars=1_234.5)))[1:] == [
        "cost: 1 + 0 tokens, $1,234.50"
    ]


def test_how_a_judge_agrees_with_the_rule_is_listed() -> None:
    bounds = Interval(low=0.5, high=0.75, method="", n=8, clusters=8)
    sure = Calibration(n=1_200, expected_error=0.125, brier=0.25)
    of = judged(agreement=bounds, kappa=KAPPA, difference=GAP, calibration=sure, longer=(-0.1, 0.0, 0.2))
    assert list(agreement(of)) == [
        "agreement 100.0 % (50.0-75.0); kappa 0.500 (0.250 to 0.750), n 1,200",
        "judge - rule, in points: +25.0 (-5.0 to +50.0)",
        "P(correct) beside the rule: expected calibration error 12.5 points, Brier score 0.250, n 1,200",
        "judge - rule of short, middle and long replies: -10.0, 0.0, +20.0 points; it grows with the length",
    ]
    for longer in ((0.0, 0.0, 0.2), (-0.1, 0.2, 0.2)):
        assert list(agreement(replace(of, longer=longer)))[-1].endswith(" points")


def test_a_missing_kappa_or_calibration_is_a_dash() -> None:
    assert kappa_text(None) == "-"
    assert kappa_text(replace(KAPPA, value=None)) == "- (all in one category)"
    assert kappa_text(replace(KAPPA, low=None)) == kappa_text(replace(KAPPA, high=None)) == "0.500, n 1,200"
    assert calibration_text(Calibration(n=0, expected_error=None, brier=0.5)) == "-"
    assert calibration_text(Calibration(n=0, expected_error=0.5, brier=None)) == "-"

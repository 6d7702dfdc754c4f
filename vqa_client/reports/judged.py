"""What judges make of a run beside its rule, as a file beside its log has it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import Struct

from vqa_client.aggregates import Figure
from vqa_client.errors import UNDECODABLE
from vqa_client.files import checked_nesting
from vqa_client.reports.log_reader import Key, file_beside
from vqa_client.reports.names import count, interval_text, percent
from vqa_client.reports.sections import difference_text, points
from vqa_client.scoring.agreement import Kappa
from vqa_client.scoring.choices.modes import Calibration
from vqa_client.scoring.paired import Difference
from vqa_client.scoring.statistics import Interval, Mean
from vqa_client.settings.judge import JudgeKind

MAJORITY = "majority"
_REASONS = {"no_label": "verdict not offered", "not_in_reply": "answer not in the reply"}


class Judge(Struct, frozen=True, kw_only=True):
    """A judge's log, read: its score of each question that it was asked about, None where that is undecided.

    `replies_by` counts the replies that name each model; `undecided` counts why; `controls` has, by sort, how many it
    got right and how many there were. Of a pair, `order_decided` counts the questions whose better reply changed with
    the order. Of `repeats` verdicts on each reply `scores` has what more than half say; `unsteady` is the share of the
    replies on which they differ. `sure` has the probability of "correct", where a server told it.
    """

    name: str
    answered_by: tuple[str, ...] = ()
    replies_by: dict[str, int] = {}
    scores: dict[Key, float | None]
    undecided: dict[str, int] = {}
    controls: dict[str, tuple[int, int]] = {}
    failed: int = 0
    order_decided: int = 0
    repeats: int = 1
    unsteady: float | None = None
    sure: dict[Key, float] = {}
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float | None = None


class Form(Struct, frozen=True, kw_only=True):
    """The means of judge and rule over the questions in one of their forms, or over all forms of each question.

    Undecided replies are in neither, without a reply is wrong, and what wasn't asked about is as the rule has it. `gap`
    is the judge's paired difference from the clean form, or from the one with images.
    """

    name: str
    judge: Mean
    rule: Mean
    gap: Difference | None = None


class Verdicts(Struct, frozen=True, kw_only=True):
    """What one judge, or the majority of several, comes to; shares in [0, 1].

    `judge` is without what it says of each question. `accuracy` and `rule` are over the `judged` questions; `low` and
    `high` over all `total`, undecided ones all wrong and all right, those without a reply wrong, those that weren't
    asked about (`not_asked`) as the rule has them. `table` has rule right, rule wrong by judge right, judge wrong.
    `longer` is the judge's surplus over the rule in each third of the replies by length, the shortest first. `raised`
    are the questions that the judge alone calls right, `lowered` those that the rule alone does. `totals` are the
    benchmark's own, by the judge's scores, where it declares a judge. `forms` are of a run that asks each question in
    several: all other figures are of its replies, each of which is judged once. `calibration` is that of the judge's
    probability of "correct", by what the rule calls right.
    """

    judge: Judge
    total: int
    judged: int
    undecided: int
    no_reply: int
    not_asked: int
    accuracy: float | None
    interval: Interval | None
    rule: float | None
    rule_interval: Interval | None
    low: float
    high: float
    table: tuple[tuple[int, int], tuple[int, int]]
    agreement: Interval | None
    kappa: Kappa | None
    difference: Difference | None
    longer: tuple[float, ...]
    raised: tuple[Key, ...]
    lowered: tuple[Key, ...]
    totals: dict[str, Figure] = {}
    forms: tuple[Form, ...] = ()
    calibration: Calibration | None = None


class Beside(Struct, frozen=True, kw_only=True):
    """All judges of one kind beside a run's rule; `verdicts` ends with their majority where there are several.

    `scored` is by what the rule's scores were made; earlier versions didn't write it.
    """

    log: str
    task: str
    model: str
    headline: str
    kind: JudgeKind
    verdicts: tuple[Verdicts, ...]
    fleiss: Kappa | None = None
    pairs: dict[str, Kappa | None] = {}
    notes: tuple[str, ...] = ()
    scored: dict[str, str] = {}


def scored_by(scoring: Mapping[str, Any], described: Mapping[str, Any]) -> dict[str, str]:
    """By what a run's scores were made: its scorer and its data."""
    return {name: str(value) for name, value in scoring.items()} | {"data": str(described.get("data_sha256"))}


def judged_path(log: Path, kind: str, ending: str = "") -> Path:
    """Where all judges of one kind are beside a run's rule; with `ending` another file of theirs."""
    return file_beside(log, f".judged-{kind}{ending}.json")


def judged_files(log: Path) -> list[Path]:
    """Where judges of all kinds are beside a run's rule, whether or not they were asked."""
    return [judged_path(log, kind) for kind in get_args(JudgeKind)]


def read_judged(log: Path) -> tuple[list[Beside], list[str]]:
    """What judges of all kinds make of a run, and the names of files that can't be read or that others wrote."""
    results: list[Beside] = []
    unreadable: list[str] = []
    for path in judged_files(log):
        try:
            results.append(msgspec.convert(checked_nesting(msgspec.json.decode(path.read_bytes())), Beside))
        except FileNotFoundError:
            continue
        except (OSError, *UNDECODABLE):
            unreadable.append(path.name)
    return results, unreadable


def reason(rule: str) -> str:
    """Why there is no verdict, in words."""
    return _REASONS.get(rule, rule.replace("_", " "))


def name_of(of: Verdicts) -> str:
    """Who judges, and as which models it answered where these are named otherwise."""
    others = set(of.judge.answered_by) - {of.judge.name}
    answered = f" (answered as {', '.join(of.judge.answered_by)})" if others else ""
    return f"{'majority of all judges' if of.judge.name == MAJORITY else of.judge.name}{answered}"


def coverage(of: Verdicts) -> Iterator[str]:
    """Lines on how many replies are judged and why others aren't, on controls and cost."""
    judge = of.judge
    why = ", ".join(f"{number:,} {reason(rule)}" for rule, number in judge.undecided.items())
    parts = [f"judged {of.judged:,} of {of.total:,}", f"{of.no_reply:,} without a reply"]
    parts.append(f"{of.undecided:,} undecided" + (f" ({why})" if why else ""))
    yield "; ".join(parts + ([f"{of.not_asked:,} not asked about, scored by the rule"] if of.not_asked else []))
    if judge.controls:
        yield "controls: " + ", ".join(f"{sort} {passed}/{n}" for sort, (passed, n) in judge.controls.items())
    if judge.order_decided:
        yield f"{count(judge.order_decided, 'pair')} judged by the order of the replies, counted as equal"
    if judge.unsteady is not None:
        yield f"repeats: {percent(judge.unsteady)} % of verdicts differ ({judge.repeats} each)"
    if judge.prompt_tokens:
        cost = f", ${judge.dollars:,.2f}" if judge.dollars is not None else ""
        yield f"cost: {judge.prompt_tokens:,} + {judge.completion_tokens:,} tokens{cost}"


def agreement(of: Verdicts) -> Iterator[str]:
    """Lines on how a judge that judged something agrees with the rule, and how far it is above it."""
    same = of.table[0][0] + of.table[1][1]
    yield f"agreement {percent(same / of.judged)} % ({interval_text(of.agreement)}); kappa {kappa_text(of.kappa)}"
    if of.difference is not None:
        yield f"judge - rule, in points: {difference_text(of.difference)}"
    if of.calibration is not None:
        yield f"P(correct) beside the rule: {calibration_text(of.calibration)}"
    if of.longer:
        surpluses = ", ".join(map(points, of.longer))
        grows = "; it grows with the length" if of.longer[0] < of.longer[1] < of.longer[2] else ""
        yield f"judge - rule of short, middle and long replies: {surpluses} points{grows}"


def calibration_text(of: Calibration) -> str:
    """How far a judge is right as often as it is sure, "-" where nothing says it."""
    if of.expected_error is None or of.brier is None:
        return "-"
    return f"expected calibration error {percent(of.expected_error)} points, Brier score {of.brier:.3f}, n {of.n:,}"


def kappa_text(kappa: Kappa | None) -> str:
    """A kappa with its interval, or why there is none."""
    if kappa is None:
        return "-"
    if kappa.value is None:
        return "- (all in one category)"
    bounds = f" ({kappa.low:.3f} to {kappa.high:.3f})" if kappa.low is not None and kappa.high is not None else ""
    return f"{kappa.value:.3f}{bounds}, n {kappa.n:,}"

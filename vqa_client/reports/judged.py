"""The scores of a run by judges, compared with its rule, as a file beside its log keeps them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import Struct

from vqa_client.aggregates import Estimate
from vqa_client.errors import UNDECODABLE
from vqa_client.files import checked_nesting
from vqa_client.log_lines import Key
from vqa_client.reports.log_reader import file_beside
from vqa_client.reports.names import count, in_dollars, interval_text, percent
from vqa_client.reports.sections import difference_text, points
from vqa_client.scoring.agreement import Kappa
from vqa_client.scoring.choices.modes import Calibration
from vqa_client.scoring.paired import Difference
from vqa_client.scoring.statistics import Interval, Mean
from vqa_client.settings.judge import JudgeKind

MAJORITY = "majority"
_REASONS = {"no_label": "verdict not offered", "not_in_reply": "answer not in the reply"}


class JudgeLog(Struct, frozen=True, kw_only=True):
    """A judge's log: its score of each reply that it was asked about, None if undecided.

    `replies_by` counts the judge's replies by the model that they name; `undecided` counts by reason; `controls` has,
    for each kind of control, how many the judge got right and how many there were. `order_decided` counts the pairs
    whose better reply changed with the order. With several `repeats`, a score is that of more than half of the
    verdicts, and `unsteady` is the share of replies on which they differ. `sure` has the probability of "correct" if
    the server gave it.
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


class FormMeans(Struct, frozen=True, kw_only=True):
    """The mean scores by judge and by rule over one form of the questions, or over all forms of each question.

    Undecided replies are left out, a missing reply is wrong, and a reply that wasn't asked about counts as by the rule.
    `gap` is the judge's paired difference from the clean form, or from the form with images.
    """

    name: str
    judge: Mean
    rule: Mean
    gap: Difference | None = None


class Verdicts(Struct, frozen=True, kw_only=True):
    """The result of one judge, or of the majority of several; shares are in [0, 1].

    `judge` is without its score of each reply. `accuracy` and `rule` are over the `judged` replies; `low` and `high`
    are over all `total`, with undecided ones all wrong and all right, missing replies wrong, and those that weren't
    asked about (`not_asked`) as by the rule. `table` has rows rule right, rule wrong and columns judge right, judge
    wrong. `longer` is the judge's score minus the rule's in each third of the replies by length, the shortest first.
    `raised` are the replies that only the judge calls right, `lowered` those that only the rule does. `totals` are the
    benchmark's own, by the judge's scores, if it declares a judge. `forms` are those of a run that asks each question
    in several forms; its other figures are over all replies, each judged once. `calibration` compares the judge's
    probability of "correct" with the rule.
    """

    judge: JudgeLog
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
    totals: dict[str, Estimate] = {}
    forms: tuple[FormMeans, ...] = ()
    calibration: Calibration | None = None


class Judges(Struct, frozen=True, kw_only=True):
    """All judges of one kind compared with a run's rule; `verdicts` ends with their majority if there are several.

    `scored` names the scorer and the data of the rule's scores; earlier versions didn't write it.
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
    """The scorer and the data of a run's scores."""
    return {name: str(value) for name, value in scoring.items()} | {"data": str(described.get("data_sha256"))}


def judged_path(log: Path, kind: str, ending: str = "") -> Path:
    """The file with the results of all judges of one kind; with `ending`, another file of theirs."""
    return file_beside(log, f".judged-{kind}{ending}.json")


def judged_files(log: Path) -> list[Path]:
    """The files with the results of judges of each kind, existing or not."""
    return [judged_path(log, kind) for kind in get_args(JudgeKind)]


def read_judged(log: Path) -> tuple[list[Judges], list[str]]:
    """The results of judges of all kinds, and the names of files that can't be read."""
    results: list[Judges] = []
    unreadable: list[str] = []
    for path in judged_files(log):
        try:
            results.append(msgspec.convert(checked_nesting(msgspec.json.decode(path.read_bytes())), Judges))
        except FileNotFoundError:
            continue
        except (OSError, *UNDECODABLE):
            unreadable.append(path.name)
    return results, unreadable


def reason(rule: str) -> str:
    """The reason for a missing verdict, in words."""
    return _REASONS.get(rule, rule.replace("_", " "))


def name_of(of: Verdicts) -> str:
    """The judge's name, and the models that its replies name if these differ from it."""
    others = set(of.judge.answered_by) - {of.judge.name}
    answered = f" (answered as {', '.join(of.judge.answered_by)})" if others else ""
    return f"{'majority of all judges' if of.judge.name == MAJORITY else of.judge.name}{answered}"


def coverage(of: Verdicts) -> Iterator[str]:
    """Lines on how many replies are judged, why others aren't, and on controls and cost."""
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
        cost = f", {in_dollars(judge.dollars)}" if judge.dollars is not None else ""
        yield f"cost: {judge.prompt_tokens:,} + {judge.completion_tokens:,} tokens{cost}"


def agreement(of: Verdicts) -> Iterator[str]:
    """Lines on the agreement with the rule and the difference from it, for a judge that judged at least one reply."""
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
    """How well a judge's probabilities match how often it is right, "-" if unknown."""
    if of.expected_error is None or of.brier is None:
        return "-"
    return f"expected calibration error {percent(of.expected_error)} points, Brier score {of.brier:.3f}, n {of.n:,}"


def kappas(pairs: Mapping[str, Kappa | None], fleiss: Kappa | None, of: str) -> Iterator[str]:
    """Lines on the agreement among judges, or among people: of each pair, and `of` all."""
    for name, kappa in pairs.items():
        yield f"kappa of {name}: {kappa_text(kappa)}"
    if fleiss is not None:
        yield f"Fleiss' kappa of {of}: {kappa_text(fleiss)}"


def kappa_text(kappa: Kappa | None) -> str:
    """A kappa with its interval, or why it has no value."""
    if kappa is None:
        return "-"
    if kappa.value is None:
        return "- (all in one category)"
    bounds = f" ({kappa.low:.3f} to {kappa.high:.3f})" if kappa.low is not None and kappa.high is not None else ""
    return f"{kappa.value:.3f}{bounds}, n {kappa.n:,}"

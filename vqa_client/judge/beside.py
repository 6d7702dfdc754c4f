"""The scores of a run by judges, compared with its rule: accuracies, bounds, agreement and differing replies."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, groupby, pairwise
from math import fsum
from pathlib import Path

from msgspec.structs import replace

from vqa_client.errors import UsageError
from vqa_client.judge.benchmark import PASSES, control_in_record, judges_beside, log_of, sort_of, split_by_criteria
from vqa_client.judge.columns import NOT_ASKED, RIGHT, UNDECIDED, JudgeScores, RunReplies, ScoredReply, same_question
from vqa_client.judge.kinds import MOST_CHARACTERS, part_of
from vqa_client.judge.loading import JudgedRun, reply_text
from vqa_client.log_lines import Key
from vqa_client.model_config import Prices
from vqa_client.reports.judged import MAJORITY, JudgeLog, Judges, Verdicts, scored_by
from vqa_client.reports.log_reader import JUDGED_BY, LOG_ENDING
from vqa_client.reports.logged_run import read_run
from vqa_client.reports.names import count
from vqa_client.scoring.agreement import cohens_kappa, fleiss_kappa, joint_rating
from vqa_client.scoring.paired import by_cluster, difference
from vqa_client.scoring.statistics import interval
from vqa_client.settings.judge import WRONG, JudgeKind, JudgeSettings
from vqa_client.types import FAILED, Record

LEAST_BY_LENGTH = 30
"""With fewer questions, scores by length are noise."""
_HOSTED = re.compile(
    r"(?:[\w.-]+/)?(?:chatgpt|gpt-\d|o\d\b|claude|gemini|grok|mistral-(?:small|medium|large))|.*-latest$", re.I
)
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}|\d{8}|-\d{4}(?:$|-)|-\d{2}-\d{2}(?:$|-)|-\d{3}$|@\d{6}")
"""Names of models that a provider replaces behind its back, unless they have a date or a version."""
_FAMILY = re.compile(r"[A-Za-z]+")


def judges_of(run: JudgedRun, settings: JudgeSettings) -> list[JudgeLog]:
    """The judges that have judged replies of a run, and last their majority if there are several.

    Raises UsageError for one of --judge that has no verdicts.
    """
    assert settings.kind is not None
    log_by_judge = {config: log_of(run.log, settings.kind, config) for config in settings.configs if config}
    if unasked := [config for config, log in log_by_judge.items() if not log.exists()]:
        raise UsageError(
            f"--judge {unasked[0]} has no verdicts of kind {settings.kind} on {run.log}",
            hint="ask it first; without --judge all judges of the run are taken",
        )
    logs = list(log_by_judge.values()) or judges_beside(run.log, settings.kind)
    judges = with_majority([read_judge(log, settings.kind) for log in logs], settings.kind)
    return [judge for judge in judges if judge.scores]


def beside(settings: JudgeSettings, judges: Sequence[Path], prices: Mapping[str, Prices] = {}) -> Judges:
    """Add up the logs of these judges, and of judges that were asked with the same criteria before.

    The result is the same for any order of the judges. `prices` are by a judge's name.
    """
    assert settings.kind is not None
    run = JudgedRun(settings, settings.kind)
    judges, others = split_by_criteria(run.log, settings.kind, judges)
    left_out = [f"{name_in(log, run.kind)} was asked otherwise, or about another run: it is left out" for log in others]
    columns, judge_columns = _columns(run, judges, prices)
    log, reopened, forms = run.log, run.run, len(run.records.variants)
    del run  # frees the memory of its index before the figures are computed
    kappas, fleiss = {}, None
    single = [column for column in judge_columns if column.judge.name != MAJORITY]
    used = [column for column in single if column.judged]
    if len(used) > 1:
        for a, b in combinations(used, 2):
            both = zip(a.sides(), b.sides(), columns.clusters, strict=True)
            kappas[f"{a.judge.name} - {b.judge.name}"] = cohens_kappa(
                [(x, y, cluster) for x, y, cluster in both if x is not None and y is not None]
            )
        rated = zip(zip(*(column.sides() for column in used), strict=True), columns.clusters, strict=True)
        fleiss = fleiss_kappa((sides, cluster) for sides, cluster in rated if None not in sides)
    model = reopened.file.model().model_name
    return Judges(
        log=str(log),
        task=reopened.benchmark.name,
        model=model,
        headline=reopened.task.headline,
        kind=settings.kind,
        verdicts=tuple(_verdicts(column, columns) for column in judge_columns),
        fleiss=fleiss,
        pairs=kappas,
        notes=(*_notes(model, single, columns, settings.which, forms), *left_out),
        scored=scored_by(reopened.file.scoring, reopened.file.described),
    )


def _columns(
    run: JudgedRun, judges: Sequence[Path], prices: Mapping[str, Prices]
) -> tuple[RunReplies, list[JudgeScores]]:
    """The columns of the run and of each judge, and last of their majority if there are several."""
    variants, benchmark = run.records.variants, run.run.benchmark
    all_judges = with_majority([read_judge(judge, run.kind, prices) for judge in judges], run.kind)
    has_totals = benchmark.judge is not None and (len(variants) < 2 or bool(same_question(variants)))
    totals = [total for total in benchmark.totals if not total.on] if has_totals else []
    columns, judge_columns = RunReplies(), [JudgeScores(judge, variants, totals) for judge in all_judges]
    names: dict[str, str] = {}
    for _, of_question in groupby(run.all_records(), key=lambda pair: pair[0].id):
        replies: list[ScoredReply] = []
        for question, record in of_question:
            text, rule = reply_text(record), run.rule(record)
            replied = bool(text) or record.score > 0  # an answer in the server's reasoning field is left to the rule
            cluster = names.setdefault(name := run.cluster(record), name)
            replies.append((question, record, rule, replied))
            columns.add(rule, len(text), cluster, replied=replied)
        for column in judge_columns:
            column.add(replies, cluster)
    for column in judge_columns:
        column.judge = replace(column.judge, scores={}, sure={})
    return columns, judge_columns


def with_majority(judges: Sequence[JudgeLog], kind: JudgeKind) -> list[JudgeLog]:
    """The judges by name, and last their majority if several have verdicts: one that fails its controls has none."""
    used = [judge for judge in judges if judge.scores]
    of_all = [majority(used, kind)] if len(used) > 1 else []
    return [*sorted(judges, key=lambda judge: judge.name), *of_all]


def majority(judges: Sequence[JudgeLog], kind: JudgeKind) -> JudgeLog:
    """The score that more than half of all judges give, undecided ones included, so that a tie is undecided."""
    keys = dict.fromkeys(key for judge in judges for key in judge.scores)
    scores = {key: joint_rating([judge.scores.get(key) for judge in judges], graded=kind == "grade") for key in keys}
    undecided = sum(score is None for score in scores.values())
    return JudgeLog(name=MAJORITY, scores=scores, undecided={"no majority": undecided} if undecided else {})


class _Round:
    """One verdict on each reply: its score, or why it has none; `turned` are the pairs judged by their order."""

    def __init__(self) -> None:
        self.scores: dict[Key, float | None] = {}
        self.why: dict[Key, str] = {}
        self.turned: list[Key] = []
        self._halves: dict[Key, float | None] = {}

    def add(self, key: Key, record: Record, *, half: bool) -> None:
        """Add a verdict; with `half`, that on a pair in one order."""
        score = record.parts.get("judged")
        if score is None:
            self.why.setdefault(key, _reason_undecided(record))
        if not half:
            self.scores[key] = score
        elif key not in self._halves:
            self._halves[key] = score
        else:
            other = self._halves.pop(key)
            self.scores[key] = None if score is None or other is None else 0.5 if score != other else score
            self.turned += [key] if None not in (score, other) and score != other else []

    def close(self) -> None:
        """Mark pairs as undecided that were asked about in only one order."""
        for key in self._halves:
            self.scores[key] = None
            self.why.setdefault(key, "asked in one order")


def _merge_rounds(
    rounds: Sequence[_Round], kind: JudgeKind
) -> tuple[dict[Key, float | None], Counter[str], float | None]:
    """The score of each reply by all verdicts, why others have none, and the share on which verdicts differ."""
    first, *others = rounds
    if not others:
        return first.scores, Counter(first.why.values()), None
    scores: dict[Key, float | None] = {}
    undecided, several, differing = Counter[str](), 0, 0
    for key in dict.fromkeys(key for asked in rounds for key in asked.scores):
        verdicts = [asked.scores[key] for asked in rounds if key in asked.scores]
        several, differing = several + (len(verdicts) > 1), differing + (len(set(verdicts)) > 1)
        scores[key] = joint_rating(verdicts, graded=kind == "grade")
        if scores[key] is None:
            reasons = [asked.why[key] for asked in rounds if key in asked.why]
            undecided[reasons[0] if len(reasons) == len(verdicts) else "no majority"] += 1
    return scores, undecided, differing / several if several else None


def name_in(path: Path, kind: JudgeKind) -> str:
    """The judge's name in the name of its log, "" if there is none."""
    return path.name.removesuffix(LOG_ENDING).partition(f"{JUDGED_BY}{kind}")[2].removeprefix("-")


def read_judge(path: Path, kind: JudgeKind, prices: Mapping[str, Prices] = {}) -> JudgeLog:
    """Read the log of one judge."""
    run = read_run(path)
    name = name_in(path, kind) or run.facts.model
    rounds: dict[int, _Round] = {}
    sure: dict[Key, float] = {}
    replies_by = Counter[str]()
    failed = 0
    controls: dict[str, tuple[int, int]] = {}
    prompt = completion = 0
    for record in run.records.as_written():
        replies_by.update([record.model] if record.model else [])
        prompt, completion = prompt + (record.prompt_tokens or 0), completion + (record.completion_tokens or 0)
        if sort := sort_of(record.variant):
            passed, n = controls.get(sort, (0, 0))
            controls[sort] = passed + control_in_record(record), n + 1
            continue
        failed += record.status in FAILED
        variant, _, number = part_of(record.variant, kind)
        key = record.question_id, variant
        rounds.setdefault(number, _Round()).add(key, record, half=kind == "pair")
        shares = record.probabilities or {}
        if "correct" in shares and number == 1:
            sure[key] = shares["correct"] / fsum(shares.values())
    for asked in rounds.values():
        asked.close()
    scores, undecided, unsteady = _merge_rounds([rounds[number] for number in sorted(rounds)] or [_Round()], kind)
    price = prices.get(name)
    return JudgeLog(
        name=name,
        answered_by=tuple(sorted(run.facts.described.get("answered_by", {}))),
        replies_by=dict(sorted(replies_by.items())),
        scores=scores,
        undecided=dict(sorted(undecided.items())),
        controls=dict(sorted(controls.items(), key=lambda item: ("right", "wrong", "injected").index(item[0]))),
        failed=failed,
        order_decided=len({key for asked in rounds.values() for key in asked.turned}),
        repeats=max(rounds, default=1),
        unsteady=unsteady,
        sure=sure,
        prompt_tokens=prompt,
        completion_tokens=completion,
        dollars=(prompt * price.input + completion * price.output) / 1e6 if price else None,
    )


def _reason_undecided(record: Record) -> str:
    return record.answer or (record.status if record.status != "unparsed" else record.rule or record.status)


def _verdicts(column: JudgeScores, columns: RunReplies) -> Verdicts:
    def decided() -> Iterator[tuple[float, float, str]]:
        rows = zip(column.scores, columns.rule, columns.clusters, strict=True)
        return ((score, rule, cluster) for score, rule, cluster in rows if score >= 0)

    scores, total = column.scores, len(column.scores)
    judged, undecided, not_asked = sum(s >= 0 for s in scores), scores.count(UNDECIDED), scores.count(NOT_ASKED)
    known = fsum(score for score, *_ in decided())
    outside = fsum(rule for rule, score in zip(columns.rule, scores, strict=True) if score == NOT_ASKED)
    sides = [(rule >= RIGHT, score >= RIGHT, cluster) for score, rule, cluster in decided()]
    counts = Counter((rule, side) for rule, side, _ in sides)
    return Verdicts(
        judge=column.judge,
        total=total,
        judged=judged,
        undecided=undecided,
        no_reply=total - columns.replied,
        not_asked=not_asked,
        accuracy=known / judged if judged else None,
        interval=interval(by_cluster((score, cluster) for score, _, cluster in decided())),
        rule=fsum(rule for _, rule, _ in decided()) / judged if judged else None,
        rule_interval=interval(by_cluster((rule, cluster) for _, rule, cluster in decided())),
        low=(known + outside) / total if total else 0.0,
        high=(known + outside + undecided) / total if total else 0.0,
        table=(
            (counts[True, True], counts[True, False]),
            (counts[False, True], counts[False, False]),
        ),
        agreement=interval(by_cluster((float(rule == side), cluster) for rule, side, cluster in sides)),
        kappa=cohens_kappa(sides),
        difference=difference(decided()),
        longer=_by_length(scores, columns),
        raised=tuple(column.raised),
        lowered=tuple(column.lowered),
        forms=column.forms.figures(),
        totals={name: running.figure() for name, running in column.totals.items()},
        calibration=column.calibrating.calibration() if column.calibrating.calibration().n else None,
    )


def _by_length(scores: Sequence[float], columns: RunReplies) -> tuple[float, ...]:
    ordered = sorted((n for n, score in enumerate(scores) if score >= 0), key=columns.length.__getitem__)
    if len(ordered) < LEAST_BY_LENGTH:
        return ()
    cuts = [len(ordered) * part // 3 for part in range(4)]
    thirds = [ordered[start:end] for start, end in pairwise(cuts)]
    return tuple(fsum(scores[n] - columns.rule[n] for n in third) / len(third) for third in thirds)


def _notes(model: str, judges: Sequence[JudgeScores], columns: RunReplies, which: str, forms: int) -> Iterator[str]:
    if long := sum(characters > MOST_CHARACTERS for characters in columns.length):
        yield f"{count(long, 'reply', 'replies')} of more than {MOST_CHARACTERS:,} characters: judged by their two ends"
    if forms > 1:
        yield (
            f"each question was asked in {forms} forms: every reply is judged once, and the replies to a question "
            "are one cluster of the intervals"
        )
    if which == WRONG:
        yield "only what the rule calls wrong was judged: that can raise the score and never lower it"
    for column in judges:
        judge = column.judge
        if len(judges) > 1 and not column.judged:
            yield f"{judge.name} has judged nothing: it is left out of kappas and majority"
        names = judge.answered_by or (judge.name,)
        own = _FAMILY.search(model.rpartition("/")[2])
        if own and any(
            (match := _FAMILY.search(name.rpartition("/")[2])) and match[0].lower() == own[0].lower() for name in names
        ):
            yield f"{judge.name} is of the judged model's family: judges prefer their own"
        if not judge.answered_by:
            yield f"{judge.name}: the server doesn't say which model answered"
        elif len(judge.answered_by) > 1:
            counts = ", ".join(f"{name} ({judge.replies_by.get(name, 0):,})" for name in judge.answered_by)
            yield f"{judge.name}: replies name several models, {counts}"
        for name in judge.answered_by:
            if _HOSTED.match(name) and not _DATED.search(name):
                yield f"{name} has no date in its name: another model may answer by it later"
        if judge.controls.keys() == {"right"}:
            yield (
                f"{judge.name} had no controls with a wrong answer, since the rule calls none wrong: "
                "a judge that calls everything right would pass"
            )
        for sort, (passed, n) in judge.controls.items():
            if passed < PASSES * n:
                yield f"{judge.name} gets {n - passed} of {n} controls wrong ({sort}): its verdicts can't be trusted"

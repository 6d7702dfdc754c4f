"""What judges make of a run beside its rule: accuracies, bounds, agreement, and where they differ."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from math import fsum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.aggregates import Running, Scored
from vqa_client.judge.benchmark import control_in_record, report_of, sort_of
from vqa_client.judge.loading import ORDERS, JudgedRun, said_by
from vqa_client.model_config import Prices
from vqa_client.reports.judged import MAJORITY, Beside, Judge, Verdicts
from vqa_client.reports.log_reader import JUDGED_BY, LOG_ENDING, Key
from vqa_client.reports.logged_run import read_run
from vqa_client.scoring.agreement import cohens_kappa, fleiss_kappa
from vqa_client.scoring.paired import by_cluster, difference
from vqa_client.scoring.statistics import interval
from vqa_client.settings.judge import WRONG, JudgeKind, JudgeSettings
from vqa_client.types import FAILED, Record

RIGHT = 0.5
"""The least score that counts as right in tables of right and wrong."""
LEAST_BY_LENGTH = 30
"""Questions below which scores by length are noise."""
_FAMILY = re.compile(r"[A-Za-z]+")


class Item(Struct, frozen=True):
    """A question of the judged run: what the rule scored it, of a pair beside the other, and what its reply is like."""

    key: Key
    rule: float
    replied: bool
    cluster: str
    length: int


def judges_beside(log: Path, kind: JudgeKind) -> list[Path]:
    """The logs of all judges of this kind beside a run's log."""
    begins = f"{log.name.removesuffix(LOG_ENDING)}{JUDGED_BY}{kind}"
    logs = log.parent.glob(f"*{LOG_ENDING}")
    return sorted(each for each in logs if each.name.startswith((f"{begins}-", f"{begins}{LOG_ENDING}")))


def judges_of(run: JudgedRun, settings: JudgeSettings) -> list[Judge]:
    """What the judges that have been asked about a run say, and last their majority where there are several."""
    assert settings.kind is not None
    wanted = [log_of(run.log, settings.kind, each) for each in settings.configs if each]
    logs = wanted or judges_beside(run.log, settings.kind)
    judges = [read_judge(log, settings.kind) for log in logs if log.exists()]
    judges = sorted(judges, key=lambda each: each.name)
    return [*judges, majority(judges)] if len(judges) > 1 else judges


def log_of(log: Path, kind: JudgeKind, config: str | None) -> Path:
    """The log of one judge."""
    report = report_of(log, kind, config)
    return report.with_name(report.name.removesuffix(".json") + LOG_ENDING)


def beside(run: JudgedRun, judges: Sequence[Path], prices: Mapping[str, Prices] = {}) -> Beside:
    """Read the logs and add them up; the same for any order of the judges. `prices` are by a judge's name."""
    kind, benchmark = run.kind, run.run.benchmark
    read = sorted((read_judge(each, kind, prices) for each in judges), key=lambda judge: judge.name)
    shown = read if len(read) < 2 else [*read, majority(read)]
    own = [total for total in benchmark.totals if not total.on] if benchmark.judge else []
    totals = [{total.name: Running(total.value) for total in own} for _ in shown]
    items = []
    for question, record in run.all_records():
        items.append(_item(record, run.rule(record)))
        for judge, running in zip(shown, totals, strict=True):
            score = judge.scores.get(items[-1].key, None if items[-1].replied else 0.0)
            if score is not None:
                scored = Scored(question=question, record=record, answer=record.answer, score=score)
                for each in running.values():
                    each.add(scored)
    kappas, fleiss = {}, None
    if len(read) > 1:
        for a, b in combinations(read, 2):
            both = [(item, _side(a, item), _side(b, item)) for item in items]
            kappas[f"{a.name} - {b.name}"] = cohens_kappa(
                [(x, y, item.cluster) for item, x, y in both if x is not None and y is not None]
            )
        rated = [([_side(judge, item) for judge in read], item.cluster) for item in items]
        fleiss = fleiss_kappa((sides, cluster) for sides, cluster in rated if None not in sides)
    model = run.run.file.model().model_name
    return Beside(
        log=str(run.log),
        task=benchmark.name,
        model=model,
        headline=benchmark.headline_metric.name,
        kind=kind,
        verdicts=tuple(
            replace(_verdicts(judge, items), totals={name: each.figure() for name, each in running.items()})
            for judge, running in zip(shown, totals, strict=True)
        ),
        fleiss=fleiss,
        pairs=kappas,
        notes=tuple(_notes(model, read, run.settings.which)),
    )


def majority(judges: Sequence[Judge]) -> Judge:
    """The score that more than half of all judges give; undecided ones count among all, so a tie is undecided."""
    keys = dict.fromkeys(key for judge in judges for key in judge.scores)
    scores: dict[Key, float | None] = {}
    for key in keys:
        [(score, votes)] = Counter(judge.scores.get(key) for judge in judges).most_common(1)
        scores[key] = score if 2 * votes > len(judges) else None
    undecided = sum(score is None for score in scores.values())
    return Judge(name=MAJORITY, scores=scores, undecided={"no majority": undecided} if undecided else {})


def read_judge(path: Path, kind: JudgeKind, prices: Mapping[str, Prices] = {}) -> Judge:
    """One judge's log as it is on disk."""
    run = read_run(path)
    name = path.name.removesuffix(LOG_ENDING).partition(f"{JUDGED_BY}{kind}")[2].removeprefix("-") or run.facts.model
    said: dict[Key, list[tuple[float | None, str]]] = {}
    failed = 0
    controls: dict[str, tuple[int, int]] = {}
    prompt = completion = 0
    for record in run.records:
        prompt, completion = prompt + (record.prompt_tokens or 0), completion + (record.completion_tokens or 0)
        if sort := sort_of(record.variant):
            passed, n = controls.get(sort, (0, 0))
            controls[sort] = passed + control_in_record(record), n + 1
            continue
        variant = record.variant.rpartition("/")[0] if kind == "pair" else record.variant
        value = record.parts.get("judged")
        said.setdefault((record.question_id, variant), []).append((value, "" if value is not None else _why(record)))
        failed += record.status in FAILED
    scores: dict[Key, float | None] = {}
    undecided: Counter[str] = Counter()
    turned = 0
    for key, found in said.items():
        values = [value for value, _ in found]
        if kind == "pair" and len(values) == len(ORDERS) and None not in values:
            first, second = (value for value in values if value is not None)
            turned += first != second
            scores[key] = first if first == second else 0.5
        else:
            scores[key] = values[0] if kind != "pair" else None
        if scores[key] is None:
            undecided[next((why for value, why in found if value is None), "asked in one order")] += 1
    price = prices.get(name)
    return Judge(
        name=name,
        answered_by=tuple(sorted(run.facts.described.get("answered_by", {}))),
        scores=scores,
        undecided=dict(sorted(undecided.items())),
        controls=dict(sorted(controls.items(), key=lambda one: ("right", "wrong", "injected").index(one[0]))),
        failed=failed,
        order_decided=turned,
        prompt_tokens=prompt,
        completion_tokens=completion,
        dollars=(prompt * price.input + completion * price.output) / 1e6 if price else None,
    )


def _why(record: Record) -> str:
    return record.answer or (record.status if record.status != "unparsed" else record.rule or record.status)


def _item(record: Record, rule: float) -> Item:
    said = said_by(record)
    replied = bool(said) or record.score > 0  # what a server put into its field of thoughts is left to the rule
    return Item((record.question_id, record.variant), rule, replied, record.cluster, len(said))


def _side(judge: Judge, item: Item) -> bool | None:
    score = judge.scores.get(item.key)
    return None if score is None else score >= RIGHT


def _verdicts(judge: Judge, items: Sequence[Item]) -> Verdicts:
    decided = [(item, score) for item in items if (score := judge.scores.get(item.key)) is not None]
    known = fsum(score for _, score in decided)
    asked = [item for item in items if item.key in judge.scores]
    not_asked = [item for item in items if item.key not in judge.scores and item.replied]
    undecided, total = len(asked) - len(decided), len(items)
    outside = fsum(item.rule for item in not_asked)
    sides = [(item.rule >= RIGHT, score >= RIGHT, item.cluster) for item, score in decided]
    counts = Counter((rule, side) for rule, side, _ in sides)
    return Verdicts(
        judge=replace(judge, scores={}),
        total=total,
        judged=len(decided),
        undecided=undecided,
        no_reply=sum(not item.replied for item in items),
        not_asked=len(not_asked),
        accuracy=known / len(decided) if decided else None,
        interval=interval(by_cluster((score, item.cluster) for item, score in decided)),
        rule=fsum(item.rule for item, _ in decided) / len(decided) if decided else None,
        rule_interval=interval(by_cluster((item.rule, item.cluster) for item, _ in decided)),
        low=(known + outside) / total if total else 0.0,
        high=(known + outside + undecided) / total if total else 0.0,
        table=(
            (counts[True, True], counts[True, False]),
            (counts[False, True], counts[False, False]),
        ),
        agreement=interval(by_cluster((float(rule == side), cluster) for rule, side, cluster in sides)),
        kappa=cohens_kappa(sides),
        difference=difference((score, item.rule, item.cluster) for item, score in decided),
        longer=_by_length(decided),
        raised=tuple(item.key for item, score in decided if item.rule < RIGHT <= score),
        lowered=tuple(item.key for item, score in decided if score < RIGHT <= item.rule),
    )


def _by_length(decided: Sequence[tuple[Item, float]]) -> tuple[float, ...]:
    if len(decided) < LEAST_BY_LENGTH:
        return ()
    ordered = sorted(decided, key=lambda one: (one[0].length, one[0].key))
    cuts = [len(ordered) * part // 3 for part in range(4)]
    thirds = [ordered[start:end] for start, end in pairwise(cuts)]
    return tuple(fsum(score - item.rule for item, score in third) / len(third) for third in thirds)


def _notes(model: str, judges: Sequence[Judge], which: str) -> Iterator[str]:
    if which == WRONG:
        yield "only what the rule calls wrong was judged: that can raise the score and never lower it"
    for judge in judges:
        names = judge.answered_by or (judge.name,)
        own = _FAMILY.search(model.rpartition("/")[2])
        if own and any(
            (found := _FAMILY.search(name.rpartition("/")[2])) and found[0].lower() == own[0].lower() for name in names
        ):
            yield f"{judge.name} is of the judged model's family: judges prefer their own"
        if not judge.answered_by:
            yield f"{judge.name}: the server doesn't say which model answered"
        elif len(judge.answered_by) > 1:
            yield f"{judge.name}: replies name several models, {', '.join(judge.answered_by)}"
        for sort, (passed, n) in judge.controls.items():
            if passed < 0.9 * n:
                yield f"{judge.name} gets {n - passed} of {n} controls wrong ({sort}): its verdicts can't be trusted"

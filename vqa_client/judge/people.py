"""Judges checked by people: a sheet of drawn replies to label, and how judge and rule agree with the labels."""

import csv
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, zip_longest
from math import fsum
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.aggregates import Estimate
from vqa_client.errors import DataError, unreadable
from vqa_client.files import alone_in
from vqa_client.judge.columns import RIGHT
from vqa_client.judge.kinds import worth
from vqa_client.judge.loading import JudgedRun, reply_text
from vqa_client.log_lines import Key
from vqa_client.prompt import choices_text
from vqa_client.reports.judged import JudgeLog
from vqa_client.scoring.agreement import Kappa, cohens_kappa, fleiss_kappa, joint_rating, rogan_gladen, spearmans_rho
from vqa_client.scoring.choices.modes import Calibrating, Calibration
from vqa_client.scoring.paired import Sums, percentiles, resampled
from vqa_client.scoring.statistics import wilson
from vqa_client.tables.delimited import harmless, separator_of, write_rows
from vqa_client.types import Question

COLUMNS: Final = ("question_id", "variant", "question", "choices", "reference", "reply", "image", "label", "weight")
LABELS: Final = {"correct": 1.0, "incorrect": 0.0, "unclear": None}
_BEGINS = rb"(?:\xef\xbb\xbf)?\"?question_id\b"


class Label(Struct, frozen=True):
    """The scores that people give a reply, by their columns, None if unclear; it stands for `weight` replies.

    A score is 1 for correct, 0 for incorrect, and for a grade its place on the scale.
    """

    scores: dict[str, float | None]
    weight: float
    graded: bool = False

    @property
    def joint_rating(self) -> float | None:
        """The common score of all people, for any order of them."""
        return joint_rating(list(self.scores.values()), graded=self.graded)


class AgainstPeople(Struct, frozen=True, kw_only=True):
    """A judge compared with people: how often both agree, and the accuracy corrected for the judge's errors.

    `sensitivity` and `specificity` are the shares of replies that people call right and wrong on which the judge
    agrees. `accuracy` is the judge's share of right answers corrected for its errors (Rogan and Gladen), without a
    value for a judge that is hardly better than chance. `people` has the kappa of every two people, `fleiss` that of
    all, if more than two have labelled. If people give grades (`graded`), kappas have quadratic weights and `rho` is
    Spearman's; other figures take grades from the middle of the scale as correct. `calibration` is that of the judge's
    probability of "correct".
    """

    name: str
    labelled: int
    agreement: Estimate
    rule_agreement: Estimate
    kappa: Kappa | None
    rule_kappa: Kappa | None
    rho: float | None = None
    calibration: Calibration | None = None
    sensitivity: Estimate
    specificity: Estimate
    accuracy: Estimate
    graded: bool = False
    people: dict[str, Kappa | None] = {}
    fleiss: Kappa | None = None


def write_sheet(path: Path, run: JudgedRun, judge: JudgeLog | None, number: int) -> int:
    """Draw replies in equal parts from those that judge and rule call right and wrong; returns their number.

    A weight says how many replies of the run a row stands for. Raises OutputError if the file can't be written,
    DataError if there is nothing to label.
    """
    cells: dict[tuple[bool | None, bool], list[Key]] = {}
    for reason, judged in run.sorted_out():
        record = judged.record
        score = judge.scores.get(record.key) if judge else None
        if not reason and (judge is None or score is not None):
            cell = None if score is None else score >= RIGHT, record.score >= RIGHT
            cells.setdefault(cell, []).append(record.key)
    shuffled = [sorted(cells[cell], key=run.drawn_number) for cell in sorted(cells, key=str)]
    dealt = [key for key in chain.from_iterable(zip_longest(*shuffled)) if key is not None]
    drawn = set(dealt[:number])
    if not drawn:
        raise DataError(
            f"{run.log} has no reply to label" + (" that a judge has decided" if judge else ""),
            hint="people label replies to questions with a reference; look at them with vqa-client view",
        )
    weights: dict[Key, float] = {}
    for keys in shuffled:
        of_cell = [key for key in keys if key in drawn]
        weights |= {key: len(keys) / len(of_cell) for key in of_cell}
    grades = run.settings.grades
    scale = {"scale": f"{grades[0]} to {grades[-1]}"} if run.kind == "grade" else {}  # 1-5 is a date in a spreadsheet
    rows = ([*row, *scale.values()] for row in _rows(run, weights))
    write_rows(path, chain([[*COLUMNS, *scale]], rows), _BEGINS)
    return len(drawn)


def _rows(run: JudgedRun, weights: dict[Key, float]) -> Iterator[list[Any]]:
    for question, record in run.all_records():
        weight = weights.get(record.key)
        if weight is not None:
            texts = [question.text, choices_text(question.choices), "\n".join(question.references), reply_text(record)]
            images = "\n".join(question.images)
            yield harmless([*record.key, *texts, images, "", f"{weight:.6g}"])


def read_sheet(path: Path) -> list[dict[str, str]]:
    """The rows of a sheet: at least one, with question_id and a column for labels; raises DataError otherwise."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            reader = csv.DictReader(chain([first], file), delimiter=separator_of(first))
            rows = [{name: cell or "" for name, cell in row.items() if name} for row in reader]
    except OSError as error:
        raise unreadable(path, error, "--for_people N writes a sheet") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} can't be read: {error}", hint="give the sheet as CSV in UTF-8") from None
    if not rows or "question_id" not in rows[0] or not columns_of(rows):
        raise DataError(f"{path} has no columns question_id and label", hint="--for_people N writes a sheet")
    return rows


def scales_of(rows: Sequence[dict[str, str]]) -> set[str]:
    """The scales of the grades in a sheet, such as 0-10."""
    return {scale.replace(" to ", "-") for row in rows if (scale := row.get("scale", "").strip())}


def columns_of(rows: Sequence[dict[str, str]]) -> list[str]:
    """The columns with people's labels: "label", or "label_" and a name or number."""
    return [name for name in rows[0] if name == "label" or name.startswith("label_")]


def key_of(row: dict[str, str]) -> Key:
    """The question id and variant in a row of a sheet."""
    return _unquoted(row["question_id"]), _unquoted(row.get("variant", ""))


def put_label(path: Path, key: Key, column: str, label: str) -> None:
    """Write one person's label of a reply, and keep everything else that is in the sheet by now.

    Raises DataError or UsageError if it can't be saved.
    """
    with alone_in(path.parent):
        rows = read_sheet(path)
        of_key = [row for row in rows if key_of(row) == key]
        if not of_key:
            raise DataError(f"{path} no longer has the question {' '.join(key).strip()!r}", hint="start label again")
        for row in of_key:
            row[column] = label
        names = list(dict.fromkeys(name for row in rows for name in row))
        write_rows(path, chain([names], ([row.get(name, "") for name in names] for row in rows)), _BEGINS)


def read_labels(path: Path, run: JudgedRun) -> dict[Key, Label]:
    """The labels of a sheet by question id and variant; rows without one are left out.

    A label is correct, incorrect or unclear, or the label of a choice. Raises DataError that names the row.
    """
    rows = read_sheet(path)
    keys = set(map(key_of, rows))
    questions = {key: question for question, record in run.all_records() if (key := record.key) in keys}
    columns = columns_of(rows)
    labels: dict[Key, Label] = {}
    graded = False
    for number, row in enumerate(rows, 1):
        key, where = key_of(row), f"{path}, row {number}"
        words = {name: word for name in columns if (word := row.get(name, "").strip())}
        if words and key not in questions:
            raise DataError(
                f"{where}: the run has no question {' '.join(key).strip()!r}",
                hint="label the sheet that was drawn from this run",
            )
        if words:
            scores = {name: _score(word, questions[key], run, where) for name, word in words.items()}
            graded = graded or not LABELS.keys() >= {word.lower() for word in words.values()}
            labels[key] = Label(scores, _weight(row.get("weight", ""), where))
    if not labels:
        raise DataError(f"{path} has no label", hint=f"the column label takes {', '.join(labels_for(run))}")
    if graded and run.kind == "grade":
        return {key: replace(label, graded=True) for key, label in labels.items()}
    return labels


def labels_for(run: JudgedRun) -> tuple[str, ...]:
    """The labels that a person may give, apart from those of choices."""
    return (*map(str, run.settings.grades), "unclear") if run.kind == "grade" else tuple(LABELS)


def _weight(cell: str, where: str) -> float:
    try:
        return float(cell or 1)
    except ValueError:
        raise DataError(f"{where}: weight {cell!r} is not a number", hint="leave the column as it was drawn") from None


def _score(word: str, question: Question, run: JudgedRun, where: str) -> float | None:
    if word.lower() in LABELS:
        return LABELS[word.lower()]
    if run.kind == "grade" and word in map(str, run.settings.grades):
        return worth("grade", word, "", run.settings.grades)
    if run.kind != "grade" and word in question.choices:
        return float(run.value(word, question) >= RIGHT)
    others = "correct, incorrect" if run.kind == "grade" else "the label of a choice"
    raise DataError(f"{where}: label {word!r} is unknown", hint=f"{', '.join(labels_for(run))}, or {others}")


def _unquoted(cell: str) -> str:
    """A cell without the "'" that `harmless` put before it."""
    return cell[1:] if cell[:1] == "'" and harmless([cell[1:]]) == [cell] else cell


_CALLED_RIGHT, _REPLIES, _HITS, _RIGHT, _REJECTED, _WRONG, _JUDGE_AGREES, _RULE_AGREES, _LABELLED = range(9)
"""The sums of a cluster by index: replies that the judge calls right, all replies, and weights of labelled ones."""


def against_people(run: JudgedRun, judge: JudgeLog, labels: dict[Key, Label]) -> AgainstPeople:
    """Compare a judge's verdicts with the common labels of people."""
    rated: list[tuple[float, float, float, float, str]] = []
    by_cluster: dict[str, Sums] = {}
    calibrating, graded = Calibrating(), any(label.graded for label in labels.values())
    for record in run.records:
        key = record.key
        score, label = judge.scores.get(key), labels.get(key)
        if score is None:
            continue
        person, cluster = label.joint_rating if label else None, run.cluster(record) or " ".join(key)
        by_judge, by_rule = score >= RIGHT, record.score >= RIGHT
        sums = (float(by_judge), 1.0, *[0.0] * (_LABELLED - 1))
        if label and person is not None:
            weight, right = label.weight, person >= RIGHT
            judge_agrees, rule_agrees = weight * (by_judge == right), weight * (by_rule == right)
            by_side = (judge_agrees, weight, 0.0, 0.0) if right else (0.0, 0.0, judge_agrees, weight)
            sums = (*sums[:2], *by_side, judge_agrees, rule_agrees, weight)
            rated.append((score, record.score, person, weight, cluster))
            if (sure := judge.sure.get(key)) is not None:
                calibrating.add(sure, right, (sure - right) ** 2, weight)
        known = by_cluster.get(cluster)
        by_cluster[cluster] = sums if known is None else tuple(a + b for a, b in zip(known, sums, strict=True))
    clusters = [*by_cluster.values()]
    draws, weights = resampled(clusters), [weight for *_, weight, _ in rated]

    def share(counts: int, whole: int) -> Estimate:
        return _share(clusters, draws, counts, whole)

    def kappa(scores: Sequence[float]) -> Kappa | None:
        pairs = [(score, person, cluster) for score, (*_, person, _, cluster) in zip(scores, rated, strict=True)]
        if graded:
            return cohens_kappa(pairs, weights, quadratic=True)
        return cohens_kappa([(a >= RIGHT, b >= RIGHT, cluster) for a, b, cluster in pairs], weights)

    bounds = percentiles(map(_corrected_share, draws))
    return AgainstPeople(
        name=judge.name,
        labelled=len(rated),
        agreement=share(_JUDGE_AGREES, _LABELLED),
        rule_agreement=share(_RULE_AGREES, _LABELLED),
        kappa=kappa([score for score, *_ in rated]),
        rule_kappa=kappa([rule for _, rule, *_ in rated]),
        rho=spearmans_rho([(score, person) for score, _, person, *_ in rated], weights) if graded else None,
        calibration=calibrating.calibration() if judge.sure else None,
        sensitivity=share(_HITS, _RIGHT),
        specificity=share(_REJECTED, _WRONG),
        accuracy=_figure(_corrected_share([fsum(column) for column in zip(*clusters, strict=True)]), bounds),
        graded=graded,
        **_among_people(run, labels, graded=graded),
    )


def _share(clusters: Sequence[Sums], draws: Sequence[Sums], counts: int, whole: int) -> Estimate:
    """The sums at index `counts` as a share of those at `whole`; with Wilson's interval if the share is 0 or 1."""
    total = fsum(sums[whole] for sums in clusters)
    if not total:
        return Estimate(value=None)
    value = fsum(sums[counts] for sums in clusters) / total
    if 1e-12 < value < 1 - 1e-12:
        return _figure(value, percentiles(sums[counts] / sums[whole] if sums[whole] else None for sums in draws))
    return _figure(value, wilson(value, total**2 / fsum(sums[whole] ** 2 for sums in clusters)))


def _figure(value: float | None, bounds: tuple[float, float] | None) -> Estimate:
    low, high = bounds if bounds and value is not None else (None, None)
    return Estimate(value=value, low=low, high=high)


def _among_people(run: JudgedRun, labels: dict[Key, Label], *, graded: bool) -> dict[str, Any]:
    """The agreement among people: no judge can be expected to exceed it."""
    cluster = {record.key: run.cluster(record) for record in run.records if record.key in labels}
    sides = [
        ({name: value for name, value in label.scores.items() if value is not None}, cluster[key])
        for key, label in labels.items()
    ]
    names = sorted({name for decided, _ in sides for name in decided})
    people = {name: name.removeprefix("label_") for name in names}
    return {
        "people": {
            f"{people[a]} - {people[b]}": cohens_kappa(
                [(decided[a], decided[b], cluster) for decided, cluster in sides if {a, b} <= decided.keys()],
                quadratic=graded,
            )
            for a, b in combinations(names, 2)
        },
        "fleiss": fleiss_kappa(
            (list(decided.values()), cluster) for decided, cluster in sides if len(decided) == len(names)
        )
        if len(names) > 2 and not graded
        else None,
    }


def _corrected_share(sums: Sequence[float]) -> float | None:
    if not (sums and sums[_REPLIES] and sums[_RIGHT] and sums[_WRONG]):
        return None
    shares = ((_CALLED_RIGHT, _REPLIES), (_HITS, _RIGHT), (_REJECTED, _WRONG))
    return rogan_gladen(*(sums[part] / sums[whole] for part, whole in shares))

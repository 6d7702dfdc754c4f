"""People as the judges of a judge: a sheet of drawn replies to label, and what the labels say of judge and rule."""

import csv
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations, zip_longest
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from vqa_client.aggregates import Figure, Scored, Sums, compute
from vqa_client.errors import DataError
from vqa_client.files import alone_in
from vqa_client.judge.columns import RIGHT
from vqa_client.judge.loading import JudgedRun, said_by
from vqa_client.prompt import choices_text
from vqa_client.reports.csv_rows import harmless, write_rows
from vqa_client.reports.judged import Judge
from vqa_client.reports.log_reader import Key
from vqa_client.scoring.agreement import Kappa, cohens_kappa, fleiss_kappa, rogan_gladen
from vqa_client.types import Question, Record

COLUMNS: Final = ("question_id", "variant", "question", "choices", "reference", "reply", "image", "label", "weight")
LABELS: Final = {"correct": True, "incorrect": False, "unclear": None}
_BEGINS = rb"(?:\xef\xbb\xbf)?\"?question_id\b"


class Label(Struct, frozen=True):
    """What people say of a reply, by their columns, None where it is unclear; `weight` replies of the run are like it.

    `side` is what more than half of those who labelled it say, None where that is nothing.
    """

    sides: dict[str, bool | None]
    weight: float

    @property
    def side(self) -> bool | None:
        """What people say together, whatever their order."""
        [(side, votes)] = Counter(self.sides.values()).most_common(1)
        return side if 2 * votes > len(self.sides) else None


class AgainstPeople(Struct, frozen=True, kw_only=True):
    """A judge held against people: shares of what people call right and wrong that it calls so, and what that means.

    `accuracy` is the judge's share of right answers corrected for its errors (Rogan and Gladen); it has no value for a
    judge that hardly tells right from wrong. `people` has the kappa of every two people, `fleiss` that of all, where
    more than two have labelled.
    """

    name: str
    labelled: int
    kappa: Kappa | None
    rule_kappa: Kappa | None
    sensitivity: Figure
    specificity: Figure
    accuracy: Figure
    people: dict[str, Kappa | None] = {}
    fleiss: Kappa | None = None


def write_sheet(path: Path, run: JudgedRun, judge: Judge | None, number: int) -> int:
    """Draw replies in equal parts from what judge and rule call right and wrong; gives how many there are.

    Weights say how many replies of the run each one stands for. Raises OutputError where the file can't be written,
    DataError where there is nothing to label.
    """
    cells: dict[tuple[bool | None, bool], list[Key]] = {}
    for reason, judged in run.sorted_out():
        record = judged.record
        score = judge.scores.get(_key(record)) if judge else None
        if not reason and (judge is None or score is not None):
            cell = None if score is None else score >= RIGHT, record.score >= RIGHT
            cells.setdefault(cell, []).append(_key(record))
    seed = run.settings.seed
    shuffled = [sorted(cells[cell], key=lambda key: _draw(seed, key)) for cell in sorted(cells, key=str)]
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
        weights |= dict.fromkeys(of_cell, len(keys) / max(1, len(of_cell)))
    write_rows(path, chain([list(COLUMNS)], _rows(run, weights)), _BEGINS)
    return len(drawn)


def _rows(run: JudgedRun, weights: dict[Key, float]) -> Iterator[list[Any]]:
    for question, record in run.all_records():
        weight = weights.get(_key(record))
        if weight is not None:
            texts = [question.text, choices_text(question.choices), "\n".join(question.references), said_by(record)]
            images = "\n".join(question.images)
            yield harmless([record.question_id, record.variant, *texts, images, "", f"{weight:.6g}"])


def read_sheet(path: Path) -> list[dict[str, str]]:
    """The rows of a sheet, at least one, with the columns question_id and one for labels; raises DataError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [{name: cell or "" for name, cell in row.items() if name} for row in csv.DictReader(file)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} can't be read: {error}", hint="give the sheet as CSV in UTF-8") from None
    if not rows or "question_id" not in rows[0] or not columns_of(rows):
        raise DataError(f"{path} has no columns question_id and label", hint="--for_people N writes a sheet")
    return rows


def columns_of(rows: Sequence[dict[str, str]]) -> list[str]:
    """The columns with people's labels: "label", and "label_" with a name or a number."""
    return [name for name in rows[0] if name == "label" or name.startswith("label_")]


def key_of(row: dict[str, str]) -> Key:
    """The question and variant that a row of a sheet is of."""
    return _unquoted(row["question_id"]), _unquoted(row.get("variant", ""))


def put_label(path: Path, key: Key, column: str, label: str) -> None:
    """Write one person's label of a reply; whatever else is in the sheet by now stays.

    Raises DataError or UsageError where it can't be kept.
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
    wanted = set(map(key_of, rows))
    questions = {key: question for question, record in run.all_records() if (key := _key(record)) in wanted}
    columns = columns_of(rows)
    found: dict[Key, Label] = {}
    for number, row in enumerate(rows, 1):
        key, where = key_of(row), f"{path}, row {number}"
        words = {name: word for name in columns if (word := row.get(name, "").strip())}
        if words and key not in questions:
            raise DataError(
                f"{where}: the run has no question {' '.join(key).strip()!r}",
                hint="label the sheet that was drawn from this run",
            )
        if words:
            sides = {name: _side(word, questions[key], run, where) for name, word in words.items()}
            found[key] = Label(sides, _weight(row.get("weight", ""), where))
    if not found:
        raise DataError(f"{path} has no label", hint=f"the column label takes {', '.join(LABELS)}")
    return found


def _weight(cell: str, where: str) -> float:
    try:
        return float(cell or 1)
    except ValueError:
        raise DataError(f"{where}: weight {cell!r} is not a number", hint="leave the column as it was drawn") from None


def _key(record: Record) -> Key:
    return record.question_id, record.variant


def _side(word: str, question: Question, run: JudgedRun, where: str) -> bool | None:
    if word.lower() in LABELS:
        return LABELS[word.lower()]
    if word in question.choices:
        return run.value(word, question) >= RIGHT
    raise DataError(f"{where}: label {word!r} is unknown", hint=f"{', '.join(LABELS)}, or the label of a choice")


def _unquoted(cell: str) -> str:
    """A cell without the sign that keeps a spreadsheet from taking it for a formula."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in tuple("=+-@\t\r") else cell


def against_people(run: JudgedRun, judge: Judge, labels: dict[Key, Label]) -> AgainstPeople:
    """Hold a judge's verdicts against what people say together."""
    rated: list[tuple[bool, bool, bool, float, str]] = []
    sides: list[tuple[dict[str, bool], str]] = []
    sums: dict[Key, tuple[float, ...]] = {}
    clusters: dict[Key, str] = {}
    for record in run.records:
        key = _key(record)
        score, label = judge.scores.get(key), labels.get(key)
        person = label.side if label else None
        if label:
            decided = {name: side for name, side in label.sides.items() if side is not None}
            sides.append((decided, run.cluster(record)))
        if score is None:
            continue
        weight = label.weight if label and person is not None else 0.0
        right, wrong, by_judge = weight * (person is True), weight * (person is False), score >= RIGHT
        sums[key] = score, 1.0, right * by_judge, right, wrong * (not by_judge), wrong
        clusters[key] = run.cluster(record)
        if weight and person is not None:
            rated.append((score >= RIGHT, record.score >= RIGHT, person, weight, run.cluster(record)))
    weights = [weight for *_, weight, _ in rated]

    def figure(of: Callable[..., float]) -> Figure:
        return compute(Sums(lambda each: sums[_key(each.record)], of), map(_scored, clusters.items()))

    return AgainstPeople(
        name=judge.name,
        labelled=len(rated),
        kappa=cohens_kappa([(by_judge, person, cluster) for by_judge, _, person, _, cluster in rated], weights),
        rule_kappa=cohens_kappa([(rule, person, cluster) for _, rule, person, _, cluster in rated], weights),
        sensitivity=figure(lambda q, n, hits, right, rejects, wrong: hits / right),
        specificity=figure(lambda q, n, hits, right, rejects, wrong: rejects / wrong),
        accuracy=figure(_corrected),
        **_among_people(sides),
    )


def _among_people(sides: Sequence[tuple[dict[str, bool], str]]) -> dict[str, Any]:
    """How far people agree: what no judge can be expected to exceed."""
    names = sorted({name for decided, _ in sides for name in decided})
    shown = {name: name.removeprefix("label_") for name in names}
    return {
        "people": {
            f"{shown[a]} - {shown[b]}": cohens_kappa(
                [(decided[a], decided[b], cluster) for decided, cluster in sides if {a, b} <= decided.keys()]
            )
            for a, b in combinations(names, 2)
        },
        "fleiss": fleiss_kappa(
            (list(decided.values()), cluster) for decided, cluster in sides if len(decided) == len(names)
        )
        if len(names) > 2
        else None,
    }


def _corrected(q: float, n: float, hits: float, right: float, rejects: float, wrong: float) -> float:
    found = rogan_gladen(q / n, hits / right, rejects / wrong)
    if found is None:
        raise ZeroDivisionError
    return found


def _scored(item: tuple[Key, str]) -> Scored:
    (question_id, variant), cluster = item
    record = Record(question_id=question_id, variant=variant, status="ok", cluster=cluster)
    return Scored(question=Question(id=question_id, text=""), record=record, answer=None, score=0.0)


def _draw(seed: int, key: Key) -> bytes:
    return hashlib.blake2b(f"{seed} {key[0]} {key[1]}".encode("utf-8", "surrogatepass"), digest_size=8).digest()

"""People as the judges of a judge: a sheet of drawn replies to label, and what the labels say of judge and rule."""

import csv
import hashlib
from collections.abc import Callable, Iterator
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from vqa_client.aggregates import Figure, Scored, Sums, compute
from vqa_client.errors import DataError
from vqa_client.judge.beside import RIGHT
from vqa_client.judge.loading import JudgedRun, said_by
from vqa_client.prompt import choices_text
from vqa_client.reports.csv_rows import harmless, write_rows
from vqa_client.reports.judged import Judge
from vqa_client.reports.log_reader import Key
from vqa_client.scoring.agreement import Kappa, cohens_kappa, rogan_gladen
from vqa_client.types import Question, Record

COLUMNS: Final = ("question_id", "variant", "question", "choices", "reference", "reply", "image", "label", "weight")
_LABELS: Final = {"correct": 1.0, "incorrect": 0.0, "unclear": None}
_BEGINS = b"question_id,variant,question,"


class Label(Struct, frozen=True):
    """What people say of a reply, None where it is unclear, and how many replies of the run it stands for."""

    sides: tuple[bool | None, ...]
    weight: float


class AgainstPeople(Struct, frozen=True, kw_only=True):
    """A judge held against people: shares of what people call right and wrong that it calls so, and what that means.

    `accuracy` is the judge's share of right answers corrected for its errors (Rogan and Gladen); it has no value for a
    judge that hardly tells right from wrong. `people` is the kappa of two people, where two have labelled.
    """

    name: str
    labelled: int
    kappa: Kappa | None
    rule_kappa: Kappa | None
    sensitivity: Figure
    specificity: Figure
    accuracy: Figure
    people: Kappa | None = None


def write_sheet(path: Path, run: JudgedRun, judge: Judge | None, number: int) -> int:
    """Draw replies in equal parts from what judge and rule call right and wrong; gives how many there are.

    Weights say how many replies of the run each one stands for. Raises UsageError where the file can't be written.
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


def read_labels(path: Path, run: JudgedRun) -> dict[Key, Label]:
    """The labels of a sheet by question id and variant; rows without one are left out.

    A label is correct, incorrect or unclear, or the label of a choice. Raises DataError that names the row.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        weights = [float(row.get("weight") or 1) for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
        raise DataError(f"{path} can't be read: {error}", hint="give the sheet as CSV in UTF-8") from None
    columns = [name for name in (rows[0] if rows else ()) if name in ("label", "label_1", "label_2")]
    if not columns or "question_id" not in rows[0]:
        raise DataError(f"{path} has no columns question_id and label", hint="--for_people N writes a sheet")
    keys = [(_unquoted(row["question_id"] or ""), _unquoted(row.get("variant") or "")) for row in rows]
    wanted = set(keys)
    questions = {key: question for question, record in run.all_records() if (key := _key(record)) in wanted}
    found: dict[Key, Label] = {}
    for number, (key, row, weight) in enumerate(zip(keys, rows, weights, strict=True), 1):
        words, where = [(row[name] or "").strip() for name in columns], f"{path}, row {number}"
        if any(words) and key not in questions:
            raise DataError(
                f"{where}: the run has no question {' '.join(key).strip()!r}",
                hint="label the sheet that was drawn from this run",
            )
        if any(words):
            found[key] = Label(tuple(_side(word, questions[key], run, where) for word in words), weight)
    if not found:
        raise DataError(f"{path} has no label", hint=f"the column label takes {', '.join(_LABELS)}")
    return found


def _key(record: Record) -> Key:
    return record.question_id, record.variant


def _side(word: str, question: Question, run: JudgedRun, where: str) -> bool | None:
    if not word:
        return None
    if word.lower() in _LABELS:
        score = _LABELS[word.lower()]
        return None if score is None else score >= RIGHT
    if word in question.choices:
        return run.value(word, question) >= RIGHT
    raise DataError(f"{where}: label {word!r} is unknown", hint=f"{', '.join(_LABELS)}, or the label of a choice")


def _unquoted(cell: str) -> str:
    """A cell without the sign that keeps a spreadsheet from taking it for a formula."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in tuple("=+-@\t\r") else cell


def against_people(run: JudgedRun, judge: Judge, labels: dict[Key, Label]) -> AgainstPeople:
    """Hold a judge's verdicts against the first person's labels."""
    rated: list[tuple[bool, bool, bool, float, str]] = []
    both: list[tuple[bool, bool, str]] = []
    sums: dict[Key, tuple[float, ...]] = {}
    clusters: dict[Key, str] = {}
    for record in run.records:
        key = _key(record)
        score, label = judge.scores.get(key), labels.get(key)
        person = label.sides[0] if label else None
        if label and len(label.sides) > 1 and person is not None and (other := label.sides[1]) is not None:
            both.append((person, other, record.cluster))
        if score is None:
            continue
        weight = label.weight if label and person is not None else 0.0
        right, wrong, by_judge = weight * (person is True), weight * (person is False), score >= RIGHT
        sums[key] = score, 1.0, right * by_judge, right, wrong * (not by_judge), wrong
        clusters[key] = record.cluster
        if weight and person is not None:
            rated.append((score >= RIGHT, record.score >= RIGHT, person, weight, record.cluster))
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
        people=cohens_kappa(both) if both else None,
    )


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

"""The figures of options such as --repeat or --blind, computed from the records: they lead the page of such a run."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from msgspec import Struct

from vqa_client.html.figures import MOST_ROWS, Figure, of_mean, only, state_link
from vqa_client.reports.logged_run import BLIND, CLEAN, SEEN
from vqa_client.reports.names import count
from vqa_client.reports.overview import Overview, in_order
from vqa_client.reports.robustness.report import add_to
from vqa_client.reports.varied import FormScores, add_blind, add_rotations, neighbours, repeat_scores, scores_by_form
from vqa_client.scoring.choices.circular import ROTATION, SHUFFLED, CircularScores, PositionBias, Positions, choices_in
from vqa_client.scoring.choices.modes import Bin, Calibrating, Calibration, weights
from vqa_client.scoring.corrupted_scores import CorruptedScores
from vqa_client.scoring.paired import Difference, difference
from vqa_client.scoring.repeats import BlindScores, Pairing
from vqa_client.scoring.statistics import Averaging, Mean
from vqa_client.task import Description
from vqa_client.types import Record

NO_ANSWER = "-"
"""The column of replies without a choice."""


class PairedGap(Struct, frozen=True, kw_only=True):
    """A paired difference between two ways to ask, with both accuracies; `difference` is None without pairs."""

    label: str
    before: float | None
    after: float | None
    difference: Difference | None
    link: str = ""
    p_holm: float | None = None


class Confusion(Struct, frozen=True, kw_only=True):
    """How often each choice was given, by the right choice: a row for each right one, with counts by column.

    `of` names the variant that is counted, "" if all are.
    """

    of: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[int, float, str], ...]], ...]
    places: PositionBias


class AskedForms(Struct, frozen=True, kw_only=True):
    """What leads the page: `lead` replaces the usual figures, `together` has more figures over all forms.

    `gaps` compare two ways to ask, named by `before` and `after`. `chance` is the accuracy of guessing, in [0, 1];
    `same_chance` means that it is the same for every question.
    """

    option: str = ""
    lead: tuple[Figure, ...] = ()
    together: tuple[Figure, ...] = ()
    before: str = ""
    after: str = ""
    gaps: tuple[PairedGap, ...] = ()
    notes: tuple[str, ...] = ()
    chance: float | None = None
    same_chance: bool = False
    confusion: Confusion | None = None
    calibration: Calibration | None = None
    bins: tuple[Bin, ...] = ()


def asked(overview: Overview) -> AskedForms:
    """Compute the figures of the run's variants and choices."""
    run, variants = overview.run, overview.run.records.variants
    kinds = {variant.partition("/")[0] for variant in variants}
    choices = _ChoiceCounts(None if kinds == {ROTATION} else overview.run.headline)
    by_question = ([*forms] for _, forms in groupby(choices.count(run.records), key=lambda record: record.question_id))
    comparable = overview.description.compares_answers
    if kinds == {ROTATION}:
        fields = _circular(by_question)
    elif {SEEN, BLIND} <= set(variants):
        fields = _blind(by_question, overview.description)
    elif kinds == {"repeat"} and len(variants) > 1:
        fields = _repeats(by_question, len(variants), comparable=comparable)
    elif CLEAN in variants and len(variants) > 1:
        fields = _corrupted(by_question)
    elif str(run.facts.identity.get("asked", "")).startswith("pages "):
        fields = _pages(by_question, str(run.facts.identity["asked"]).removeprefix("pages ").split(","))
    else:
        fields = {"option": "shuffled choices (--shuffle_choices)"} if kinds == {SHUFFLED} else {}
    for _ in by_question:  # count the records that no option has read
        pass
    return AskedForms(**fields, **choices.fields(overview))


class _ChoiceCounts:
    """Counts right and given choices of one variant, or of all."""

    def __init__(self, variant: str | None) -> None:
        self._variant = variant
        self._cells: Counter[tuple[str, str]] = Counter()
        self._labels: tuple[str, ...] = ()
        self._counts: Counter[int] = Counter()
        self._positions, self._calibrating, self._other = Positions(), Calibrating(), 0

    def count(self, records: Iterable[Record]) -> Iterable[Record]:
        """The same records, counted as they are read."""
        for record in records:
            if self._variant in (None, record.form):
                self._add(record)
            yield record

    def _add(self, record: Record) -> None:
        labels = tuple(choices_in(record.prompt))
        right = record.references[0] if len(record.references) == 1 else ""
        if right not in labels:
            self._other += record.error is None
            return
        self._labels = max(self._labels, labels, key=len)
        self._counts[len(labels)] += 1
        self._cells[right, record.answer or NO_ANSWER] += 1
        self._positions.add(labels, right, record.answer, record.score, record.cluster or record.question_id)
        weighed = weights(record.probabilities, right, labels) if record.probabilities else None
        if weighed is not None:
            self._calibrating.add(weighed.top, record.score >= 1.0, weighed.brier)

    def fields(self, overview: Overview) -> dict[str, Any]:
        """Chance, confusion and calibration; empty if most questions have no choices, no chance if some have none."""
        n = self._counts.total()
        if not n or self._other > n:
            return {}
        calibration = self._calibrating.calibration()
        of, within = ("", {}) if self._variant is None else (overview.run.of_words, only(overview))
        return {
            "chance": sum(times / count for count, times in self._counts.items()) / n if not self._other else None,
            "same_chance": len(self._counts) == 1 and not self._other,
            "confusion": self._confusion(of, within),
            "calibration": calibration if calibration.n else None,
            "bins": self._calibrating.bins(),
        }

    def _confusion(self, of: str, within: Mapping[str, str]) -> Confusion:
        columns = (*self._labels, NO_ANSWER)
        rows = []
        for right in self._labels:
            total = sum(n for (of, _), n in self._cells.items() if of == right)
            numbers = [(answer, self._cells[right, answer]) for answer in columns]
            cells = tuple(
                (n, n / total if total else 0.0, state_link(**within, right=right, chosen=answer))
                for answer, n in numbers
            )
            rows.append((right, cells))
        return Confusion(of=of, columns=columns, rows=tuple(rows), places=self._positions.bias())


def _circular(questions: Iterable[list[Record]]) -> dict[str, Any]:
    scores = CircularScores()
    for forms in questions:
        add_rotations(scores, forms, tuple(choices_in(forms[0].prompt)) or "ABCDEFGHIJ"[: len(forms)])
    figures = scores.figures(Positions().bias())
    averages = _figures(figures.named)
    return {
        "option": f"every question in {figures.rotations} rotations of its choices (--circular)",
        "lead": averages[:2],
        "together": averages[2:],
        "notes": _unfinished(figures.unfinished, "without all rotations yet"),
    }


def _repeats(questions: Iterable[list[Record]], repeats: int, *, comparable: bool) -> dict[str, Any]:
    figures = repeat_scores(questions, repeats, comparable=comparable).figures()
    return {
        "option": f"every question {repeats} times (--repeat)",
        "lead": (
            of_mean(f"pass@1: mean of {repeats} repeats", figures.pass_at[1]),
            of_mean(f"pass@{repeats}: right in at least one of {repeats}", figures.pass_at[repeats]),
        ),
        "together": _figures(figures.named),
        "notes": _unfinished(figures.unfinished, "without all repeats yet"),
    }


def _blind(questions: Iterable[list[Record]], description: Description) -> dict[str, Any]:
    scores = BlindScores(comparable=description.compares_answers)
    for records in questions:
        add_blind(scores, records)
    figures = scores.figures()
    shares = {"of the questions right with images, also right without": figures.kept}
    if figures.same:
        shares["the same answer both ways"] = figures.same
    groups = [
        _pairing(f"{field.replace('_', ' ')} {value}", values[value], {f"by.{field}": value})
        for field, values in figures.groups.items()
        if 1 < len(values) <= MOST_ROWS
        for value in in_order(values, description.order(field))
    ]
    return {
        "option": "every question with its images and without (--blind)",
        "lead": (
            of_mean("with images", figures.overall.seen, _link_to_variant(SEEN)),
            of_mean("without images", figures.overall.blind, _link_to_variant(BLIND)),
        ),
        "together": _figures(shares),
        "before": "without images",
        "after": "with images",
        "gaps": (_pairing("all", figures.overall, {}), *groups[:MOST_ROWS]),
        "notes": _unfinished(figures.unfinished, "only asked one way so far"),
    }


def _pairing(label: str, of: Pairing, place: Mapping[str, str]) -> PairedGap:
    link = state_link(**place) if place else ""
    return PairedGap(label=label, before=of.blind.value, after=of.seen.value, difference=of.gain, link=link)


def _pages(questions: Iterable[list[Record]], forms: Sequence[str]) -> dict[str, Any]:
    scores: FormScores = {**{form: {} for form in forms}, **scores_by_form(questions)}
    gaps = []
    for before, after, both in neighbours(scores):
        n = len(both) or 1
        new, old = sum(row[0] for row in both) / n, sum(row[1] for row in both) / n
        gaps.append(PairedGap(label=f"{after} less {before}", before=old, after=new, difference=difference(both)))
    return {
        "option": f"every question with pages {', '.join(forms)} (--pages)",
        "lead": tuple(_mean(f"pages {form}", of.values(), form) for form, of in scores.items() if of)[:2],
        "before": "before",
        "after": "after",
        "gaps": tuple(gaps),
    }


def _corrupted(questions: Iterable[list[Record]]) -> dict[str, Any]:
    scores = CorruptedScores()
    try:
        for records in questions:
            for record in records:
                add_to(scores, record)
    except ValueError:  # a variant that is not a corruption and level
        return {}
    curves = scores.curves()
    clean = curves.clean.accuracy if curves.clean else None
    drops = [(less, name, level, of.accuracy) for name, level, of in curves.variants if (less := of.difference)]
    gaps = [
        PairedGap(
            label=f"{name} {level}",
            before=clean,
            after=accuracy,
            difference=less,
            link=_link_to_variant(f"{name}/{level}"),
        )
        for less, name, level, accuracy in sorted(drops, key=lambda drop: drop[0].value)
    ]
    return {
        "option": "clean and corrupted images; largest drops first",
        "before": "clean",
        "after": "corrupted",
        "gaps": tuple(gaps),
        "notes": ("Each drop is paired: the same questions, clean and corrupted.",),
    }


def _mean(label: str, scored: Iterable[tuple[float, str]], variant: str) -> Figure:
    averaging = Averaging()
    for score, cluster in scored:
        averaging.add(score, cluster)
    return of_mean(label, averaging.average(), _link_to_variant(variant))


def _link_to_variant(variant: str) -> str:
    return state_link(**{"by.variant": variant})


def _figures(means: Mapping[str, Mean]) -> tuple[Figure, ...]:
    return tuple(of_mean(label, of) for label, of in means.items())


def _unfinished(number: int, how: str) -> tuple[str, ...]:
    return (f"{count(number)} {how}, left out of these figures.",) if number else ()

"""The figures of a comparison: both accuracies, their difference with every test, and all of this by group."""

from collections.abc import Iterable, Iterator, Sequence
from math import fsum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.compare.matching import Matched, Pair, match, warnings
from vqa_client.compare.sides import Kept, Side
from vqa_client.reports.logged_run import CLEAN
from vqa_client.reports.overview import in_order
from vqa_client.scoring.paired import (
    Bootstrap,
    Difference,
    PairedT,
    bootstrap,
    by_cluster,
    difference,
    holm,
    minimum_detectable,
    paired_t,
)
from vqa_client.scoring.sign_flips import mcnemar
from vqa_client.scoring.statistics import Interval, interval
from vqa_client.types import UNKNOWN, group_values

EXACT: Final = "exact McNemar"
FEW_CLUSTERS: Final = 10
FULL_MARKS: Final = 1.0


class Accuracy(Struct, frozen=True, kw_only=True):
    """A side's mean score in [0, 1] over the matched questions, and over those that it answered.

    `published` is the mean by the published script, None if there is no such score beside the headline.
    """

    value: float
    interval: Interval | None
    full_marks: int
    answered: int
    value_answered: float | None
    published: float | None = None


class McNemar(Struct, frozen=True, kw_only=True):
    """How many questions have full marks in one side, both or neither; p takes questions as independent."""

    only_a: int
    only_b: int
    both: int
    neither: int
    p: float


class GroupDifference(Struct, frozen=True, kw_only=True):
    """The difference in one group of a breakdown; `p_holm` counts all groups of all breakdowns as one family."""

    field: str
    value: str
    a: float
    b: float
    difference: Difference
    p: float
    p_holm: float


class Comparison(Struct, frozen=True, kw_only=True):
    """`b` compared with `a` over the matched questions; differences are b - a, in [-1, 1].

    `p` is by `p_method`, and `p_holm` takes all sides compared with `a` as one family. `measure` names the accuracy,
    `unit` the clusters, and `minimum_detectable` is the true difference that this many questions detect with 80 %
    power. `partial` means that there are scores between 0 and 1, which McNemar's test ignores. If both sides asked in
    several variants, all figures are of the one named `variant`, and `variants` has the differences in each, a family
    of their own for Holm; with fewer than two, `variant` is None.
    """

    a: str
    b: str
    task: str
    measure: str
    n: int
    clusters: int
    unit: str
    partial: bool
    accuracy_a: Accuracy
    accuracy_b: Accuracy
    difference: Difference
    answered_by_both: Difference | None
    mcnemar: McNemar
    paired_t: PairedT | None
    bootstrap: Bootstrap
    minimum_detectable: float | None
    p: float
    p_method: str
    p_holm: float
    groups: tuple[GroupDifference, ...]
    variant: str | None
    variants: tuple[GroupDifference, ...]
    only_a: int
    only_b: int
    warnings: tuple[str, ...]

    @property
    def shown(self) -> bool:
        """Whether the difference is significant: the interval leaves out 0, and the adjusted p is below 0.05."""
        return self.p_holm < 0.05 and not self.difference.low <= 0 <= self.difference.high

    @property
    def has_published(self) -> bool:
        """Whether there is a published score beside the headline's."""
        return self.accuracy_a.published is not None or self.accuracy_b.published is not None

    def own(self, matched: Matched) -> list[Pair]:
        """The pairs of the figures' variant."""
        return matched.of_variant(self.variant)


Compared = Sequence[tuple[Comparison, Matched]]


def compare(sides: Sequence[Side]) -> list[tuple[Comparison, Matched]]:
    """Compare each side but the first with the first; raises IdentityError and DataError as `match` does."""
    first, *others = sides
    pairs = []
    for other in others:
        matched = match(first, other)
        pairs.append((_comparison(first, other, matched), matched))
    adjusted = holm([comparison.p for comparison, _ in pairs])
    return [(replace(comparison, p_holm=p), matched) for (comparison, matched), p in zip(pairs, adjusted, strict=True)]


def _comparison(a: Side, b: Side, matched: Matched) -> Comparison:
    variant = matched.headline
    pairs = matched.of_variant(variant)
    gaps = by_cluster((pair.gap, pair.cluster) for pair in pairs)
    between = _difference(pairs)
    partial = any(kept.score not in (0.0, FULL_MARKS) for pair in pairs for kept in (pair.a, pair.b))
    unit = a.description.unit if any(pair.a.cluster or pair.b.cluster for pair in pairs) else "question"
    notes = warnings(a, b, matched)
    if variant not in (None, CLEAN) and CLEAN in a.variants | b.variants:
        notes.append("warning: the clean images are not in both runs")
    if len(gaps) < FEW_CLUSTERS:
        least = f"their smallest possible p is {2.0 ** (1 - len(gaps)):.3g}"
        notes.append(f"warning: only few independent {unit}s ({len(gaps)}), so p is only indicative: {least}")
    return Comparison(
        a=a.label,
        b=b.label,
        task=a.task or b.task or UNKNOWN,
        measure=a.description.measure,
        n=len(pairs),
        clusters=len(gaps),
        unit=unit,
        partial=partial,
        accuracy_a=accuracy_of([(pair.a, pair.cluster) for pair in pairs]),
        accuracy_b=accuracy_of([(pair.b, pair.cluster) for pair in pairs]),
        difference=between,
        answered_by_both=_answered_difference(pairs),
        mcnemar=_mcnemar(pairs),
        paired_t=paired_t(gaps),
        bootstrap=bootstrap(gaps),
        minimum_detectable=minimum_detectable(gaps),
        p=between.p,
        p_method=_p_method(between, unit, partial=partial),
        p_holm=between.p,
        groups=tuple(_groups(_by_field(pairs))),
        variant=variant,
        variants=() if variant is None else tuple(_groups(_by_variant(matched.pairs))),
        only_a=len(matched.only_a),
        only_b=len(matched.only_b),
        warnings=tuple(notes),
    )


def _difference(pairs: Iterable[Pair]) -> Difference:
    between = difference((pair.b.score, pair.a.score, pair.cluster) for pair in pairs)
    assert between is not None  # there is at least one pair
    return between


def _answered_difference(pairs: Sequence[Pair]) -> Difference | None:
    """The difference over questions that both answered; None if those are all questions, or none."""
    both = [pair for pair in pairs if pair.a.answered and pair.b.answered]
    return _difference(both) if 0 < len(both) < len(pairs) else None


def _mcnemar(pairs: Sequence[Pair]) -> McNemar:
    full = [(pair.a.score >= FULL_MARKS, pair.b.score >= FULL_MARKS) for pair in pairs]
    only_a, only_b = full.count((True, False)), full.count((False, True))
    return McNemar(
        only_a=only_a,
        only_b=only_b,
        both=full.count((True, True)),
        neither=full.count((False, False)),
        p=mcnemar(only_a, only_b),
    )


def _p_method(of: Difference, unit: str, *, partial: bool) -> str:
    """The name of the test; over independent questions that are right or wrong, flipping signs is McNemar's test."""
    if of.clusters == of.n and not partial:
        return EXACT
    test = f"sign-flip permutation by {unit}"
    return f"{test} ({of.draws:,} draws)" if of.draws else f"exact {test}"


def accuracy_of(kept: Sequence[tuple[Kept, str]]) -> Accuracy:
    """The accuracy over records, each with its cluster."""
    scores = [record.score for record, _ in kept]
    answered = [record.score for record, _ in kept if record.answered]
    return Accuracy(
        value=fsum(scores) / len(scores),
        interval=interval(by_cluster((record.score, cluster) for record, cluster in kept)),
        full_marks=sum(score >= FULL_MARKS for score in scores),
        answered=len(answered),
        value_answered=fsum(answered) / len(answered) if answered else None,
        published=_published_mean([record for record, _ in kept]),
    )


def _published_mean(kept: Sequence[Kept]) -> float | None:
    """The mean with failed questions as wrong; None unless every answered question has a published score."""
    scores = [0.0 if record.published is None and not record.answered else record.published for record in kept]
    known = [score for score in scores if score is not None]
    return fsum(known) / len(known) if len(known) == len(kept) and any(record.answered for record in kept) else None


Fields = dict[str, dict[str, list[Pair]]]


def _groups(by_field: Fields) -> Iterator[GroupDifference]:
    """The groups of every field with several values; a question's groups are those of the first side."""
    groups = [
        _group(field, value, values[value])
        for field, values in by_field.items()
        if len(values) > 1
        for value in in_order(values)
    ]
    for group, p in zip(groups, holm([group.p for group in groups]), strict=True):
        yield replace(group, p_holm=p)


def _by_field(pairs: Sequence[Pair]) -> Fields:
    fields = dict.fromkeys(field for pair in pairs for field in pair.a.groups)
    by_field: Fields = {field: {} for field in fields}
    for pair in pairs:
        for field, values in by_field.items():
            for value in group_values(pair.a.groups.get(field, UNKNOWN)):
                values.setdefault(value, []).append(pair)
    return by_field


def _by_variant(pairs: Sequence[Pair]) -> Fields:
    by_variant: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_variant.setdefault(pair.key[1], []).append(pair)
    return {"variant": by_variant}


def _group(field: str, value: str, pairs: Sequence[Pair]) -> GroupDifference:
    between = _difference(pairs)
    return GroupDifference(
        field=field,
        value=value,
        a=fsum(pair.a.score for pair in pairs) / len(pairs),
        b=fsum(pair.b.score for pair in pairs) / len(pairs),
        difference=between,
        p=between.p,
        p_holm=between.p,
    )

"""Figures of a whole run: F1, means of means, groups that count as a whole; each with an interval.

An aggregate is a tree of `Sums`, `Over` and `Combined`. It is computed in one walk over the scored questions. The
interval is a delete-a-group jackknife: clusters fall into up to 100 pieces by a stable hash of their names, and the
figure is computed again without each piece:

    variance = (g - 1) / g * sum((figure without piece - their mean)^2)        g pieces; t with g - 1 degrees of freedom

Source: Kott, Journal of Official Statistics 17 (2001). A group that counts as a whole must be within one cluster.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import fsum, isfinite, sqrt
from numbers import Real
from typing import Final
from zlib import crc32

from msgspec import Struct

from vqa_client.errors import UsageError
from vqa_client.own_code import place_of, shown
from vqa_client.scoring.statistics import t_quantile
from vqa_client.types import Question, Record, group_values

PIECES: Final = 100
_OF: Final = "it takes the sums, or the figures, and returns a number"


class Scored(Struct, frozen=True, kw_only=True):
    """A question under one metric, for aggregates; `answer` is None if the reply has none.

    `said` gives the answer that another metric reads, by its name; `other` gives the same metric's score of another
    question, by its id, or None if that wasn't asked.
    """

    question: Question
    record: Record
    answer: str | None
    score: float
    said: Callable[[str], str | None] = lambda metric: None
    other: Callable[[str], float | None] = lambda id: None


class Sums(Struct, frozen=True):
    """`of` the sums of the values that `adds` gives; a question for which it gives None is left out."""

    adds: Callable[[Scored], Sequence[float] | None]
    of: Callable[..., float]


class Over(Struct, frozen=True):
    """`inner` for each value of `by`, then `of` all these figures; `by` is a group's name, or gives a key or None.

    A question with the key None is left out; one with several values of the group counts in each.
    """

    by: str | Callable[[Scored], Hashable]
    inner: "Aggregate"
    of: Callable[[Mapping[Hashable, float]], float]


class Combined(Struct, frozen=True):
    """`of` several figures of the same questions."""

    parts: "tuple[Aggregate, ...]"
    of: Callable[..., float]


Aggregate = Sums | Over | Combined


class Estimate(Struct, frozen=True, kw_only=True):
    """A figure and its 95 % interval; None if it can't be computed, such as a share of nothing."""

    value: float | None
    low: float | None = None
    high: float | None = None
    pieces: int = 0


Totals = dict[str, dict[str, Estimate]]
"""The figures of each total by metric."""


def share(part: float, whole: float) -> float:
    """The part divided by the whole."""
    return part / whole


MEAN: Final = Sums(lambda scored: (scored.score, 1), share)
"""The mean score."""
ALL_RIGHT: Final = Sums(lambda scored: (scored.score >= 1, 1), lambda right, n: float(right == n))
"""1 if every question is right, else 0."""


def mean_over(by: str | Callable[[Scored], Hashable], inner: Aggregate = MEAN) -> Over:
    """The unweighted mean of a figure over groups: a macro average."""
    return Over(by, inner, lambda values: fsum(values.values()) / len(values))


def only(condition: Callable[[Scored], bool], inner: Sums = MEAN) -> Sums:
    """The same figure of the questions that satisfy a condition."""
    return Sums(lambda scored: inner.adds(scored) if condition(scored) else None, inner.of)


def only_in(field: str, *values: str, inner: Sums = MEAN) -> Sums:
    """The same figure of the questions whose group `field` has one of these values."""
    return only(lambda scored: not {*values}.isdisjoint(group_values(scored.question.groups.get(field, ()))), inner)


class Running:
    """Computes a figure, from 0 to `most`, while its questions are added."""

    def __init__(self, aggregate: Aggregate, most: float) -> None:
        self._state, self._most = _state_of(aggregate), most
        self._pieces: set[int] = set()

    def add(self, scored: Scored) -> None:
        piece = crc32((scored.record.cluster or scored.record.question_id).encode("utf-8", "surrogatepass")) % PIECES
        self._pieces.add(piece)
        self._state.add(scored, piece)

    def figure(self) -> Estimate:
        """The figure of all questions so far; without an interval if that can't be computed or nothing varies."""
        value = self._state.value(None)
        if value is not None and not 0 <= round(value, 9) <= self._most:
            raise UsageError(f"it is {value:g}", hint=f"a total is from 0 to its `most`, here {self._most:g}")
        without = [self._state.value(piece) for piece in sorted(self._pieces)]
        values = [value for value in without if value is not None]
        pieces = len(values)
        if value is None or pieces < 2 or pieces < len(without):
            return Estimate(value=value)
        mean = fsum(values) / pieces
        spread = sqrt((pieces - 1) / pieces * fsum((value - mean) ** 2 for value in values))
        half = t_quantile(0.95, pieces - 1) * spread
        if not half:
            return Estimate(value=value)
        return Estimate(value=value, low=max(0.0, value - half), high=min(self._most, value + half), pieces=pieces)


class _SumsState:
    """Sums by piece."""

    def __init__(self, aggregate: Sums) -> None:
        self._aggregate = aggregate
        self._sums: dict[int, tuple[float, ...]] = {}
        self._width = 0

    def add(self, scored: Scored, piece: int) -> None:
        adds = self._aggregate.adds(scored)
        if adds is not None:
            before = self._sums.get(piece)
            added = self._numbers(adds)
            self._sums[piece] = added if before is None else tuple(a + b for a, b in zip(before, added, strict=True))

    def _numbers(self, adds: Iterable[float]) -> tuple[float, ...]:
        """What `adds` gave for a question; raises UsageError unless it is as many numbers as for the first one."""
        try:
            numbers = () if isinstance(adds, str) else tuple(map(float, adds))
        except (TypeError, ValueError):
            numbers = ()
        self._width = self._width or len(numbers)
        if len(numbers) != self._width or not numbers:
            before = ", another number of them than before" if numbers else ""
            raise UsageError(
                f"adds{place_of(self._aggregate.adds)} returns {shown(adds)}{before}",
                hint="return as many numbers for each question, such as (scored.score, 1), or None to leave it out",
            )
        return numbers

    def value(self, without: int | None) -> float | None:
        left = [sums for piece, sums in sorted(self._sums.items()) if piece != without]
        return _computed(self._aggregate.of, *map(fsum, zip(*left, strict=True))) if left else None


class _OverState:
    """A state per value of the group; leaving a piece out changes only the values with questions in it."""

    def __init__(self, aggregate: Over) -> None:
        self._aggregate = aggregate
        self._states: dict[Hashable, _State] = {}
        self._in_piece: dict[int, dict[Hashable, None]] = {}
        self._whole: dict[Hashable, float | None] = {}

    def add(self, scored: Scored, piece: int) -> None:
        for key in self._keys_of(scored):
            state = self._states.get(key)
            if state is None:
                state = self._states[key] = _state_of(self._aggregate.inner)
            state.add(scored, piece)
            self._in_piece.setdefault(piece, {})[key] = None
        self._whole.clear()

    def _keys_of(self, scored: Scored) -> Iterable[Hashable]:
        by = self._aggregate.by
        if isinstance(by, str):
            return group_values(scored.question.groups.get(by, ()))
        key = by(scored)
        try:
            return () if key is None else {key}
        except TypeError:
            raise UsageError(f"by{place_of(by)} returns {shown(key)}", hint="return a text or None") from None

    def value(self, without: int | None) -> float | None:
        if not self._whole:
            self._whole = {key: state.value(None) for key, state in self._states.items()}
        changed = () if without is None else self._in_piece.get(without, ())
        by_key = self._whole | {key: self._states[key].value(without) for key in changed}
        values = {key: value for key, value in by_key.items() if value is not None}
        return _computed(self._aggregate.of, values) if values else None


class _CombinedState:
    """The states of several figures."""

    def __init__(self, aggregate: Combined) -> None:
        self._aggregate = aggregate
        self._states = [_state_of(part) for part in aggregate.parts]

    def add(self, scored: Scored, piece: int) -> None:
        for state in self._states:
            state.add(scored, piece)

    def value(self, without: int | None) -> float | None:
        values = [state.value(without) for state in self._states]
        return None if None in values else _computed(self._aggregate.of, *values)


_State = _SumsState | _OverState | _CombinedState


def _state_of(aggregate: Aggregate) -> _State:
    if isinstance(aggregate, Sums):
        return _SumsState(aggregate)
    return _OverState(aggregate) if isinstance(aggregate, Over) else _CombinedState(aggregate)


def _computed(of: Callable[..., float], *values: object) -> float | None:
    """The figure, None for a share of nothing; raises UsageError if `of` returns no number."""
    try:
        figure = of(*values)
    except ZeroDivisionError:
        return None
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        raise UsageError(f"of{place_of(of)} can't be called: {error}", hint=_OF) from None
    if figure is None or (isinstance(figure, Real) and isfinite(figure)):
        return figure
    raise UsageError(f"of{place_of(of)} returns {shown(figure)}", hint=_OF)

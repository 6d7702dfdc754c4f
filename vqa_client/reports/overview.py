"""All numbers that a report of a record log shows, from two walks over it; and the cost of the run."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.aggregates import Totals
from vqa_client.files import natural_key
from vqa_client.reports.bottleneck import time_of
from vqa_client.reports.logged_run import LoggedRun
from vqa_client.reports.names import count, duration, in_dollars, percent
from vqa_client.reports.sections import Section
from vqa_client.reports.summary import Means, Summary, Tally, summarise, without_scores
from vqa_client.scoring.statistics import Mean
from vqa_client.task import Description
from vqa_client.types import UNKNOWN, Failure, Record, Status, group_text, group_values

LEVELS = ("corruption", "level")
"""The fields of a corrupted image: together they name its variant."""
MOST_IN_A_CROSSING = 16
VARIANT, RULE = "variant", "rule"
_NO_PART = Means(overall=Mean(n=0, value=None, interval=None), answered=Mean(n=0, value=None, interval=None))


class Overview(Struct, frozen=True, kw_only=True):
    """A run's summary, and what that lacks: times, tokens, attempts and one failure of each status.

    `summary` is of the run's headline variant if the log has several, else of all records; only its breakdown by
    "variant" and its crossing of corruption and level are always of all. `whole` sums up all records, for their cost
    and statuses. `variants` has the accuracy of each variant, and is empty if there is only one. `fields` are the
    groups of the records, then "variant" and "rule" if records differ in these; `values` has each field's values over
    all records. `latencies_s` and `completion_tokens` are in rising order; `text_lengths` are those of prompts and
    replies.
    """

    run: LoggedRun
    summary: Summary
    whole: Summary
    variants: Mapping[str, Tally]
    description: Description
    totals: Totals
    fields: tuple[str, ...]
    values: Mapping[str, Sequence[str]]
    latencies_s: Sequence[float]
    completion_tokens: Sequence[int]
    text_lengths: Sequence[int]
    attempts: int
    sent_bytes: int
    failures: Mapping[Status, Failure]

    @property
    def has_accuracy(self) -> bool:
        """Whether a question was answered and an answer is known."""
        return self.whole.overall.accuracy is not None


class _FirstWalk:
    """Everything that is counted in the first walk over the records."""

    def __init__(self, records: Iterator[Record]) -> None:
        self.values: dict[str, dict[str, None]] = {}
        self.having: Counter[str] = Counter()
        self.variants: dict[str, None] = {}
        self.count = 0
        self.rules: set[str] = set()
        self.latencies_s: list[float] = []
        self.completion_tokens: list[int] = []
        self.text_lengths: list[int] = []
        self.attempts = self.sent_bytes = 0
        self.failures: dict[Status, Failure] = {}
        self.has_scores = False
        for record in records:
            self._add(record)

    def _add(self, record: Record) -> None:
        for field, group in record.groups.items():
            self.having[field] += 1
            self.values.setdefault(field, {}).update(dict.fromkeys(group_values(group)))
        self.count += 1
        self.has_scores |= bool(record.references or record.score)
        self.variants[record.form] = None
        self.rules.add(record.rule)
        if record.latency_s:
            self.latencies_s.append(record.latency_s)
        if record.completion_tokens is not None:
            self.completion_tokens.append(record.completion_tokens)
        self.text_lengths += map(len, filter(None, (record.prompt, record.output, record.reasoning)))
        self.attempts += record.attempts
        self.sent_bytes += record.request_bytes * record.attempts
        if record.error is not None:
            self.failures.setdefault(record.status, record.error)

    def added_fields(self) -> Iterator[str]:
        """The fields that are not groups of the records and in which records differ."""
        if len(self.variants) > 1 and VARIANT not in self.values:
            yield VARIANT
        if len(self.rules) > 1 and RULE not in self.values:
            yield RULE

    def all_values(self) -> dict[str, list[str]]:
        """Every field's values, with "unknown" if some records lack the field."""
        own = {
            field: [*values, *([UNKNOWN] if self.having[field] < self.count and UNKNOWN not in values else [])]
            for field, values in self.values.items()
        }
        return {VARIANT: list(self.variants), RULE: sorted({rule or "none" for rule in self.rules})} | own


def overview(run: LoggedRun) -> Overview:
    """Count everything; the same for any order of the log's lines."""
    walk = _FirstWalk(iter(run.records))
    added = tuple(walk.added_fields())
    whole, summary = _summaries(run, walk, added)
    if not walk.has_scores:
        whole, summary = without_scores(whole), without_scores(summary)
    return Overview(
        run=run,
        description=run.facts.description,
        totals=run.facts.totals,
        summary=summary,
        whole=whole,
        variants={} if run.headline is None else summary.breakdowns[VARIANT],
        fields=(*sorted(walk.values), *added),
        values=walk.all_values(),
        latencies_s=sorted(walk.latencies_s),
        completion_tokens=sorted(walk.completion_tokens),
        text_lengths=walk.text_lengths,
        attempts=walk.attempts,
        sent_bytes=walk.sent_bytes,
        failures=walk.failures,
    )


def _summaries(run: LoggedRun, walk: _FirstWalk, added: tuple[str, ...]) -> tuple[Summary, Summary]:
    """The summary of all records and that of the headline's variant: the same one if there is only one variant."""
    pairs = _crossings(walk, run.facts.description)
    if run.headline is None:
        whole = summarise((_with_fields(record, added) for record in run.records), crossings=pairs)
        return whole, whole
    levels = [pair for pair in pairs if pair == LEVELS]
    whole = summarise(map(_with_variant_groups, run.records), crossings=levels)
    of_headline = (_with_fields(record, added) for record in run.records.of_variant(run.headline))
    own = summarise(of_headline, crossings=[pair for pair in pairs if pair != LEVELS])
    tallies = whole.breakdowns[VARIANT] | {run.headline: own.overall}  # None for a judge without a verdict
    is_corrupted = set(LEVELS) <= walk.values.keys()  # else "level" is a group of the benchmark's own
    breakdowns = {name: of for name, of in own.breakdowns.items() if not (is_corrupted and name in LEVELS)}
    summary = replace(
        own,
        parts={name: own.parts.get(name, _NO_PART) for name in whole.parts},
        breakdowns=breakdowns | {VARIANT: {variant: tallies[variant] for variant in in_order(tallies)}},
        crossings=own.crossings | whole.crossings,
    )
    return whole, summary


def field_value(record: Record, field: str) -> str:
    """A record's value of one of the overview's fields."""
    known = {VARIANT: record.form, RULE: record.rule or "none"} | record.groups
    return group_text(known.get(field, UNKNOWN))


_USUAL = ("clean", "short", "easy", "small", "low", "medium", "moderate", "long", "hard", "large", "high")


def in_order(values: Iterable[str], order: Sequence[str] = ()) -> list[str]:
    """Sort values for people: those in `order` first, then others with numbers by size, and "unknown" last.

    Without an `order`, usual steps such as short, medium, long come first.
    """
    places = {value: place for place, value in enumerate(order or _USUAL)}
    return sorted(values, key=lambda value: (places.get(value, len(places)), value == UNKNOWN, natural_key(value)))


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """The smallest value that at least this share of all values doesn't exceed; None without values."""
    if not ordered:
        return None
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def _with_fields(record: Record, added: tuple[str, ...]) -> Record:
    return replace(record, groups=record.groups | {field: field_value(record, field) for field in added})


def _with_variant_groups(record: Record) -> Record:
    """The record with only the groups that name its variant: other groups are broken down within one variant."""
    levels = {field: record.groups[field] for field in LEVELS if field in record.groups}
    return replace(record, groups=levels | {VARIANT: record.form})


def _crossings(walk: _FirstWalk, description: Description) -> list[tuple[str, str]]:
    """The declared pairs of fields; if the run has none of them, its first two fields with several values."""
    small = [field for field, values in sorted(walk.values.items()) if 1 < len(values) <= MOST_IN_A_CROSSING]
    declared = [(by.field, by.crossed_with) for by in description.breakdowns if by.crossed_with]
    known = [pair for pair in (*declared, LEVELS) if set(pair) <= set(small)]
    return known or list(combinations(small, 2))[:1]


_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"))


def totals(overview: Overview) -> list[tuple[str, str]]:
    """Times, tokens and sizes; unknown ones are left out."""
    facts = overview.run.facts
    wall_s, asked, replied = time_of(facts.sessions), facts.total("questions"), facts.total("completion_tokens")
    prompt, reply = overview.whole.prompt_tokens, overview.whole.completion_tokens
    median, p95 = quantile(overview.latencies_s, 0.5), quantile(overview.latencies_s, 0.95)
    rows = [
        ("time", duration(wall_s, 1) if wall_s else ""),
        ("starts", f"{len(facts.sessions):,}" if len(facts.sessions) > 1 else ""),
        ("questions per second", f"{asked / wall_s:.2f}" if wall_s else ""),
        ("latency, median", f"{median:.2f} s" if median else ""),
        ("latency, 95 %", f"{p95:.2f} s" if p95 else ""),
        ("latency, longest", f"{overview.latencies_s[-1]:.2f} s" if overview.latencies_s else ""),
        ("prompt tokens", f"{prompt.total:,}" if prompt.n else ""),
        ("reply tokens", f"{reply.total:,}" if reply.n else ""),
        ("reply tokens per second", f"{replied / wall_s:,.1f}" if wall_s and replied else ""),
        ("requests", f"{overview.attempts:,}"),
        ("sent", _size(overview.sent_bytes) if overview.sent_bytes else ""),
    ]
    return [(name, value) for name, value in rows if value]


def spent(overview: Overview) -> str:
    """Tokens per question and, if the config has prices, dollars in all; "" if neither is known."""
    prompt, reply = overview.whole.prompt_tokens, overview.whole.completion_tokens
    parts = [
        count(round(of.total / of.n), f"{name} token")
        for name, of in (("prompt", prompt), ("reply", reply))
        if of.n and of.total
    ]
    words = [f"{' and '.join(parts)} per question"] if parts else []
    if (price := dollars(overview)) is not None:
        words.append(f"{in_dollars(price)} in all")
    return " · ".join(words)


def dollars(overview: Overview) -> float | None:
    """The price of all tokens, those of batches at the batch price; None without prices or token counts."""
    facts, whole = overview.run.facts, overview.whole
    prices, prompt, reply = facts.described.get("prices"), whole.prompt_tokens, whole.completion_tokens
    if not isinstance(prices, dict) or not prompt.n:
        return None
    price = float(prompt.total * prices.get("input", 0) + reply.total * prices.get("output", 0)) / 1e6
    batched: int = sum(batch["questions"] for start in facts.sessions for batch in start.get("batches", ()))
    return price * (1 - (1 - float(prices.get("batch", 1))) * min(1, batched / max(1, whole.overall.total)))


def _size(size_bytes: int) -> str:
    unit, name = next((unit_size for unit_size in _UNITS if size_bytes >= unit_size[0]), _UNITS[-1])
    return f"{size_bytes / unit:,.1f} {name}"


def crossing_tables(summary: Summary, order: Callable[[str], Sequence[str]], folder: str = "") -> Iterator[Section]:
    """A table for each two crossed fields that both have several values; corruptions and levels have one already.

    The field with more values has the rows, so that the table is narrow.
    """
    for (down, across), crossed in summary.crossings.items():
        cells = {(outer, inner): of for outer, row in crossed.items() for inner, of in row.items()}
        rows, columns = ({*values} for values in zip(*cells, strict=True)) if cells else (set(), set())
        if min(len(rows), len(columns)) < 2 or (down, across) == LEVELS:
            continue
        if len(columns) > len(rows):
            down, across, rows, columns = across, down, columns, rows
            cells = {(inner, outer): of for (outer, inner), of in cells.items()}
        heads = in_order(columns, order(across))
        lines = [
            [name, *(tally_text(cells.get((name, head))) for head in heads)] for name in in_order(rows, order(down))
        ]
        title = f"% (n) by {down} and {across}".replace("_", " ")
        yield Section(columns=[f"{folder}: {title}" if folder else title, *heads], rows=lines)


def tally_text(tally: Tally | None) -> str:
    """The accuracy in per cent and the number of questions, "-" without questions."""
    return f"{percent(tally.accuracy)} ({tally.total:,})" if tally else "-"

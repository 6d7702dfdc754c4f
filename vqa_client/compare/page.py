"""A comparison as one page that needs no network: the run page's design, with every question of two runs or more."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from vqa_client.compare.figures import Accuracy, Compared, Comparison, Group
from vqa_client.compare.matching import Matched
from vqa_client.compare.sections import sentence, tests
from vqa_client.compare.sides import Key, Side
from vqa_client.files import replacing
from vqa_client.html.asked import Gap, asked
from vqa_client.html.charts import Scatter, scatter, slopes, steps
from vqa_client.html.data import COLUMNS, TEXT_BUDGET, Block, text_limit
from vqa_client.html.figures import Figure, heat_maps, state_link
from vqa_client.html.page import OURS, policy, rendered
from vqa_client.html.shown_images import EmbeddedImages, Kept, Show, chosen
from vqa_client.reports.logged_run import LoggedRun
from vqa_client.reports.names import percent
from vqa_client.reports.overview import Overview, dollars, overview
from vqa_client.reports.sections import Section
from vqa_client.reports.varied import BLIND, SEEN

FULL_MARKS = 1.0
MOST_SLOPES = 15
"""Charts with images and without that are open; those of further groups are in the fold of their tables."""
PICTURED = {"of_many": 150, "of_few": 200}
"""The longest sides of small pictures in pixels."""
LEAST_TEXT, MORE_PER_RECORD, RECORDS = 1_000_000, 400, 4_000
"""Characters of prompts and replies: a thousand flips among two thousand questions fit into 3 MB with 200 pictures."""


class ChartedRun(Struct, frozen=True, kw_only=True):
    """One run of a side with its overview; `name` is its label in charts."""

    name: str
    run: LoggedRun
    found: Overview


def write_page(path: Path, sides: Sequence[Side], compared: Compared, *, most_images: int) -> None:
    """Write the page; raises OutputError where the path can't be written, NotOurs where another file is there."""
    flips = {pair.key for of, matched in compared for pair in of.own(matched) if pair.changed}
    shown = chosen(
        (record for run in sides[0].runs for record in run.records),
        Kept(most=most_images, **PICTURED),
        later=lambda record: (record.question_id, record.variant) not in flips,
    )
    show = EmbeddedImages([run for side in sides for run in side.runs], path.parent, shown)
    with replacing(path, OURS) as file:
        file.write(page(sides, compared, show))


def page(sides: Sequence[Side], compared: Compared, show: Show, *, served: bool = False) -> bytes:
    """The page in UTF-8; a served one takes images from its server."""
    first, measure = compared[0][0], compared[0][0].measure
    every = [one for side in sides for one in _charted(side, first.variant)]
    maps = [(one.name, map) for one in every for map in heat_maps(one.found)]
    blind = _blind(every)
    return rendered(
        "compare.html.j2",
        _data(sides, compared, every, show),
        policy=policy(live=served),
        sides=sides,
        first=first,
        measure=measure,
        accuracies=list(_accuracies(compared)),
        differences=[_gap(of.b, of.accuracy_a.value, of.accuracy_b.value, of, of.p_holm) for of, _ in compared],
        comparisons=[_comparison(number, of, matched) for number, (of, matched) in enumerate(compared, 1)],
        blind=blind,
        blind_names=[gap.label for gap in blind[0][1]] if blind else [],
        most_slopes=MOST_SLOPES,
        slopes=slopes(blind, "without", "with"),
        heat_maps=maps,
        steps=steps(maps, every[0].found.description),
        names=list(dict.fromkeys(name for name, _ in maps)),
        scatter=_cost(every),
    )


def _charted(side: Side, variant: str | None) -> Iterator[ChartedRun]:
    """The runs that figures of the variant are of, all of them where none has it."""
    runs = [run for run in side.runs if variant in run.records.variants] or side.runs
    for run in runs:
        variant = f" · {run.variant or run.stem}" if len(runs) > 1 else ""
        yield ChartedRun(name=side.label + variant, run=run, found=overview(run))


def _accuracies(compared: Compared) -> Iterator[Figure]:
    first = compared[0][0]
    for at, (label, n, of) in enumerate(
        [(first.a, first.n, first.accuracy_a), *((of.b, of.n, of.accuracy_b) for of, _ in compared)]
    ):
        yield _figure(label, n, of, at)


def _figure(label: str, n: int, of: Accuracy, at: int) -> Figure:
    return Figure(label=label, n=n, share=of.value, interval=of.interval, link=state_link(**{f"side.{at}": "not"}))


def _gap(label: str, before: float, after: float, of: Comparison | Group, p_holm: float, link: str = "") -> Gap:
    return Gap(label=label, before=before, after=after, difference=of.difference, p_holm=p_holm, link=link)


def _comparison(number: int, of: Comparison, matched: Matched) -> dict[str, Any]:
    """What the template shows of one comparison; the square's cells are counts of full marks, with their links."""
    own, ways = of.own(matched), {True: "right", False: "not"}
    full = [(pair.a.score >= FULL_MARKS, pair.b.score >= FULL_MARKS) for pair in own]
    square = [
        [(full.count((a, b)), state_link(**{"side.0": ways[a], f"side.{number}": ways[b]})) for b in ways] for a in ways
    ]
    gaps: dict[str, list[Gap]] = {}
    for group in (*of.variants, *of.groups):
        link = "" if group in of.variants else state_link(**{f"by.{group.field}": group.value})
        gaps.setdefault(group.field, []).append(_gap(group.value, group.a, group.b, group, group.p_holm, link))
    flips = [
        (sum(pair.changed and sign * pair.gap > 0 for pair in own), label, state_link(**{f"gap.{number}": way}))
        for sign, label, way in ((1, of.b, "higher"), (-1, of.a, "lower"))
    ]
    said = {"of": of, "sentence": sentence(of), "sections": [_answered(of), tests(of)]}
    return said | {"square": square, "n": len(own), "gaps": gaps, "flips": flips}


def _answered(of: Comparison) -> Section:
    """What the strips above don't say of both runs."""
    both = ((of.a, of.accuracy_a), (of.b, of.accuracy_b))
    rows = [
        [label, f"{run.full_marks:,}", f"{run.answered:,}", percent(run.value_answered), percent(run.published)]
        for label, run in both
    ]
    columns = ["", "full marks", "answered", "% of these", "published %"]
    most = len(columns) if of.has_published else -1
    return Section(columns=columns[:most], rows=[row[:most] for row in rows])


def _data(sides: Sequence[Side], compared: Compared, every: Sequence[ChartedRun], show: Show) -> bytes:
    """The block of the run page: a row is the first side's record, and has those of the others in a further column."""
    own = [{pair.key: pair for pair in of.own(matched)} for of, matched in compared]
    lengths = [length for one in every for length in one.found.text_lengths]
    more = MORE_PER_RECORD * max(0, len(own[0]) * len(sides) - RECORDS)
    budget = min(LEAST_TEXT + more, TEXT_BUDGET)
    block = Block(every[0].run, every[0].found, show, text_limit(lengths, budget))
    rows = {key: [*row, []] for key, row in _rows(block, sides[0], {key for pairs in own for key in pairs})}
    for side, pairs, (_, matched) in zip(sides[1:], own, compared, strict=True):
        variant = next(iter(side.variants)) if matched.by_id else None
        keys = {(key[0], key[1] if variant is None else variant): key for key in pairs}
        found = {keys[key]: row for key, row in _rows(block, side, keys)}
        for key, row in rows.items():
            row[-1].append(found.get(key))
    labels = [side.label for side in sides]
    return block.encoded(list(rows.values()), sides=labels, columns=[*COLUMNS, "others"])


def _rows(block: Block, side: Side, keys: Collection[Key]) -> Iterator[tuple[Key, list[Any]]]:
    for run in side.runs:
        for record in run.records:
            if (key := (record.question_id, record.variant)) in keys:
                yield key, block.row(record)


def _blind(every: Sequence[ChartedRun]) -> list[tuple[str, list[Gap]]]:
    """Of runs that asked with images and without: accuracies both ways over all questions, then group by group."""
    asked_both = [one for one in every if {SEEN, BLIND} <= set(one.run.records.variants)]
    if len(asked_both) < 2:
        return []
    found: dict[str, list[Gap]] = {}
    for one in asked_both:
        for gap in asked(one.run, one.found).gaps:
            label, values = "all questions" if gap.label == "all" else gap.label, (gap.before, gap.after)
            same = Gap(label=one.name, before=values[0], after=values[1], difference=gap.difference)
            found.setdefault(label, []).append(same)
    return list(found.items())


def _cost(every: Sequence[ChartedRun]) -> Scatter | None:
    """Accuracy against what a question costs: dollars where all configs have prices, else tokens."""
    prices = [dollars(one.run, one.found) for one in every]
    tokens = [one.found.whole.prompt_tokens.total + one.found.whole.completion_tokens.total for one in every]
    priced = all(prices)
    costs = [price or 0.0 for price in prices] if priced else tokens
    tallies = [
        (one.name, cost / len(one.run.records), one.found.summary.overall)
        for one, cost in zip(every, costs, strict=True)
    ]
    return scatter("dollars" if priced else "tokens", tallies) if all(costs) and len(every) > 1 else None

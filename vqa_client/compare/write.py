"""Reads the runs to compare, compares them, and writes four files.

The page is for people and needs no network; it has the design of a run's page, with every question of two runs or
more. The JSON has everything, and the two CSV files have questions and groups for spreadsheets.
"""

from collections.abc import Collection, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from vqa_client.compare.figures import Compared, Comparison, GroupDifference, compare
from vqa_client.compare.matching import Matched, Pair
from vqa_client.compare.sections import sentence, tests
from vqa_client.compare.sides import Kept, Side, label_sides, read_sides
from vqa_client.errors import UsageError
from vqa_client.files import replacing, write_json
from vqa_client.html.asked import PairedGap, asked
from vqa_client.html.charts import Scatter, scatter, slopes, steps
from vqa_client.html.data import COLUMNS, TEXT_BUDGET, Block, text_limit
from vqa_client.html.figures import Figure, heat_maps, state_link
from vqa_client.html.page import OURS, policy, rendered
from vqa_client.html.shown_images import Embedded, EmbeddedImages, Show, chosen
from vqa_client.log_lines import Key
from vqa_client.reports.logged_run import BLIND, SEEN
from vqa_client.reports.names import percent
from vqa_client.reports.overview import Overview, dollars, overview
from vqa_client.reports.sections import Section
from vqa_client.tables.delimited import write_rows
from vqa_client.types import group_text
from vqa_client.version import __version__

MOST_SLOPES = 15
"""How many charts with images and without are always visible; the others are folded away with their tables."""
PICTURED = {"of_many": 150, "of_few": 200}
"""The longest sides of small pictures, in pixels."""
LEAST_TEXT, MORE_PER_RECORD, RECORDS = 1_000_000, 400, 4_000
"""Characters of prompts and replies: a thousand flips among two thousand questions fit into 3 MB with 200 pictures."""


ChartedRun = tuple[str, Overview]
"""A run's label in charts, and its overview."""


def write_page(path: Path, sides: Sequence[Side], compared: Compared, *, most_images: int) -> None:
    """Write the page; raises OutputError if the path can't be written, NotOurs if a foreign file is there."""
    flips = {pair.key for of, matched in compared for pair in of.own(matched) if pair.changed}
    pictured = chosen(
        (record for run in sides[0].runs for record in run.records),
        Embedded(most=most_images, **PICTURED),
        later=lambda record: record.key not in flips,
    )
    show = EmbeddedImages([run for side in sides for run in side.runs], path.parent, pictured)
    with replacing(path, OURS) as file:
        file.write(page(sides, compared, show))


def page(sides: Sequence[Side], compared: Compared, show: Show, *, served: bool = False) -> bytes:
    """The page in UTF-8; a `served` one takes images from its server."""
    first, measure = compared[0][0], compared[0][0].measure
    every = [charted for side in sides for charted in _charted_runs(side, first.variant)]
    maps = [(name, map) for name, of in every for map in heat_maps(of)]
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
        steps=steps(maps, every[0][1].description),
        names=list(dict.fromkeys(name for name, _ in maps)),
        scatter=_cost(every),
    )


def _charted_runs(side: Side, variant: str | None) -> Iterator[ChartedRun]:
    """The runs of a side that have the variant, or all of its runs if none has it."""
    runs = [run for run in side.runs if variant in run.records.variants] or side.runs
    for run in runs:
        yield side.label + (f" · {run.folder or run.stem}" if len(runs) > 1 else ""), overview(run)


def _accuracies(compared: Compared) -> Iterator[Figure]:
    first = compared[0][0]
    every = [(first.a, first.n, first.accuracy_a), *((of.b, of.n, of.accuracy_b) for of, _ in compared)]
    for at, (label, n, of) in enumerate(every):
        link = state_link(**{f"side.{at}": "not"})
        yield Figure(label=label, n=n, share=of.value, interval=of.interval, link=link)


def _gap(
    label: str, before: float, after: float, of: Comparison | GroupDifference, p_holm: float, link: str = ""
) -> PairedGap:
    return PairedGap(label=label, before=before, after=after, difference=of.difference, p_holm=p_holm, link=link)


def _comparison(number: int, of: Comparison, matched: Matched) -> dict[str, Any]:
    """What the template shows of one comparison; cells of the square are counts of full marks with their links."""
    own, exact, ways = of.own(matched), of.mcnemar, ("right", "not")
    square = [
        [(n, state_link(**{"side.0": a, f"side.{number}": b})) for b, n in zip(ways, counts, strict=True)]
        for a, counts in zip(ways, ((exact.both, exact.only_a), (exact.only_b, exact.neither)), strict=True)
    ]
    gaps: dict[str, list[PairedGap]] = {}
    for group in (*of.variants, *of.groups):
        link = "" if group in of.variants else state_link(**{f"by.{group.field}": group.value})
        gaps.setdefault(group.field, []).append(_gap(group.value, group.a, group.b, group, group.p_holm, link))
    flips = [
        (sum(pair.changed and sign * pair.gap > 0 for pair in own), label, state_link(**{f"gap.{number}": way}))
        for sign, label, way in ((1, of.b, "higher"), (-1, of.a, "lower"))
    ]
    context = {"of": of, "sentence": sentence(of), "sections": [_answered_section(of), tests(of)]}
    return context | {"square": square, "n": len(own), "gaps": gaps, "flips": flips}


def _answered_section(of: Comparison) -> Section:
    """The figures of both runs that the charts above don't show."""
    both = ((of.a, of.accuracy_a), (of.b, of.accuracy_b))
    columns = ["", "full marks", "answered", "% of these"]
    rows = [[label, f"{run.full_marks:,}", f"{run.answered:,}", percent(run.value_answered)] for label, run in both]
    if of.has_published:
        columns.append("published %")
        rows = [[*row, percent(run.published)] for row, (_, run) in zip(rows, both, strict=True)]
    return Section(columns=columns, rows=rows)


def _data(sides: Sequence[Side], compared: Compared, every: Sequence[ChartedRun], show: Show) -> bytes:
    """The data block of the page: each row is the first side's record, with the other sides' in one more column."""
    own = [{pair.key: pair for pair in of.own(matched)} for of, matched in compared]
    lengths = [length for _, of in every for length in of.text_lengths]
    more = MORE_PER_RECORD * max(0, len(own[0]) * len(sides) - RECORDS)
    budget = min(LEAST_TEXT + more, TEXT_BUDGET)
    block = Block(every[0][1], show, text_limit(lengths, budget))
    rows = {key: [*row, []] for key, row in _rows(block, sides[0], {key for pairs in own for key in pairs})}
    for side, pairs, (_, matched) in zip(sides[1:], own, compared, strict=True):
        keys = {matched.other_key(key): key for key in pairs}
        rows_of_side = {keys[key]: row for key, row in _rows(block, side, keys)}
        for key, row in rows.items():
            row[-1].append(rows_of_side.get(key))
    labels = [side.label for side in sides]
    return block.encoded(list(rows.values()), sides=labels, columns=[*COLUMNS, "others"])


def _rows(block: Block, side: Side, keys: Collection[Key]) -> Iterator[tuple[Key, list[Any]]]:
    for run in side.runs:
        for record in run.records:
            if (key := record.key) in keys:
                yield key, block.row(record)


def _blind(every: Sequence[ChartedRun]) -> list[tuple[str, list[PairedGap]]]:
    """The accuracies with images and without of runs that asked both ways, over all questions, then by group."""
    asked_both = [(name, of) for name, of in every if {SEEN, BLIND} <= set(of.run.records.variants)]
    if len(asked_both) < 2:
        return []
    gaps: dict[str, list[PairedGap]] = {}
    for name, of in asked_both:
        for gap in asked(of).gaps:
            label = "all questions" if gap.label == "all" else gap.label
            gaps.setdefault(label, []).append(replace(gap, label=name, link=""))
    return list(gaps.items())


def _cost(every: Sequence[ChartedRun]) -> Scatter | None:
    """Accuracy against the cost of a question: in dollars if all configs have prices, else in tokens."""
    prices = [dollars(of) for _, of in every]
    tokens = [of.whole.prompt_tokens.total + of.whole.completion_tokens.total for _, of in every]
    priced = all(prices)
    costs = [price or 0.0 for price in prices] if priced else tokens
    tallies = [
        (name, cost / len(of.run.records), of.summary.overall) for (name, of), cost in zip(every, costs, strict=True)
    ]
    return scatter("dollars" if priced else "tokens", tallies) if all(costs) and len(every) > 1 else None


JSON_NAME, CSV_NAME, GROUPS_NAME, PAGE_NAME = "compare.json", "compare.csv", "compare_groups.csv", "compare.html"
UNIT = "accuracies, scores, differences and intervals are shares in [0, 1]; a difference is b less a"
_GROUP_HEAD = (
    *("a", "b", "field", "value", "n", "clusters", "accuracy_a", "accuracy_b", "difference", "low", "high"),
    *("p", "p_holm"),
)


def compare_runs(places: Sequence[Path]) -> tuple[list[Side], Compared]:
    """Read and compare runs; a run that is named twice counts once, and a folder stands for all runs in it.

    Raises DataError for runs that can't be read, IdentityError for runs of other data, UsageError for a single run.
    """
    sides: dict[frozenset[Path], Side] = {}
    for place in places:
        for side in read_sides(place, apart=len(places) == 1):
            sides.setdefault(frozenset(run.log.resolve() for run in side.runs), side)
    if len(places) == 1 and len(sides) == 1:
        raise UsageError(f"there is 1 run to compare in {places[0]}", hint="name another run over the same questions")
    if len(sides) < 2:
        raise UsageError(f"{' and '.join(map(str, places))} are one run", hint="name two runs over the same questions")
    all_sides = list(sides.values())
    label_sides(all_sides)
    return all_sides, compare(all_sides)


def comparison_page(logs: Sequence[Path], show: Show) -> bytes:
    """Compare runs and give only the page; raises as `compare_runs` does."""
    return page(*compare_runs(logs), show, served=True)


def write_comparison(
    folder: Path, sides: Sequence[Side], compared: Compared, *, html_images: int, csv_safe: bool
) -> tuple[Path, ...]:
    """Write the files, the page only if Jinja is installed, and give their paths; raises OutputError."""
    write_json(folder / JSON_NAME, content(sides, compared), rb'\{\n  "vqa_client": ')
    write_rows(folder / CSV_NAME, _questions(sides, compared), rb"question_id,variant,", csv_safe=csv_safe)
    write_rows(folder / GROUPS_NAME, _groups(compared), rb"a,b,field,value,", csv_safe=csv_safe)
    names = [JSON_NAME, CSV_NAME, GROUPS_NAME]
    if find_spec("jinja2") is not None:
        write_page(folder / PAGE_NAME, sides, compared, most_images=html_images)
        names.append(PAGE_NAME)
    return tuple(folder / name for name in names)


def content(sides: Sequence[Side], compared: Compared) -> dict[str, Any]:
    """The content of the JSON."""
    return {
        "vqa_client": __version__,
        "unit": UNIT,
        "sides": [_side(side) for side in sides],
        "comparisons": [
            {
                "sentence": sentence(of),
                "difference_shown": of.shown,
                **msgspec.to_builtins(of),
                "only_a": [list(key) for key in matched.only_a],
                "only_b": [list(key) for key in matched.only_b],
                "flips": [_flip(pair) for pair in matched.pairs if pair.changed],
            }
            for of, matched in compared
        ],
    }


def _side(side: Side) -> dict[str, Any]:
    runs = [
        {
            "log": str(run.log),
            "task": run.task,
            "variant": run.folder,
            "model": run.facts.model,
            "scoring": run.facts.scoring,
            "data_sha256": run.facts.described.get("data_sha256"),
        }
        for run in side.runs
    ]
    return {"label": side.label, "path": str(side.path), "questions": len(side.kept), "runs": runs}


def _flip(pair: Pair) -> dict[str, Any]:
    return {
        "question_id": pair.key[0],
        "variant": pair.key[1],
        "references": list(dict.fromkeys(pair.a.references)),
        "a": _reply(pair.a),
        "b": _reply(pair.b),
    }


def _reply(kept: Kept) -> dict[str, Any]:
    return {"status": kept.status, "answer": kept.answer, "score": kept.score}


def _questions(sides: Sequence[Side], compared: Compared) -> Iterator[list[Any]]:
    """A row for each question of any side, with empty cells for a side that wasn't asked."""
    columns = [sides[0].kept]
    for side, (_, matched) in zip(sides[1:], compared, strict=True):
        columns.append({pair.key: pair.b for pair in matched.pairs})
        columns[-1] |= {key: side.kept[matched.other_key(key)] for key in matched.only_b}
    keys = dict.fromkeys(key for column in columns for key in column)
    first = {key: next(column[key] for column in columns if key in column) for key in keys}
    fields = list(dict.fromkeys(field for kept in first.values() for field in kept.groups))
    reply_columns = [f"{name} ({side.label})" for side in sides for name in ("status", "answer", "score")]
    yield ["question_id", "variant", "cluster", "references", *reply_columns, *fields]
    for key, kept in first.items():
        replies = [_cells(column.get(key)) for column in columns]
        yield [
            *key,
            kept.cluster,
            " | ".join(dict.fromkeys(kept.references)),
            *(cell for reply in replies for cell in reply),
            *(group_text(kept.groups.get(field, "")) for field in fields),
        ]


def _cells(kept: Kept | None) -> tuple[Any, ...]:
    return ("", "", "") if kept is None else (kept.status, kept.answer or "", kept.score)


def _groups(compared: Compared) -> Iterator[list[Any]]:
    """A row for each comparison, its field empty, and one for each group."""
    yield list(_GROUP_HEAD)
    for of, _ in compared:
        less = of.difference
        accuracies = of.accuracy_a.value, of.accuracy_b.value
        yield [of.a, of.b, "", "", of.n, of.clusters, *accuracies, less.value, less.low, less.high, of.p, of.p_holm]
        for group in (*of.variants, *of.groups):
            less, scores = group.difference, (group.a, group.b)
            names = [of.a, of.b, group.field, group.value, less.n, less.clusters]
            yield [*names, *scores, less.value, less.low, less.high, group.p, group.p_holm]

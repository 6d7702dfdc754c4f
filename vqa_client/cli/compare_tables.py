"""A comparison as people read it in a terminal: the sentence first, then what it rests on."""

from collections.abc import Sequence
from typing import Any

from vqa_client.cli.tables import interval_text, new_console, new_table, printed
from vqa_client.cli.text import count, safe
from vqa_client.compare.content import Compared
from vqa_client.compare.figures import EXACT, Comparison, Group
from vqa_client.compare.sentence import independence, p_text, points, sentence, sign_flip_in_words
from vqa_client.reports.names import cut, percent
from vqa_client.scoring.paired import Difference

MOST_GROUPS = 12
"""Groups of one field that are shown, those with most questions; the files have all."""
FLIPS_SHOWN = 5
MOST_CHARACTERS = 36
"""Of a label or a group in a table."""


def as_compare_tables(compared: Compared, paths: Sequence[str]) -> str:
    """The text for a terminal."""
    console = new_console()
    for of, matched in compared:
        console.print(_line(f"compare · {of.b} against {of.a}"), style="bold", soft_wrap=True)
        console.print(_line(sentence(of)), soft_wrap=True)
        console.print(_accuracies(of))
        for line in _tests(of):
            console.print(_line(line), soft_wrap=True)
        fields = dict.fromkeys(group.field for group in (*of.variants, *of.groups))
        for field in fields:
            console.print(_breakdown([group for group in (*of.variants, *of.groups) if group.field == field]))
        for title, sign in ((of.b, 1), (of.a, -1)):
            ids = [matched.named(pair) for pair in of.own(matched) if pair.changed and sign * pair.gap > 0]
            shown = ", ".join(ids[:FLIPS_SHOWN]) + (", ..." if len(ids) > FLIPS_SHOWN else "")
            console.print(
                _line(f"scored higher by {title}: {count(len(ids), 'question')}{': ' if ids else ''}{shown}"),
                soft_wrap=True,
            )
        for line in of.warnings:
            console.print(_line(line), soft_wrap=True)
    for path in paths:
        console.print(safe(path), soft_wrap=True)
    return printed(console)


def _line(text: str) -> str:
    """Foreign text on one line."""
    return safe(" ".join(text.split()))


def _cut(text: str) -> str:
    return safe(cut(text, MOST_CHARACTERS))


def _accuracies(of: Comparison) -> Any:
    beside = ["published"] if of.has_published else []
    table = new_table("", "questions", "accuracy", "95 % interval", "full marks", "answered", "of these", *beside)
    for letter, label, side in (("a", of.a, of.accuracy_a), ("b", of.b, of.accuracy_b)):
        table.add_row(
            f"{letter}: {_cut(label)}",
            f"{of.n:,}",
            percent(side.value),
            interval_text(side.interval),
            f"{side.full_marks:,}",
            f"{side.answered:,}",
            percent(side.value_answered),
            *([percent(side.published)] if beside else []),
        )
    return table


def _tests(of: Comparison) -> list[str]:
    exact = of.mcnemar
    lines = [
        f"difference: {_gap(of.difference)} points",
        f"{EXACT}{' on full marks' if of.partial else ''}: {p_text(exact.p)} ({of.b} alone {exact.only_b:,}, "
        f"{of.a} alone {exact.only_a:,}; {independence(of)})",
    ]
    if of.paired_t:
        lines.append(f"paired t by {of.unit}: t = {of.paired_t.t:.2f}, df {of.paired_t.df:,}, {p_text(of.paired_t.p)}")
    if of.answered_by_both:
        lines.insert(1, f"where both answered ({of.answered_by_both.n:,}): {_gap(of.answered_by_both)} points")
    if of.p_method != EXACT:
        lines.insert(0, f"{of.p_method}: {p_text(of.p)} ({sign_flip_in_words(of)})")
    if of.minimum_detectable is not None:
        lines.append(f"minimum detectable difference (80 % power): {100 * of.minimum_detectable:.1f} points")
    return lines


def _gap(of: Difference) -> str:
    return f"{points(of.value)} ({points(of.low)} to {points(of.high)})"


def _breakdown(groups: Sequence[Group]) -> Any:
    title = f"by {groups[0].field.replace('_', ' ')}"
    if len(groups) > MOST_GROUPS:
        title += f" (the {MOST_GROUPS} largest of {len(groups):,})"
        groups = sorted(groups, key=lambda group: -group.difference.n)[:MOST_GROUPS]
    table = new_table(_cut(title), "questions", "a", "b", "points", "95 % interval", "p", "p by Holm")
    for group in groups:
        table.add_row(*_cells(group))
    return table


def _cells(group: Group) -> list[str]:
    less = group.difference
    bounds = f"{points(less.low)} to {points(less.high)}"
    ps = (p_text(p).removeprefix("p ").removeprefix("= ") for p in (group.p, group.p_holm))
    return [
        _cut(group.value),
        f"{less.n:,}",
        percent(group.a),
        percent(group.b),
        points(less.value),
        bounds,
        *ps,
    ]

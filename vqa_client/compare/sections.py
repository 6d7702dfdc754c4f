"""A comparison for people: a sentence to quote, then the figures behind it."""

from collections.abc import Iterator, Sequence

from vqa_client.compare.figures import EXACT, Compared, Comparison, GroupDifference
from vqa_client.compare.matching import Matched
from vqa_client.reports.logged_run import variant_words
from vqa_client.reports.names import count, cut, first_of, interval_text, one_line, percent
from vqa_client.reports.sections import Section, bounds, difference_text, p_text, points

MOST_GROUPS = 12
"""How many groups of one field are shown, those with most questions; the files have all."""
FLIPS_SHOWN = 5
MOST_CHARACTERS = 36
"""Of a label or a group in a table."""


def sections(compared: Compared, files: Sequence[str]) -> Iterator[Section]:
    """Everything that a terminal shows, then the paths of the written files."""
    for of, matched in compared:
        yield Section(title=one_line(f"compare · {of.b} against {of.a}"), notes=[one_line(sentence(of))])
        yield accuracies(of)
        yield tests(of)
        groups = (*of.variants, *of.groups)
        for field in dict.fromkeys(group.field for group in groups):
            yield _breakdown([group for group in groups if group.field == field])
        yield Section(notes=list(map(one_line, (*_flips(of, matched), *of.warnings))))
    yield Section(notes=files)


def sentence(of: Comparison) -> str:
    """Which run is better, by how much and with which p; without a significant difference, which one is detectable."""
    a, b = of.accuracy_a.value, of.accuracy_b.value
    over = f"over the same {_questions(of)}{of_variant(of)}"
    scores = f"{of.b} scores {percent(b)} % and {of.a} {percent(a)} % in {of.measure}"
    between = of.difference
    gap = f"{points(between.value)} points (95 % interval {bounds(between)}; {_test(of)})"
    if of.shown:
        return f"{of.b} is {'better' if between.value > 0 else 'worse'} than {of.a}: {over} {scores}, {gap}."
    least = of.minimum_detectable
    missed = f" This run can reliably detect only differences above {100 * least:.1f} points." if least else ""
    return f"No significant difference between {of.b} and {of.a}: {over} {scores}, {gap}.{missed}"


def of_variant(of: Comparison) -> str:
    """The variant of the figures between commas, "" if there is only one."""
    if of.variant is None:
        return ""
    return f", {variant_words(of.variant)} ({len(of.variants)} variants in the table),"


def _questions(of: Comparison) -> str:
    asked = count(of.n, f"{of.task} question")
    return asked if of.clusters == of.n else f"{asked} on {count(of.clusters, of.unit)}"


def _test(of: Comparison) -> str:
    several = "" if of.p_holm == of.p else ", Holm"
    return f"{of.p_method}{several}, {p_text(of.p_holm)}"


def accuracies(of: Comparison) -> Section:
    """Both accuracies, over all questions and over the answered ones."""
    beside = ["published"] if of.has_published else []
    rows = [
        [
            f"{letter}: {cut(label, MOST_CHARACTERS)}",
            f"{of.n:,}",
            percent(side.value),
            interval_text(side.interval),
            f"{side.full_marks:,}",
            f"{side.answered:,}",
            percent(side.value_answered),
            *([percent(side.published)] if beside else []),
        ]
        for letter, label, side in (("a", of.a, of.accuracy_a), ("b", of.b, of.accuracy_b))
    ]
    columns = ["", "questions", "accuracy", "95 % interval", "full marks", "answered", "of these", *beside]
    return Section(columns=columns, rows=rows)


def tests(of: Comparison) -> Section:
    """The difference by every test, with what each test assumes."""
    exact, lines = of.mcnemar, list[str]()
    if of.p_method != EXACT:
        means = f"how often a random sign for each {of.unit}'s difference gives a total as large"
        lines.append(f"{of.p_method}: {p_text(of.p)} ({means})")
    lines.append(f"difference: {difference_text(of.difference)} points")
    if both := of.answered_by_both:
        lines.append(f"where both answered ({both.n:,}): {difference_text(both)} points")
    independence = "takes questions as independent" + (f", but some share {of.unit}s" if of.clusters < of.n else "")
    lines.append(
        f"{EXACT}{' on full marks' if of.partial else ''}: {p_text(exact.p)} ({of.b} alone {exact.only_b:,}, "
        f"{of.a} alone {exact.only_a:,}; {independence})"
    )
    if of.paired_t:
        lines.append(f"paired t by {of.unit}: t = {of.paired_t.t:.2f}, df {of.paired_t.df:,}, {p_text(of.paired_t.p)}")
    if of.minimum_detectable is not None:
        lines.append(f"minimum detectable difference (80 % power): {100 * of.minimum_detectable:.1f} points")
    return Section(notes=list(map(one_line, lines)))


def _breakdown(groups: Sequence[GroupDifference]) -> Section:
    title = f"by {groups[0].field.replace('_', ' ')}"
    if len(groups) > MOST_GROUPS:
        title += f" (the {MOST_GROUPS} largest of {len(groups):,})"
        groups = sorted(groups, key=lambda group: -group.difference.n)[:MOST_GROUPS]
    rows = []
    for group in groups:
        less, shares = group.difference, (percent(group.a), percent(group.b))
        ps = (p_text(p).removeprefix("p ").removeprefix("= ") for p in (group.p, group.p_holm))
        name = cut(group.value, MOST_CHARACTERS)
        rows.append([name, f"{less.n:,}", *shares, points(less.value), bounds(less), *ps])
    columns = [cut(title, MOST_CHARACTERS), "questions", "a", "b", "points", "95 % interval", "p", "p by Holm"]
    return Section(columns=columns, rows=rows)


def _flips(of: Comparison, matched: Matched) -> Iterator[str]:
    """The questions that only one of the runs gained, for each run."""
    for title, sign in ((of.b, 1), (of.a, -1)):
        ids = [matched.question_name(pair) for pair in of.own(matched) if pair.changed and sign * pair.gap > 0]
        examples = first_of(ids, FLIPS_SHOWN)
        yield f"scored higher by {title}: {count(len(ids), 'question')}{': ' if ids else ''}{examples}"

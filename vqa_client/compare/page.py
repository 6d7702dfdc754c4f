"""A comparison as one page that needs no network: the sentence, all figures, and the flips side by side.

The page has no script, and its policy allows none: only its own style and the pictures inside it.
"""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from vqa_client.compare.content import UNIT, Compared
from vqa_client.compare.figures import EXACT, Comparison, Group
from vqa_client.compare.flips import flips
from vqa_client.compare.pictures import Pictures
from vqa_client.compare.sentence import independence, p_text, points, sentence, sign_flip_in_words
from vqa_client.compare.sides import Side
from vqa_client.compare.tags import Markup, joined, tag
from vqa_client.files import replacing
from vqa_client.html.page import OURS
from vqa_client.reports.logged_run import variant_words
from vqa_client.reports.names import percent
from vqa_client.scoring.paired import Difference
from vqa_client.scoring.paired_tests import POWER
from vqa_client.scoring.statistics import Interval
from vqa_client.shipped import __version__

BAR_PX = 160
MOST_OPEN = 20
"""Groups of one field that are shown without being asked for."""


def write_page(path: Path, sides: Sequence[Side], compared: Compared, *, most_images: int) -> None:
    """Write the page; raises UsageError where the path can't be written, NotOurs where another file is there."""
    pictures = Pictures(path.parent, most_images)
    sections = [
        _section(number, of) + flips(of, matched, sides[0], other, pictures, prefix=f"c{number}")
        for number, (other, (of, matched)) in enumerate(zip(sides[1:], compared, strict=True), 1)
    ]
    page = b"<!DOCTYPE html>\n" + _document(sides, sections).encode("utf-8")
    with replacing(path, OURS) as file:
        file.write(page)


def _document(sides: Sequence[Side], sections: Sequence[str]) -> str:
    digest = b64encode(sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    title = " and ".join(side.label for side in sides)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} compared"),
        tag("style", Markup(STYLE)),
    )
    where = tag("ul", *(tag("li", tag("b", side.label), f": {side.path}") for side in sides), class_="notes dim")
    foot = tag("footer", tag("p", f"vqa-client {__version__}. {UNIT[0].upper()}{UNIT[1:]} in the JSON.", class_="dim"))
    top = tag("header", tag("h1", f"{title} compared"), where)
    body = tag("body", top, tag("main", *map(Markup, sections)), foot)
    return tag("html", head, body, lang="en")


def _section(number: int, of: Comparison) -> Markup:
    return joined(
        tag("h2", f"{of.b} against {of.a}", id=f"c{number}"),
        tag("p", sentence(of), class_="quote"),
        tag("ul", *(_warning(line) for line in of.warnings), class_="notes") if of.warnings else "",
        _accuracies(of),
        _tests(of),
        _variants(of),
        _groups(of),
    )


def _warning(line: str) -> Markup:
    return tag("li", line, class_="warning" if line.startswith("warning:") else "")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, *, worded: bool = False) -> Markup:
    kinds = ["text" if worded and at == len(head) - 1 else "" for at in range(len(head))]
    top = tag("tr", *(tag("th", cell, scope="col", class_=kind) for cell, kind in zip(head, kinds, strict=True)))
    body = (
        tag("tr", tag("th", row[0], scope="row"), *map(_cell, row[1:], kinds[1:]))  # what a reader hears with each cell
        for row in rows
    )
    table = tag("table", tag("thead", top), tag("tbody", *body), aria_label=caption)
    return joined(tag("h3", caption), tag("div", table, class_="wide"))


def _cell(cell: str, kind: str) -> Markup:
    return tag("td", cell, class_=kind)


def _accuracies(of: Comparison) -> Markup:
    beside = ["published %"] if of.has_published else []
    rows = [
        [
            label,
            f"{of.n:,}",
            percent(each.value),
            _bounds(each.interval),
            f"{each.full_marks:,}",
            f"{each.answered:,}",
            percent(each.value_answered),
            *([percent(each.published)] if beside else []),
        ]
        for label, each in ((of.a, of.accuracy_a), (of.b, of.accuracy_b))
    ]
    method = of.accuracy_a.interval.method if of.accuracy_a.interval else ""
    head = ("run", "questions", "accuracy %", "95 % interval", "full marks", "answered", "of these %", *beside)
    return _table(head, rows, f"Accuracy; questions without a reply count as wrong; intervals: {method}")


def _bounds(interval: Interval | None) -> str:
    return "-" if interval is None else f"{percent(interval.low)} to {percent(interval.high)}"


def _tests(of: Comparison) -> Markup:
    exact, partial = of.mcnemar, " (full marks only)" if of.partial else ""
    only = f"only {of.b} right: {exact.only_b:,}; only {of.a} right: {exact.only_a:,}"
    rows = [
        ["difference in points", _gap(of.difference), of.difference.method],
        [EXACT + partial, p_text(exact.p), f"{only}; {independence(of)}"],
        ["paired t", p_text(of.paired_t.p) if of.paired_t else "-", _t(of)],
    ]
    if of.p_method != EXACT:
        rows.insert(0, [of.p_method, p_text(of.p), sign_flip_in_words(of)])
    if of.answered_by_both:
        said = f"{of.answered_by_both.n:,} questions"
        rows.insert(-2, ["difference where both answered", _gap(of.answered_by_both), said])
    if of.minimum_detectable is not None:
        found = f"found {100 * POWER:.0f} times in 100 with this many questions"
        rows.append(["smallest detectable difference", f"{100 * of.minimum_detectable:.1f} points", found])
    return _table(("figure", "result", "how it is found"), rows, "Difference and tests", worded=True)


def _t(of: Comparison) -> str:
    found = of.paired_t
    if found is None:
        return ""
    error = f"standard error {100 * found.standard_error:.1f} points"
    return f"t = {found.t:.2f}, {found.df:,} degrees of freedom, {error}, by {of.unit}"


def _gap(of: Difference) -> str:
    return f"{points(of.value)} ({points(of.low)} to {points(of.high)})"


def _groups(of: Comparison) -> Markup:
    fields = dict.fromkeys(group.field for group in of.groups)
    made = [_by_field(of, field, [group for group in of.groups if group.field == field]) for field in fields]
    note = f"Holm takes all {len(of.groups):,} groups as one family."
    return joined(tag("p", note, class_="dim"), *made) if made else Markup("")


def _variants(of: Comparison) -> Markup:
    if of.variant is None:
        return Markup("")
    said = (
        f"All else here is of {variant_words(of.variant)}. Holm takes the {len(of.variants):,} variants as one family."
    )
    return joined(tag("p", said, class_="dim"), _by_field(of, "variant", of.variants))


def _by_field(of: Comparison, field: str, groups: Sequence[Group]) -> Markup:
    widest = max(abs(bound) for group in groups for bound in (group.difference.low, group.difference.high))
    scale = f"{points(-widest)} to {points(widest)}"
    head = (field.replace("_", " "), "questions", of.a, of.b, "points", "95 % interval", scale, "p", "p by Holm")
    table = _table(head, [_group_row(group, widest) for group in groups], f"By {field.replace('_', ' ')}")
    if len(groups) <= MOST_OPEN:
        return table
    return tag("details", tag("summary", f"By {field.replace('_', ' ')}: {len(groups):,} groups"), table)


def _group_row(group: Group, widest: float) -> list[str]:
    less = group.difference
    bounds = f"{points(less.low)} to {points(less.high)}"
    scores = percent(group.a), percent(group.b)
    ps = (p_text(p).removeprefix("p ").removeprefix("= ") for p in (group.p, group.p_holm))
    return [group.value, f"{less.n:,}", *scores, points(less.value), bounds, _bar(less, widest), *ps]


def _bar(of: Difference, widest: float) -> Markup:
    """The interval around no difference, in the middle, on a scale that ends at `widest`."""

    def at(value: float) -> float:
        return round(BAR_PX * (1 + value / widest) / 2, 1)

    middle, wide = BAR_PX / 2, max(at(of.high) - at(of.low), 1)
    return tag(
        "svg",
        tag("line", x1=0, x2=BAR_PX, y1=8, y2=8),
        tag("rect", x=at(of.low), y=6, width=wide, height=4),
        tag("line", x1=middle, x2=middle, y1=0, y2=16),
        tag("circle", cx=at(of.value), cy=8, r=3),
        viewBox=f"0 0 {BAR_PX} 16",
        width=BAR_PX,
        height=16,
        role="img",
        aria_label=f"{_gap(of)} points",
    )


STYLE = """
:root { color-scheme: light dark; --ink: #1a1c1e; --paper: #fff; --soft: #f2f4f6; --line: #d5dadf; --dim: #5c6670;
  --won: #0b6e4f; --lost: #a3320b; --accent: #1f5fa8; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --paper: #14171a; --soft: #1f2428;
  --line: #39414a; --dim: #9aa5b0; --won: #5ecfa5; --lost: #f29266; --accent: #7fb4f0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 75rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; } h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
.quote { font-size: 1.1rem; border-left: .25rem solid var(--accent); padding: .5rem 1rem; background: var(--soft); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
thead th { white-space: normal; overflow-wrap: break-word; min-width: 4.5rem;
  max-width: 13rem; vertical-align: bottom; }
tbody th { font-weight: 400; } tr > :first-child { text-align: left; white-space: normal; min-width: 7rem;
  max-width: 22rem; overflow-wrap: break-word; padding-left: 0; }
td.text, th.text { text-align: left; white-space: normal; min-width: 12rem; max-width: none; }
a { color: var(--accent); text-underline-offset: 3px; }
ul.notes { padding-left: 1.2rem; } ul.notes li { overflow-wrap: anywhere; } .warning { color: var(--lost); }
.dim, figcaption { color: var(--dim); font-size: .875rem; }
.won { color: var(--won); } .lost { color: var(--lost); }
svg { display: block; } svg line { stroke: var(--dim); } svg rect { fill: var(--accent); }
svg circle { fill: var(--ink); }
article { border: 1px solid var(--line); border-radius: .4rem; margin: .75rem 0; padding: .75rem 1rem;
  break-inside: avoid; }
article > header { display: flex; flex-wrap: wrap; gap: .25rem 1rem; justify-content: space-between; }
article h4 { margin: 0; font-size: 1rem; overflow-wrap: anywhere; } article h4 a { color: inherit; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; } .pair > div { min-width: 0; }
@media (max-width: 40rem) { .pair { grid-template-columns: 1fr; } }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .25rem 0; padding: .5rem; background: var(--soft);
  font: .875rem/1.4 ui-monospace, monospace; max-height: 20rem; overflow-y: auto; }
.images { display: flex; flex-wrap: wrap; gap: .5rem; } figure { margin: 0; max-width: 14rem; }
figure img { max-width: 100%; max-height: 12rem; border: 1px solid var(--line); }
figcaption { overflow-wrap: anywhere; }
@media print { @page { margin: 15mm; } :root { color-scheme: light; font-size: 10.5px; }
  body { font-size: 1rem; padding: 0; max-width: none; } pre { max-height: none; } a { color: inherit; }
  .wide { overflow: visible; } th, td { padding: .2rem .35rem; } thead th { min-width: 0; } svg { width: 100px; }
  tr, figure { break-inside: avoid; } h2, h3 { break-after: avoid; } }
"""

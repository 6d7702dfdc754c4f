"""The questions whose score changed, both replies beside each other, with the images that they are about."""

from vqa_client.compare.figures import Comparison
from vqa_client.compare.matching import Matched, Pair
from vqa_client.compare.pictures import Pictures
from vqa_client.compare.sides import Key, Side
from vqa_client.compare.tags import Markup, joined, tag
from vqa_client.types import Record

MOST_FLIPS = 500
"""So many of each kind are on the page; the JSON and the CSV have all."""
MOST_CHARACTERS = 4_000
"""Of a prompt or a reply; longer ones are shown by their ends."""
MOST_PAGES = 6


def flips(of: Comparison, matched: Matched, a: Side, b: Side, pictures: Pictures, *, prefix: str) -> Markup:
    """Both kinds of flips, those that `b` won first."""
    own = of.own(matched)
    won = [pair for pair in own if pair.changed and pair.gap > 0]
    lost = [pair for pair in own if pair.changed and pair.gap < 0]
    shown = won[:MOST_FLIPS] + lost[:MOST_FLIPS]
    wholes = a.whole({pair.key for pair in shown}), b.whole({_own(pair, b) for pair in shown})
    kinds = ((f"{of.b} scores higher", "won", won), (f"{of.a} scores higher", "lost", lost))
    made: list[Markup] = []
    for title, kind, pairs in kinds:
        articles = (
            _article(
                f"{prefix}-{kind}-{number}",
                matched.named(pair),
                of,
                (wholes[0][pair.key], wholes[1][_own(pair, b)]),
                pictures,
                (a, b),
            )
            for number, pair in enumerate(pairs[:MOST_FLIPS], 1)
        )
        more = len(pairs) - MOST_FLIPS
        cut = tag("p", f"and {more:,} more, in the JSON and the CSV", class_="dim") if more > 0 else ""
        made += [tag("h3", f"{title} ({len(pairs):,})", id=f"{prefix}-{kind}", class_=kind), *articles, joined(cut)]
    return joined(*made)


def _own(pair: Pair, side: Side) -> Key:
    """The key under which the side has the question that may have been matched by its id alone."""
    return pair.key if pair.key in side.kept else (pair.key[0], next(iter(side.variants)))


def _article(
    name: str, title: str, of: Comparison, records: tuple[Record, Record], pictures: Pictures, sides: tuple[Side, Side]
) -> Markup:
    first, second = records
    same_files = _files(first) == _files(second)
    references = list(dict.fromkeys(first.references))
    heading = tag(
        "header",
        tag("h4", tag("a", title, href=f"#{name}")),
        tag("span", "right: ", tag("b", _cut(" | ".join(references)) or "-")),
    )
    return tag(
        "article",
        heading,
        tag("pre", _cut(first.prompt.rstrip())),
        _images(first, sides[0], pictures) if same_files else "",
        tag(
            "div",
            _reply(of.a, first, "" if same_files else _images(first, sides[0], pictures), first.prompt),
            _reply(of.b, second, "" if same_files else _images(second, sides[1], pictures), first.prompt),
            class_="pair",
        ),
        id=name,
    )


def _files(record: Record) -> list[str]:
    return [image.file_sha256 or image.sha256 for image in record.images]


def _reply(label: str, record: Record, images: str, prompt: str) -> Markup:
    said = record.output if record.output is not None else record.error.message if record.error else ""
    read = "-" if record.answer is None else _cut(record.answer)
    return tag(
        "div",
        tag("b", label, class_="won" if record.score >= 1 else "lost" if record.score <= 0 else ""),
        f" {100 * record.score:g} % · {record.status.replace('_', ' ')} · answer: ",
        tag("b", read if len(read) <= 80 else read[:80] + " ..."),
        images,
        tag("pre", _cut(said)),
        tag("details", tag("summary", "another prompt"), tag("pre", _cut(record.prompt)))
        if record.prompt and record.prompt != prompt
        else "",
    )


def _images(record: Record, side: Side, pictures: Pictures) -> Markup:
    if not record.images:
        return Markup("")
    more = len(record.images) - MOST_PAGES
    shown = [pictures.figure(image, side) for image in record.images[:MOST_PAGES]]
    return tag("div", *shown, tag("span", f"and {more} more", class_="dim") if more > 0 else "", class_="images")


def _cut(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    half = MOST_CHARACTERS // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[-half:]}"

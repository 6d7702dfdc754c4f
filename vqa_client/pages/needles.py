"""Puts secrets ("needles") into texts at evenly spaced depths, and writes the questions that ask for them."""

import os
import random
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path

import msgspec
from msgspec import Struct

from vqa_client.errors import DataError, UsageError
from vqa_client.files import encode, replacing
from vqa_client.scoring.short_answers import folded
from vqa_client.tables.data_file import DataFile, read_index
from vqa_client.tasks import longbench
from vqa_client.tasks.longbench.report import DEPTHS

NO_CONTEXT = "no_context"
FEW_SENTENCES = "too_few_sentences"
FEW_VALUES = "too_few_values_that_the_text_lacks"
_HINT = "needles go into LongBench-v2 records: _id and context, with difficulty, length, question and answer if known"
# The benchmark's rule: .!? before white space, or an empty line. Ours excludes "Mrs." and the number in a list;
# Chinese and Japanese full stops have no space after them.
_BOUNDARY = re.compile(
    r"""(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\d)(?<![.!?])[.!?]++["'”’)\]]*+\s++"""
    r"""|[。！？]++[”’」』）]*+\s*+|\n{2,}+"""
)


class _Row(longbench.Row, frozen=True, kw_only=True):
    question: str | None = None
    answer: str | int | float | None = None


class NeedleRecord(Struct, frozen=True, kw_only=True):
    """A document with its needles, in the form of the needle benchmark's data file.

    `question_depths` is the fifth of the original text that contains each needle.
    """

    id: str | int = msgspec.field(name="_id")
    domain: str = "Needle in a Haystack"
    sub_domain: str = "Secret Retrieval"
    difficulty: longbench.GroupValue
    length: longbench.GroupValue
    questions: tuple[str, ...]
    answers: tuple[str, ...]
    question_depths: tuple[str, ...]
    context: str
    secrets: Mapping[str, str]
    original_question: str | None
    original_answer: str | int | float | None


class Hidden(Struct, frozen=True, kw_only=True):
    """The result for a data file: how many documents got how many needles, and the ids without needles, by reason."""

    documents: int
    needles: int
    left_out: dict[str, list[str]]


def write_needles(
    source: Path,
    output: Path,
    *,
    num_secrets: int,
    seed: int,
    dry_run: bool = False,
    advance: Callable[[int], None] = lambda _: None,
) -> Hidden:
    """Write the records of `source` with needles as a JSON list, one record at a time in memory.

    Raises DataError for a record that can't be read, for a repeated id, and if no document can be used; UsageError
    for more secrets than categories and for an output that can't be written.
    """
    if num_secrets > len(VALUES):
        hint = f"give at most {len(VALUES)}"
        raise UsageError(f"--num_secrets is {num_secrets}, and there are {len(VALUES)} kinds of secrets", hint=hint)
    if os.path.realpath(source) == os.path.realpath(output):
        raise UsageError(f"{output} is the data file itself", hint="choose another --output")
    hidden = _Counted(num_secrets)
    records = hidden.records(read_index(source), seed, advance)
    if dry_run:
        for _ in records:
            pass
    else:
        _write_list(output, records)
    return Hidden(documents=hidden.documents, needles=hidden.documents * num_secrets, left_out=hidden.left_out)


def _write_list(path: Path, records: Iterator[NeedleRecord]) -> None:
    with replacing(path) as file:
        for number, record in zip(count(), records):
            indented = msgspec.json.format(encode(record), indent=1).replace(b"\n", b"\n ")
            file.write((b",\n " if number else b"[\n ") + indented)
        file.write(b"\n]\n")


class _Counted:
    def __init__(self, num_secrets: int) -> None:
        self.num_secrets = num_secrets
        self.documents = 0
        self.left_out: dict[str, list[str]] = {}

    def records(self, data: DataFile, seed: int, advance: Callable[[int], None]) -> Iterator[NeedleRecord]:
        """The records with needles; raises DataError after the last one if there are none."""
        names: set[str] = set()
        for index, row in data.rows(_Row, hint=_HINT):
            _check(data.path, index, row, names)
            made = with_needles(row, num_secrets=self.num_secrets, seed=seed)
            if isinstance(made, str):
                self.left_out.setdefault(made, []).append(row.name)
            else:
                self.documents += 1
                yield made
            advance(1)
        if not self.documents:
            needles = f"{self.num_secrets} needle{'s' * (self.num_secrets != 1)}"
            reasons = ", ".join(f"{len(ids)} {reason.replace('_', ' ')}" for reason, ids in self.left_out.items())
            raise DataError(f"{data.path}: no document has room for {needles}: {reasons}", hint=_HINT)


def _check(path: str, index: int, row: _Row, names: set[str]) -> None:
    """Raise DataError for a faulty record, and for one whose id is in `names`; else add its id."""
    place = f"{path}: record {index + 1}"
    if fault := row.fault() or row.text_fault():
        raise DataError(f"{place} (_id {row.name!r}): {fault}", hint=_HINT)
    if row.name in names:
        raise DataError(f"{place}: _id {row.name!r} comes twice", hint="give each document its own")
    names.add(row.name)


def with_needles(row: _Row, *, num_secrets: int, seed: int) -> NeedleRecord | str:
    """The record of a document with its needles, the same for the same seed and id; or why there are none."""
    text = row.text() if row.has_text() else ""
    if not text.strip():
        return NO_CONTEXT
    places = needle_places(text, num_secrets)
    if not places:
        return FEW_SENTENCES
    secrets = _secrets(text, num_secrets, random.Random(f"{seed}/{row.name}"))
    if len(secrets) < num_secrets:
        return FEW_VALUES
    return NeedleRecord(
        id=row.id,
        difficulty=row.difficulty,
        length=row.length,
        questions=tuple(f"What is the secret {key} in the above context?" for key in secrets),
        answers=tuple(secrets.values()),
        question_depths=tuple(depth(place, len(text)) for place in places),
        context=hide(text, secrets, places),
        secrets=secrets,
        original_question=row.question,
        original_answer=row.answer,
    )


def needle_places(text: str, n: int) -> list[int]:
    """Places for n needles: the ends of the sentences nearest to (i + 0.5) / n of the text; [] for fewer sentences."""
    ends = [match.end() for match in _BOUNDARY.finditer(text)]
    return [_nearest(ends, (i + 0.5) / n * len(text)) for i in range(n)] if len(ends) >= n else []


def _nearest(ends: list[int], place: float) -> int:
    at = bisect_left(ends, place)
    return min(ends[max(0, at - 1) : at + 1], key=lambda end: abs(end - place))


def depth(place: int, length: int) -> str:
    """The fifth of a text that contains a place; in a long table a needle may be far from its intended depth."""
    return DEPTHS[min(len(DEPTHS) - 1, len(DEPTHS) * place // length)]


def hide(text: str, secrets: Mapping[str, str], places: list[int]) -> str:
    """Insert a sentence for each secret at its place; places are in rising order."""
    pieces, begin = [], 0
    for (key, value), place in zip(secrets.items(), places, strict=True):
        pieces += [text[begin:place], f"The secret {key} is {value}. "]
        begin = place
    return "".join([*pieces, text[begin:]])


def _secrets(text: str, n: int, chance: random.Random) -> dict[str, str]:
    """Draw n categories, and for each a value that the text doesn't contain, not even inside a word."""
    haystack = folded(text, case_sensitive=False)
    secrets: dict[str, str] = {}
    for key in chance.sample(tuple(VALUES), len(VALUES)):
        values = chance.sample(VALUES[key], len(VALUES[key]))
        value = next((value for value in values if value.lower() not in haystack), None)
        if value and f"secret {key}" not in haystack:
            secrets[key] = value
        if len(secrets) == n:
            break
    return secrets


_WORDS = {
    "number": "3847 4163 5208 5719 6394 7052 7481 8236 8915 9627",
    "animal": "badger otter walrus hedgehog giraffe pelican tortoise beaver panther dolphin",
    "flower": "tulip orchid dahlia peony jasmine lavender magnolia begonia primrose marigold",
    "color": "turquoise crimson indigo magenta scarlet maroon purple beige amber violet",
    "city": "Nairobi Lisbon Kyoto Montreal Helsinki Bogota Hanoi Prague Seville Antwerp",
    "fruit": "mango papaya apricot banana coconut pineapple raspberry blueberry nectarine pomegranate",
    "element": "helium cobalt nickel titanium platinum tungsten silicon lithium calcium krypton",
    "planet": "Mercury Venus Jupiter Saturn Uranus Neptune Pluto Ceres Haumea Makemake",
    "instrument": "cello trumpet bassoon mandolin oboe clarinet banjo violin trombone accordion",
    "gemstone": "ruby emerald topaz garnet sapphire onyx malachite moonstone zircon peridot",
}
VALUES: dict[str, tuple[str, ...]] = {category: tuple(words.split()) for category, words in _WORDS.items()}

"""Find the texts of the choices in a reply: whole words, the longest first."""

import re
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Final

from vqa_client.scoring.boundary import find_whole, is_whole
from vqa_client.scoring.plain import plain

_ARTICLES: Final = r"(?:(?:a|an|the|der|die|das|ein|eine|le|la|les|un|une|el|los|las|una|o|os|il|lo) )?"
_LEAD_IN = re.compile(
    rf"[\s\"'(<>*_#~|=:-]{{0,16}}(?:(?:either|still|just|simply|clearly|probably|likely) )?{_ARTICLES}[\"'(]*"
)
_MARKS = dict.fromkeys((2, 3, 4, 5))
_UNIT = re.compile(r"(\d) ?(%|[^\W\d_]{1,4}\b)")
"""A number and its unit, which replies write apart or together whatever the choice does."""
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_VALUE = re.compile(
    r"[^\w-]{0,3}(?:\\?[^\W\d]{1,6} ?= ?)?[$€£]?(?P<number>-?(?:\d{1,3}(?:,\d{3}){1,4}|\d{1,15})(?:\.\d{1,15})?)"
    r" ?\(? ?(?P<unit>[^\W\d_]{1,8}(?:[/^·][^\W_]{1,4}){0,3}|[°%])?\W{0,2}"
)
_REASON = re.compile(r",? (?:because|since|due to)\b")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_IMAGE = re.compile(r"<(image \d+)>")
_CONTINUED = re.compile(r" ?%| ?[+*/^×·÷] ?[\w\\(]| ?- ?\\")
_COMMON = frozenset(
    (
        "yes",
        "no",
        "not",
        "none",
        "all",
        "both",
        "same",
        "more",
        "less",
        "other",
        "true",
        "false",
        "neither",
        "one",
        "the",
    )
)
"""Texts that any sentence may hold by chance; these count only at the start of a reply or of a declared answer."""


class Texts:
    """The texts of one question's choices, folded when they are asked for: most replies need one of them or none."""

    def __init__(self, choices: tuple[tuple[str, str], ...]) -> None:
        self.choices = dict(choices)
        self.labels = tuple(self.choices)
        self.own = _Folded(self.choices)

    @cached_property
    def owners(self) -> Mapping[str, tuple[str, ...]]:
        """Each telling text to its labels, the longest first; one that is empty, an article or a label has none."""
        labels = {plain(label).lower() for label in self.labels}
        owners: dict[str, tuple[str, ...]] = {}
        for label in sorted(self.labels, key=lambda label: -len(self.own[label])):
            text = self.own[label]
            if text and text not in labels | {"a", "an", "the"}:
                loose = spaced(text).replace("'s", "s")
                bare = _THOUSANDS.sub("", text)
                for writing in dict.fromkeys((text, bare, _UNIT.sub(r"\1\2", text), _UNIT.sub(r"\1 \2", text), loose)):
                    owners[writing] = (*owners.get(writing, ()), label)
        return owners

    @cached_property
    def _owners_by_first(self) -> Mapping[str, list[tuple[str, tuple[str, ...]]]]:
        by_first: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for literal, labels in self.owners.items():
            by_first.setdefault(literal[0], []).append((literal, labels))
        return by_first

    @cached_property
    def heads(self) -> "Texts | None":
        """What comes before the reason where choices give one, "X because Y"; None where two are the same."""
        names = tuple((label, _REASON.split(self.own[label], maxsplit=1)[0]) for label in self.labels)
        changed = sum(head != self.own[label] for label, head in names)
        return Texts(names) if changed > 1 and len({head for _, head in names}) == len(names) else None

    @cached_property
    def longest(self) -> int:
        """The length of the longest text."""
        return max((len(self.own[label]) for label in self.labels), default=0)

    @cached_property
    def _spelled(self) -> str:
        return "\n".join(self.choices.values()).lower()

    @cached_property
    def letters(self) -> bool:
        """Whether the choices are nothing but their labels, such as those of a figure's parts."""
        return all(self.own[label].strip("()") == label.lower() for label in self.labels)

    def of_value(self, text: str) -> tuple[str, ...]:
        """The labels whose text is the number `text`, however each writes its unit and its zeros."""
        value = _VALUE.fullmatch(text)
        if not value:
            return ()
        owned = ((label, _VALUE.fullmatch(self.own[label])) for label in self.labels)
        return tuple(label for label, own in owned if own and _equal(own, value))

    def cover(self, text: str, start: int, stop: int, word: str) -> bool:
        """Whether a choice's text with `word` in it has `text[start:stop]` (in lower case): "A and B are right"."""
        if word not in self._spelled:
            return False
        owned = [own for own in map(self.own.__getitem__, self.labels) if word in own]
        return any(text.find(own, max(0, stop - len(own)), start + len(own)) >= 0 for own in owned)

    def at_start(self, text: str) -> tuple[tuple[str, ...], int]:
        """The labels whose text `text` (folded) begins with, and where that ends; none and 0 where there is none."""
        lead_in = _LEAD_IN.match(text)
        for start in dict.fromkeys((0, lead_in.end() if lead_in else 0)):
            for literal, labels in self._owners_by_first.get(text[start : start + 1], ()):
                if text.startswith(literal, start) and _whole(text, start, start + len(literal)):
                    return labels, start + len(literal)
        return (), 0

    def anywhere(self, text: str) -> list[tuple[int, int, tuple[str, ...]]]:
        """From where to where in `text` (folded) a choice's text stands that does not belong to a longer one."""
        taken: list[tuple[int, int]] = []
        found = []
        for literal, labels in self.owners.items():
            for start, end in find_whole(text, literal) if telling(literal) else ():
                if _whole(text, start, end) and not any(
                    start < other_end and other_start < end for other_start, other_end in taken
                ):
                    taken.append((start, end))
                    found.append((start, end, labels))
        return found


class _Folded(dict[str, str]):
    """A label's text as it is looked for, made at the first look."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__()
        self._texts = texts

    def __missing__(self, label: str) -> str:
        text = self[label] = folded(plain(self._texts[label])).rstrip(".;, ")
        return text


def _equal(own: re.Match[str], said: re.Match[str]) -> bool:
    units = (own["unit"], said["unit"])
    numbers = (float(value["number"].replace(",", "")) for value in (own, said))
    return len({*numbers}) == 1 and (units[0] == units[1] or None in units != (None, "%"))


@lru_cache(maxsize=1024)
def texts_of(choices: tuple[tuple[str, str], ...]) -> Texts:
    """The texts of one question."""
    return Texts(choices)


def folded(text: str) -> str:
    """Plain text in lower case without the marks of the markup, so that emphasis inside a phrase does not matter."""
    lower = text.lower().translate(_MARKS)
    return _IMAGE.sub(r"\1", lower) if "<image" in lower else lower


def spaced(text: str) -> str:
    """Folded text without the hyphens between words: "pot-bound" as "pot bound"."""
    return _HYPHEN.sub(" ", text) if "-" in text else text


def _whole(text: str, start: int, end: int) -> bool:
    """As `is_whole`, and neither a percentage nor a sum is the number that it starts with."""
    return is_whole(text, start, end) and not (text[end - 1].isdecimal() and _CONTINUED.match(text, end))


def telling(text: str) -> bool:
    """Whether finding `text` inside a sentence says anything: not for "yes", "none" or a single letter."""
    return text not in _COMMON and (len(text) > 1 or text.isdecimal() or not text.isascii())

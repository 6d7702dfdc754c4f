"""The options of one question: how their labels and their texts may be written, and when a letter is a label."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from vqa_client.scoring.denials import NOT, NOT_THAT, WRONG
from vqa_client.scoring.patterns import JOINER, find_whole, is_whole, joins, lazily
from vqa_client.scoring.plain import plain
from vqa_client.scoring.strict.number_words import SMALL

LOOKALIKES: Final = str.maketrans("АВЕЅІЈКМНОРСТХУΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABESIJKMHOPCTXYABEZHIKMNOPTYX")
"""Cyrillic and Greek capitals that look like Latin ones (Unicode TS 39, confusables)."""
WORDS: Final = frozenset("AIEOUYÀАВСОУИКЯ")
"""Capitals that are also words (article, pronoun, conjunction) in languages that replies come in."""

_REASONS = """because since as due based given which whereas while but not rather according is are was over
    instead though weil da denn und sondern nicht ist car parce puisque et mais pas est porque ya pues pero es sino no
    потому так поскольку а и не perché perche mas jest este är er adalah là είναι है является هي هو היא הוא"""
_GOING_ON = """and with where for so by from in on at if per the this that these it we my here would can has shows
    correct explanation reason or to than when seems appears fits matches best describes remains must should
    il elle la le les der die das el los en por pour par"""
REASONS: Final = frozenset(_REASONS.split())
"""Words that go on after a finished answer: "A because ..." is an answer, "A bus" is not."""
GOING_ON: Final = REASONS | frozenset(_GOING_ON.split())
"""The same for letters that are no words: "B the car is blue"."""
_WORD = lazily(r"[^\W_](?:[^\W_]|[\u0900-\u0dff])*")
_SUFFIX: Final = r"'(?:[dt][ıiuü]r|n?[ıiuü]n|[yn]?[ıiuüea]|[dt][ea]n?)\b"
"""A case ending or the copula behind a letter in Turkish: "C'dir"."""
_CLOSERS = lazily(rf"(?:{_SUFFIX})?[ \"')>*_\x03\x05]*")
_INTO_OWN = lazily(r"[ \"')>*_\x03\x05]*(?:[:.,=-]+[ \"'(\x02]*)?")
_ATTACHED = lazily(
    rf"[+#%^@°<\\]|[-/&=]{JOINER}|(?!{_SUFFIX})'{JOINER}|\.[A-Za-z]\.|[.,:]\d"
    r"|_(?=[\w(\\])|\((?:\w{1,2}|\w(?:, ?\w){1,3}|[-\w]{1,4} ?[-+*/] ?\w{1,4})\)"
    r"| ?[=^*·×≈≤≥<∩∪⊂⊆∈∥⊥∧∨≅≡] ?[-+]?[\w(\\|√]| [+/] ?[a-z\d(\\]| > ?\w"
)
"""What makes a letter a name in a formula: "D(x)", "c_1", "B = 3 T", "a + bt", "C++", "A's"."""
_BEING: Final = frozenset(("is", "are", "was", "were", "has", "have"))
_VERDICT = lazily(
    r"[^.;\n]{0,50}\b(?:correct|right|true|answer|best|better|most|only|closest|nearest|option|choice|statement|valid"
    r"|supported|supports?|consistent|likely|selected|chosen|false|incorrect|wrong|one|match\w*)\b",
    re.IGNORECASE,
)
_VERBS: Final = r"(?:ist|est|es|é|è|is|jest|je|este|är|er|on|là|είναι|هي|هو|היא|הוא|está)"
_OUT = lazily(
    r"[ \"')>\x02-\x05]*(?:[:-] ?)?(?:(?:is|are|was|were|seems|looks|does|do|would|can|could|should)[ \x02]+"
    r"(?:(?:also|clearly|therefore|definitely|simply|obviously|be) )*"
    r"(?:not|wrong|incorrect|false|ruled|eliminated|excluded|implausible|absent|missing|nowhere|unlikely|out)"
    r"|(?:isn|aren|can|couldn|doesn|wasn|won|wouldn)'t|cannot|wrong|incorrect|false|ruled out|eliminated"
    rf"|{_VERBS} {NOT}|{NOT}(?! (?:doubt|question|\(?[A-Z]\b)))\b"
    r"|[ )\x03]*(?:选项|項|项)?(?:是|は|が|는|은|가|이|도)? ?(?:错|錯|不正确|不正確|不对|不是|間違|誤り|아니|아닙"
    r"|아닌|틀|吗|(?:では|じゃ)(?:ない|なく|ありません)|(?:是|が|は)?正解では(?:ない|なく|ありません)"
    r"|정답(?:이|은)? ?(?:아니|아닙|아닌))"
    r"|\? (?:no|nope|nein|non)\b"
    rf"|[ )\x03]*(?:(?:{_VERBS}|-) |[はが는은가이도][^.,\nA-Z]{{0,12}}?)?(?:{WRONG}|{NOT_THAT})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The labels of one question.

    `source` is a regex source for any label in any accepted writing, `exact` one for a label as the question writes it,
    `spoken` one that also takes small letters which are no words.
    """

    written: Mapping[str, str]
    source: str
    spoken: str
    exact: re.Pattern[str]

    def of(self, token: str) -> str:
        """The label that `token`, matched by `source`, stands for."""
        return self.written[token]


@lru_cache(maxsize=256)
def labels_of(labels: tuple[str, ...]) -> Labels:
    """Writings of each label, without those that two labels would share."""
    written = {plain(label): label for label in labels if plain(label)}
    names = tuple(written)
    for fold in (str.lower, str.upper):
        for name in names:
            if sum(fold(other) == fold(name) for other in names) == 1:
                written.setdefault(fold(name), written[name])
    for lookalike, latin in LOOKALIKES.items():
        if chr(latin) in names and not any(ord(name[0]) in LOOKALIKES for name in names):
            written.setdefault(chr(lookalike), written[chr(latin)])
    spoken = [name for name in written if name in names or (name.islower() and name.upper() not in WORDS)]
    return Labels(
        written=written,
        spoken=_any_of(spoken),
        source=f"(?:{_alternatives(written)})(?!{JOINER})",
        exact=lazily(_any_of(names)),
    )


def _any_of(names: Iterable[str]) -> str:
    return rf"(?<!{JOINER})(?<!{JOINER}['_-])(?:{_alternatives(names)})(?!{JOINER})(?!(?!{_SUFFIX})['_-]{JOINER})"


def _alternatives(names: Iterable[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)) or r"(?!)"


def stands(text: str, end: int, token: str, own_text: str, *, alone: bool = False) -> bool:
    """Whether the label `token` that ends at `end` is a whole answer, by what comes after it.

    `own_text` is the folded text of its choice, which may follow; `alone` allows nothing but the end of a clause.
    """
    if ends(text, end):
        return True
    own = _INTO_OWN.match(text, end) if own_text else None
    if own and text[own.end() : own.end() + len(own_text)].lower() == own_text:
        return not excluded(text, own.end() + len(own_text), after_comma=True)
    if in_formula(text, end):
        return False
    closers = _CLOSERS.match(text, end)
    at = closers.end() if closers else end
    following = text[at : at + 1]
    if following == "?" or excluded(text, end):
        return False
    if not following.isalnum() or not joins(following):
        return True
    word = _WORD.match(text, at)
    said = word[0] if word else ""
    if alone and said.lower() in _BEING:
        return _VERDICT.match(text, at) is not None
    return _goes_on(said, token, own_text, closed=bool(text[end:at].strip("\"' ")), alone=alone)


def ends(text: str, end: int) -> bool:
    """Whether the text is over behind a label: "B.", "(B)." """
    return end + 2 >= len(text) and text[end:] in ("", ".", ")", ").")


def in_formula(text: str, end: int) -> bool:
    """Whether what follows the letter that ends at `end` makes it a name in a formula."""
    return _ATTACHED.match(text, end) is not None


def excluded(text: str, end: int, *, after_comma: bool = False) -> bool:
    """Whether the words behind a label or a choice's text, which ends at `end`, exclude it."""
    return _OUT.match(text, end + (after_comma and text.startswith(",", end))) is not None


def _goes_on(word: str, token: str, own_text: str, *, closed: bool, alone: bool) -> bool:
    if alone or ((token in WORDS or token.islower()) and not closed):
        return word.lower() in REASONS
    if closed or word[0].isupper() or word[0].isdecimal() or word.lower() in GOING_ON:
        return True
    return word.lower() in own_text.split()


_ARTICLES: Final = r"(?:(?:a|an|the|der|die|das|ein|eine|le|la|les|un|une|el|los|las|una|o|os|il|lo) )?"
_LEAD_IN = lazily(
    rf"[\s\"'(<>*_#~|=:-]{{0,16}}(?:(?:either|still|just|simply|clearly|probably|likely) )?{_ARTICLES}[\"'(]*"
)
_MARKS = dict.fromkeys((2, 3, 4, 5))
_UNIT = lazily(r"(\d) ?(%|[^\W\d_]{1,4}\b)")
"""A number and its unit, which replies write apart or together whatever the choice does."""
_HYPHEN = lazily(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_VALUE = lazily(
    r"(?:about |approximately |roughly |around )?"
    r"[^\w-]{0,3}(?:\\?[^\W\d]{1,6} ?= ?)?[$€£]?(?P<number>-?(?:\d{1,3}(?:,\d{3}){1,4}|\d{1,15})(?:\.\d{1,15})?)"
    r" ?\(? ?(?P<unit>[^\W\d_]{1,8}(?:[/^·][^\W_]{1,4}){0,3}|[°%])?\W{0,2}"
)
_REASON = lazily(r",? (?:because|since|due to)\b")
_THOUSANDS = lazily(r"(?<=\d),(?=\d{3}(?!\d))")
_OPENS = lazily(
    r"^(?:(?:it|they|he|she|there|this|that) (?:is|are|was|were|has|have) (?=\w+ \w{3})|(?:an?|the|it|they) (?=\w{3}))"
)
_RESPELLED: Final = tuple(
    (lazily(spelled), other)
    for spelled, other in (
        (r"(?<=\d) ?°(?!\w)", " degrees"),
        (r"(?<=\d) ?deg(?:rees?)?\b", "°"),
        (r"(?<=\d) ?%", " percent"),
        (r"(?<=\d) ?per ?cent\b", "%"),
        (r"\\frac\((\d+)\)\((\d+)\)", r"\1/\2"),
        (r"(?<![\d/])(\d+)/(\d+)(?![\d/])", r"\\frac(\1)(\2)"),
    )
)
"""Other spellings of units and fractions."""
_SPOKEN: Final = {"yes": ("yeah", "yep", "yup"), "no": ("nope", "nah")}
_IMAGE = lazily(r"<(image \d+)>")
_CONTINUED = lazily(r" ?%| ?[+*/^×·÷] ?[\w\\(]| ?- ?\\")
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
        *SMALL,
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
                bare = _OPENS.sub("", _THOUSANDS.sub("", text))
                units = (_UNIT.sub(r"\1\2", text), _UNIT.sub(r"\1 \2", text), *_respelled(text))
                for writing in dict.fromkeys((text, bare, *units, loose)):
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
    def counts(self) -> bool:
        """Whether the choices are nothing but whole numbers."""
        return all(self.own[label].isdecimal() for label in self.labels)

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


def _respelled(text: str) -> list[str]:
    words = [word for word, value in SMALL.items() if text == str(value)]
    words += _SPOKEN.get(text, ())
    return [*words, *(spelled.sub(other, text) for spelled, other in _RESPELLED if spelled.search(text))]


def _whole(text: str, start: int, end: int) -> bool:
    """As `is_whole`, and neither a percentage nor a sum is the number that it starts with."""
    return is_whole(text, start, end) and not (text[end - 1].isdecimal() and _CONTINUED.match(text, end))


def telling(text: str) -> bool:
    """Whether finding `text` inside a sentence says anything: not for "yes", "none" or a single letter."""
    return text not in _COMMON and (len(text) > 1 or text.isdecimal() or not text.isascii())

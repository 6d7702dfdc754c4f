"""The texts of one question's choices, and where they are in a reply."""

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from vqa_client.scoring.choices.amounts import Amount, amount_of, equal_amount, same_amount
from vqa_client.scoring.choices.spellings import writings
from vqa_client.scoring.number_words import SMALL
from vqa_client.scoring.patterns import any_word, behind, find_whole, is_whole, lazily
from vqa_client.scoring.plain import NO_MARKS, plain

_ARTICLES: Final = r"(?:(?:a|an|the|der|die|das|ein|eine|le|la|les|un|une|el|los|las|una|o|os|il|lo) )?"
_LEAD_IN = lazily(
    rf"(?:[\s\"'(<>*_#~|=:]|-(?!\d)){{0,16}}(?:(?:either|still|just|simply|clearly|probably|likely) )?"
    rf"{_ARTICLES}[\"'(]*"
)
MARK = lazily(r"[\x02-\x05]")
_DIGIT = lazily(r"\d")
_ENDS_IN_LETTER = lazily(r"[a-z] [A-Z]\W*$")
_ABBREVIATION = lazily(r"[A-Z]{2,6}")
_NAMES = r"""hepatitis|vitamin|influenza|ha?emophilia|streptococc\w+|coenzyme|cytochrome|interferon
    blood (?:type|group)|plan"""
_NAME_BEFORE_LETTER = lazily(rf"\b{any_word(_NAMES)}(?= [a-z]\b)")
"""Begins a name that ends in a letter, which isn't a label."""
SENTENCE_END = lazily(r"[.!?;](?=\s|$)|\n")
WORD = lazily(r"[^\W_]+")
_REASON = lazily(r",? (?:because|since|due to)\b")
_AND = lazily(r",? and | ?[,&+/] ?")
_NEXT = lazily(r"(?P<joins>,? and | ?[&+/] ?|, ?)(?:both )?(?:the |an? )?")
_LIST_GOES_ON = lazily(r"\W*\Z|[.;!,]|,? and | ?[&+/]")
_FEW: Final = 4
_MODAL = lazily(r" (?:be|have|not|also|well|still|only|seem|appear|look|need|represent|indicate|refer|contain)\b")
"""After the word "may", which is also a month."""
_COUNTABLE = lazily(r"(?!the |no |one |all |both )[a-z]{3,}(?: [a-z]{3,}){0,2}")
_COUNTED = lazily(
    rf"\b(?:are|were|see|shows?|contains?|many|some|several|only|mostly|\d+|{'|'.join(SMALL)})"
    r"(?: (?:some|several|many|all|only|mostly|clearly))? \Z"
)
"""What comes before a plural that says what is there; "he wears shorts" doesn't give the choice "short"."""
_COUNT_READ: Final = 40
IMAGE = lazily(r"<(image \d+)>")
_PLAIN_WORDS = lazily(r"(?:[^\W_]+(?:[ '-]|, ?|\.?\Z)){1,12}")
_PLACED = lazily(
    r"(?:(?:it's|it is|he is|she is|they are|this is) )?(?:(?P<place>in|on|at|to|from|by|near|because) )?(?:it is )?"
)
_RANK = lazily(r"first|second|third|fourth|fifth|sixth|last|\d+(?:st|nd|rd|th)|not|no|yes")
"""May be another choice's place in the list, or no part of a choice at all."""
_GOING_ON: Final = frozenset({"and", "or", "nor", "is", "are", "not", "than", "but", "except", "without", "with"})
_CONTINUED = lazily(r" ?%| ?[+*/^×·÷] ?[\w\\(]| ?- ?\\")
_CONTINUES = lazily(
    r"(?:(?<=\bminus )|(?<=\bnegative ))(?=\d)"
    r"|(?:(?<=[\w)\\√+*/-])|(?<=[\w)] [+*/-] )|(?<=frac\())(?=\\?sqrt|\\frac|√)"
)
"""Where a number or a root is only the end of an amount: "negative 3", "2√3"."""
_COMMON = SMALL.keys() | {
    *("yes", "no", "not", "none", "all", "both", "same", "more", "less", "other", "true", "false", "neither", "the")
}
"""Texts that any sentence may contain by chance; they count only at the start of a reply or a declared answer."""


class ChoiceStart(NamedTuple):
    """A folded `text`, the labels of the choice at its start, where that ends, and the labels of its number."""

    text: str
    labels: tuple[str, ...]
    end: int
    values: tuple[str, ...]


class Texts:
    """The texts of one question's choices, each folded when first needed: most replies need one or none."""

    def __init__(self, choices: tuple[tuple[str, str], ...]) -> None:
        self.choices = dict(choices)
        self.labels = tuple(self.choices)
        self.own = _Folded(self.choices)

    @cached_property
    def folded(self) -> Mapping[str, str]:
        """The folded text of each label."""
        return {label: self.own[label] for label in self.labels}

    @cached_property
    def owners(self) -> Mapping[str, tuple[str, ...]]:
        """Each spelling of a text to its labels, longest first, without empty texts, articles and labels."""
        labels = {plain(label).lower() for label in self.labels}
        owners: dict[str, tuple[str, ...]] = {}
        for label in sorted(self.labels, key=lambda label: -len(self.own[label])):
            text = self.own[label]
            if text and text not in labels | {"a", "an", "the"}:
                for writing in writings(text):
                    owners[writing] = (*owners.get(writing, ()), label)
        return owners

    @cached_property
    def telling(self) -> Mapping[str, tuple[str, ...]]:
        """The same without texts that any sentence may contain by chance."""
        owned = {text: labels for text, labels in self.owners.items() if telling(text)}
        if self.counts:
            owned |= {str(SMALL[text]): labels for text, labels in self.owners.items() if text in SMALL}
        return owned

    @cached_property
    def plurals(self) -> Mapping[str, tuple[str, ...]]:
        """The English plural of each telling text that has no article or number, to its labels."""
        return {
            plural: (label,)
            for label, text in self.folded.items()
            if telling(text) and _COUNTABLE.fullmatch(text) and (plural := _plural(text)) not in self.owners
        }

    @cached_property
    def _owners_by_first(self) -> Mapping[str, list[tuple[str, tuple[str, ...]]]]:
        by_first: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        literals = (*self.owners.items(), *self.plurals.items())
        for literal, labels in sorted(literals, key=lambda owned: -len(owned[0])):
            by_first.setdefault(literal[0], []).append((literal, labels))
        return by_first

    @cached_property
    def heads(self) -> "Texts | None":
        """The part before the reason, if choices are "X because Y"; None if two such parts are the same."""
        names = tuple((label, _REASON.split(own, maxsplit=1)[0]) for label, own in self.folded.items())
        changed = sum(head != self.own[label] for label, head in names)
        return Texts(names) if changed > 1 and len({head for _, head in names}) == len(names) else None

    @cached_property
    def longest(self) -> int:
        return max(map(len, self.folded.values()), default=0)

    @cached_property
    def spelled(self) -> str:
        """All texts in lower case, to check quickly that none contains a word."""
        return "\n".join(self.choices.values()).lower()

    @cached_property
    def lettered(self) -> Mapping[str, str]:
        """Each text that ends in a label, such as "vitamin C", to its own label."""
        return {self.own[label]: label for label, text in self.choices.items() if _ENDS_IN_LETTER.search(text)}

    @cached_property
    def abbreviations(self) -> Mapping[str, str]:
        """Each choice to its label, if all choices are abbreviations and not labels."""
        names = {plain(choice): label for label, choice in self.choices.items()}
        return names if not self.letters and all(map(_ABBREVIATION.fullmatch, names)) else {}

    def of_part(self, text: str) -> tuple[str, ...]:
        """The label of the choice that differs from the others in `text`: "kitchen", beside "in the garden".

        The beginning of only one choice counts, too: "the nucleus", of "The nucleus stores genetic material".
        """
        words = _words_of(text)
        if not words or not self.parts:
            return ()
        if words in self.parts:
            label, place = self.parts[words], _PLACED.match(text)
            return (label,) if not (place and place["place"]) or place["place"] in self.own[label].split() else ()
        begins = [label for part, label in self.parts.items() if part[: len(words)] == words]
        also = [part for part in self.parts if {*words} & {*part}]
        whole = len(begins) == len(also) == 1 and len(words[-1]) > 3 and also[0][len(words)] not in _GOING_ON
        return tuple(begins) if whole else ()

    @cached_property
    def parts(self) -> Mapping[tuple[str, ...], str]:
        """The words in which each choice differs from the others, to its label; {} if two are the same."""
        split = {label: _words_of(own) for label, own in self.folded.items()}
        shortest = min(map(len, split.values()), default=0)
        if shortest == 0:
            return {}
        columns = [*zip(*split.values(), strict=False)]
        start = next((at for at, column in enumerate(columns) if len({*column}) > 1), shortest)
        ends = [*zip(*(reversed(words[start:]) for words in split.values()), strict=False)]
        stop = next((at for at, column in enumerate(ends) if len({*column}) > 1), len(ends))
        parts = {words[start : len(words) - stop]: label for label, words in split.items()}
        return parts if len(parts) == len(split) and () not in parts else {}

    @cached_property
    def _amounts(self) -> Mapping[str, Amount]:
        owned = ((label, amount_of(own)) for label, own in self.folded.items())
        return {label: amount for label, amount in owned if amount}

    @cached_property
    def silent(self) -> frozenset[str]:
        """Labels whose text doesn't count inside a sentence, such as "yes"."""
        return frozenset(label for label, own in self.folded.items() if not telling(own))

    @cached_property
    def counts(self) -> bool:
        """Whether most choices are whole numbers, in digits or words."""
        return sum(own.isdecimal() or own in SMALL for own in self.folded.values()) > len(self.labels) / 2

    @cached_property
    def letters(self) -> bool:
        """Whether all choices are their own labels, such as the parts of a figure."""
        return all(own.strip("()") == label.lower() for label, own in self.folded.items())

    def of_value(self, text: str, *, converted: bool = True) -> tuple[str, ...]:
        """The labels whose text is the same amount as `text`, of several those with its scale, then with its unit.

        "0.25" is also "25%" if it may be `converted` and no choice is so in the same notation.
        """
        amount = amount_of(text)
        if amount is None:
            return ()
        same = {
            label: (own.scale == amount.scale, own.unit == amount.unit)
            for label, own in self._amounts.items()
            if same_amount(own, amount)
        }
        if same or not converted:
            closest = max(same.values(), default=None)
            return tuple(label for label, likeness in same.items() if likeness == closest)
        return tuple(label for label, own in self._amounts.items() if equal_amount(own, amount))

    def cover(self, text: str, start: int, stop: int, word: str) -> bool:
        """Whether the text of a choice that contains `word` covers text[start:stop], as "A and B are right" does."""
        owned = self.folded.values()
        return any(word in own and text.find(own, max(0, stop - len(own)), start + len(own)) >= 0 for own in owned)

    def at_start(self, text: str) -> tuple[tuple[str, ...], int]:
        """The labels of the choice that `text` (folded) begins with, and its end; () and 0 without one."""
        lead_in = _LEAD_IN.match(text)
        for start in dict.fromkeys((0, lead_in.end() if lead_in else 0)):
            for literal, labels in self._owners_by_first.get(text[start : start + 1], ()):
                end = start + len(literal)
                if text.startswith(literal, start) and is_whole(text, start, end) and self._is_all(text, start, end):
                    return labels, end
        return (), 0

    def start_of(self, text: str) -> ChoiceStart:
        """The choice or the number that a text in lower case begins with."""
        lower = folded(text)
        labels, end = self.at_start(lower)
        number = not labels and any(map(str.isdecimal, lower[:8]))
        values = self.of_value(SENTENCE_END.split(lower, maxsplit=1)[0]) if number else ()
        return ChoiceStart(lower, labels, end, values)

    def anywhere(self, text: str) -> list[tuple[int, int, tuple[str, ...]]]:
        """Start, end and labels of each choice's text in `text` (folded) that isn't part of a longer one.

        A plural is such a text where words like "two" or "there are" lead up to it.
        """
        places = _places(text, self.telling)
        for start, end, labels in _places(text, self.plurals):
            if _COUNTED.search(text, max(0, start - _COUNT_READ), start):
                places.append((start, end, labels))
        return [span for span in _longest(places) if self._is_all(text, *span[:2])]

    @cached_property
    def things(self) -> Mapping[frozenset[str], str]:
        """What each choice names, as a set, to its label; {} if none names several things in a few words each."""
        split = {frozenset(map(_bare, _AND.split(own))): label for label, own in self.folded.items()}
        things = frozenset().union(*split)
        plainly = all(thing and thing.count(" ") < _FEW and not _DIGIT.search(thing) for thing in things)
        return split if plainly and max(map(len, split), default=0) > 1 and len(split) == len(self.labels) else {}

    def _is_all(self, text: str, start: int, end: int) -> bool:
        """Whether text[start:end] isn't part of an amount, a formula or a list.

        Any thing may go on a list of several; a single thing, only one that a choice names.
        """
        more = _NEXT.match(text, end) if self.things else None
        after = text[more.end() :] if more else ""
        apart = more is not None and more["joins"].strip() == ","
        named = any(
            after.startswith(thing) and (not apart or _LIST_GOES_ON.match(after, len(thing)))
            for thing in self._all_things
        )
        goes_on = more is not None and not apart and _AND.search(text, start, end) is not None
        return not (named or goes_on or _is_part(text, start, end))

    @cached_property
    def _all_things(self) -> frozenset[str]:
        return frozenset().union(*self.things)

    def lists_in(self, text: str) -> list[tuple[int, int, frozenset[str]]]:
        """Start, end and names of the things that `text` (folded) lists one after the other: "the red and the blue"."""
        things = {thing: (thing,) for thing in sorted(frozenset().union(*self.things), key=len, reverse=True)}
        lists: list[tuple[int, int, frozenset[str]]] = []
        for start, end, names in sorted(_longest(_places(text, things))):
            joiner = _NEXT.fullmatch(text, lists[-1][1], start) if lists else None
            if joiner and (joiner["joins"].strip() != "," or _LIST_GOES_ON.match(text, end)):
                lists[-1] = (lists[-1][0], end, lists[-1][2].union(names))
            else:
                lists.append((start, end, frozenset(names)))
        return lists


class _Folded(dict[str, str]):
    """A label to its folded text, folded at the first look-up."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__()
        self._texts = texts

    def __missing__(self, label: str) -> str:
        text = self[label] = folded(plain(self._texts[label])).rstrip(".;, ")
        return text


def names_ending_in_letters(lower: str, texts: Texts, written: Mapping[str, str]) -> Iterator[int]:
    """Ends of names in a text in lower case whose last letter isn't a label: "vitamin C", unless it is choice C.

    If a choice is "hepatitis A", "hepatitis B" is such a name, too.
    """
    places = [match.span() for match in _NAME_BEFORE_LETTER.finditer(lower)]
    if places and texts.letters:  # asked last: it folds all choices
        places = []
    for beginning in dict.fromkeys(name[:-2] for name in texts.lettered):
        places += find_whole(lower, beginning)
    for start, space in places:
        name = lower[start : space + 2]
        label = written.get(name[-1].upper())
        if name[-2] == " " and (label is None or name not in texts.own[label]):
            yield space + 2


def _words_of(text: str) -> tuple[str, ...]:
    """The words of a text without articles and what leads in; () for a text with other signs."""
    if not _PLAIN_WORDS.fullmatch(text):
        return ()
    words = tuple(word for word in WORD.findall(behind(_PLACED, text)) if word not in ("a", "an", "the"))
    return words if not _RANK.fullmatch(" ".join(words)) else ()


def _places(text: str, owners: Mapping[str, tuple[str, ...]]) -> list[tuple[int, int, tuple[str, ...]]]:
    return [
        (start, end, labels)
        for literal, labels in owners.items()
        if literal in text
        for start, end in find_whole(text, literal)
    ]


def _longest(places: list[tuple[int, int, tuple[str, ...]]]) -> list[tuple[int, int, tuple[str, ...]]]:
    """The places that no longer one overlaps, longest first."""
    spans: list[tuple[int, int, tuple[str, ...]]] = []
    for span in sorted(places, key=lambda place: place[0] - place[1]):
        if not any(span[0] < other[1] and other[0] < span[1] for other in spans):
            spans.append(span)
    return spans


def _bare(thing: str) -> str:
    return thing.removeprefix("both ").removeprefix("the ").removesuffix(" only").strip()


def _plural(text: str) -> str:
    if text.endswith(("s", "x", "z", "ch", "sh")):
        return f"{text}es"
    return f"{text[:-1]}ies" if text[-1] == "y" and text[-2] not in "aeiou" else f"{text}s"


@lru_cache(maxsize=1024)
def texts_of(choices: tuple[tuple[str, str], ...]) -> Texts:
    """The texts of one question's choices, cached."""
    return Texts(choices)


def folded(text: str) -> str:
    """Plain text in lower case and without marks, so that emphasis inside a phrase does not matter."""
    lower = text.lower()
    lower = lower.translate(NO_MARKS) if MARK.search(lower) else lower
    return IMAGE.sub(r"\1", lower) if "<image" in lower else lower


def _is_part(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] is only a part of an amount or a formula: 25 in "25%", 3 in "3 + 4" and "negative 3"."""
    continued = (
        text[end - 1].isdecimal() or text[start] in "\\√" or text.startswith("sqrt", start)
    ) and _CONTINUED.match(text, end) is not None
    return continued or bool(_CONTINUES.match(text, start) or (text[start:end] == "may" and _MODAL.match(text, end)))


def telling(text: str) -> bool:
    """Whether `text` counts inside a sentence; "yes", "none" and single letters don't."""
    return text not in _COMMON and (len(text) > 1 or text.isdecimal() or not text.isascii())

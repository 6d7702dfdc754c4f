"""The number of what a question counts: "14 birds" for "How many birds ...", and not that of other things beside it."""

import re
from itertools import pairwise, takewhile
from typing import Final

from vqa_client.scoring.denials import NOT
from vqa_client.scoring.patterns import last_match, lazily

NUMBER: Final = re.compile(
    r"(?<![A-Za-zÀ-ÖØ-öø-ԯＡ-Ｚａ-ｚ\d_.,/第])(?<!\d:)(?<!第 )(?:(?<![\d)%] )(?<!\b[A-Za-z] )-)?"
    r"\d+(?:,\d{3}(?!\d))*(?:\.\d+)?(?:/\d+)?(?![\d/]|[.,:]\d|-?(?!(?:[ckm]m|[km]g|ml|kcal|lbs?|ft|oz|mph)\b)[A-Za-z_]"
    r"| ?(?:[万萬亿億만억]|千(?![克米瓦])|番目|번째))"
)
"""Not part of a name ("A5") or a time, not a Chinese, Japanese or Korean ordinal, and not before such a scale."""
ASKS: Final = re.compile(
    r"\b(?:how many|number of|count(?: of)?(?: all)?(?: the)?)(?: of (?:the|these|those))?\s([a-z' -]{1,60})",
    re.IGNORECASE,
)
"""What a question counts, with the words after it: "people are wearing hats"."""
_NOT_NAME_WORDS = "are is do does did can were was have has in on at of that which with there you will would the"
_NOT_NAMES: Final = frozenset(_NOT_NAME_WORDS.split())
_NO_PART_WORDS = """image picture photo photograph scene figure chart graph shown visible seen see this total all a an
    and be it i we displayed depicted present"""
_NO_PART: Final = _NOT_NAMES.union(_NO_PART_WORDS.split())
"""Words of a question that don't make it ask for a part of the things."""
_COMPARES: Final = frozenset({"more", "fewer", "less"})
_WHOLE_SET: Final = re.compile(
    r"\b(?:out of(?: all)?(?: the| these| those| a total of)?|(?:of|among)(?: all)? (?:the|these|those))"
    rf" {NUMBER.pattern}",
    re.IGNORECASE,
)
"""The number of all things, where some are counted: "3 of the 5 people", "out of 5 people, 3 ..."."""
_PART: Final = re.compile(
    rf"(?:({NUMBER.pattern})(?![\"”])|\b(?:(no one|nobody|none|no(?= \w))|(?<!each )(?<!every )(?<!the )one)\b)"
    r"((?:(?! (?:and|but|while) )[^.,;:!?\d\n]){0,60})",
    re.IGNORECASE,
)
"""A number, "one" or "nobody", and the words after it."""
JOINT: Final = re.compile(r"\b(?:an?|one|\d+)(?= (?:[a-z]+ ){1,2}and \d+ [a-z]+ (?:are|were)\b)", re.IGNORECASE)
"""The first of two numbers with one verb: "A boy and 2 girls are ..."."""
_NO_NOUN = r"(?:of|in|on|at|are|is|was|were|and|or|but|total|altogether|overall|here|there|visible|shown|per)"
_NOUN: Final = re.compile(rf" (?!{_NO_NOUN}\b)((?:[a-z]+ )?[a-z]{{3,}})", re.IGNORECASE)
"""What a number counts, with an adjective or what follows it."""
_WORD: Final = re.compile(r"[a-z]{3,}")
_TOTAL_WORDS: Final = frozenset({"number", "count", "amount", "altogether", "overall"})
_NOT_ANY: Final = r"(?:\b(?:no|zero|not any|not a single|without(?: any)?)|(?:n't|\bnot)(?: see)? (?:any|a single))"
_SHOWN: Final = (
    r"(?: (?:are|is)(?: \w+)?)?(?: (?:in|on) (?:the|this|that) (?:image|picture|photo|scene))?"
    r"(?=[.,;:!]| and\b| but\b|\Z)"
)
_SUM_FOLLOWS: Final = re.compile(
    r"(?:=|\b(?:gives?|giving|makes?|making|totals?|equals?|is|are|so)\b)[^\d.!?;]{0,40}\d+\D*\Z"
)
_PARTS_FOLLOW: Final = re.compile(rf"\D*{NUMBER.pattern}(?: ?[:(–—]|,? namely\b)")
_DENIES = lazily(rf"{NOT}|\b(?:none|without)\b|n't\b", re.IGNORECASE)
_MOST_PARTS: Final = 30
_MOST_DIGITS: Final = 15
"""Python refuses to read thousands of them."""


def numbers_in(text: str) -> list[str]:
    """All numbers of a text, in digits and without commas."""
    return [match[0].replace(",", "") for match in NUMBER.finditer(text)]


def _is_whole(number: str) -> bool:
    return number.isdecimal() and len(number) <= _MOST_DIGITS


def _names(counted: str) -> list[str]:
    return list(takewhile(lambda word: word not in _NOT_NAMES, counted.split()))


def _name(counted: str) -> str:
    """The stem of the last name of what is counted; "more" and the like for a comparison; "" without a name."""
    names = _names(counted)
    if not names or names[0] in _COMPARES:
        return names[0] if names else ""
    return names[-1].removesuffix("s").removesuffix("e")


def _stem(word: str) -> str:
    return word.removesuffix("s").removesuffix("ing")[:5]


_HAS = re.compile(r"\b(?:do|does|did) (?:(?:the|an?|this|that|these|those|each|every) )?\w+(?= )")


def _part_asked_for(counted: str) -> frozenset[str]:
    """Stems of the words that restrict what is counted: "wear" and "hat" in "people are wearing hats".

    Who has what is counted doesn't restrict it: "wheels does the truck have".
    """
    rest = _HAS.sub("", " ".join(counted.split()[len(_names(counted)) :])).split()
    return frozenset(_stem(word) for word in rest if word not in _NO_PART)


def without_whole_set(text: str, counted: str) -> str:
    """A text without the number of all things, if only some of them are counted and it has another number."""
    left = _WHOLE_SET.sub(" ", text) if _part_asked_for(counted) else text
    return left if NUMBER.search(left) else text


_BEFORE_THING_WORDS = "the a an each every this that these those of in on at with per do does did"
_BEFORE_THING: Final = frozenset(_BEFORE_THING_WORDS.split())
_NO_ADJECTIVE = re.compile(rf" (?:have|has|had|with|{_NO_NOUN})\b")


def _things_beside(counted: str) -> frozenset[str]:
    """Stems of other things in what restricts the count: "wire" in "birds are on the wires", no "red" in "are red"."""
    rest = counted.split()[len(_names(counted)) :]
    senses = [word for word in rest if word not in _NO_PART]
    last = senses[-1:] if len(senses) > 1 else []
    after = [word for before, word in pairwise(rest) if before in _BEFORE_THING]
    return frozenset(_stem(word) for word in (*after, *last) if word not in _NO_PART)


def _counts_thing(following: str, asked: frozenset[str], things: frozenset[str]) -> bool:
    """Whether the words after a number begin with such a thing, or with an adjective and such a thing."""
    words = [_stem(word) for word in following.lower().split()[:2]]
    if not words or words[0] in things:
        return bool(words)
    return words[-1] in things and words[0] not in asked and not _NO_ADJECTIVE.match(following)


_CLAUSE_END = re.compile(r"[,;:.!?](?=\s|$)|\b(?:and|but|while|whereas|although)\b")


def numbers_of_part(text: str, counted: str) -> list[str]:
    """Numbers of those that are counted among all: "5 people; 3 wear hats"; not "3 wires" in "7 birds on 3 wires".

    None where the clause with the number of all is of the part, too: "3 animals have 6 horns".
    """
    asked, things, name = _part_asked_for(counted), _things_beside(counted), _name(counted) or counted
    of_all = (clause.partition(name)[2] for clause in _CLAUSE_END.split(text.lower()) if NUMBER.search(clause))
    if not asked or asked.intersection(map(_stem, next(filter(None, of_all), "").split())) or JOINT.search(text):
        return []
    parts = (
        part
        for part in _PART.finditer(text)
        if asked & {*map(_stem, part[3].lower().split())} and (part[2] or not _counts_thing(part[3], asked, things))
    )
    return [(part[1] or ("0" if part[2] else "1")).replace(",", "") for part in parts if not _DENIES.search(part[3])]


def counted_numbers(text: str, counted: str) -> list[str]:
    """Numbers directly before what the question counts, or one word away from it, or under its name ("birds: 3").

    "How many more birds than cats ..." counts neither of them: there it is the number before "more".
    """
    if not (name := re.escape(_name(counted))):
        return []
    counting = re.compile(
        rf"\b(?:there(?:'s| is)|see|shows|has|contains) an?(?: \w+)? {name}e?{_SHOWN}"
        rf"|(?P<before>\bone\b|\ba single\b|{NUMBER.pattern})(?: (?!\d)[\w-]+)? {name}"
        r"(?!\w{0,2} (?:per|each|every)\b)"
        rf"|\b{name}\w{{0,2}}[\"'*_]{{0,3}} ?[:=|] ?(?P<after>{NUMBER.pattern})"
        r"(?= ?(?:[;}|\n.]|\Z|, ?[\"']?[a-z ]{2,20}[\"']? ?[:=]))",
        re.IGNORECASE,
    )
    numbers = (match["before"] or match["after"] or "one" for match in counting.finditer(text))
    return ["1" if number.lower() in ("one", "a single") else number.replace(",", "") for number in numbers]


def totals_in(text: str, form: re.Pattern[str], counted: str) -> list[str]:
    """Totals of the given form, without those of other things whose parts, or what is counted, have numbers, too."""
    values = numbers_in(text)
    amounts = [int(value) for value in values if _is_whole(value)] if len(values) <= _MOST_PARTS else []
    found = []
    for total in form.finditer(text):
        number = "".join(filter(None, total.groups())).rstrip(".,").replace(",", "")
        noun = _NOUN.match(text, total.end())
        if is_of_others(total[0] + (noun[0] if noun else ""), counted):
            is_sum = len(amounts) > 2 and _is_whole(number) and sum(amounts) == 2 * int(number)
            if is_sum or counted_numbers(text, counted):
                continue
        found.append(number)
    return found


_LACKS = re.compile(r"(?:i|(?:the|this) \w+) (?:do|does|can)(?:n't|n’t|not| not)", re.IGNORECASE)


def may_be_none(text: str, counted: str) -> bool:
    """Whether a denial is of the counted things: not in "The chart doesn't show any values for Japan"."""
    names = rf"\bany(?:body|one)\b|\b{re.escape(_name(counted))}"
    return not _LACKS.match(text) or re.search(names, text, re.IGNORECASE) is not None


def is_of_others(phrase: str, counted: str) -> bool:
    """Whether a phrase with a total names other things than those that are counted: "5 animals in total"."""
    words = [word for word in _WORD.findall(phrase.lower()) if word not in _NO_PART and word not in _TOTAL_WORDS]
    name = _name(counted)
    return bool(words and name) and not any(word.startswith(name) for word in words)


def counts_others(text: str, end: int, counted: str) -> bool:
    """Whether the number that ends at `end` counts other things."""
    noun = _NOUN.match(text, end)
    return noun is not None and is_of_others(noun[1], counted)


def last_counts_others(text: str, counted: str) -> bool:
    """Whether the last number of a text does so."""
    place = last_match(NUMBER, text)
    return place is not None and counts_others(text, place.end(), counted)


def summed_numbers(text: str, counted: str) -> list[str]:
    """The sum before its parts ("I count 7: 3 here and 4 there") or after them, or the last number of "1, 2, 3, 4".

    It may be that of other things: in a reply with a denial ("7: 3 cats and 4 dogs, and no birds"), or if it names them
    ("3 trees and 1 house, so 4 objects").
    """
    values = numbers_in(text)
    if not 2 < len(values) <= _MOST_PARTS or not all(map(_is_whole, values)) or _DENIES.search(text):
        return []
    first, *_, last = amounts = [int(value) for value in values]
    if 2 * first == sum(amounts) and _PARTS_FOLLOW.match(text):
        return values[:1]
    counts = "1, 2, 3" in text and amounts == [*range(1, len(amounts) + 1)]
    if counts:
        return values[-1:]
    is_sum = 2 * last == sum(amounts) and _SUM_FOLLOWS.search(text)
    return values[-1:] if is_sum and not last_counts_others(text, counted) else []


def none_counted(text: str, counted: str) -> bool:
    """Whether a reply says that there are none, beside numbers of other things: "2 dogs and no birds"."""
    if not (names := _names(counted)) or names[0] in _COMPARES:
        return False
    denial = rf"{_NOT_ANY} {re.escape(' '.join(names).removesuffix('s'))}s?{_SHOWN}"
    others = (counts_others(text, place.end(), counted) for place in NUMBER.finditer(text))
    return re.search(denial, text, re.IGNORECASE) is not None and all(others)

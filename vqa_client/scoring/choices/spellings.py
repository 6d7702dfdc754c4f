"""The other spellings in which a reply may write the text of a choice."""

from typing import Final

from vqa_client.scoring.choices.amounts import with_other_units
from vqa_client.scoring.number_words import SMALL
from vqa_client.scoring.patterns import lazily

_UNIT = lazily(r"(\d) ?(%|°?[^\W\d_]{1,4}\b)")
"""A number and its unit; a reply may write the two with or without a space."""
HYPHEN: Final = lazily(r"(?<=[^\W\d_])-(?=[^\W\d_])")
"""The hyphen in "pot-bound", which a reply may write "pot bound"."""
_DIGIT = lazily(r"\d")
_THOUSANDS = lazily(r"(?<=\d),(?=\d{3}(?!\d))")
_OPENS = lazily(
    r"^(?:(?:it|they|he|she|there|this|that) (?:is|are|was|were|has|have) (?!not )(?=\w+ \w{3})"
    r"|(?:an?|the|it|they) (?=\w{3}))"
)
_MONTHS: Final = "january|february|march|april|may|june|july|august|september|october|november|december"
_RESPELLED: Final = tuple(
    (lazily(spelled), other)
    for spelled, other in (
        (r"(?<=\d) ?°(?!\w)", " degrees"),
        (r"^-(?=\d)", "minus "),
        (r"^-(?=\d)", "negative "),
        (r"(?<=\d) ?deg(?:rees?)?\b", "°"),
        (r"(?<=\d) ?%", " percent"),
        (r"(?<=\d) ?per ?cent\b", "%"),
        (r"\\frac\((\d+)\)\((\d+)\)", r"\1/\2"),
        (r"(?<![\d/])(\d+)/(\d+)(?![\d/])", r"\\frac(\1)(\2)"),
        (r"\\sqrt\((\w+)\)", r"√\1"),
        (r"\\sqrt\((\w+)\)", r"sqrt(\1)"),
        (r"√\(?(\w+)\)?", r"\\sqrt(\1)"),
        (r" ?([-+=]) ?", r"\1"),
        (r"(?<=\w)([-+=])(?=\w)", r" \1 "),
        (r"(?<=\d)[-:](?=\d)", " to "),
        (r"(?<=\d)([:/])(?=\d)", r" \1 "),
        (r"^(\d\S*)-(\d\S*)$", r"between \1 and \2"),
        (r"(?<=\d) to (?=\d)", "-"),
        (r"(?<=\d), ?(?=-?\d{1,2}\b)", ","),
        (r"(?<=\d),(?=-?\d{1,2}\b)", ", "),
        (rf"^({_MONTHS}) (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})$", r"\2 \1 \3"),
        (rf"^(\d{{1,2}}) ({_MONTHS}),? (\d{{4}})$", r"\2 \1, \3"),
    )
)
"""Other spellings of units, signs, fractions, roots, formulas, ranges and dates."""
_RANKS: Final = {"first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th"}
_FULL = lazily(r"\b(?:is|are|not|cannot)\b|^to the (?:left|right) of$")
_CONTRACTED: Final = tuple(
    (lazily(full), contracted)
    for full, contracted in (
        (r"\b(it|that|he|she|there) is\b", r"\1's"),
        (r"\b(they|we|you) are\b", r"\1're"),
        (r"\b(is|are|was|were|does|do|did|has|have) not\b", r"\1n't"),
        (r"\b(?:cannot|can not)\b", "can't"),
        *((r"^to the (left|right) of$", rf"{other} of") for other in (r"\1", r"on the \1", r"on the \1 side")),
    )
)
_SPOKEN: Final = {"yes": ("yeah", "yep", "yup"), "no": ("nope", "nah")}


def writings(text: str) -> dict[str, None]:
    """A text and its other spellings in replies, in order."""
    loose, bare, others = HYPHEN.sub(" ", text).replace("'s", "s"), text, _SPOKEN.get(text, ())
    if _DIGIT.search(text):  # in most choices there is none
        bare = _THOUSANDS.sub("", text)
        words = [word for word, value in SMALL.items() if text == str(value)]
        respelled = [spelled.sub(other, text) for spelled, other in _RESPELLED if spelled.search(text)]
        spaced = (_UNIT.sub(r"\1\2", text), _UNIT.sub(r"\1 \2", text))
        others = (*spaced, *words, *others, *respelled, *with_other_units(text))
    if (rank := text.partition(" ")[0]) in _RANKS:
        others = (*others, text.replace(rank, _RANKS[rank], 1))
    if _FULL.search(text):
        others = (*others, *(short.sub(other, text) for short, other in _CONTRACTED if short.search(text)))
    return dict.fromkeys((text, _OPENS.sub("", bare), *others, loose))

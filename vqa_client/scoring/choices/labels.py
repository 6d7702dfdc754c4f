"""The labels of one question: how they may be written and when a letter is a label at all."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from vqa_client.scoring.boundary import JOINER, joins
from vqa_client.scoring.choices.denials import NOT, NOT_THAT, WRONG
from vqa_client.scoring.plain import plain

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
_WORD = re.compile(r"[^\W_](?:[^\W_]|[\u0900-\u0dff])*")
_SUFFIX: Final = r"'(?:[dt][ıiuü]r|n?[ıiuü]n|[yn]?[ıiuüea]|[dt][ea]n?)\b"
"""A case ending or the copula behind a letter in Turkish: "C'dir"."""
_CLOSERS = re.compile(rf"(?:{_SUFFIX})?[ \"')>*_\x03\x05]*")
_INTO_OWN = re.compile(r"[ \"')>*_\x03\x05]*(?:[:.,=-]+[ \"'(\x02]*)?")
_ATTACHED = re.compile(
    rf"[+#%^@°<\\]|[-/&=]{JOINER}|(?!{_SUFFIX})'{JOINER}|\.[A-Za-z]\.|[.,:]\d"
    r"|_(?=[\w(\\])|\((?:\w{1,2}|\w(?:, ?\w){1,3}|[-\w]{1,4} ?[-+*/] ?\w{1,4})\)"
    r"| ?[=^*·×≈≤≥<∩∪⊂⊆∈∥⊥∧∨≅≡] ?[-+]?[\w(\\|√]| [+/] ?[a-z\d(\\]| > ?\w"
)
"""What makes a letter a name in a formula: "D(x)", "c_1", "B = 3 T", "a + bt", "C++", "A's"."""
_BEING: Final = frozenset(("is", "are", "was", "were", "has", "have"))
_VERDICT = re.compile(
    r"[^.;\n]{0,50}\b(?:correct|right|true|answer|best|better|most|only|closest|nearest|option|choice|statement|valid"
    r"|supported|supports?|consistent|likely|selected|chosen|false|incorrect|wrong|one|match\w*)\b",
    re.IGNORECASE,
)
_VERBS: Final = r"(?:ist|est|es|é|è|is|jest|je|este|är|er|on|là|είναι|هي|هو|היא|הוא|está)"
_OUT = re.compile(
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
        spoken=_whole(spoken),
        source=f"(?:{_alternatives(written)})(?!{JOINER})",
        exact=re.compile(_whole(names)),
    )


def _whole(names: Iterable[str]) -> str:
    return rf"(?<!{JOINER})(?<!{JOINER}['_-])(?:{_alternatives(names)})(?!{JOINER})(?!(?!{_SUFFIX})['_-]{JOINER})"


def _alternatives(names: Iterable[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)) or r"(?!)"


def stands(text: str, end: int, token: str, own_text: str, *, alone: bool = False) -> bool:
    """Whether the label `token` that ends at `end` is a whole answer, by what comes after it.

    `own_text` is the folded text of its choice, which may follow; `alone` allows nothing but the end of a clause.
    """
    if end + 1 >= len(text) and text[end:] in ("", "."):
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

"""The labels of one question: how replies write them, and when a letter is a label."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from vqa_client.scoring.denials import NOT, NOT_THAT, WRONG
from vqa_client.scoring.patterns import JOINER, joins, lazily
from vqa_client.scoring.plain import plain

LOOKALIKES: Final = str.maketrans("АВЕЅІЈКМНОРСТХУΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABESIJKMHOPCTXYABEZHIKMNOPTYX")
"""Cyrillic and Greek capitals that look like Latin ones (Unicode TS 39, confusables)."""
TOKENS_READ: Final = 250
"""Letters to look at, at each end of a runaway reply."""
WORDS: Final = frozenset("AIEOUYÀАВСОУИКЯ")
"""Capitals that are also words (articles, pronouns, conjunctions) in the languages of replies."""

_REASONS = """because since as due based given which whereas while but not rather according is are was over
    instead though unless weil da denn und sondern nicht ist sein car parce puisque qui et mais pas est porque ya pues
    pero es sino no потому так поскольку а и не perché perche mas jest este är er adalah là είναι है является هي هو היא
    הוא"""
_GOING_ON = """and with where for so by from in on at if per the this that these it we my here would can has shows
    correct explanation reason or to than when seems appears fits matches best describes remains must should
    il elle la le les der die das el los en por pour par"""
REASONS: Final = frozenset(_REASONS.split())
"""Words that may follow a complete answer: "A because ..." is an answer, "A bus" is not."""
GOING_ON: Final = REASONS | frozenset(_GOING_ON.split())
"""The same after letters that aren't words: "B the car is blue"."""
_WORD = lazily(r"[^\W_](?:[^\W_]|[\u0900-\u0dff])*")
_SUFFIX: Final = r"'(?:[dt][ıiuü]r|n?[ıiuü]n|[yn]?[ıiuüea]|[dt][ea]n?)\b"
"""A case ending or the copula after a letter in Turkish: "C'dir"."""
_CLOSERS = lazily(rf"(?:{_SUFFIX})?[ \"')>*_\x03\x05]*")
_TO_OWN = lazily(r"[ \"').:)\x03\x05]*")
_INTO_OWN = lazily(r"[ \"')>*_\x03\x05]*(?:[:.,=-]+[ \"'(\x02]*)?")
_NO_WORD: Final = rf"(?! (?!(?:{'|'.join(sorted(REASONS))}|and|or|und|oder|et|ou|y|o|e)\b)[a-z])"
"""After a letter in another case than the question's: a following word makes it a word too."""
IN_FORMULA: Final = lazily(
    rf"[+#%^@°<\\]|[-/&=]{JOINER}|(?!{_SUFFIX})'{JOINER}|\.[A-Za-z]\.|[.,:]\d"
    r"|_(?=[\w(\\])|\((?:\w{1,2}|\w(?:, ?\w){1,3}|[-\w]{1,4} ?[-+*/] ?\w{1,4})\)"
    r"| ?[=^*·×≈≤≥<∩∪⊂⊆∈∥⊥∧∨≅≡] ?[-+]?[\w(\\|√]| [+/] ?[a-z\d(\\]| > ?\w"
)
"""What makes a letter a name in a formula: "D(x)", "c_1", "B = 3 T", "a + bt", "C++", "A's"."""
AGAIN: Final = r"(?:[^\w\n+=/^*×·<>-]{0,3}(?:[^\w\n+=/^*×·<>]|\x03)[^\w\n+=/^*×·<>-]{0,3}(?P=label)(?!\w))*+"
"""The same label again, as in "(C) C" and "B. B", also repeated up to the token limit."""
_BEING: Final = frozenset(("is", "are", "was", "were", "has", "have"))
_VERDICT = lazily(
    r"[^.;\n]{0,50}\b(?:correct|right|true|answer|best|better|most|only|closest|nearest|option|choice|statement|valid"
    r"|supported|supports?|consistent|likely|selected|chosen|false|incorrect|wrong|one|match\w*)\b",
    re.IGNORECASE,
)
_VERBS: Final = (
    r"(?:sind|sont|son|sono|são|zijn|ist|est|es|é|è|is|jest|je|este|är|er|on|là|είναι|هي|هو|היא|הוא|está"
    r"|pass(?:en|t)|stimm(?:en|t))"
)
EXCLUDED: Final = lazily(
    r"[ \"')>\x02-\x05]*(?:[:-] ?)?(?:(?:is|are|was|were|seems|looks|does|do|would|can|could|should)[ \x02]+"
    r"(?:(?:also|clearly|therefore|definitely|simply|obviously|be) )*"
    r"(?:not|wrong|incorrect|false|ruled|eliminated|excluded|implausible|absent|missing|nowhere|unlikely|out"
    r"|an? (?:distractor|decoy|trap|trick))"
    r"|(?:isn|aren|can|couldn|don|doesn|wasn|won|wouldn)'t|cannot|wrong|incorrect|false|ruled out|eliminated"
    rf"|{_VERBS} {NOT}|{NOT}(?! (?:doubt|question|\(?[A-Z]\b)))\b"
    r"|[ )\x03]*(?:选项|項|项)?(?:是|は|が|는|은|가|이|도)? ?(?:错|錯|不正确|不正確|不对|不是|間違|誤り|아니|아닙"
    r"|아닌|틀|吗|(?:では|じゃ)(?:ない|なく|ありません)|(?:是|が|は)?正解では(?:ない|なく|ありません)"
    r"|정답(?:이|은)? ?(?:아니|아닙|아닌))"
    r"|\? (?:no|nope|nein|non)\b"
    rf"|[ )\x03]*(?:(?:{_VERBS}|-) |[はが는은가이도][^.,\nA-Z]{{0,12}}?)?(?:{WRONG}|{NOT_THAT})",
    re.IGNORECASE,
)


class Labels:
    """The labels of one question.

    `written` maps each accepted spelling to its label, without spellings that two labels would share. `source` is regex
    source for any spelling, `exact` for a label as the question spells it, `spoken` also for lower-case letters that
    aren't words; `tokens` finds every candidate.
    """

    def __init__(self, labels: tuple[str, ...]) -> None:
        self.written = written = {plain(label): label for label in labels if plain(label)}
        names = tuple(written)
        for fold in (str.lower, str.upper):
            for name in names:
                if sum(fold(other) == fold(name) for other in names) == 1:
                    written.setdefault(fold(name), written[name])
        for lookalike, latin in LOOKALIKES.items():
            if chr(latin) in names and not any(ord(name[0]) in LOOKALIKES for name in names):
                written.setdefault(chr(lookalike), written[chr(latin)])
        others = _alternatives(written.keys() - {*names})
        spoken = [name for name in written if name in names or (name.islower() and name.upper() not in WORDS)]
        self.spoken, self.exact = _any_of(spoken), lazily(_any_of(names))
        self.source = f"(?:{_alternatives(written)})(?!{JOINER})"
        self.tokens = lazily(rf"(?<!{JOINER})(?:{_alternatives(names)}|(?:{others}){_NO_WORD})(?!{JOINER})")


labels_of = lru_cache(maxsize=256)(Labels)


def _any_of(names: Iterable[str]) -> str:
    return rf"(?<!{JOINER})(?<!{JOINER}['_-])(?:{_alternatives(names)})(?!{JOINER})(?!(?!{_SUFFIX})['_-]{JOINER})"


def _alternatives(names: Iterable[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)) or r"(?!)"


class Token(NamedTuple):
    """A letter of a reply that may be a label, judged by what follows it.

    `stands`: it is separate from the words after it; `means`: it stands, another label is joined to it, or the text of
    its choice follows. `means_alone` and `stands_alone` allow only the end of a clause after it. `own_end` is where the
    text of its choice ends ("(B) blue car"), or the label if that text doesn't follow.
    """

    means: bool
    means_alone: bool
    stands: bool
    stands_alone: bool
    own_end: int


def tokens_of(
    text: str, lower: str, labels: Labels, own: Mapping[str, str], further: re.Pattern[str]
) -> dict[int, Token]:
    """All letters that may be labels, by their ends; in a runaway reply, those at its beginning and end."""
    tokens = list(labels.tokens.finditer(text))
    if len(tokens) > 2 * TOKENS_READ:
        tokens = [*tokens[:TOKENS_READ], *tokens[-TOKENS_READ:]]
    return {token.end(): _token(text, lower, token, labels.written[token[0]], own, further) for token in tokens}


def _token(
    text: str, lower: str, token: re.Match[str], label: str, texts: Mapping[str, str], further: re.Pattern[str]
) -> Token:
    end = token.end()
    if end + 2 >= len(text) and text[end:] in ("", ".", ")", ")."):
        return Token(means=True, means_alone=True, stands=True, stands_alone=True, own_end=end)
    own, own_end = texts[label], end
    if own and (start := _TO_OWN.match(text, end)) and lower.startswith(own, start.end()):
        own_end = start.end() + len(own)
    stands, alone, word = (False, False, "") if IN_FORMULA.match(text, end) else _standing(text, end, token[0])
    if EXCLUDED.match(text, end):
        stands, alone, word = False, False, ""
    if joined := further.match(text, end):
        means = means_alone = not IN_FORMULA.match(text, joined.end())
    elif own and (into := _INTO_OWN.match(text, end)) and lower.startswith(own, into.end()):
        after = into.end() + len(own)
        means = means_alone = not EXCLUDED.match(text, after + text.startswith(",", after))
    else:
        means, means_alone = stands or (word != "" and word in own.split()), alone
    return Token(means=means, means_alone=means_alone, stands=stands, stands_alone=alone, own_end=own_end)


def _standing(text: str, end: int, token: str) -> tuple[bool, bool, str]:
    """`Token.stands`, `Token.stands_alone`, and the next word, which may be the first of the choice's text."""
    closers = _CLOSERS.match(text, end)
    at = closers.end() if closers else end
    following = text[at : at + 1]
    if following == "?":
        return False, False, ""
    if not joins(following):
        return True, True, ""
    match = _WORD.match(text, at)
    word, closed = match[0] if match else "", text[end:at].strip("\"' ") != ""
    reasons = word.lower() in REASONS
    alone = _VERDICT.match(text, at) is not None if word.lower() in _BEING else reasons
    if (token in WORDS or token.islower()) and not closed:
        return reasons, alone, ""
    stands = closed or word[0].isupper() or word[0].isdecimal() or word.lower() in GOING_ON
    return stands, alone, word.lower()

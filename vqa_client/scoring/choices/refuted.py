"""What takes the meaning of an answer from a letter: denied, doubted, supposed, lent to others, or called wrong."""

import re
from functools import lru_cache
from typing import Final

from vqa_client.scoring.choices.grammar import ChoiceReply
from vqa_client.scoring.choices.options import WORDS, stands
from vqa_client.scoring.denials import NOT, NOT_SIGNS, NOT_THAT, NOT_WORDS, WRONG
from vqa_client.scoring.patterns import any_word, lazily

SENTENCE_READ: Final = 120
"""Characters before a phrase that are looked at; a bound on the time that one sentence without an end can take."""
_END = lazily(
    r"[!?;\n।]|[.](?=\s)(?:(?<!\b[^\W\d_][.])|(?<=[=+*/^<>×·] \w[.])|(?<=[=+*/^<>×·]\w[.])|(?<=[a-z][.])(?= [A-Z])"
    r"|(?= (?:The|This|So|Thus|Therefore|Hence|It|That|We|In|Since|Then|Looking|However|Actually|Now)\b)"
    r"|(?= (?:Option|Answer|Final|Correct)\b))"
)
"""A sentence's end; a letter and a full stop are a label ("B. blue car") unless a formula ends there ("= V. The")."""

_GO_ON = r"(?!\b(?:but|so|therefore|thus|hence|sure|certain|only|sondern|mais|sino|mas|ma|question|doubt)\b)"
"""After these words a denial is over, or never was one: "not only", "no doubt"."""
_DENYING = r"""
    not|never|cannot|neither|nor|without|nobody|lack\w*|m(?<=\bis m|[ra][es] m|'s m)issing(?! (?:is|was)\b)|absent
    rul\w+|e(?<!by e)(?<!of e)liminat\w+|exclud\w+|reject\w+|dismiss\w+|discard\w+|confus\w+|mistak\w+|unlike|except
    avoid\w*|contrary|compared|versus|than|against|instead of
"""
"""The English words; "missing" denies only what "is missing": in "the missing value" it says what is asked for.

What "by elimination" is left is meant.
"""
_NEGATED = lazily(
    rf"(?:\b{any_word(_DENYING, NOT_WORDS)}\b|n't\b|{NOT_SIGNS}|ない|아니)"
    rf"(?:{_GO_ON}[^,:;().]){{0,24}}$",
    re.IGNORECASE,
)
_DOUBTED = lazily(
    r"(?:\b(?<!no )(?<!without )(?<!without a )(?<!beyond )(?<!little )(?<!reason to )doubt(?:s|ed|ful|ing)?\b"
    r"|\b(?:unlikely|improbable)\b|(?:\bnot|n't) (?:\w+ )?(?:sure|certain|convinced|confident|clear)\b"
    r"|\bno (?:evidence|reason|proof|indication|sign)\b"
    r"|\bwrong to\b|\b(?:не (?:думаю|считаю|уверена?)|nie (?:sądzę|myślę)|nemyslím(?: si)?|nem hiszem"
    r"|(?:glaube|denke) nicht),? (?:что|żeby|że|že|hogy|dass))"
    r"(?:(?!\b(?:but|so|therefore|thus|hence|doubt)\b)[^,:;().]){0,40}$",
    re.IGNORECASE,
)
_SUPPOSED = lazily(
    r"(?:\b(?:if|whether|unless|suppose|supposing|assuming"
    r"|wenn|falls|ob|si|czy|zda|dacă|если|ли|чи|якщо|where|such as|e\.g\.|before (?:i|we|you|one) (?:can|could))\b"
    r"|如果|若|假如)"
    r"[^,:;().]{0,24}$",
    re.IGNORECASE,
)
_ATTRIBUTED = lazily(
    r"\b(?:one|you|students?|people|someone|somebody|some|many|others?|they|he|she|tempt\w+|user|prompt|hint|caption)\b"
    r"(?: \w+){0,3}"
    r" (?:think|say|believe|assume|choose|pick|select|conclude|answer|guess|argue|claim|consider|go)\w*"
    r"(?: that| with| for)?(?: the| an?)?(?: \w+)?$"
    r"|\b(?:(?<!second )thought|believed|assumed|initially|originally|at first)\b"
    r"(?:(?!\b(?:but|however|yet|now)\b)[^:;]){0,60}$",
    re.IGNORECASE,
)
_DISQUALIFIED = lazily(
    r"\b(?:wrong|incorrect|false|initial|previous|earlier|tempting|naive|other|possible|potential|alternative|second|third|next|each|every|any"
    r"|falsche|mauvaise|неправильный|неверный|错误的?|不正确的?|错的)(?: the)? ?$",
    re.IGNORECASE,
)


def sentence_before(text: str, at: int) -> str:
    """The part of the sentence that lies before `at`; a label's own full stop ("B. blue car") ends no sentence."""
    before = text[max(0, at - SENTENCE_READ) : at]
    ends = [end.end() for end in _END.finditer(before)]
    return before[ends[-1] :] if ends else before


@lru_cache(maxsize=4096)
def refuted(before: str, word: str = "") -> bool:
    """Whether the words `before` a declaration that starts with `word` deny it, suppose it or lend it to others.

    Replies begin alike, so it is kept for the next ones.
    """
    if not before:
        return False
    said = before + word
    return _DISQUALIFIED.search(before) is not None or any(
        words.search(said) for words in (_NEGATED, _DOUBTED, _SUPPOSED, _ATTRIBUTED)
    )


def supposed(before: str) -> bool:
    """Whether the words `before` a letter only suppose it: "whether C is right"."""
    return _SUPPOSED.search(before) is not None


def attributed(before: str) -> bool:
    """Whether the words `before` lend it to others or to an earlier thought: "At first I thought it was" """
    return _ATTRIBUTED.search(before) is not None


def negated(before: str) -> bool:
    """Whether the words `before`, up to a letter or a text, exclude it."""
    return _NEGATED.search(before) is not None or _DOUBTED.search(before) is not None


_STOP: Final = lazily(r"[.!?;\n।]")
_CLAUSE: Final = lazily(rf"(?:(?!{NOT_THAT})[^,]){{1,120}}(?:{NOT_THAT}(?:\s?है)?)?", re.IGNORECASE)
_NOT: Final = lazily(NOT, re.IGNORECASE)
_NOT_THAT: Final = lazily(rf"{NOT_THAT}(?:\s?है)?$", re.IGNORECASE)
_WRONG: Final = lazily(WRONG, re.IGNORECASE)
_REACH: Final = 24
"""Characters behind a denial in which the letter that it denies is looked for."""


def affirmed(reply: ChoiceReply, at: int) -> tuple[str, int] | None:
    """The only label that the sentence around `at` affirms, and where it ends."""
    start = at - len(sentence_before(reply.text, at))
    ends = _STOP.search(reply.text, at, at + SENTENCE_READ)
    stop = ends.start() if ends else min(len(reply.text), at + SENTENCE_READ)
    if reply.text[stop : stop + 1] == "?":
        return None
    kept: dict[str, int] = {}
    dropped: set[str] = set()
    for clause in _CLAUSE.finditer(reply.text, start, stop):
        labels = _labels(reply, *clause.span())
        left_out = _denied(reply.text, clause, labels)
        dropped |= {label for label, _ in left_out}
        kept |= dict(each for each in labels if each not in left_out)
    left = [(label, end) for label, end in kept.items() if label not in dropped]
    return left[0] if len(left) == 1 else None


def _labels(reply: ChoiceReply, start: int, stop: int) -> list[tuple[str, int]]:
    """The labels between two places that are no words and no part of a choice's text, each with its end."""
    patterns, texts = reply.patterns.labels, reply.texts.own
    found = [each for each in patterns.exact.finditer(reply.text, start, stop) if each[0].isupper()]
    if not found:
        return []
    said = reply.lower[start:stop]
    quoted = [text for text in map(texts.__getitem__, reply.texts.labels) if len(text) > 1 and text in said]
    return [
        (patterns.of(each[0]), each.end())
        for each in found
        if each[0] not in WORDS or stands(reply.text, each.end(), each[0], "")
        if not supposed(reply.text[start : each.start()])
        if not any(re.search(rf"\b{re.escape(each[0].lower())}\b", text) for text in quoted)
    ]


def _denied(text: str, clause: re.Match[str], labels: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Those of the labels of one clause that its words deny or call wrong."""
    start, stop = clause.span()
    if _NOT_THAT.search(text, start, stop):
        return labels
    if denial := _NOT.search(text, start, stop):
        behind = [each for each in labels if denial.end() < each[1] <= denial.end() + _REACH]
        return behind or labels
    return labels if _WRONG.search(text, start, stop) else []

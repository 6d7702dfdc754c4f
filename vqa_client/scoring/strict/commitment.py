"""Whether a reply commits to an answer that it contains: it doesn't deny it, and offers no other.

A mention counts if its clause means it (`clauses`). Among the mentions that count:

1. a line labelled as the answer ("Final answer: 7421"; the last such line) decides alone;
2. a correction ("1183 - sorry, I mean 7421") withdraws all before it;
3. a statement ("is 7421", a line of its own) outweighs a mere mention; a list ("7421, 1183 or 9920") states nothing;
4. two different answers cancel each other.

Numbers compete unless they have different roles (`numbers`) or units. Words compete with the answer in a list or an
"or" with it, and if the reply names another thing as the secret, hidden or correct one.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Final, TypeVar

from vqa_client.scoring import denials
from vqa_client.scoring.patterns import lazily, line_end
from vqa_client.scoring.strict.clauses import MEDIUM, Clauses, denies, says_plainly
from vqa_client.scoring.strict.numbers import Number, answering, within

_Mention = TypeVar("_Mention")
_MENTIONS: Final = 60
"""Of more mentions, only the first and the last ones are read; such a reply is hardly an answer."""
_READ: Final = 40
"""Characters around an answer to search for a list; bounds the time for one answer."""
_FAR: Final = 80
_LINES: Final = 3
_WORDS: Final = 3
_SHORT: Final = 5
_MARKER = lazily(r"(?:[-*•][ \t]+)?\(?\d{1,3}[.)][ \t]+(?=\S)|[-*•][ \t]+")
_ANSWER_WORDS = (
    r"answers?|secret(?:[ _]\w+)?|final_answer|correct_answer|result|antwort|reponse|respuesta|resposta"
    "|risposta|antwoord|svar|odpowiedz|cevap|ответ|答案|答え|回答|正解|정답|답"
)
_ANSWER_LINE = lazily(
    r"(?:^|[\n.!?] ?)[ \t\"'>*_#-]*(?:(?:so|therefore|thus|hence|and),? )?(?:(?:the|my|our|die|la) )?"
    rf"(?:(?:final|correct|short|right|best|endgultige|finale) )*(?P<label>{_ANSWER_WORDS})(?: finale?)?"
    r"[*_\"']{0,3} ?(?:: ?\|?|\n|(?<=final answer) is\b)[ \n*_]*",
    re.IGNORECASE,
)
_AND = (
    r"and|or|oder|und|ou|et|y|e|o|of|en|och|og|eller|i|и|или|або|και|or maybe|or perhaps|and also|和|或|と|、|및|또는"
)
_LISTED = lazily(
    rf"(?: ?\([^()\d]{{0,20}}\d{{0,3}}\)| (?:in|on|for|at) (?:the )?\w+)?"
    rf"[\s,;/|&*_`\"'()\[\]•-]*(?:(?:{_AND})[\s*_`\"'(]*)?",
    re.IGNORECASE,
)
_ASIDE = lazily(r"\([^()]{0,200}\)")
_POINTS_BACK = lazily(
    r"\b(?P<asked>(?:(?:secret|correct|right|hidden)(?: one| number)?|it) is |it's )?"
    r"the (?:(?P<first>first|former|earlier)|second|last|latter|later)"
    r"(?: one| number| of (?:these|those|them|the two))?"
    r"(?(asked)\b| (?:is|was|being) (?:the )?(?:secret|correct|right|answer|hidden|final)\b)",
    re.IGNORECASE,
)

_OR = "or|oder|ou|o|eller|lub|czy|veya|или|або|als auch|wie auch"
_ITEM = r"(?:(?:the|a|an) )?\w+"
CATEGORY = (
    "animal|bird|city|town|capital|colou?r|flower|fruit|element|planet|instrument|gemstone|stone|tree|metal|spice|word"
    "|name|country|river|secret|answer|well-known|famous"
)
_OTHERS = lazily(
    r"[ ,-]*\bor(?:,| rather\b)|"
    rf",? \(?(?:{_OR}|nor"
    rf"|(?:(?<=, )|(?<=; ))(?:maybe|perhaps|possibly)) (?!(?:any|more|less|so|not|something)\b){_ITEM}"
    rf"|(?: ?[,;/|] ?{_ITEM}){{1,3}},? or {_ITEM}|[.]? (?:maybe|perhaps|possibly) {_ITEM}\W"
    rf"|[,;.]? (?:as well as|failing that|alternatively)\b|(?: ?[,;/|] ?{_ITEM}){{2}}(?= ?[,;/|.]| and | -| ?$)"
    rf"|(?:,? ?{_ITEM},?)? (?:and|&) {_ITEM}[.,]? ?(?:$|\n|(?:are|were|both|the (?:latter|second|last))\b)"
    rf"| ?(?:[/|>]|->|=>|[→⇒➔➜➡]) ?\w",
    re.IGNORECASE,
)
_OTHERS_BEFORE = lazily(
    rf"(?:\w,? (?:{_OR})(?: the| an?| maybe| perhaps)?"
    rf"|(?:^|[\s:]){_ITEM} ?[,;/|] ?{_ITEM} ?(?:[,;/|]|,? and)(?: the| an?)?"
    rf"|(?:^|: | (?:is|are) ){_ITEM} (?:and|&)(?: the| an?)?|\w ?[/|] ?"
    rf"|\b(?:either|between|both|entweder|sowohl)(?: {_ITEM}(?::\w+)? and)?(?: the| an?)?"
    rf"|(?:maybe|perhaps|possibly) {_ITEM}[,;] (?:maybe|perhaps|possibly))[\"'*_ ]*$",
    re.IGNORECASE,
)
_AROUND: Final = tuple(
    (lazily(before, re.IGNORECASE), lazily(after, re.IGNORECASE))
    for before, after in (
        (rf"(?:^|: | (?:is|are|be) ){_ITEM} ?[,;/|] ?(?:(?:the|an?) )?$", rf" ?[,;/|] ?(?:and |or )?{_ITEM}[.]? ?$"),
        (r"\w, (?:the |an? )?$", r", and \w"),
        (rf"\bis (?:the|an?) (?!(?:{CATEGORY}|\w+ly|\w+ed)\b)\w+ $", r"[\"'*]*[.!]?(?:\n|$)"),
        (r"\b(?:possible \w+|answers|candidates|options|possibilities): (?:\w+, )*$", r", \w"),
        (r"\b(?:possible \w+|answers|candidates|options|possibilities): (?:\w+, )+$", r""),
        (
            r"(?:\ban?|\b(?:is|was)(?: the)?|'s) $",
            r" (?!(?:then|too|here|there|indeed|instead|now|again|today|though|only|alone|itself)\b"
            r"|\w+(?:ly|ed)\b|\w{3,}ing\b)[a-z]+(?:[.,;!?\n]|$)",
        ),
        (r"\b(?:from|left|leaving|as(?: \w+){1,2} as)(?: the)? $", r" (?:(?:in)?to|for|as) \w"),
        (
            r"(?<!\bin )(?<!\bat )(?<!\bon )(?<!\bfrom )$",
            r"(?:'s|(?<=s)') (?!(?:the|an?|my|what|where|in|on|at|\w+ly|\w+ed)\b)\w",
        ),
    )
)
"""What comes before and after one of several answers, or words that only lead to another: "from fox to wolf"."""
_PHRASE = lazily(r"(?:(?! (?:and|but)\b)[^,.;!?\n()])*")
_APPOSITION = lazily(
    r"(?:,|:|;|\(|\b(?:as|namely|called|named|and so|it|it's|is|was|says|says:))[ \"'(]*(?:the |an? )?$"
)
_DECLARES = lazily(
    r"(?P<topic>\b(?:secret|hidden|gesucht|geheim|secre[te]|segret|hemlig|hemmelig|tajn)\w*(?: \w+){0,2}?"
    r" (?:is|was|ist|war|est|etait|es|era|e|ar|er|var|jest|je|:)(?!\w)(?! \w+ed\b)"
    r"|\b(?:text|document|passage|source|caption|letter|memo|label|page \d+)"
    r"(?:, which| it)? (?:says|reads|gives|names|states)\b"
    rf"|(?:^|\n|\bthe )(?:{CATEGORY})(?:: | is ))"
    r"|(?P<corrects>\b(?:correct|right|actual|real|true)(?: \w+){0,2}? (?:is|was|:)|\bi meant|\bturn(?:s|ed) out to be"
    rf"|\b(?:but|now) (?:it(?:'s| is| was)|the (?!(?:{MEDIUM})\b)\w+ is)(?: (?:really|actually|in fact|now))?"
    r"|\b(?:wait|actually|sorry|i mean|make that|correction|edit)\W+(?:no\W+)?(?:it(?:'s| is| was) )?|\.\.\. ?no,)",
    re.IGNORECASE,
)
_NAMED_OTHERWISE = lazily(
    r"\b(?!(?:it|this|that|what|which|who|one|here|there|he|she|not|page|word|name|sentence|line|\w+ed|\w+ly)\b)([^\W\d_][\w'-]*)[\"']*"
    r" (?:is|was)(?: \w+ed)?(?: as)? the (?:secret|hidden|correct|right)\b",
    re.IGNORECASE,
)
_OTHER_WORDS = lazily(
    r"[\s:]*\"?(?:(?:the|an?) )?"
    r"(?!(?:in|on|at|by|the|not|it|that|that's|hidden|mentioned|given|found|stated|shown|clear|hard|difficult|\w+ly)\b)"
    r"\w[\w'-]*(?: \w[\w'-]*)?\W{0,2}(?:$|[.\n!,;])",
    re.IGNORECASE,
)


def commits_to_number(text: str, numbers: Iterable[Number], gold: Number, *, declines: bool, secret: bool) -> bool:
    """Whether `text`, which contains `numbers`, gives only `gold`; a text that `declines` must state it.

    A `secret` is never a page, a date, an amount, or a number that the reply gives another name.
    """
    every = _first_and_last([number for number in numbers if not number.compound or number.answers(gold)])
    if len(every) == 1 and says_plainly(text, every[0].start, every[0].end):
        return True
    line = _answer_line(text)
    inside = [number for number in every if line[0] <= number.start < line[1]]
    if inside or _says_enough(text[slice(*line)]):
        every = inside
    clauses = Clauses(text, [number.start for number in every], secret=secret)
    if clauses.says_absent():
        return False
    answers = answering(text, every, secret=secret)
    none = declines or clauses.nowhere > 0
    if not answers and (none or secret):
        return False
    meant = _numbers_meant(clauses, answers or every)
    kinds = {number.kind for number in meant if number.answers(gold)}
    meant = [number for number in meant if number.kind in kinds]
    if chosen := _number_pointed_at(text, meant):
        return chosen.answers(gold)
    meant = [number for number in meant if clauses.answers(number.start, number.end)]
    meant = [hit for hit in meant if hit.start >= clauses.nowhere or clauses.speaks_of_topic(hit.start, hit.end)]
    listed = {number.start for pair in pairwise(meant) if _in_one_list(text, *pair) for number in pair}
    if stated := _numbers_stated(clauses, [number for number in meant if number.start not in listed]):
        return all(number.answers(gold) for number in stated)
    if none or listed or not meant:
        return False
    asides = [aside.span() for aside in _ASIDE.finditer(text)]
    return all(number.answers(gold) or within(number, asides) for number in meant)


def commits_to_text(text: str, spans: list[tuple[int, int]], *, declines: bool) -> bool:
    """Whether `text` gives only the words at `spans`; a text that `declines` must state them."""
    every = spans = _first_and_last(spans)
    if len(spans) == 1 and says_plainly(text, *spans[0]):
        return True
    line = _answer_line(text)
    inside = [span for span in spans if line[0] <= span[0] < line[1]]
    if inside or _says_enough(text[slice(*line)]):
        spans = inside
    clauses = Clauses(text, [start for start, _ in every])
    if clauses.says_absent():
        return False
    untils = [*(start for start, _ in spans), len(text)][1:]
    meant = [
        span
        for span, until in zip(spans, untils, strict=True)
        if clauses.answers(*span) and clauses.stands_by(*span, until) and not _one_of_several(text, *span)
    ]
    return bool(meant) and not _declares_others(clauses, meant, every, declines=declines)


def lists_lines(reply: str) -> bool:
    """Whether a reply is only a list of different short lines, at least three, or two with markers: candidates."""
    lines = {line.strip() for line in reply.splitlines() if ": " not in line} - {""}
    bare = {_MARKER.sub("", line, count=1).strip(" .") for line in lines}
    enough = _LINES - all(map(_MARKER.match, lines))
    return len(bare) >= enough and all(len(line) <= _READ and line.count(" ") < _WORDS for line in bare)


def _first_and_last(mentions: list[_Mention]) -> list[_Mention]:
    return mentions if len(mentions) <= _MENTIONS else mentions[: _MENTIONS // 2] + mentions[-_MENTIONS // 2 :]


def _answer_line(text: str) -> tuple[int, int]:
    """Start and end of the last line labelled as the answer; (0, 0) without one, or with one per secret."""
    labels, line = set(), (0, 0)
    for match in _ANSWER_LINE.finditer(text):
        labels.add(match["label"].lower())
        line = (match.end(), line_end(text, match.end()))
    return (0, 0) if len(labels) > 1 and all(" " in label for label in labels) else line


def _says_enough(line: str) -> bool:
    """Whether an answer line without the gold answer settles that it isn't given: it is short, or a denial."""
    return bool(line.strip()) and (line.count(" ") < _SHORT or denies(line.lower()))


def _numbers_meant(clauses: Clauses, numbers: list[Number]) -> list[Number]:
    """The numbers that the text stands by, after its last correction."""
    meant: list[Number] = []
    untils = [*(number.start for number in numbers), len(clauses.text)][1:]
    for number, until in zip(numbers, untils, strict=True):
        if clauses.stands_by(number.start, number.end, until):
            if meant and denials.CORRECTS.search(_between(clauses.text, meant[-1], number)):
                meant.clear()
            meant.append(number)
    return meant


def _number_pointed_at(text: str, numbers: list[Number]) -> Number | None:
    """The number that the text refers back to: "the later one is the secret"."""
    back = _POINTS_BACK.search(text) if len(numbers) > 1 else None
    before = [number for number in numbers if back and number.start < back.start()]
    return before[0 if back and back["first"] else -1] if len(before) > 1 else None


def _numbers_stated(clauses: Clauses, numbers: list[Number]) -> list[Number]:
    """The numbers that the text states, after the last place where it prefers one to another."""
    stated: list[Number] = []
    for number in numbers:
        if clauses.states(number.start, number.end):
            if stated and denials.PREFERS.search(_between(clauses.text, stated[-1], number)):
                stated.clear()
            stated.append(number)
    return stated


def _in_one_list(text: str, left: Number, right: Number) -> bool:
    return (
        left.value != right.value
        and right.start - left.end <= _READ
        and _LISTED.fullmatch(text, left.end, right.start) is not None
    )


def _between(text: str, left: Number, right: Number) -> str:
    return text[max(left.end, right.start - _FAR) : right.start].lower()


def _one_of_several(text: str, start: int, end: int) -> bool:
    """Whether the words at text[start:end] are in a list, or next to an "or"."""
    before = text[max(0, start - _READ) : start].replace('"', "")
    after = text[end : end + _READ].replace('"', "")
    if _OTHERS.match(after) or _OTHERS_BEFORE.search(before):
        return True
    return any(right.match(after) and left.search(before) for left, right in _AROUND)


def _declares_others(
    clauses: Clauses, spans: list[tuple[int, int]], every: list[tuple[int, int]], *, declines: bool
) -> bool:
    """Whether the text names something other than the words at `every` as the answer."""
    text = clauses.text
    stated = any(
        clauses.states(*span) and (span[0] >= clauses.nowhere or clauses.speaks_of_topic(*span)) for span in spans
    )
    named = any(clauses.is_subject(*span) for span in spans)
    declared = not stated and (declines or clauses.nowhere > 0)
    for match in _DECLARES.finditer(text):
        phrase = _PHRASE.match(text, match.end(), match.end() + _FAR)
        end = phrase.end() if phrase else match.end()
        sentence = clauses.sentence(match.end())
        if any(
            match.start() <= start and clauses.sentence(start) == sentence and _belongs_to_phrase(text, start, end)
            for start, _ in every
        ):
            declared, stated, named = False, True, True
        elif not denies(text[match.end() if match["corrects"] else match.start() : end].lower()) and _OTHER_WORDS.match(
            text, match.end(), match.end() + _READ
        ):
            after = match["corrects"] is not None and match.start() > spans[-1][0]
            declared = declared or after or not (named if match["topic"] else stated)
    return declared or any(
        not any(start <= other.start(1) < end for start, end in every) and clauses.stands_by(*other.span(1), len(text))
        for other in _NAMED_OTHERWISE.finditer(text)
    )


def _belongs_to_phrase(text: str, start: int, end: int) -> bool:
    """Whether `start` is in the phrase that ends at `end`, or in an apposition to it: "the capital, Oslo"."""
    return start <= end or _APPOSITION.search(text, end, start) is not None

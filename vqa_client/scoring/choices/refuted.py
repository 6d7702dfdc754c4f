"""Words that keep a letter or a text from being the answer: they deny, doubt, suppose, attribute or disqualify it."""

import re
from functools import lru_cache
from itertools import islice
from typing import Final

from vqa_client.scoring.choices.choice_reply import ChoiceReply
from vqa_client.scoring.choices.grammar import RIGHT_SIGNS, SAYS_RIGHT
from vqa_client.scoring.choices.labels import WORDS
from vqa_client.scoring.denials import EXCEPT, IMPOSSIBLE, LEAST, NOT, NOT_SIGNS, NOT_THAT, NOT_WORDS, WRONG
from vqa_client.scoring.patterns import any_word, lazily, line_end

SENTENCE_READ: Final = 120
"""Characters to look at before a phrase; bounds the time for a sentence without an end."""
_END: Final = (
    r"[!?;\n।]|[.](?=\s)(?:(?<!\b[^\W\d_][.])|(?<=[=+*/^<>×·] \w[.])|(?<=[=+*/^<>×·]\w[.])|(?<=[a-z][.])(?= [A-Z])"
    r"|(?= (?:The|This|So|Thus|Therefore|Hence|It|That|We|In|Since|Then|Looking|However|Actually|Now)\b)"
    r"|(?= (?:Option|Answer|Final|Correct)\b))"
)
"""The end of a sentence; a letter with a full stop is a label ("B. blue car") unless it ends a formula ("= V. The")."""

_SENTENCE_BEFORE: Final = lazily(rf"(?s:(?:.*(?:{_END}))?(.*)\Z)")
_GO_ON = r"(?!\b(?:but|so|therefore|thus|hence|sure|certain|only|sondern|mais|sino|mas|ma|question|doubt)\b)"
"""These words end a denial, or show that it isn't one: "not only", "no doubt"."""
_DENYING = r"""
    not|never|cannot|neither|nor|without|nobody|lack\w*|m(?<=\bis m|[ra][es] m|'s m)issing(?! (?:is|was)\b)|absent
    rul\w+|e(?<!by e)(?<!of e)liminat\w+|exclud\w+|reject\w+|dismiss\w+|discard\w+|confus\w+|mistak\w+|unlike|except
    avoid\w*|contrary|compared|versus|than|against|instead of
"""
"""English words; "is missing" denies, but "the missing value" is what the question asks for.

"By elimination" denies nothing: it leads to the answer.
"""
_NEGATED = lazily(
    rf"(?:\b{any_word(_DENYING, NOT_WORDS)}\b|n't\b|{NOT_SIGNS}|ない|아니"
    rf"|\b(?:any|every)(?:thing|one|body|where)?\b[^,:;().]{{0,20}} (?:{EXCEPT})\b)"
    rf"(?:{_GO_ON}[^,:;().]){{0,24}}$",
    re.IGNORECASE,
)
_DOUBTED = lazily(
    r"(?:\b(?<!no )(?<!without )(?<!without a )(?<!beyond )(?<!little )(?<!reason to )doubt(?:s|ed|ful|ing)?\b"
    r"|\b(?:unlikely|improbable)\b|(?:\bnot|n't) (?:\w+ )?(?:sure|certain|convinced|confident|clear)\b"
    r"|\bno (?:evidence|reason|proof|indication|sign)\b"
    rf"|{IMPOSSIBLE}|\bno way\b|\brefus\w+ to\b|\b(?:a mistake|wrong) to\b"
    r"|\b(?:не (?:думаю|считаю|уверена?)|nie (?:sądzę|myślę)|nemyslím(?: si)?|nem hiszem"
    r"|(?:glaube|denke) nicht),? (?:что|żeby|że|že|hogy|dass))"
    r"(?:(?!\b(?:but|so|therefore|thus|hence|doubt)\b)[^,:;().]){0,40}$",
    re.IGNORECASE,
)
_SUPPOSED = lazily(
    r"(?:\b(?<!\bas )(?:if|whether|unless|suppose|supposing|assuming"
    r"|wenn|falls(?! (?:in|into|on|to|between|within|under)\b)"
    r"|ob|si|czy|zda|dacă|если|ли|чи|якщо|where|such as|e\.g\.|before (?:i|we|you|one) (?:can|could))\b"
    r"|如果|若|假如)"
    r"[^,:;().]{0,24}$",
    re.IGNORECASE,
)
UNREAL: Final = (
    r"(?:(?<!\bas )\bif (?:(?!(?:i|we|you|one)\b)[^,.;:]{1,60}?\b(?:were|was|had)\b"
    r"|(?:i|we) (?:could|(?:was|were) able to) (?:see|view|read|open|access|zoom|look)\b)"
    r"|^\W*(?:had|were) (?!i (?:to|forced|asked)\b)\w)"
)
"""A condition that isn't met; "if I had to guess" is not such a condition."""
_UNMET = lazily(rf"{UNREAL}(?:[^,.;:]{{0,12}}|[^,.;:]*,[^,.;:]*(?:\bwould|'d)\b[^,.;:]*)$", re.IGNORECASE)
"""Words in such a condition, or in its consequence."""
_ATTRIBUTED = lazily(
    r"\b(?:one|you|students?|people|someone|somebody|some|many|others?|they|he|she|tempt\w+|user|prompt|hint|caption)\b"
    r"(?: \w+){0,3}"
    r" (?:think|say|believe|assume|choose|pick|select|conclude|answer|guess|argue|claim|consider|go)\w*"
    r"(?: that| with| for)?(?: the| an?)?(?: [\w']+){0,2} ?$"
    r"|\b(?:(?<!second )thought|believed|assumed|initially|originally|at first(?!,? (?:and|then)\b))\b"
    r"(?:(?!\b(?:but|however|yet|now|in fact|actually|really)\b)[^:;]){0,60}$",
    re.IGNORECASE,
)
_THE_RIGHT: Final = (
    r"(?:being |be |have been )?(?:correct|right|true|valid|accurate|shown|present|in|an?|the|all|any|th[eo]se|them)\b"
)
_HAS_LEAST: Final = r"(?=least \w+ (?!(?:answer|option|choice|chance|probability|likelihood|one)\b)[a-z])"
LEAST_RIGHT: Final = rf"(?<!\bwith {_HAS_LEAST})(?<!\bwith the {_HAS_LEAST}){LEAST}(?! (?:of|to) (?!{_THE_RIGHT}))"
"""Calls a choice the least likely; not "the lowest probability of error" or "the least likely failure"."""
_DISQUALIFIED = lazily(
    r"(?:\b(?:wrong|less|least|hardly|incorrect|false|initial|previous|earlier|tempting|naive|other|possible|potential"
    r"|alternative|second|third|next|each|every|any|worst|falsche|mauvaise|неправильный|неверный|错误的?|不正确的?|错的)"
    rf"(?: the)?|{LEAST_RIGHT}(?: \w+)?|\bopposite of(?: \w+){{0,2}})[ _-]?$",
    re.IGNORECASE,
)


_OPEN = lazily(r"(?:\bwhether|^\W*if)\b[^,:;().]{0,24}$", re.IGNORECASE)
_CALLED_WRONG = lazily(r"\b(?:wrong|incorrect|false) (?:answer|option|choice|value)s? (?:is|was|are|were)\b[^,:;]*$")
_REFUTED: Final = (_NEGATED, _DOUBTED, _SUPPOSED, _UNMET, _ATTRIBUTED)
"""Words before a declaration that deny, suppose or attribute it; `_DISQUALIFIED` must be right before it."""


def sentence_before(text: str, at: int) -> str:
    """The part of the sentence before `at`; the full stop of a label ("B. blue car") doesn't end a sentence."""
    before: str = _SENTENCE_BEFORE.findall(text, max(0, at - SENTENCE_READ), at)[0]
    return before


def negated(before: str) -> bool:
    """Whether the words before a letter or a text deny or doubt it."""
    return _NEGATED.search(before) is not None or _DOUBTED.search(before) is not None


def denied(before: str) -> bool:
    """Whether the words before a choice's text deny it, leave it open, or attribute it to others or a first guess."""
    return negated(before) or any(words.search(before) for words in (_ATTRIBUTED, _OPEN, _UNMET, _CALLED_WRONG))


@lru_cache(maxsize=4096)
def refuted(before: str, word: str = "") -> bool:
    """Whether the words `before` a declaration that starts with `word` refute it; cached, since many share them."""
    text = before + word
    return before != "" and (_DISQUALIFIED.search(before) is not None or any(words.search(text) for words in _REFUTED))


_CONCEDES = lazily(
    r"\b(?:possibly|perhaps|maybe|(?:might|could|may)(?: also| still)? be)[ \x02(]{1,2}(?:option |choice )?\Z"
    r"|\b(?:(?:al)?though|but|while|whereas|however)\b[^,.;]{0,20}\Z",
    re.IGNORECASE,
)
_CONCEDED = lazily(
    r"[\"') \x03.;]*\Z|[\"') \x03]*(?:is|remains|seems|(?:might|could|may) be)(?: (?:also|still|certainly)){0,2}"
    r" (?:possible|plausible|right|correct)\b"
)
"""Around a label that is only possible beside the likely one: "though C is possible", "possibly C"."""
MENTIONS_READ: Final = 4000
"""Characters at the end of a reply to search for undeclared labels."""
PLACES_READ: Final = 100


def mentioned(reply: ChoiceReply, *, conceded: bool = True) -> set[str]:
    """The labels at the end of the text that are not words and that their sentences don't deny.

    Without `conceded`, leave out those that are only possible beside another: "though C is possible".
    """
    text, start = reply.text, max(0, len(reply.text) - MENTIONS_READ)
    labels: set[str] = set()
    for mention in islice(reply.patterns.labels.exact.finditer(text, start), PLACES_READ):
        token = reply.tokens.get(mention.end())
        spoken = mention[0] in WORDS or mention[0].islower()
        stands = token and (token.stands_alone if spoken else token.stands)
        if stands or reply.patterns.further.match(text, mention.end()):
            before = sentence_before(text, mention.start())
            left_out = not conceded and _CONCEDES.search(before) and _CONCEDED.match(text, mention.end())
            if not (left_out or negated(before)):
                labels.add(reply.written[mention[0]])
    return labels


STOP: Final = lazily(r"[.!?;\n।]")
_CLAUSE: Final = lazily(rf"(?:(?!{NOT_THAT})[^,]){{1,120}}(?:{NOT_THAT}(?:\s?है)?)?", re.IGNORECASE)
_NOT: Final = lazily(NOT, re.IGNORECASE)
_NOT_THAT: Final = lazily(rf"{NOT_THAT}(?:\s?है)?$", re.IGNORECASE)
_WRONG: Final = lazily(f"{WRONG}|{LEAST_RIGHT}", re.IGNORECASE)
_EXCEPTED: Final = lazily(rf"\b(?:{EXCEPT})\b|除了?(?= ?[A-Z](?![A-Za-z]))", re.IGNORECASE)
_REACH: Final = 24
"""Characters between a denial, or a word such as "except", and its letter."""


def affirmed(reply: ChoiceReply, at: int) -> tuple[str, int] | None:
    """The only label that the sentence around `at` affirms, and its end."""
    start = at - len(sentence_before(reply.text, at))
    ends = STOP.search(reply.text, at, at + SENTENCE_READ)
    stop = ends.start() if ends else min(len(reply.text), at + SENTENCE_READ)
    if reply.text[stop : stop + 1] == "?":
        return None
    kept: dict[str, int] = {}
    dropped: set[str] = set()
    for clause in _CLAUSE.finditer(reply.text, start, stop):
        labels = _labels_between(reply, *clause.span())
        left_out = _denied_labels(reply.text, clause, labels)
        dropped |= {label for label, _ in left_out}
        kept |= dict(pair for pair in labels if pair not in left_out)
    left = [(label, end) for label, end in kept.items() if label not in dropped]
    return left[0] if len(left) == 1 else None


def _labels_between(reply: ChoiceReply, start: int, stop: int) -> list[tuple[str, int]]:
    """The labels between two places that aren't words or parts of a choice's text, each with its end."""
    matches = [match for match in reply.patterns.labels.exact.finditer(reply.text, start, stop) if match[0].isupper()]
    lower = reply.lower[start:stop]
    quoted = [text for text in reply.texts.folded.values() if len(text) > 1 and text in lower]
    return [
        (reply.written[match[0]], match.end())
        for match in matches
        if match[0] not in WORDS or ((token := reply.tokens.get(match.end())) and token.stands)
        if not _SUPPOSED.search(reply.text[start : match.start()])
        if not any(re.search(rf"\b{re.escape(match[0].lower())}\b", text) for text in quoted)
    ]


def _denied_labels(text: str, clause: re.Match[str], labels: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """The labels of one clause that it denies, calls wrong or excepts."""
    start, stop = clause.span()
    if _NOT_THAT.search(text, start, stop):
        return labels
    if denial := _NOT.search(text, start, stop):
        behind = [pair for pair in labels if denial.end() < pair[1] <= denial.end() + _REACH]
        return behind or labels
    if _WRONG.search(text, start, stop):
        return labels
    excepted = _EXCEPTED.search(text, start, stop)
    return [pair for pair in labels if excepted and excepted.end() < pair[1] <= excepted.end() + _REACH]


JUDGEMENTS_READ: Final = 200
"""Judgements to look at; bounds the time for a runaway reply."""
_SENTENCE = lazily(r"(?<=[.!;]) ")
_JUDGED = lazily(
    rf"(?:(?P<right>{RIGHT_SIGNS}|(?:[:?(-] ?|is )(?:{SAYS_RIGHT}|yes)\b)"
    r"|(?P<wrong>[☐❌✗✘✖]|(?:[:?(-] ?|is )(?:no|false|wrong|incorrect|not (?:correct|true|right))\b))[^\w]*$"
)


def judged_right(reply: ChoiceReply) -> tuple[str, int] | None:
    """The only label that is called right among several judged ones, and the end of the last one's line."""
    for pattern in reply.patterns.verdicts:
        verdicts = list(islice(pattern.finditer(reply.text), JUDGEMENTS_READ))
        judged = {reply.written[verdict["label"]]: verdict["right"] for verdict in verdicts}
        at = verdicts[0].start() if len(judged) > 1 else 0
        if len(judged) < 2 or any(map(str.isalnum, reply.text[reply.text.rfind("\n", 0, at) + 1 : at])):
            continue  # in "A ❌ B ✅" the signs belong to the labels before them
        right = [label for label, sign in judged.items() if sign is not None]
        if len(right) != 1 or any(_is_echo(reply, verdict) for verdict in verdicts):
            return None
        return right[0], line_end(reply.text, verdicts[-1].end())
    return _judged_texts(reply)


def _judged_texts(reply: ChoiceReply) -> tuple[str, int] | None:
    """The same for choices that are judged by their texts: "Paris: no. Lyon: yes." """
    items = (
        reply.lower.split("\n", JUDGEMENTS_READ)
        if "\n" in reply.text
        else _SENTENCE.split(reply.lower, JUDGEMENTS_READ)
    )
    judged: dict[str, bool] = {}
    for line, labels, end, _ in map(reply.texts.start_of, items):
        judgement = _JUDGED.search(line, end) if len(labels) == 1 else None
        if judgement:
            judged[labels[0]] = judgement["right"] is not None
    right = [label for label, is_right in judged.items() if is_right]
    return (right[0], len(reply.text)) if len(judged) > 1 and len(right) == 1 else None


def _is_echo(reply: ChoiceReply, judgement: re.Match[str]) -> bool:
    """Whether "True" is the text of the choice and not a judgement."""
    word = judgement["right"] or judgement["wrong"]
    return word.lower() == reply.texts.own[reply.written[judgement["label"]]]

"""Read a number, a list of numbers or a formula from a reply; an unclear reply stays unread.

`number` tries in this order: the whole reply, if it is a number; what the reply declares ("the answer is 14"); the
only bold number; the number of its conclusion ("So there are 14"); a total ("14 in total"); that of the part that the
question asks for ("9 of them are red"); that of what the question counts ("14 birds", for "How many birds ..."); a sum
with its parts ("14: 9 here and 5 there") and counting aloud; that there are none ("2 dogs and no birds"); the only
number of the reply or, if nothing is counted, outside its brackets; a first sentence that is only a number; the only
number of the last sentence. In a sentence with "=", the number after it counts. Numbers may be words. A number that the
question has ("in 2015") isn't the answer.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from msgspec.structs import replace

from vqa_client.scoring import counts
from vqa_client.scoring.choices.grammar import RATHER
from vqa_client.scoring.counts import ASKS, NUMBER, numbers_in
from vqa_client.scoring.denials import NOT, NOT_THAT, denied_before
from vqa_client.scoring.maths import number_of, same_maths
from vqa_client.scoring.number_words import ONE, SPELLED, value_of, with_dozens_and_fractions
from vqa_client.scoring.patterns import TRIES, in_ascii_digits, last_match
from vqa_client.scoring.readings import choice, ratio_in, short_answer, whole_reply
from vqa_client.scoring.reply import Reply
from vqa_client.scoring.strict.containment import SPACED_THOUSANDS
from vqa_client.scoring.wrappers import above_explanation
from vqa_client.types import Answer, Question

_DECORATION = re.compile(r" ?(?:\*{1,3}|`|\\[()\[\]]|\$|\\text\b|[{}]|^[ \t]*(?:#{1,6}|[-•])[ \t]+)+ ?", re.MULTILINE)
_NAMED = re.compile(
    r"(?:\A(?!(?:[02-9]|1\d)[.)] (?:There|The|I|It|This|These|They|Not|We|All)\b)|(?<=\n))"
    r"[ \t]*\(?\d{1,2}[.)][ \t]+(?=\S)"
    r"|\b\d{1,3}(?:\.\d)? ?% (?:sure|certain|confident|confidence)\b|\bconfidence:? (?:of )?\d{1,3}(?:\.\d)? ?%"
    r"|\bto (?:the )?\w+ (?:decimal|significant|places?\b)"
    r"|\b(?:image|figure|fig\.?|step|option|question|page|row|column|part|table|line|group)s? #?\d+:?",
    re.IGNORECASE,
)
"""Numbers that are not amounts: those of list items, of places and figures, of decimals."""
_DECLARED = re.compile(
    r"\b(?:answer|count|result)\b(?: to [a-z ]{1,40}?)?(?: is| would be| should be|:| =)+:?\s*([^\n]{1,80})",
    re.IGNORECASE,
)
_TOTAL = re.compile(
    r"\btotal(?: (?:number|count|amount|cost|price|due)){0,2}(?: of [a-z ]{1,40}?)?\"?(?: is| are|:| =| of)*:? "
    r"(-?\d[\d,.]*)(?![\d,.%]* ?(?:[-+×÷/]|[\d.,]+ =))"
    r"|(?<![\d,.])(-?\d[\d,.]*)(?: [a-z]{1,20}){0,4},? (?:in total|altogether|in all|overall)\b"
    rf"|(?:共[计計]?|合[计計])有?[:：]? ?({NUMBER.pattern})",
    re.IGNORECASE,
)
_IN_QUESTION = re.compile(
    r"\b(?:in|during|from|since|after|before|until|above|below|over|under|than|exceeding|the|these|those)"
    rf" {NUMBER.pattern}",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_CLAUSE_END = re.compile(r"[.;](?=\s)|\n")
_LISTED = re.compile(
    r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t][^\n=\d]*\d[^\n=]*\n+[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t][^\n=\d]*\d[^\n=]*\Z",
    re.MULTILINE,
)
"""A reply ends with two items of a list, each with its number."""
_NONE = re.compile(
    r"(?:(?:there (?:is|are) |i (?:can )?see )?"
    r"(?:no|none|nobody(?= (?:is|in|on|at)\b|\W*\Z)|not any|not a single|nothing)"
    r"|(?:there (?:is|are)|(?:i|(?:the|this) \w+) (?:do|does|can))(?:n't|n’t|not| not)"
    r" (?:(?:see|show|contain|have) )?(?:any(?:body|one)?|a single))\b"
    r"(?! (?:\w+ )?(?:information|way|idea|clue|answer|data|context|mention|indication|doubt|question|image|picture"
    r"|photo|figure|graph|chart|table)\b)(?: of (?!the (?:option|choice|number|value)s)[^.;:]{0,80}|[^.\d]{0,60})\.?",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(r"(?<![\d%)] )\b(?:minus|negative) (?=\d)", re.IGNORECASE)
_MOST_NUMBERS: Final = 1000
_BOLD = re.compile(r"\*\*([^*\n]{1,60})\*\*")
_CONCLUDES = re.compile(
    r"(?:so|therefore|thus|hence|overall|finally|altogether|in (?:total|conclusion|all))\b", re.IGNORECASE
)
_SO = re.compile(
    r",? (?:so|therefore|thus|hence),? (?:it|there|that(?:'s| is| makes)|this|the|their|its|we|i|he|she)\b"
    r"(?! (?:could|may|might)\b)",
    re.IGNORECASE,
)
_IS = re.compile(r"=|\b(?:is|are|was|were)\b")
_RANGE = re.compile(
    rf"\bbetween {NUMBER.pattern} and {NUMBER.pattern}|{NUMBER.pattern} (?:or|to) {NUMBER.pattern}"
    rf"|(?<![\w.,/=+*^|-])(?<![=+*/^] )(?!-){NUMBER.pattern}"
    rf"(?:%?(?:-| ?– ?)[$€£]?{NUMBER.pattern}){{1,9}}(?![\w/^]| ?[-–=+*/^])",
    re.IGNORECASE,
)
_FROM_TO = re.compile(r"(?<![\w.,/=+*^-])(?<![-=+*/^] )(\d{1,6})%? - [$€£]?(\d{1,6})(?![\w/^]|[.,]\d| ?[-–=+*/^])")
_NO: Final = rf"(?:\bnot|n't|{NOT})"
_CORRECTED = re.compile(
    rf"{_NO} ?(?:\w{{1,9}} |是)?{NUMBER.pattern}(?P<of> [^\W\d]{{1,20}})?(?:[,，]? ?{RATHER}|;) ?"
    rf"(?={NUMBER.pattern}(?(of)(?:(?P=of)\b|(?! ?[^\W\d]))))"
    rf"|(?P<meant>{NUMBER.pattern}(?P<things> [^\W\d]{{1,20}})?),? \(?"
    rf"(?:(?:and|but|y) {_NO}|(?!no\b){_NO}|rather than|instead of) {NUMBER.pattern}(?:(?P=things)\b)?\)?(?=[.,;!]|\Z)"
    rf"|{NUMBER.pattern}[^\W\d]{{0,4}} ?{NOT_THAT}[,、]? ?(?={NUMBER.pattern})",
    re.IGNORECASE,
)
"""A denied number beside the right one: "not 8 but 9", "9, not 8"; in "8, no 9" the second one may be right."""
_TAKES_BACK = re.compile(
    r"\W{0,9}(?:(?:oh|hmm),? )?(?:wait|actually|sorry|correction|scratch that|no(?=[,:])|on second (?:look|thought))\b",
    re.IGNORECASE,
)
"""Begins a sentence that corrects the number before it."""
_CORRECTS = re.compile(
    rf"(?<=[.!?…\n]){_TAKES_BACK.pattern}(?:,? (?:on|upon|looking|after|if)\b[^.,!?\d\n]{{1,40}},)?"
    r"(?:[\s,.:;–—]|-(?!\d)){0,9}"
    r"(?:(?:no|wait|actually|sorry|it(?:'s| is)|there (?:are|is|were)|i (?:see|count|can see)|that(?:'s| is|)"
    r"|make (?:it|that)|(?:it |that |this )?should be|the (?:answer|count|number|total)(?: is| should be)"
    r"|only|about|really)[\s,]{1,3}){0,4}"
    rf"(?P<number>{NUMBER.pattern})(?=[.,;!]|\s{{0,9}}\Z|(?: [a-z]{{1,20}})? [a-z]{{3,20}}[.!]?\s{{0,9}}\Z)",
    re.IGNORECASE,
)
"""A sentence that gives another number than the one before it."""
_AT_FIRST = re.compile(
    r"\b(?:at first(?: glance| sight)?|initially|my (?:first|initial) \w+)\b,?(?! but\b)[^.,;:!?\n\d]{0,60}"
    rf"{NUMBER.pattern}[^.,;!?\n\d]{{0,60}}(?:[.,;\n]|\bbut\b)",
    re.IGNORECASE,
)
"""A clause that a later one replaces: "At first I counted 3, but ..."."""
_ASKS_FIRST = re.compile(r"\b(?:initial|original|at first|first)", re.IGNORECASE)
_ASIDE = re.compile(r"(?<=[\w%°] )\((?!or\b)[^()\n]{1,80}\)")
_FORMULA_ALONE = re.compile(r"\W{0,9}\$[^$\n]+\$\W{0,9}")
_IN_FORMULA = re.compile(r"(?<=\$)[^$\n]{1,80}(?=\$)|(?<=\\\()[^()\n]{1,80}(?=\\\))")
_MINUS = re.compile(r"(?<=\d)-(?=\d)")
_SEPARATOR = re.compile(r"\D")
_DECIMAL_COMMA = re.compile(
    r"(?<![\w.,])(?P<unit>€ ?)?(-?\d{1,3}(?:[. '’\u00a0\u202f]\d{3}){1,5}|-?\d{1,9}),(\d{1,2})"
    r"(?![\d,])(?(unit)|(?= ?(?:[%€$£]|[^\W\d_]{1,3}[.!]?\Z)))"
)
"""A decimal comma in an amount with a unit; "3,5" alone may be two numbers."""
_FURTHER_COMMA = re.compile(r"(?<![\w.,])(-?\d{1,9}),(\d{1,2})(?![\d,])")
"""Another one beside it: "12,5 x 10,5 cm"."""
_FORMULA = re.compile(r"\$\$?([^$]+)\$|\\[(\[]([^$]+?)\\[)\]]|(\w = [^=\n]{1,40} or \w = [^=\n]+)\Z|=\s?([^=\n]+)\Z")
_NO_VALUE = re.compile(r"\d ?: ?\d|\d/\d+/\d|\d \(")
"""A time, a date, or a number before an aside: "85 (45 + 40)"."""
_MORE_THAN = re.compile(
    r"(?:\b(?:(?:(?<!no )(?<!be )(?:fewer|less)|more|greater) than"
    r"|(?<!image )(?<!picture )(?<!figure )(?<!photo )(?<!chart )(?<!table )(?:above|below)|under)"
    r"|(?:(?<!\w )|\b(?!(?:add|sum|com|cam|go|went|ris|rose|reach|extend|grow|grew|increas|climb|count|run|walk|driv|fl"
    r"|jump|lean|pass|rid)\w* )\w+ )(?:over|up to)) \Z"
    r"|(?:超[过過]|(?<!不)[少小][于於]|[多大][于於]|不到|不足|(?<![\w\"'/=-])[<>]) ?\Z",
    re.IGNORECASE,
)
"""A bound, where no verb makes it the value: "it adds up to", "it drives over"."""
_DENIED_AFTER = re.compile(rf"[^\W\d]{{0,4}} ?{NOT_THAT}|[多几幾余餘]|[^\W\d]?未満| or (?:more|fewer|less)\b")
_BOUND_READ: Final = len("increasing up to ") + len("no ")
_BECAUSE = re.compile(r",? (?:because|since|as|which|so|where)\b| \((?:or|about|approximately)\b")
_VALUES = re.compile(
    r".*\b(?:is|are) ([-√(\[{]{0,3}\d[-\d.,:/%°^(){}\[\]√π²³ +*×÷]{0,60}"
    r"(?:(?:and|or) [-\d.,/%°(){}√π ]{1,30}){0,3}(?<![, ]) ?(?:(?!(?:and|or|so|is)\b)[A-Za-z]{1,30}(?: |\Z)){0,3})"
)
"""Values after the last verb, with a unit."""
_UNIT_APART = re.compile(r"(?<=\d) \$\\(?:text|mathrm)\{[^$]{1,30}\$")
_MOST_SHORT: Final = 40
_LIST = re.compile(r"\[([^\[\]]*)\]")


def number(reply: Reply, question: Question) -> Answer:
    """The number that a reply gives as its answer, in digits; a ratio as written, if the reference is a ratio."""
    whole = whole_reply(reply, question)
    text, asked = _without_markup(reply.text), ASKS.search(question.text)
    if whole.status == "ok":
        if ratio := ratio_in(reply.text, question):
            return Answer(text=ratio, rule="ratio", source=reply.source)
        value = _value(text)
        if value and (_FORMULA_ALONE.fullmatch(reply.visible) or _without_ranges(text) == text):
            return Answer(text=value, rule="whole_reply", source=reply.source)
        if asked and _NONE.fullmatch(text) and counts.may_be_none(text, asked[1].lower()):
            return Answer(text="0", rule="none", source=reply.source)
    counted = asked[1].lower() if asked else ""
    text = counts.without_whole_set(_without_restated(_in_digits(text, counted), question.text), counted)
    if not _ASKS_FIRST.search(question.text):
        later = _AT_FIRST.sub(" ", text)
        text = later if NUMBER.search(later) else text
    text = _without_taken_back(text, counted)
    values: tuple[str, ...] = ()
    for rule, numbers in _candidates(reply, text, counted):
        values = tuple(dict.fromkeys(numbers))
        if len(values) == 1 and not _is_denied(text, values[0]):
            return Answer(text=values[0], rule=rule, source=reply.source)
        if whole.status != "ok":
            return whole
    rivals = values if len(values) > 1 else ()
    return Answer(status="ambiguous" if rivals else "unparsed", rule="number", rivals=rivals, source=reply.source)


def _candidates(reply: Reply, text: str, counted: str) -> Iterator[tuple[str, list[str]]]:
    """Each rule with the numbers that it finds, the surest rule first; of a cut reply only the first rule counts."""
    yield "declaration", _declared_numbers(text)
    yield "bold", [value for bold in _BOLD.findall(reply.text) for value in numbers_in(_in_digits(bold, counted))]
    yield "conclusion", _concluded_numbers(text, counted)
    yield "total", counts.totals_in(text, _TOTAL, counted)
    yield "part", counts.numbers_of_part(text, counted)
    yield "asked for", counts.counted_numbers(text, counted)
    if counted:
        yield "sum", counts.summed_numbers(text, counted)
        yield "none", ["0"] if counts.none_counted(text, counted) else []
    yield "only number", numbers_in(text)
    outside = _ASIDE.sub(" ", text)
    if not counted and numbers_in(_IS.split(outside)[-1]):
        yield "outside brackets", numbers_in(outside)
    first, *others = _SENTENCE_END.split(text)
    if _is_number(first) and not (all(map(_is_number, others)) or any(map(_TAKES_BACK.match, others))):
        yield "first sentence", numbers_in(first)
    if not _LISTED.search(reply.text):
        yield "last sentence", _last_numbers(text)


def numbers(reply: Reply, question: Question) -> Answer:
    """The last list of numbers in brackets, or the whole reply if it is a list: "[0, 2, 1.5]"."""
    whole = whole_reply(reply, question)
    if whole.status != "ok":
        return whole
    text = above_explanation(reply.text)
    for items in reversed(_LIST.findall(text) or [text]):
        values = [_value(item) for item in items.split(",")] if items.count(",") < _MOST_NUMBERS else []
        if values and all(values):
            return Answer(text=f"[{', '.join(filter(None, values))}]", rule="list", source=reply.source)
    return Answer(status="unparsed", rule="list", source=reply.source)


def formula(reply: Reply, question: Question) -> Answer:
    """The formula that a reply gives as its answer; if there are choices, the one that it names or that is equal.

    The formula is what is boxed or otherwise set apart, what is declared, the whole of a short reply, or the last
    formula or number of the last sentence.
    """
    if not question.choices:
        return _formula(reply, question)
    chosen = choice(reply, question)
    written = _formula(reply, question).text if chosen.status == "unparsed" else None
    equal = [label for label, text in question.choices.items() if written and same_maths(written, text)]
    return Answer(text=equal[0], rule="equal", source=reply.source) if len(equal) == 1 else chosen


def _formula(reply: Reply, question: Question) -> Answer:
    whole = short_answer(reply, question)
    if whole.text is None or reply.text != reply.visible:
        return whole
    declared = [whole.text] if whole.rule == "declaration" else _DECLARED.findall(whole.text)
    if declared:
        return replace(whole, text=_BECAUSE.split(_SENTENCE_END.split(declared[-1])[0])[0].rstrip("."))
    short = "\n" not in whole.text and len(whole.text) <= _MOST_SHORT
    if short and len(whole.text.split()) < 4:
        return whole
    text = _UNIT_APART.sub("", SPACED_THOUSANDS.sub(_without_separators, whole.text.replace("−", "-")))
    sentence = next(filter(None, reversed(_SENTENCE_END.split(text))), "").rstrip(".").partition(" because ")[0]
    if values := _VALUES.fullmatch(sentence):
        return replace(whole, text=values[1], rule="last formula")
    formulas = [next(filter(None, groups)) for groups in _FORMULA.findall(sentence)] or numbers_in(sentence)
    if formulas:
        return replace(whole, text=formulas[-1], rule="last formula")
    return whole if short else Answer(status="unparsed", rule="formula", source=reply.source)


def _without_markup(text: str) -> str:
    text = SPACED_THOUSANDS.sub(_without_separators, in_ascii_digits(text))
    text, found = _DECIMAL_COMMA.subn(lambda match: f"{_SEPARATOR.sub('', match[2])}.{match[3]}", text)
    text = _FURTHER_COMMA.sub(r"\1.\2", text) if found else text
    text = _IN_FORMULA.sub(lambda formula: _MINUS.sub(" − ", formula[0]), text)
    return _DECORATION.sub(" ", text.replace("−", "-")).strip() if number_of(text) is None else text


def _without_separators(thousands: re.Match[str]) -> str:
    return _SEPARATOR.sub("", thousands[0])


def _is_denied(text: str, value: str) -> bool:
    """Whether the text denies a number or calls it a bound in every place: "there aren't 3", "more than 3"."""
    places = (match.span() for match in NUMBER.finditer(text) if match[0].replace(",", "") == value)
    denied = [
        denied_before(text, start)
        or _MORE_THAN.search(text[max(0, start - _BOUND_READ) : start])
        or _DENIED_AFTER.match(text, end)
        for start, end in islice(places, TRIES)
    ]
    return denied != [] and all(denied)


def _value(text: str) -> str | None:
    """A number as it is written, without commas, or the value of a formula."""
    text = text.strip().rstrip(".!")
    if NUMBER.fullmatch(text) and "/" not in text:
        return text.replace(",", "")
    value = None if _NO_VALUE.search(text) else number_of(text)
    return None if value is None else str(int(value) if value == int(value) else value)


def _in_digits(text: str, counted: str) -> str:
    """The text with digits for number words, and without numbers that it corrects, ranges and names.

    "one" is mostly a pronoun: it counts behind a word such as "only", or if it is the only number.
    """
    text = ONE.sub(r"\1 1", with_dozens_and_fractions(_NAMED.sub(" ", text), counted))
    text = SPELLED.sub(lambda words: words[0] if words[0].lower() == "one" else value_of(words[0]) or words[0], text)
    if not NUMBER.search(text):
        text = re.sub(r"\bone\b(?! of| can|'s)", "1", text, flags=re.IGNORECASE)
    text = counts.JOINT.sub(lambda first: first[0] if first[0].isdecimal() else "1", _NEGATIVE.sub("-", text))
    text = _CORRECTED.sub(lambda match: match["meant"] or " ", text)
    return _without_ranges(text)


def _without_ranges(text: str) -> str:
    """The text without "3-5" and "3 - 5"; "5 - 3" is a difference."""
    text = _RANGE.sub(" ", text)
    return _FROM_TO.sub(lambda match: " " if int(match[1]) < int(match[2]) else match[0], text)


def _without_taken_back(text: str, counted: str) -> str:
    """The text from its last correction on, if that gives a number: "There are 3. Wait, there are 4." """
    last = last_match(_CORRECTS, text)
    if last is None or counts.counts_others(text, last.end("number"), counted):
        return text
    return text[last.start("number") :]


def _without_restated(text: str, question: str) -> str:
    """The text without numbers that are in the question, too ("in 2015"); the text itself if it has no others."""
    asked = {phrase.lower() for phrase in _IN_QUESTION.findall(_in_digits(question, ""))}
    if asked and {phrase.lower() for phrase in _IN_QUESTION.findall(text)} > asked:
        clauses = [clause for clause in _CLAUSE_END.split(text) if any(map(clause.lower().__contains__, asked))]
        text = "\n".join(clauses) if NUMBER.search(_IN_QUESTION.sub(" ", "\n".join(clauses))) else text
    left = _IN_QUESTION.sub(lambda phrase: " " if phrase[0].lower() in asked else phrase[0], text) if asked else text
    return left if NUMBER.search(left) else text


def _declared_numbers(text: str) -> list[str]:
    for words in reversed(_DECLARED.findall(text)):
        value = _value(words)
        if values := [value] if value else numbers_in(_SENTENCE_END.split(words)[0]):
            return values
    return []


def _concluded_numbers(text: str, counted: str) -> list[str]:
    """Those of the last sentence, or of its last clause, that begins like a conclusion, after its last verb or "="."""
    sentences = _SENTENCE_END.split(text)
    for sentence in reversed(sentences):
        if _CONCLUDES.match(sentence.strip()) and (
            values := numbers_in(_IS.split(sentence)[-1]) or numbers_in(sentence)
        ):
            return values
    clause = _CLAUSE_END.split(sentences[-1])[-1]
    so = _SO.search(clause)
    claim = _IS.split(clause[so.start() :])[-1] if so else ""
    return [] if " than " in claim or counts.last_counts_others(claim, counted) else numbers_in(claim)


def _is_number(sentence: str) -> bool:
    return NUMBER.fullmatch(sentence.rstrip(".!")) is not None and not sentence.endswith("..")


def _last_numbers(text: str) -> list[str]:
    """Those of the last sentence with numbers, after "=" and before "because"; all if each sentence is a number."""
    sentences = _SENTENCE_END.split(text)
    if all(map(_is_number, sentences)):
        return numbers_in(text)
    for sentence in reversed(sentences):
        claim = sentence.partition(" because ")[0]
        if values := numbers_in(claim.rpartition("=")[2]) or numbers_in(claim) or numbers_in(sentence):
            return values
    return []

"""Read a reply that declares nothing: a list's one label, a label set apart, the text of one choice."""

import re
from itertools import islice
from typing import Final

from vqa_client.scoring.choices.labels import WORDS, excluded, stands
from vqa_client.scoring.choices.paraphrase import paraphrased
from vqa_client.scoring.choices.prefixes import SENTENCE_READ, negated, refuted, sentence_before
from vqa_client.scoring.choices.reading import ChoiceReply, Found
from vqa_client.scoring.choices.text import folded, spaced, telling
from vqa_client.scoring.plain import EMPHASIS

LINE_READ: Final = 2000
"""Characters of a line in which further choices are looked for."""
MENTIONS_READ: Final = 4000
"""Characters at the end of a reply in which undeclared labels are counted."""
PLACES_READ: Final = 200
"""Places of one kind in a reply that are looked at, a bound on the time that a runaway reply can take."""
LABEL_READ: Final = 12
LINES_READ: Final = 20
LOOP: Final = 30
"""Characters at the end of a reply that occur again and again where it went round in circles."""
SHORT: Final = 700
"""Characters up to which a choice's text is looked for in the whole reply; in a longer one, in its last sentence."""


def exact_text(reply: ChoiceReply) -> Found | None:
    """The reply is the text of one choice."""
    text = folded(reply.text)
    labels, end = reply.texts.at_start(text)
    if not labels or _WORD.search(text, end):
        labels = reply.texts.of_value(text)
    return Found(labels=labels, rule="exact text") if labels else None


def leading_label(reply: ChoiceReply) -> Found | None:
    """Lines that open with a label: the only one answers; all of them are the question's list, echoed."""
    lines = [line for line in reply.patterns.leading.finditer(reply.text) if _separated(reply, line)]
    if not lines or _lists(reply, reply.after_own_text(lines[0].end(), reply.label(lines[0]))):
        return None
    labels = [reply.label(line) for line in lines]
    distinct, concluding = set(labels), _is_choice(reply, lines[-1])
    if len(distinct) == 1 and (concluding or lines[0].start() == 0):
        return Found(labels=(labels[0],), rule="leading label")
    if lines[0].start() == 0 and len(labels) > 1 and _precedes(reply, labels[1], labels[0]):
        return Found(labels=(labels[0],), rule="label before list")
    if len(labels) == len(distinct) + 1 and labels[-1] in labels[:-1] and concluding:
        return Found(labels=(labels[-1],), rule="label after list")
    return None


def _lists(reply: ChoiceReply, start: int) -> bool:
    """Whether further labels follow on the line, at once or with the texts of their choices."""
    line = reply.text[start : start + LINE_READ].split("\n", 1)[0]
    return any(
        (not _WORD.search(line, 0, found.start()) and stands(line, found.end(), found[0], "", alone=True))
        or _KEY.match(line, found.end())
        or (_ITEM.match(line, found.end()) and line[: found.start()].rstrip().endswith(_ITEM_ENDS))
        or reply.after_own_text(start + found.end(), reply.patterns.labels.of(found[0])) > start + found.end()
        for found in reply.patterns.labels.exact.finditer(line)
    )


def _precedes(reply: ChoiceReply, label: str, other: str) -> bool:
    """Whether `label` is not after `other` in the question: a list that starts with `label` cannot begin at `other`."""
    order = reply.texts.labels
    return order.index(label) <= order.index(other)


def _is_choice(reply: ChoiceReply, line: re.Match[str]) -> bool:
    """Whether the last line is a label with the text of its choice and nothing else."""
    rest = folded(reply.text[line.end() :])
    return "\n" not in rest and rest.strip(" ).:-\"'").rstrip(".") == reply.texts.own[reply.label(line)]


def _separated(reply: ChoiceReply, line: re.Match[str]) -> bool:
    """Whether a sign, a reason or the choice's own text follows the label that opens a line."""
    end, own = line.end("label"), reply.texts.own[reply.label(line)]
    rest = reply.lower[end : end + 40 + len(own)]
    if not reply.means(line):
        return False
    because = _REASON.match(rest) is not None and line["label"] != "I"
    return because or bool(_SEPARATOR.match(rest)) or bool(own and rest.lstrip().startswith(own))


def emphasised(reply: ChoiceReply) -> Found | None:
    """The one label in bold or italic type: "I'd go with **C** here." """
    return _only(reply, _EMPHASISED, "emphasis")


def bracketed(reply: ChoiceReply) -> Found | None:
    """The one label in brackets at the end of a clause: "The sign says 1995 (C)." """
    return _only(reply, _BRACKETED, "brackets")


def _only(reply: ChoiceReply, around: re.Pattern[str], rule: str) -> Found | None:
    """The one label that is set apart in this way and not excluded by its sentence."""
    text, exact = reply.text, reply.patterns.labels.exact
    labels = {
        reply.patterns.labels.of(found[1])
        for found in islice(around.finditer(text), PLACES_READ)
        if exact.fullmatch(found[1])
        if _alone(text, found) and stands(text, found.end(1), found[1], "")
    }
    return Found(labels=tuple(labels), rule=rule) if len(labels) == 1 else None


def _alone(text: str, found: re.Match[str]) -> bool:
    """Whether no other label in brackets stands in the sentence, and nothing takes this one back."""
    before = sentence_before(text, found.start())
    after = _SENTENCE_END.split(text[found.end() : found.end() + SENTENCE_READ], maxsplit=1)[0]
    return not (refuted(before) or _IN_BRACKETS.search(before) or _IN_BRACKETS.search(after))


def predicate(reply: ChoiceReply) -> Found | None:
    """ "The tallest one is (B) the tower": the one label in brackets that a sentence leads up to."""
    text, labels = reply.text, reply.patterns.labels
    found = [each for each in islice(_PREDICATES.finditer(text), PLACES_READ) if each[1] in labels.written]
    distinct = {labels.of(each[1]) for each in found}
    committed = len(distinct) == 1 and all(_alone(text, each) for each in found)
    return Found(labels=tuple(distinct), rule="predicate") if committed else None


def ticked(reply: ChoiceReply) -> Found | None:
    """The one label with a tick or a cross in its box."""
    ticks = reply.patterns.ticked.finditer(reply.text) if _TICK.search(reply.text) else ()
    labels = dict.fromkeys(reply.patterns.labels.of(tick["label"] or tick["before"]) for tick in ticks)
    return Found(labels=tuple(labels), rule="tick") if labels else None


def leading_text(reply: ChoiceReply) -> Found | None:
    """The reply opens with the text of a choice: "No, the car is red." """
    text = folded(reply.text)
    labels, end = reply.texts.at_start(text)
    if not labels or not (
        _CLAUSE_END.match(text, end) or (text[end] == "," and not telling(reply.texts.own[labels[0]]))
    ):
        return None
    return None if _lists_texts(reply, labels, text[end:]) else Found(labels=labels, rule="leading text")


def _lists_texts(reply: ChoiceReply, labels: tuple[str, ...], rest: str) -> bool:
    """Whether a further line opens with another choice's text and the sign that opens `rest`: a list of choices."""
    if rest[:1] not in (":", "\n"):
        return False
    lines = [f"{line}\n" for line in rest.split("\n")[1 : LINES_READ + 1]]
    found = [reply.texts.at_start(line) for line in lines]
    return any(
        other and other != labels and line[end] == rest[0] for line, (other, end) in zip(lines, found, strict=True)
    )


def contained_text(reply: ChoiceReply) -> Found | None:
    """The text of one choice, unless another or a denial stands beside it, or the reply doesn't state it."""
    whole = text = spaced(folded(reply.text))
    if reply.texts.letters:
        return Found(labels=tuple(named), rule="text") if len(named := mentioned(reply)) == 1 else None
    if len(text) > SHORT:
        text = sentence_before(text, len(text) - 1)
    found = reply.texts.anywhere(text)
    if not found or not _concludes(whole):
        return None
    places = [_own_label(text, start) for start, _, _ in found]
    if any(place and place[1].upper() not in owners for place, (_, _, owners) in zip(places, found, strict=True)):
        return None  # a list of choices under other letters
    denied = _denied_lists(text, found)
    labels = {
        label
        for place, (start, end, owners) in zip(places, found, strict=True)
        if not negated(sentence_before(text, place.start() if place else start))
        and (not excluded(text, end) or _UNTRUE.match(text, end))
        if _states(text, start, end) and start not in denied
        for label in owners
    }
    if len(labels) > 1 and _SENTENCE_END.search(text, 0, max(end for _, end, _ in found)) is None:
        labels = {*_predicated(text, found)} or labels
    return Found(labels=tuple(labels), rule="text") if labels else None


def _predicated(text: str, found: list[tuple[int, int, tuple[str, ...]]]) -> tuple[str, ...]:
    """The labels of the text to which one sentence with several leads up: "the pupil of Matisse is Albers"."""
    led_up = [each for each in found if _LEADS_UP.search(text[max(0, each[0] - SENTENCE_READ) : each[0]])]
    return led_up[0][2] if led_up == [max(found)] and _CLAUSE_END.match(text, led_up[0][1]) else ()


def said_otherwise(reply: ChoiceReply) -> Found | None:
    """The choice that the reply says in its own words, where no choice's text stands in it."""
    found = paraphrased(reply)
    return found if found and _concludes(folded(reply.text)) else None


def _concludes(text: str) -> bool:
    """Whether it can have a conclusion: neither program code nor a loop, and it doesn't say that no choice is right."""
    code = "(" in text and _NOT_PROSE.search(text)
    rejected = _OF_CHOICES.search(text) and _NONE_FITS.search(text)
    return not (code or rejected or text.count(text[-LOOP:]) > 2)


def _own_label(text: str, start: int) -> re.Match[str] | None:
    """The letter in front of the text of a choice at `start`: "(B) blue car"."""
    return _LABELLED.search(text, max(0, start - LABEL_READ), start)


def _denied_lists(text: str, found: list[tuple[int, int, tuple[str, ...]]]) -> set[int]:
    """Where texts begin that a sentence lists and denies together: "the others, X and Y, are less likely"."""
    denied: set[int] = set()
    listed: list[tuple[int, int]] = []
    for start, end, _ in sorted(found) if len(found) > 1 else ():
        if listed and not _JOINED.fullmatch(text, listed[-1][1], start):
            listed = []
        listed.append((start, end))
        if len(listed) > 1 and _LESS.match(text, end):
            denied |= {place for place, _ in listed}
    return denied


def _states(text: str, start: int, end: int) -> bool:
    """Whether the text of a choice is stated: not asked for, and a number not a part of the working."""
    before = text[max(0, start - SENTENCE_READ) : start]
    if "?" in text and _ASKED.match(text, end):
        return False
    if not _NUMBER.fullmatch(text, start, end):
        return True
    operand = _OPERATOR.search(before) or _OPERATES.match(text, end)
    result = not _EQUALS.search(before) or _CLAUSE_END.match(text, end) is not None
    return not operand and result and not _RANGE.search(before) and not _STATED.search(text, end)


def mentioned(reply: ChoiceReply) -> set[str]:
    """Labels that stand at the end of the text as labels, not as words and not excluded by their sentence."""
    text = reply.text[-MENTIONS_READ:]
    return {
        reply.patterns.labels.of(mention[0])
        for mention in islice(reply.patterns.labels.exact.finditer(text), PLACES_READ)
        if reply.patterns.further.match(text, mention.end())
        or stands(text, mention.end(), mention[0], "", alone=mention[0] in WORDS or mention[0].islower())
        if not negated(sentence_before(text, mention.start()))
    }


_WORD = re.compile(r"\w")
_CLAUSE_END = re.compile(r"[\"')]*(?:[.;:!\n]|$)")
_SEPARATOR = re.compile(r"[ \"')\x03]*(?:[).:]|\x03|[ ]?[-|] )|[)\"]")
_REASON = re.compile(
    r",? ?(?:(?:because|since|as|due|based|given|but|not|rather|instead|although|though|however|i think|i believe"
    r"|i guess|i'd say|in my opinion|weil|da|denn|nicht|car|parce|puisque|porque|ya que|pues|потому|так как"
    r"|поскольку)\b|因为|因為|なぜなら)"
)
_TICK = re.compile(r"[☑✅✔✓]|\([ ]?[xX✓✔]")
_EMPHASISED = re.compile(
    rf"{EMPHASIS[0]}[^\w\n{EMPHASIS[0]}{EMPHASIS[1]}]{{0,8}}(\w{{1,3}})(?:[).:\"'][^{EMPHASIS[1]}\n]{{0,300}}|){EMPHASIS[1]}"
)
_ITEM, _ITEM_ENDS = re.compile(r" ?[:)]"), (".", ";", "|")
"""A further verdict on the same line: "A: no. B: no. C: yes." """
_KEY = re.compile(r"\" ?:")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n")
_UNTRUE = re.compile(r"[\"' ]{1,3}is not (?:true|correct)\b")
"""A question may ask which statement is not."""
_NOT_PROSE = re.compile(r"\b(?:print|printf|len|range|console\.log|def \w{1,40})\(")
"""Program code, in which a number is a value and no answer."""
_OF_CHOICES = re.compile(r"op[tcçz]i|choi|answer|alternativ|question|list|value|antwort|选项|都不对")
_NONE_FITS = re.compile(
    r"\b(?:none|neither|not any|any) of (?!the other|these other)(?:\w+ ){0,4}(?:option|choice|answer|alternative)s\b"
    r"|\bno (?:correct|suitable|matching|valid|right) (?:option|answer|choice)"
    r"|(?:\bnot|n't) (?:\w+ ){0,2}(?:among|listed|provided|given|included|present|available|shown|one of|in)"
    r"\b(?: \w+){0,3} (?:options?|choices|question|list|answers|alternatives)\b"
    r"|(?:answer|option|choice|value)\b[^.\n]{0,30}(?:\bnot|n't) "
    r"(?:an option|(?:listed|given|provided|available|included)(?=[.,;\n]|$))"
    r"|\b(?:keine der|ninguna de las|aucune des|nenhuma das|nessuna delle) |没有[^.\n]{0,8}选项|都不对"
)
"""The reply says that no choice is right; what else it names is no answer."""
_LEADS_UP = re.compile(r"\b(?:is|was) (?:the |an? )?$")
_JOINED = re.compile(r"(?:,|,? (?:and|or|nor)) (?:the |an? )?")
_LESS = re.compile(r"[^.!?;\n]{0,40}?\b(?:not|less|unlikely|incorrect|neither)\b")
_NUMBER = re.compile(r"[-+~$€£(]{0,3}\d[\d.,/:]*\s?[^\d\s]{0,12}")
_ASKED = re.compile(r"[^.!?\n]{0,60}\?")
_LABELLED = re.compile(r"(?:^|[\s(])([a-j])[ ]?[).:] ?[\"'(]?(?:the |an? )?$")
_OPERATOR = re.compile(r"(?:[+*/^×·÷<>\\]|[\d)] ?-|= ?\() ?\(?$")
_OPERATES = re.compile(r"[)°%]* ?(?:[+*/^×·÷=<>]|- ?[\d\\(]|times\b)|[)°%]* ?[a-z] ?=")
_EQUALS = re.compile(r"[=≈] ?[$]?$")
_RANGE = re.compile(r"\b(?:between|from|over|under|above|below|than)(?: [\d.,]+%? (?:and|(?:up |down )?to))? $")
_STATED = re.compile(
    r"(?:[=≈]|\b(?:is|are|equals|gives?|get|makes?|yields?)) ?(?:about |approximately |roughly )?[$-]?\d"
)
"""A number that is stated later."""
_IN_BRACKETS = re.compile(r"\([A-Z]\)")
_PREDICATES = re.compile(r"\b(?:is|are|be|by|has|with)[ \x02]{1,2}(?:option |choice )?\(([^\W_]{1,3})\)")
_BRACKETED = re.compile(r"\((?i:option |choice |answer |which is option )?(\w{1,3})\)(?=\W*$|[\x03\x05]*[.;!\n])")

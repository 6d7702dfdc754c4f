"""Read a reply that declares nothing by its labels: a list's one label, or a label that is set apart."""

import re
from itertools import islice
from typing import Final

from vqa_client.scoring.choices.grammar import ChoiceReply, Found
from vqa_client.scoring.choices.options import WORDS, excluded, folded, stands
from vqa_client.scoring.choices.refuted import SENTENCE_READ, negated, refuted, sentence_before
from vqa_client.scoring.denials import NOT
from vqa_client.scoring.patterns import lazily
from vqa_client.scoring.plain import EMPHASIS

LINE_READ: Final = 2000
"""Characters of a line in which further choices are looked for."""
MENTIONS_READ: Final = 4000
"""Characters at the end of a reply in which undeclared labels are counted."""
SHORT: Final = 700
"""Characters of a reply in which letters are choices; a longer one has things with letters for names."""
FEWEST: Final = 3
"""Choices from which on all but one are denied on purpose."""
PLACES_READ: Final = 200
"""Places of one kind in a reply that are looked at, a bound on the time that a runaway reply can take."""


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
        (_joins(line[: found.start()]) and _offered(reply, line, found))
        or _KEY.match(line, found.end())
        or (_ITEM.match(line, found.end()) and line[: found.start()].rstrip().endswith(_ITEM_ENDS))
        or reply.after_own_text(start + found.end(), reply.patterns.labels.of(found[0])) > start + found.end()
        for found in reply.patterns.labels.exact.finditer(line)
    )


def _offered(reply: ChoiceReply, line: str, found: re.Match[str]) -> bool:
    """Whether a further label is offered or excluded like the first one, or another one follows it."""
    return (
        stands(line, found.end(), found[0], "", alone=True)
        or excluded(line, found.end())
        or reply.patterns.further.match(line, found.end()) is not None
    )


def _joins(between: str) -> bool:
    """Whether nothing but signs is between two labels, or a word that joins them."""
    return not _WORD.search(between) or _JOINING.fullmatch(between) is not None


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


def last_word(reply: ChoiceReply) -> Found | None:
    """The label that is the last sentence: "It shifts to the right. B.", "This decides it: B.", "C it is." """
    last = _LAST_WORD.search(reply.text)
    before = sentence_before(reply.text, last.start(1)) if last else ""
    if not last or refuted(before) or _DENIES.search(before.lower()):
        return None
    label = reply.patterns.labels.exact.fullmatch(last[1])
    return Found(labels=(reply.patterns.labels.of(label[0]),), rule="last word") if label else None


def left_over(reply: ChoiceReply) -> Found | None:
    """The one label that is left where the reply excludes every other: "Options A, B and D can be excluded." """
    text, labels = reply.text, reply.patterns.labels
    if len(text) > SHORT:
        return None
    if found := reply.patterns.excepted.search(text):
        return Found(labels=(reply.label(found),), rule="exception")
    named: set[str] = set()
    out: set[str] = set()
    run: list[re.Match[str]] = []
    for mention in islice(labels.exact.finditer(text), PLACES_READ):
        run.append(mention)
        if reply.patterns.further.match(text, mention.end()):
            continue
        denied = negated(sentence_before(text, run[0].start())) or excluded(text, mention.end())
        (out if denied else named).update(labels.of(each[0]) for each in run)
        run = []
    left = [label for label in reply.texts.labels if label not in out]
    if len(left) != 1 or len(out) < 2 or not (left[0] in named or _EXCLUDES.search(text)):
        return None
    return Found(labels=tuple(left), rule="exclusion")


def not_denied(reply: ChoiceReply) -> Found | None:
    """The one item without a denial in a list of all choices: "A: there is no bus. B: it is blue. ..." by lines."""
    items = list(islice(reply.patterns.leading.finditer(reply.text), len(reply.texts.labels) + 1))
    if len(items) < FEWEST or {reply.label(item) for item in items} != {*reply.texts.labels}:
        return None
    rests = {}
    for item in items:
        label = reply.label(item)
        end = reply.after_own_text(item.end(), label)
        rests[label] = reply.lower[end : (reply.lower.find("\n", end) + 1 or len(reply.lower) + 1) - 1]
    left = [label for label, rest in rests.items() if not _DENIES.search(rest)]
    judged = len(items) == len(rests) and all(map(_WORD.search, rests.values()))
    return Found(labels=tuple(left), rule="list") if judged and len(left) == 1 else None


def mentioned(reply: ChoiceReply) -> set[str]:
    """Labels that stand at the end of the text as labels, not as words and not excluded by their sentence."""
    text = reply.text[-MENTIONS_READ:]
    return {
        reply.patterns.labels.of(mention[0])
        for mention in islice(reply.patterns.labels.exact.finditer(text), PLACES_READ // 2)
        if reply.patterns.further.match(text, mention.end())
        or stands(text, mention.end(), mention[0], "", alone=mention[0] in WORDS or mention[0].islower())
        if not negated(sentence_before(text, mention.start()))
    }


_WORD = lazily(r"\w")
_JOINING = lazily(r"(?i:\W{0,6}\b(?:and|or|oder|und|ou|et|o|y|e|of|en|lub|и|или|veya|ve)\b\W{0,6})")
_SEPARATOR = lazily(r"[ \"')\x03]*(?:[).:]|\x03|[ ]?[-|] )|[)\"]")
_REASON = lazily(
    r",? ?(?:(?:because|since|as|due|based|given|but|not|rather|instead|although|though|however|i think|i believe"
    r"|i guess|i'd say|in my opinion|weil|da|denn|nicht|car|parce|puisque|porque|ya que|pues|потому|так как"
    r"|поскольку)\b|因为|因為|なぜなら)"
)
_TICK = lazily(r"[☑✅✔✓]|\([ ]?[xX✓✔]")
_EMPHASISED = lazily(
    rf"{EMPHASIS[0]}[^\w\n{EMPHASIS[0]}{EMPHASIS[1]}]{{0,8}}(\w{{1,3}})(?:[).:\"'][^{EMPHASIS[1]}\n]{{0,300}}|){EMPHASIS[1]}"
)
_ITEM, _ITEM_ENDS = lazily(r" ?[:)]"), (".", ";", "|")
"""A further verdict on the same line: "A: no. B: no. C: yes." """
_DENIES = lazily(rf"{NOT}|n't\b|\b(?:not|never|cannot|without|none|lacks?|incorrect|wrong|false)\b|[❌✗✘✖]")
_KEY = lazily(r"\" ?:")
_SENTENCE_END = lazily(r"[.!?](?=\s|$)|\n")
_IN_BRACKETS = lazily(r"\([A-Z]\)")
_PREDICATES = lazily(r"\b(?:is|are|be|by|has|with)[ \x02]{1,2}(?:option |choice )?\(([^\W_]{1,3})\)")
_BRACKETED = lazily(r"\((?i:option |choice |answer |which is option )?(\w{1,3})\)(?=\W*$|[\x03\x05]*[.;!\n])")
_LAST_WORD = lazily(
    r"(?<=[a-z]{2}[.!?:] )[\"'(=> -]{0,4}(?:compound |structure |choice )?(\w{1,3})[\"')]?(?: it is)?[.!]?\Z",
    re.IGNORECASE,
)
_EXCLUDES = lazily(r"\b(?:exclu|elimin|rul(?:ed?s?|ing) out|false|wrong|incorrect)")

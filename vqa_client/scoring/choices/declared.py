"""Find every place where a reply declares its answer; the last one counts."""

import re
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Final

from msgspec import Struct

from vqa_client.scoring.choices.grammar import (
    CONNECTION,
    LINK,
    RIGHT_SIGNS,
    ROWS,
    SAYS_RIGHT,
    STARTS,
    ChoiceReply,
    Cue,
    Found,
)
from vqa_client.scoring.choices.options import excluded, folded, telling
from vqa_client.scoring.choices.refuted import affirmed, refuted, sentence_before
from vqa_client.scoring.choices.undeclared import mentioned
from vqa_client.scoring.denials import NOT
from vqa_client.scoring.patterns import JOINER, joins, lazily
from vqa_client.scoring.plain import MARKED

CUES_READ: Final = 100
"""Only so many cues, from the end, are looked at: a bound on the time that a runaway reply can take."""
DECLARATIONS_READ: Final = 50
CONCLUSION_READ: Final = 300
"""Characters at the end of a reply in which a conclusion is looked for."""
_CONCLUDED: Final = lazily(
    r"\b(?:therefore|thus|hence|so|consequently)\b[^\n]*[=≈][ \x02(]*(?P<value>[^\n=≈\x02\x03]{1,30}?)[ \x03).]*\Z"
)
_CONNECTION: Final = lazily(CONNECTION)
_SENTENCE_END: Final = lazily(r"[.!?;\n]")
_CLAUSE_END: Final = lazily(r"[.!?;](?=\s|$)|\n")
_CLOSES: Final = lazily(r"[\"')]*[.!]?(?:\n|$)| (?:fits|is (?:correct|right|the|best))\b")
_STEM = lazily(f"{JOINER}*")
_HYPOTHETICAL = lazily(r"[^.!?\n]{0,60}\?|[ )]*(?:answer |option |choice )?(?:only )?(?:if|unless)\b")
_WOULD = lazily(r"\b(?:would|were|wäre|serait|sería)\b", re.IGNORECASE)
_IF = lazily(r"\b(?:if|had|wenn|si)\b", re.IGNORECASE)
_HEDGE = lazily(r"\b(?:could|might|may|possibly|perhaps|könnte|pourrait|podría|может)\b", re.IGNORECASE)
_CASE = lazily(r"^\W*(?:(?:and|but|or|so) )?(?:if|unless|otherwise|in case)\b", re.IGNORECASE)
_BAD_FILL = lazily(
    rf"\b(?:not|never|no|cannot|unlikely|if|unless|why|how|options|choices)\b|n't\b|{NOT}|难道|難道",
    re.IGNORECASE,
)
_ASIDE = lazily(
    r"\([^()]{0,40}\)|\"[^\"\n]{0,120}\"|'[^'\n]{8,120}'(?!\w)"
    r"|(?:among|amongst|from|of|out of|based on|given|between|within)"
    r"(?: all)?(?: of)?(?: the| these| those)?(?: \w+){0,2}"
    r" (?:options|choices|alternatives|answers)(?: (?:provided|given|listed|above|below|available))?\b"
    r"|, (?:if|unless) i\b[^,]{0,40},",
    re.IGNORECASE,
)
"""What may stand between a cue and its answer and says nothing of it."""
_COLON = lazily(r"[\"') \x03]*[:=][\s\"'(\x02\x04]{0,8}")
_OTHER_LETTER = lazily(
    r"(?i: (?:option|choice|answer|letter))?(?i: to (?:the|this) question)?"
    rf"(?i:[ \x03]{{0,2}}{CONNECTION})[\s\"'(\x02]*(?i:(?:option|choice|letter) )?[\"'(\x02]*"
    r"([A-Z])[ \"')\x03]*(?:[.,;!\n]|$)"
)
"""A letter that isn't a label, where the answer is expected."""
_UNKNOWN = lazily(
    r"(?:unknown|none\b|n/a|(?:i )?(?:don't|do not|can't|cannot) (?:know|tell|say|determine)|cannot be|not given"
    r"|unclear|not (?:enough|possible|stated|sure)|unable|insufficient|(?-i:[A-Z])[\"') .\x03\x05]*(?:\n|$))",
    re.IGNORECASE,
)
_MARKED = lazily(f"{MARKED[0]}([^{MARKED[0]}{MARKED[1]}]{{0,400}})")
_ENDS = lazily(
    r"[ \"')*\x03\x05]*(?:$|[.,;:!?)\n|&/]|(?:are|both|together|and|or|und|sind|et|sont|y|son)\b|[^\x00-\u02ff])"
)
_RETRACTED = lazily(
    r"but (?:that|this|it) (?:can't|cannot|can not|could not|couldn't|isn't|is not)(?: be)? (?:right|correct)"
    r"|(?:wait|no|actually|hmm|oops|sorry)[,. ]+(?:no[, ]+)?(?:that|this|it)(?:'s| is| was) "
    r"(?:wrong|incorrect|not right|not correct)|scratch that|i was wrong|never ?mind that|i take that back"
    r"|(?:actually|honestly|hmm|no|wait),? i (?:really )?(?:don't|do not) know\W*\Z"
    r"|[.!?] none (?:fits?|match(?:es)?|works?|applies|apply|is (?:right|correct)|are (?:right|correct))\b"
)


class Declaration(Struct, frozen=True, kw_only=True):
    """One declared answer: no label where what was declared is none, several where the reply left it open."""

    at: int
    end: int
    labels: tuple[str, ...]
    rule: str
    weak: bool = False


def declarations(reply: ChoiceReply) -> list[Declaration]:
    """All declarations in the reply, in the order of their places."""
    if len(reply.text) == 1:
        return list(_lines(reply))
    found = sorted(
        (
            *_lines(reply),
            *reversed(list(_cued(reply))),
            *_marked(reply),
            *_verdicts(reply),
            *_fitting(reply),
            *_concluded(reply),
        ),
        key=lambda declaration: declaration.at,
    )
    kept: list[Declaration] = []
    for declaration in found:
        if not kept or not kept[-1].at < declaration.at < kept[-1].end:
            kept.append(declaration)
    if kept and _RETRACTED.search(reply.lower, kept[-1].end):
        kept.append(Declaration(at=len(reply.text), end=len(reply.text), labels=(), rule="retraction"))
    return kept


def _verdicts(reply: ChoiceReply) -> Iterator[Declaration]:
    if judged := judged_right(reply):
        label, end = judged
        yield Declaration(at=end, end=end, labels=(label,), rule="verdicts")


def _fitting(reply: ChoiceReply) -> Iterator[Declaration]:
    """Labels of which the reply says that they fit; where it is not the only one, another label leaves it open."""
    text = reply.text
    if not ("ption " in text or "hoice " in text or "nly " in text or " best" in text):
        return
    for found in deque(reply.patterns.fitting.finditer(text), maxlen=DECLARATIONS_READ):
        if not refuted(sentence_before(text, found.start()), found[0]):
            rule = "fit" if found["only"] or reply.text.startswith(" best", found.end()) else "hedge"
            yield Declaration(at=found.start(), end=found.end(), labels=(reply.label(found),), rule=rule, weak=True)


def _concluded(reply: ChoiceReply) -> Iterator[Declaration]:
    """The value of a choice in which the working ends, whatever was declared before it: "Thus x = 4 + 12 = 16." """
    found = _CONCLUDED.search(reply.lower, max(0, len(reply.lower) - CONCLUSION_READ))
    if found and (labels := reply.texts.of_value(found["value"])):
        yield Declaration(at=found.start(), end=found.end(), labels=labels, rule="conclusion text")


def _marked(reply: ChoiceReply) -> Iterator[Declaration]:
    for mark in deque(_MARKED.finditer(reply.text), maxlen=DECLARATIONS_READ):
        start, end = mark.span(1)
        label = reply.patterns.bare.match(reply.text, start, end)
        if label and reply.means(label):
            yield _run(reply, label, "marked")
        elif texts := reply.texts.at_start(folded(mark[1]))[0]:
            yield Declaration(at=start, end=end, labels=texts, rule="marked text")
        elif values := reply.texts.of_value(mark[1].lower()):
            yield Declaration(at=start, end=end, labels=values, rule="marked text")
        elif _UNKNOWN.fullmatch(mark[1].strip()):
            yield Declaration(at=start, end=end, labels=(), rule="marked")


def _cued(reply: ChoiceReply) -> Iterator[Declaration]:
    found = (_cue(reply, start) for start in reversed(deque(STARTS.finditer(reply.lower), maxlen=CUES_READ)))
    yield from islice(filter(None, found), DECLARATIONS_READ)


def _cue(reply: ChoiceReply, start: re.Match[str]) -> Declaration | None:
    cue, at = ROWS[start[0]], start.start()
    end = _cue_end(reply.lower, start, cue)
    if not end:
        return None
    found = _linked(reply, end, cue) or _unlinked(reply, at, end, cue)
    if found and reply.texts.cover(reply.lower, at, found.at + 1, start[0]):
        return None
    before = sentence_before(reply.text, at)
    if found and (cue.denies or not (refuted(before, start[0]) or _supposed(reply, before, end, found))):
        return found
    subject = _subject(reply, at, end) if cue.subject and not found else None
    return subject or (_anywhere(reply, at) if cue.anywhere and not found else None)


def _anywhere(reply: ChoiceReply, at: int) -> Declaration | None:
    if not (found := affirmed(reply, at)):
        return None
    return Declaration(at=found[1], end=found[1], labels=(found[0],), rule="sentence", weak=True)


def _supposed(reply: ChoiceReply, before: str, end: int, found: Declaration) -> bool:
    """Whether it is what the answer would be "if ..."."""
    return _WOULD.search(reply.text, end, found.at) is not None and _IF.search(before) is not None


def _cue_end(lower: str, start: re.Match[str], cue: Cue) -> int:
    """Where the word that holds the cue ends; 0 where the cue is only a part of another word."""
    end = start.end()
    stem = _STEM.match(lower, end) if joins(lower[end - 1]) else None
    if not stem or stem.end() == end:
        return end
    return stem.end() if cue.stem and (stem[0] != "s" or cue.bare) else 0  # "options:" opens a list


def _linked(reply: ChoiceReply, end: int, cue: Cue) -> Declaration | None:
    """A label that a link leads to; at most three candidates are tried, since "a" is also an article."""
    start = end
    for _ in range(3):
        found = reply.patterns.linked[cue.name].match(reply.text, start)
        if not found or _denied(reply, end, found.end("fill")):
            return None
        spoken = (
            cue.alone and not cue.subject and found["label"].islower() and reply.text[found.start("label") - 1] != "("
        )
        if not spoken and reply.means(found, alone=cue.alone):
            hedged = _HEDGE.search(reply.text, end, found.start("label")) is not None
            return _run(reply, found, "hedge" if hedged else cue.name, weak=cue.weak or hedged)
        start = found.end()
    return None


def _unlinked(reply: ChoiceReply, at: int, end: int, cue: Cue) -> Declaration | None:
    found = reply.patterns.bare.match(reply.text, end) if cue.bare else None
    spoken = found and found["label"].islower() and reply.text[found.start("label") - 1] != "("
    if found and not spoken and reply.means(found, alone=True):
        return _run(reply, found, cue.name)
    for link in _links(reply.lower, end, cue) if cue.text else ():
        said = folded(reply.lower[link : link + reply.texts.longest + 40])
        labels, length = reply.texts.at_start(said)
        if cue.alone:
            pauses = said.startswith(",", length) and labels and not telling(reply.texts.own[labels[0]])
            labels = labels if pauses or _CLOSES.match(said, length) else ()
        elif not labels and any(map(str.isdecimal, said[:8])):
            labels = reply.texts.of_value(_CLAUSE_END.split(said, maxsplit=1)[0])
        if labels and not _denied(reply, end, link):
            return Declaration(at=at, end=link + length, labels=labels, rule=f"{cue.name} text", weak=cue.alone)
    colon = _COLON.match(reply.text, end) if cue.bare else None
    if colon and _UNKNOWN.match(reply.text, colon.end()):
        return Declaration(at=at, end=colon.end(), labels=(), rule=cue.name)
    other = _OTHER_LETTER.match(reply.text, end) if cue.text else None
    if other and other[1] not in reply.patterns.labels.written:
        return Declaration(at=at, end=other.end(), labels=(), rule=cue.name, weak=True)
    return None


def _links(lower: str, end: int, cue: Cue) -> list[int]:
    """The ends of the first few links after a cue, within its sentence."""
    if cue.link != LINK:
        return [end]
    sentence = _SENTENCE_END.split(lower[end : end + 120], maxsplit=1)[0]
    return [end + link.end() for link in islice(_CONNECTION.finditer(sentence), 4)]


def _subject(reply: ChoiceReply, at: int, end: int) -> Declaration | None:
    """ "B is the correct answer": the label stands before the words."""
    patterns, before = reply.patterns, sentence_before(reply.text, at)
    subjects = patterns.subjects if joins(reply.lower[at]) else (patterns.unspaced_subject,)
    found = next(filter(None, (subject.match(before) for subject in subjects)), None)
    if not found or _HYPOTHETICAL.match(reply.lower, end) or _BAD_FILL.search(found["tail"]):
        return None
    offset = at - len(before)
    if refuted(found["head"]) or not reply.means(found, offset=offset):
        return None
    if reply.texts.cover(reply.lower, offset + found.start("label"), end, reply.lower[at:end]):
        return None
    other = patterns.joined.search(found["head"]) or patterns.counted.search(found["head"])
    labels = dict.fromkeys((reply.label(other), reply.label(found)) if other else (reply.label(found),))
    return Declaration(at=at, end=end, labels=tuple(labels), rule="subject")


def _lines(reply: ChoiceReply) -> Iterator[Declaration]:
    """A label alone on the first or the last line; beside another such line it is a list."""
    text, line = reply.text, reply.patterns.line
    if "\n" not in text:
        found = line.match(text) or reply.patterns.whole_reply.match(text)
        lines: list[tuple[re.Match[str] | None, re.Match[str] | None]] = [(found, None)]
    else:
        first, last = text.find("\n"), text.rfind("\n")
        opening = line.match(text, 0, first)
        lone = opening if opening and len(opening[0].split()) == 1 and not opening[0].endswith(":") else None
        before_last = line.match(text, text.rfind("\n", 0, last) + 1, last)
        after_first = line.match(text, first + 1, (text.find("\n", first + 1) + 1 or len(text) + 1) - 1)
        lines = [(lone, after_first), (line.match(text, last + 1), before_last)]
    for found, beside in lines:
        if found:
            labels = dict.fromkeys(map(reply.label, filter(None, (found, beside))))
            yield Declaration(at=found.start("label"), end=found.end(), labels=tuple(labels), rule="own line")


def _run(reply: ChoiceReply, found: re.Match[str], rule: str, *, weak: bool = False) -> Declaration:
    """The declared label together with those that the reply offers beside it: "A and C", "A/B", "A, B"."""
    labels, at = [reply.label(found)], found.start("label")
    end = reply.after_own_text(found.end("label"), labels[0])
    while more := reply.patterns.further.match(reply.text, end):
        label = reply.patterns.labels.of(more["label"] or more["spaced"])
        after = reply.after_own_text(more.end(), label)
        if not more["spaced"] and not _ENDS.match(reply.text, after):
            break
        labels.append(label)
        end = after
    if len(labels) > 1 and excluded(reply.text, end):
        labels, weak = [], True
    return Declaration(at=at, end=end, labels=tuple(dict.fromkeys(labels)), rule=rule, weak=weak)


def _denied(reply: ChoiceReply, start: int, end: int) -> bool:
    """Whether the words between a cue and its answer deny it or name another label."""
    fill = reply.text[start:end].strip(" :\x02\x03")
    fill = fill and _ASIDE.sub("", fill).strip(" :\x02\x03")
    return fill != "" and (_BAD_FILL.search(fill) is not None or reply.patterns.labels.exact.search(fill) is not None)


def declared(reply: ChoiceReply) -> Found | None:
    """The last declaration; weak ones count only where there is no other, and only if all agree."""
    found = declarations(reply)
    strong = [declaration for declaration in found if not declaration.weak]
    if not strong:
        return _agreed(reply, found)
    last = strong[-1]
    if any(each.labels != last.labels for each in strong[:-1]) and (cases := _cases(reply, strong)):
        return cases
    earlier = tuple(label for each in strong[:-1] for label in each.labels if label not in last.labels)
    return Found(labels=last.labels, rule=last.rule, rivals=earlier)


def _cases(reply: ChoiceReply, strong: list[Declaration]) -> Found | None:
    """Two answers for two cases: "If it floats, it's D; if it runs on rails, it's C." """
    last, before = strong[-1], strong[-2]
    if last.labels == before.labels or not all(
        _CASE.search(sentence_before(reply.text, each.at)) for each in (last, before)
    ):
        return None
    return Found(labels=tuple(dict.fromkeys((*before.labels, *last.labels))), rule="cases")


def _agreed(reply: ChoiceReply, weak: list[Declaration]) -> Found | None:
    labels = dict.fromkeys(label for each in weak for label in each.labels)
    if any(each.rule == "hedge" for each in weak):
        labels |= dict.fromkeys(mentioned(reply))
    return Found(labels=tuple(labels), rule=weak[-1].rule) if weak else None


PLACES_READ: Final = 200
"""Judgements that are looked at, a bound on the time that a runaway reply can take."""
_RIGHT = lazily(rf"{RIGHT_SIGNS}|\b(?:{SAYS_RIGHT}|yes)\b", re.IGNORECASE)
_JUDGES = lazily(
    rf"{RIGHT_SIGNS}|[☐❌✗✘✖]|\(\s?\)|\b(?:{SAYS_RIGHT}|yes|no|false|wrong|incorrect|not)\b", re.IGNORECASE
)
"""All that judges a choice, right or wrong; a search for two of them is cheaper than one for judged choices."""
_SENTENCE = lazily(r"(?<=[.!;]) ")
_JUDGED = lazily(
    rf"(?:(?P<right>{RIGHT_SIGNS}|(?:[:?(-] ?|is )(?:{SAYS_RIGHT}|yes)\b)"
    r"|(?P<wrong>[☐❌✗✘✖]|(?:[:?(-] ?|is )(?:no|false|wrong|incorrect|not (?:correct|true|right))\b))[^\w]*$"
)


def judged_right(reply: ChoiceReply) -> tuple[str, int] | None:
    """The one label that is called right among several that are judged, and where the line of the last one ends."""
    if not _RIGHT.search(reply.text) or len(list(islice(_JUDGES.finditer(reply.text), 2))) < 2:
        return None
    for pattern in reply.patterns.verdicts:
        found = list(islice(pattern.finditer(reply.text), PLACES_READ))
        judged = {reply.label(each): each["right"] for each in found}
        if len(judged) < 2 or not _opens_its_line(reply.text, found[0].start()):
            continue
        right = [label for label, sign in judged.items() if sign is not None]
        if len(right) != 1 or any(_echoed(reply, each) for each in found):
            return None
        end = reply.text.find("\n", found[-1].end())
        return right[0], end if end >= 0 else len(reply.text)
    return _judged_texts(reply)


def _judged_texts(reply: ChoiceReply) -> tuple[str, int] | None:
    """The same of choices that are judged by their texts: "Paris: no. Lyon: yes." """
    items = reply.text.split("\n", PLACES_READ) if "\n" in reply.text else _SENTENCE.split(reply.text, PLACES_READ)
    judged: dict[str, bool] = {}
    for item in items:
        said = folded(item)
        labels, end = reply.texts.at_start(said)
        judgement = _JUDGED.search(said, end) if len(labels) == 1 else None
        if judgement:
            judged[labels[0]] = judgement["right"] is not None
    right = [label for label, is_right in judged.items() if is_right]
    return (right[0], len(reply.text)) if len(judged) > 1 and len(right) == 1 else None


def _opens_its_line(text: str, at: int) -> bool:
    """Whether only signs stand before it: in "A ❌ B ✅" the signs are of the labels before them."""
    return not any(character.isalnum() for character in text[text.rfind("\n", 0, at) + 1 : at])


def _echoed(reply: ChoiceReply, judgement: re.Match[str]) -> bool:
    """Whether "True" is no judgement but the text of the choice."""
    said = judgement["right"] or judgement["wrong"]
    return said.lower() == reply.texts.own[reply.label(judgement)]

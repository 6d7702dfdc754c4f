"""Find every declaration of an answer in a reply; the last one counts."""

import re
from collections import deque
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Final

from msgspec import Struct

from vqa_client.scoring.choices.choice_reply import ChoiceReply, Found
from vqa_client.scoring.choices.grammar import BEST, CONNECTION, LINK, RIGHT_SIGNS, ROWS, SAYS_RIGHT, STARTS, Cue
from vqa_client.scoring.choices.labels import EXCLUDED
from vqa_client.scoring.choices.refuted import (
    LEAST_RIGHT,
    STOP,
    UNREAL,
    affirmed,
    judged_right,
    mentioned,
    refuted,
    sentence_before,
)
from vqa_client.scoring.denials import NOT
from vqa_client.scoring.patterns import JOINER, joins, lazily, line_end
from vqa_client.scoring.plain import MARKED

CUES_READ: Final = 100
"""Cues to look at, from the end; bounds the time for a runaway reply."""
DECLARATIONS_READ: Final = 50
LOOP: Final = 4
"""The number of different answers in the same words that is a loop, not corrections."""
CONCLUSION_READ: Final = 300
"""Characters at the end of a reply to search for a conclusion."""
_CONCLUDED: Final = lazily(
    r"(?:\b(?:therefore|thus|hence|so|consequently)\b(?:[^\n]*[=≈]"
    r"|,?(?: (?:there (?:is|are)|that(?:'s| is| makes)|it(?:'s| is)|i (?:count|see)|we have))?(?= a total of \d| \d))"
    r"|\b(?:giving|making|totall?ing|adds? up to|a total of) (?:a total of )?"
    r"|[,;:-] (?=\W?\d(?:(?![,;:] )[^\n=≈\x02\x03]){0,30} (?:in total|in all|altogether)[ \x03).]*\Z))"
    r"[ \x02(]*(?:a total of )?(?P<value>[^\n=≈\x02\x03]{1,30}?)(?: (?:in total|in all|altogether))?[ \x03).]*\Z"
)
_BEST: Final = lazily(BEST)
_CONNECTION: Final = lazily(CONNECTION)
_RIGHT = lazily(rf"{RIGHT_SIGNS}|\b(?:{SAYS_RIGHT}|yes)\b", re.IGNORECASE)
_JUDGES = lazily(
    rf"{RIGHT_SIGNS}|[☐❌✗✘✖]|\(\s?\)|\b(?:{SAYS_RIGHT}|yes|no|false|wrong|incorrect|not)\b", re.IGNORECASE
)
"""Anything that judges a choice right or wrong; without two of these, the slow search for verdicts is skipped."""
_CLOSES: Final = lazily(r"[\"')]*[.!]?(?:\n|$)| (?:fits|is (?:correct|right|the|best))\b")
_STEM = lazily(f"{JOINER}*")
_HYPOTHETICAL = lazily(r"[^.!?\n]{0,60}\?|[ )]*(?:answer |option |choice )?(?:only )?(?:if|unless)\b")
_UNDONE = lazily(r"하?(?:지 ?(?:않|마|말)|면 안)|[^\W\da-z]{0,3}(?:ない|ません)")
"""Denies the words before it, in Korean and Japanese: "B를 선택하지 않습니다"."""
_WOULD = lazily(r"\b(?:would|were|wäre|serait|sería)\b", re.IGNORECASE)
_IF = lazily(r"\b(?:if|had|wenn|si)\b", re.IGNORECASE)
_IS_UNREAL = lazily(r"\bwould\b|'d\b")
_UNLESS_MET = lazily(rf"[ )]*(?:only )?{UNREAL}")
_HEDGE = lazily(r"\b(?:could|might|may|possibly|perhaps|könnte|pourrait|podría|может)\b", re.IGNORECASE)
_CASE = lazily(r"^\W*(?:(?:and|but|or|so) )?(?:if|unless|otherwise|in case)\b", re.IGNORECASE)
_BAD_FILL = lazily(
    rf"\b(?:not|never|no|cannot|unlikely|if|unless|why|how|options|choices)\b|n't\b|{NOT}|难道|難道|{LEAST_RIGHT}"
    r"|\b(?:that|which) (?:\w+ )?(?:be|is|was) (?:\w+ly )?(?:ruled out|excluded|eliminated|dismissed|discarded"
    r"|rejected)\b|\bi (?:can |would )?(?:rule out|exclude|eliminate|dismiss|discard|reject)\b",
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
"""An aside between a cue and its answer, which doesn't change the answer."""
_COLON = lazily(r"[\"') \x03]*[:=][\s\"'(\x02\x04]{0,8}")
_OTHER_LETTER = lazily(
    r"(?i: (?:option|choice|answer|letter))?(?i: to (?:the|this) question)?"
    rf"(?i:[ \x03]{{0,2}}{CONNECTION})[\s\"'(\x02]*(?i:(?:option|choice|letter) )?[\"'(\x02]*"
    r"([A-Z])[ \"')\x03]*(?:[.,;!\n]|$)"
)
"""A letter that isn't a label where the answer should be."""
_UNKNOWN = lazily(
    r"(?:unknown|none\b|n/a|(?:i )?(?:don't|do not|can't|cannot) (?:know|tell|say|determine)|cannot be|not given"
    r"|unclear|not (?:enough|possible|stated|sure)|unable|insufficient|(?-i:[A-Z])[\"') .\x03\x05]*(?:\n|$))",
    re.IGNORECASE,
)
_MARKED = lazily(f"{MARKED[0]}([^{MARKED[0]}{MARKED[1]}]{{0,400}})")
_OF_BOTH = lazily(r"[ \x02]*(?:are|do|can|could)(?:n't)?\b|[ \x02]*cannot\b")
"""A plural verb: "so A and B don't fit" excludes both, "so A and B doesn't fit" only B."""
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
    """One declaration: several labels if it leaves the answer open, none if it declares none."""

    at: int
    end: int
    labels: tuple[str, ...]
    rule: str
    weak: bool = False


def declarations(reply: ChoiceReply) -> list[Declaration]:
    """All declarations in the reply, in order."""
    if len(reply.text) == 1:
        return list(_lone_labels(reply))
    every = sorted(
        (
            *_lone_labels(reply),
            *reversed(_cue_declarations(reply)),
            *_marked(reply),
            *_verdicts(reply),
            *_fitting_labels(reply),
            *_conclusions(reply),
        ),
        key=lambda declaration: declaration.at,
    )
    kept: list[Declaration] = []
    for declaration in every:
        if declaration.rule != "excluded" and (not kept or not kept[-1].at < declaration.at < kept[-1].end):
            kept.append(declaration)
    if kept and _RETRACTED.search(reply.lower, kept[-1].end):
        kept.append(Declaration(at=len(reply.text), end=len(reply.text), labels=(), rule="retraction"))
    return kept


def _verdicts(reply: ChoiceReply) -> Iterator[Declaration]:
    if not _RIGHT.search(reply.text) or len(list(islice(_JUDGES.finditer(reply.text), 2))) < 2:
        return
    if judged := judged_right(reply):
        label, end = judged
        yield Declaration(at=end, end=end, labels=(label,), rule="verdicts")


def _fitting_labels(reply: ChoiceReply) -> Iterator[Declaration]:
    """Labels that the reply says fit; if a label isn't called the best or only one, others leave the answer open.

    In a truncated reply only the best or only one counts: others may follow.
    """
    text = reply.text
    if not ("ption " in text or "hoice " in text or "nly " in text or _BEST.search(text)):
        return  # the search takes a tenth of the time that reading takes
    for match in deque(reply.patterns.fitting.finditer(text), maxlen=DECLARATIONS_READ):
        asked = _HYPOTHETICAL.match(text, match.end())
        if match.end("label") in reply.tokens and not (
            asked or refuted(sentence_before(text, match.start()), match[0])
        ):
            best = _BEST.search(match[0]) or _BEST.match(text, match.end())
            if match["only"] or best or not reply.cut:
                labels, rule = (reply.written[match["label"]],), "fit" if match["only"] or best else "hedge"
                yield Declaration(at=match.start(), end=match.end(), labels=labels, rule=rule, weak=True)


def _conclusions(reply: ChoiceReply) -> Iterator[Declaration]:
    """A choice's value at the end of the working, which overrules earlier declarations: "Thus x = 4 + 12 = 16." """
    match = _CONCLUDED.search(reply.lower, max(0, len(reply.lower) - CONCLUSION_READ))
    if match and (labels := reply.texts.of_value(match["value"])):
        yield Declaration(at=match.start(), end=match.end(), labels=labels, rule="conclusion text")


def _marked(reply: ChoiceReply) -> Iterator[Declaration]:
    for mark in deque(_MARKED.finditer(reply.text), maxlen=DECLARATIONS_READ):
        start, end = mark.span(1)
        label = reply.patterns.bare.match(reply.text, start, end)
        if label and reply.is_label(label):
            yield _with_joined_labels(reply, label, "marked")
        elif labels := reply.texts.start_of(mark[1].lower()).labels or reply.texts.of_value(mark[1].lower()):
            yield Declaration(at=start, end=end, labels=labels, rule="marked text")
        elif _UNKNOWN.fullmatch(mark[1].strip()):
            yield Declaration(at=start, end=end, labels=(), rule="marked")


def _cue_declarations(reply: ChoiceReply) -> list[Declaration]:
    """What cues declare, the last first: a label or a choice's text after the cue, or a label before it."""
    results: list[Declaration] = []
    sentences: list[int] = []
    for start in reversed(deque(STARTS.finditer(reply.lower), maxlen=CUES_READ)):
        cue = ROWS[start[0]]
        end = _cue_end(reply.lower, start, cue)
        if not end or _UNDONE.match(reply.lower, end):
            continue
        after = _linked_label(reply, end, cue) or (_bare_label(reply, end, cue) if cue.bare else None)
        after = after or _linked_text(reply, start.start(), end, cue)
        if declaration := _declared_by(reply, start, cue, end, after):
            results.append(declaration)
        elif not after and cue.anywhere:
            sentences.append(start.start())
    for label, at in filter(None, (affirmed(reply, sentence) for sentence in sentences)):
        results.append(Declaration(at=at, end=at, labels=(label,), rule="sentence", weak=True))
    return results[:DECLARATIONS_READ]


def _declared_by(
    reply: ChoiceReply, start: re.Match[str], cue: Cue, end: int, after: Declaration | None
) -> Declaration | None:
    """What a cue declares after or before it, unless its sentence refutes it."""
    word, at = start[0], start.start()
    if not after:
        return _label_before(reply, at, end) if cue.subject else None
    if word in reply.texts.spelled and reply.texts.cover(reply.lower, at, after.at + 1, word):
        return None
    before = sentence_before(reply.text, at)
    supposed = (_WOULD.search(reply.text, end, after.at) and _IF.search(before)) or (
        _UNLESS_MET.match(reply.lower, after.end) and _IS_UNREAL.search(reply.lower, at, after.at)
    )
    return after if cue.denies or not (supposed or refuted(before, word)) else None


def _cue_end(lower: str, start: re.Match[str], cue: Cue) -> int:
    """The end of the word with the cue; 0 if the cue is only part of another word."""
    end = start.end()
    stem = _STEM.match(lower, end) if joins(lower[end - 1]) else None
    if not stem or stem.end() == end:
        return end
    return stem.end() if cue.stem and (stem[0] != "s" or cue.bare) else 0  # "options:" opens a list


def _linked_label(reply: ChoiceReply, end: int, cue: Cue) -> Declaration | None:
    """A label that a link leads to; at most three candidates, since "a" is also an article."""
    start = end
    for _ in range(3):
        match = reply.patterns.linked[cue.name].match(reply.text, start)
        if not match or _denied(reply, end, match.end("fill")):
            return None
        spoken = cue.alone and not cue.subject and reply.is_spoken(match)
        if not spoken and reply.is_label(match, alone=cue.alone):
            hedged = _HEDGE.search(reply.text, end, match.start("label")) is not None
            return _with_joined_labels(reply, match, "hedge" if hedged else cue.name, weak=cue.weak or hedged)
        start = match.end()
    return None


def _bare_label(reply: ChoiceReply, end: int, cue: Cue) -> Declaration | None:
    """A label right after the cue."""
    match = reply.patterns.bare.match(reply.text, end)
    if not match or reply.is_spoken(match) or not reply.is_label(match, alone=True):
        return None
    return _with_joined_labels(reply, match, cue.name)


def _linked_text(reply: ChoiceReply, at: int, end: int, cue: Cue) -> Declaration | None:
    """The text of a choice after a cue, or words that no choice is right."""
    for link in _ends_of_links(reply.lower, end, cue) if cue.text else ():
        piece, labels, length, values = reply.texts.start_of(reply.lower[link : link + reply.texts.longest + 40])
        if cue.alone:
            pauses = piece.startswith(",", length) and labels and labels[0] in reply.texts.silent
            labels = labels if pauses or _CLOSES.match(piece, length) else ()
        elif not labels:
            labels = values
        if labels and not _denied(reply, end, link):
            return Declaration(at=at, end=link + length, labels=labels, rule=f"{cue.name} text", weak=cue.alone)
    colon = _COLON.match(reply.text, end) if cue.bare else None
    if colon and _UNKNOWN.match(reply.text, colon.end()):
        return Declaration(at=at, end=colon.end(), labels=(), rule=cue.name)
    other = _OTHER_LETTER.match(reply.text, end) if cue.text else None
    if other and other[1] not in reply.written:
        return Declaration(at=at, end=other.end(), labels=(), rule=cue.name, weak=True)
    return None


def _ends_of_links(lower: str, end: int, cue: Cue) -> list[int]:
    """The ends of the first few links after a cue, within its sentence."""
    if cue.link != LINK:
        return [end]
    sentence = STOP.split(lower[end : end + 120], maxsplit=1)[0]
    return [end + link.end() for link in islice(_CONNECTION.finditer(sentence), 4)]


def _label_before(reply: ChoiceReply, at: int, end: int) -> Declaration | None:
    """A label before the cue: "B is the correct answer"."""
    patterns, before = reply.patterns, sentence_before(reply.text, at)
    subjects = patterns.subjects if joins(reply.lower[at]) else (patterns.unspaced_subject,)
    match = next(filter(None, (subject.match(before) for subject in subjects)), None)
    if not match or _HYPOTHETICAL.match(reply.lower, end) or _BAD_FILL.search(match["tail"]):
        return None
    offset = at - len(before)
    if refuted(match["head"]) or not reply.is_label(match, offset=offset):
        return None
    word = reply.lower[at:end]
    if word in reply.texts.spelled and reply.texts.cover(reply.lower, offset + match.start("label"), end, word):
        return None
    other = patterns.joined.search(match["head"]) or patterns.counted.search(match["head"])
    labels = dict.fromkeys(reply.written[place["label"]] for place in (other, match) if place)
    return Declaration(at=at, end=end, labels=tuple(labels), rule="subject")


def _lone_labels(reply: ChoiceReply) -> Iterator[Declaration]:
    """A label alone on the first or the last line; two such lines in a row are a list."""
    text, line = reply.text, reply.patterns.line
    if "\n" not in text:
        match = line.match(text) or reply.patterns.whole_reply.match(text)
        lines: list[tuple[re.Match[str] | None, re.Match[str] | None]] = [(match, None)]
    else:
        first, last = text.find("\n"), text.rfind("\n")
        opening = line.match(text, 0, first)
        lone = opening if opening and len(opening[0].split()) == 1 and not opening[0].endswith(":") else None
        before_last = line.match(text, text.rfind("\n", 0, last) + 1, last)
        after_first = line.match(text, first + 1, line_end(text, first + 1))
        lines = [(lone, after_first), (line.match(text, last + 1), before_last)]
    for match, beside in lines:
        if match:
            labels = dict.fromkeys(reply.written[place["label"]] for place in (match, beside) if place)
            yield Declaration(at=match.start("label"), end=match.end(), labels=tuple(labels), rule="own line")


def _with_joined_labels(reply: ChoiceReply, match: re.Match[str], rule: str, *, weak: bool = False) -> Declaration:
    """The declared label with those joined to it: "A and C", "A/B", "A, B"."""
    labels, at = [reply.written[match["label"]]], match.start("label")
    end = reply.own_end(match.end("label"))
    while more := reply.patterns.further.match(reply.text, end):
        label = reply.written[more["label"] or more["spaced"]]
        after = reply.own_end(more.end())
        several = len(labels) > 1 or ("," not in more[0] and _OF_BOTH.match(reply.text, after))
        subject = rule == "conclusion" and several and EXCLUDED.match(reply.text, after)
        if not (more["spaced"] or subject or _ENDS.match(reply.text, after)):
            break
        labels.append(label)
        end = after
    if len(labels) > 1 and EXCLUDED.match(reply.text, end):
        labels, rule = [], "excluded"
    return Declaration(at=at, end=end, labels=tuple(dict.fromkeys(labels)), rule=rule, weak=weak)


def _denied(reply: ChoiceReply, start: int, end: int) -> bool:
    """Whether the words between a cue and its answer deny it or name another label."""
    fill = _ASIDE.sub("", reply.text[start:end])
    return _BAD_FILL.search(fill) is not None or reply.patterns.labels.exact.search(fill) is not None


def declared(reply: ChoiceReply) -> Found | None:
    """The last declaration; weak ones count only if nothing else is declared and all of them agree."""
    every = declarations(reply)
    strong = [declaration for declaration in every if not declaration.weak]
    if not strong:
        return _agreeing(reply, every)
    last = strong[-1]
    if any(declaration.labels != last.labels for declaration in strong[:-1]) and (
        several := _cases(reply, strong) or _loop(reply, strong)
    ):
        return several
    earlier = tuple(label for declaration in strong[:-1] for label in declaration.labels if label not in last.labels)
    return Found(labels=last.labels, rule=last.rule, rivals=earlier)


def _cases(reply: ChoiceReply, strong: list[Declaration]) -> Found | None:
    """Two answers for two cases: "If it floats, it's D; if it runs on rails, it's C." """
    last, before = strong[-1], strong[-2]
    if last.labels == before.labels or not all(
        _CASE.search(sentence_before(reply.text, declaration.at)) for declaration in (last, before)
    ):
        return None
    return Found(labels=tuple(dict.fromkeys((*before.labels, *last.labels))), rule="cases")


def _loop(reply: ChoiceReply, strong: list[Declaration]) -> Found | None:
    """Different answers in the same words, one after the other: "Answer: A", "Answer: B", and so on."""
    tail = strong[-LOOP:]
    between = {reply.lower[one.end : other.at] for one, other in pairwise(tail)}
    if len(tail) < LOOP or len(between) > 1 or any(one.labels == other.labels for one, other in pairwise(tail)):
        return None
    return Found(labels=tuple(dict.fromkeys(label for claim in tail for label in claim.labels)), rule="loop")


def _agreeing(reply: ChoiceReply, weak: list[Declaration]) -> Found | None:
    weak = [declaration for declaration in weak if declaration.rule != "possibility"] or weak
    labels = dict.fromkeys(label for declaration in weak for label in declaration.labels)
    if any(declaration.rule in ("hedge", "possibility") for declaration in weak):
        labels |= dict.fromkeys(mentioned(reply, conceded=_HEDGE.search(reply.text, 0, weak[0].end) is not None))
    return Found(labels=tuple(labels), rule=weak[-1].rule) if weak else None

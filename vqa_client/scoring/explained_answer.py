"""Read the answer from `<answer> because <explanation>`: some words, one of three labels, or letters.

The answer is before the first whole word "because" or another separator, the explanation after it.
"""

import html
import re
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.scoring.choices.choice import choice_in, read_choice
from vqa_client.scoring.choices.options import texts_of
from vqa_client.scoring.denials import IMPOSSIBLE
from vqa_client.scoring.patterns import behind
from vqa_client.scoring.plain import NO_MARKS, plain
from vqa_client.scoring.refusal import refuses
from vqa_client.scoring.reply import Reply, reply_from
from vqa_client.scoring.wrappers import labelled
from vqa_client.types import Answer, Completion

_ECHO = re.compile(
    r"\A(?:question|hypothesis|statement|caption)\s?\d{0,3}\s?:.{0,2000}?(?:\n|[?.!]\s)\W{0,4}answer\W{0,3}:",
    re.I | re.S,
)
_NEXT = re.compile(
    r"\n\s*(?:question|hypothesis|statement|caption|image|picture|example|user|human)\s?\d{0,3}\s?:", re.I
)
_NAME: Final = "(?:final answer|answer|assistant|response|reply|label|activity|output|prediction)"
_PREFIX = re.compile(rf"(?:[\s*#-]*(?:\d[.)] )?{_NAME}[\s*]*:[\s*]*|\s*[#*][#* ]*{_NAME}[* ]*\n)+", re.I)
_LABEL: Final = r"(?:explanation|reason|reasoning|rationale|justification)"
_INTRODUCTION = re.compile(
    rf"\A(?!\W{{0,9}}{_LABEL}\b)[^\n]{{0,200}}[:!][ \t]{{0,9}}\n\s{{0,9}}"
    rf"(?=(?:\d[.)] )?[#*]{{0,9}}{_NAME}[\s*]{{0,9}}:)",
    re.I,
)
_EXPLICIT = re.compile(
    r"(?:^|[\s,;:.(\"'*<-]{1,9})because\b(?:\*\*)?[\s,:;>]*"
    rf"|(?:^|\s{{1,9}}\d[.)]|[\s,;.(*#-])[\s,;.(*#-]{{0,9}}{_LABEL}[\s*]{{0,9}}:(?:\*\*)?\s*"
    rf"|^[#*][#* ]{{0,9}}{_LABEL}[* ]{{0,9}}\n\s*",
    re.I | re.M,
)
_AFTER_COMMA = re.compile(r"(?P<by>,\s*(?:since|as|given that|due to)\s+)", re.I)
_AFTER_TWO_WORDS = re.compile(r"\S+(?:\s\S+)?(?P<by>\s(?:since|due to)\s+)", re.I)
_AFTER_ANSWER = re.compile(r"(?<=\w)\s?(?:[,;:.]|- )\s*(?=\w)")
_IN_BRACKETS = re.compile(r"<([^<>]*)>")
"""A part of `<answer> because <explanation>` by a model that keeps the brackets of the form."""
_CLOSING = re.compile(r"\)\.?\Z")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
_WORD = re.compile(r"[^\W_]")
_FEW_WORDS: Final = 4
_WHOLE_ANSWERS = re.compile(r"\W*(?:yes|no|entailment|contradiction|neutral)\b", re.I)
"""Answers that need only a comma or a full stop as the separator."""


class ReplyParts(Struct, frozen=True, kw_only=True):
    """The parts of a reply: `head` before the separator, `rationale` after it or None.

    `rule` is the kind of separator; it is `explicit` if the prompt asks for it or if it is a heading ("Explanation:").
    """

    head: str
    rationale: str | None
    rule: str
    explicit: bool


def take_apart(reply: Reply) -> ReplyParts | Answer:
    """The parts of a reply, or an answer without text that says why there are none.

    A reply cut by the token limit counts only if it has a separator: then its answer is whole.
    """
    wrapped = reply.unwrapped
    text = "" if reply.status else _own_words(wrapped.answer)
    if not text:
        return reply.without_answer()
    if inner := labelled(text):
        text, wrapped = inner.answer, inner._replace(explanation=wrapped.explanation or inner.explanation)
    parts = split(text)
    if wrapped.explanation and not (parts.explicit and parts.rationale):
        joined = f"{parts.head} {behind(_EXPLICIT, wrapped.explanation)}"
        parts = _parts(joined, len(parts.head), len(parts.head) + 1, "wrapper", explicit=True)
    if refuses(parts.head if parts.explicit else text):
        return Answer(status="refused", rule="refusal")
    if reply.cut and not parts.explicit:
        return Answer(status="truncated", rule="no separator")
    if not _WORD.search(parts.head):
        return Answer(status="unparsed", rule=f"nothing before {parts.rule}", rationale=parts.rationale)
    return parts


def split(text: str) -> ReplyParts:
    """Split at the first separator; a reply of a few words without one is an answer without explanation."""
    if separator := _EXPLICIT.search(text):
        rule = "because" if "because" in separator[0].lower() else "label"
        return _parts(text, separator.start(), separator.end(), rule, explicit=True)
    if separator := _AFTER_COMMA.search(text) or _AFTER_TWO_WORDS.match(text):
        return _parts(text, separator.start("by"), separator.end(), "synonym")
    whole = _WHOLE_ANSWERS.match(text)
    if whole and (separator := _AFTER_ANSWER.match(text, whole.end())):
        return _parts(text, separator.start(), separator.end(), "comma", explicit=True)
    end = _SENTENCE_END.search(text) if len(text.split()) > _FEW_WORDS else None
    return (
        _parts(text, end.start(), end.end(), "sentence") if end else _parts(text, len(text), len(text), "whole reply")
    )


def _parts(text: str, start: int, end: int, rule: str, *, explicit: bool = False) -> ReplyParts:
    head = _without_brackets(" ".join(text[:start].split()))
    rationale = _without_brackets(text[end:].strip())
    if "(" in text[start:end] and rationale.count(")") > rationale.count("("):
        rationale = _CLOSING.sub("", rationale)
    return ReplyParts(head=head, rationale=rationale if _WORD.search(rationale) else None, rule=rule, explicit=explicit)


def _without_brackets(text: str) -> str:
    enclosed = _IN_BRACKETS.fullmatch(text)
    return enclosed[1].strip() if enclosed else text


def _own_words(text: str) -> str:
    """Remove a repeated question before the answer, invented questions after it, and headings such as "Answer:"."""
    text = behind(_INTRODUCTION, behind(_ECHO, text).strip())
    following = _NEXT.search(text)
    text = text[: following.start()] if following else text
    return _without_brackets(behind(_PREFIX, text).strip())


MOST_WORDS: Final = 8
"""A longer reply without an explicit separator is prose without an answer."""
_AROUND: Final = " \t\n.,;:!?\"'()*-"
_ANSWER_IS = re.compile(
    r"(?:so,? |thus,? |therefore,? )?"
    r"(?:the|my) (?:(?:final|correct|best|short|right) )?(?:answer|activity|response|label)"
    r"(?: to (?:the|this|your) question)?(?: (?:is|would be|must be)\b|\s?:)(?: (?:that|most likely|probably))?[\s:]*",
    re.IGNORECASE,
)
_SUBJECT_IS = re.compile(
    r"(?:it|this|that|he|she|they|there|someone|people|(?:the|a|an)(?: [\w-]+){1,4}?)"
    r"(?:'s|'re| is| are| was| were| looks| appears to be| seems to be)(?: (?:most likely|probably))? ",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"(yes|no)\b(?=\s*[,.;:!-]|\s+(?:it|he|she|they|there|this|that|these|those|the|i|you|we|because|since)\b)",
    re.IGNORECASE,
)
LABELS: Final = ("entailment", "contradiction", "neutral")
_WORDS: Final = {
    "entailment": r"entail(?:s|ed|ing|ments?)?",
    "contradiction": r"contradict(?:s|ed|ing|ions?|ory|ive)?",
    "neutral": r"neutral(?:ity|ly)?|undetermined|inconclusive",
}
_HEAD_READ: Final = 2000
"""Characters of a head that are searched for labels: a bound on the time for a runaway reply."""
_NAMED = re.compile(
    r"(?P<non>\bnon-? ?)?\b(?:" + "|".join(f"(?P<{label}>{words})" for label, words in _WORDS.items()) + r")\b", re.I
)
_CLAUSE = re.compile(
    r"[,;.:!?()\n]|\b(?:(?<!anything )but|so|therefore|thus|hence|however|although|though|while|whereas)\b", re.I
)
_DENIED = re.compile(
    r"\b(?:not|neither|nor|no|never|cannot|rather than|instead of|without|anything but|far from|hardly|unlikely"
    rf"|least likely)\b|n't\b|{IMPOSSIBLE}",
    re.I,
)
_ASKED = re.compile(r"[^,;.:!?()\n]{1,80}\?(?=[^?]*\w)")
_DECLARED = re.compile(
    r"\b(?:label|answer|relation(?:ship)?|verdict)\b[^\w]{0,3}(?: ?(?:is|would be|must be)\b)?[^\w]*", re.I
)
_LETTER = re.compile(r"\W*(?:(?:the )?answer(?: is|:)?\W*)?(?:[a-z]\b\W+)?", re.IGNORECASE)
_PAIR = re.compile(r"\W*(?P<answer>[A-Z])\W{0,4}(?:and\W{1,4})?(?P<reason>[A-Z])\W*")
_REASON = re.compile(
    r"\b(?:reason|rationale|explanation)\b"
    r"(?=\W{0,4}:|\W{1,4}(?:is|that fits|which fits)\b|\W{1,4}(?-i:[A-Z])\b)",
    re.IGNORECASE,
)


def read_phrase(reply: Reply) -> Answer:
    """A short answer, without its introduction ("the answer is", "he is"); only the yes or no if it begins with one."""
    parts = take_apart(reply)
    if isinstance(parts, Answer):
        return parts
    phrase = _phrase(parts.head)
    if not parts.explicit and len(phrase.split()) > MOST_WORDS:
        return Answer(status="unparsed", rule="prose", rationale=parts.rationale)
    return _answer_of_parts(phrase, parts)


def read_sentence(reply: Reply) -> Answer:
    """An answer that may be a whole sentence."""
    parts = take_apart(reply)
    if isinstance(parts, Answer):
        return parts
    return _answer_of_parts(_without_marks(behind(_ANSWER_IS, parts.head)), parts)


def _phrase(head: str) -> str:
    phrase = _without_marks(plain(html.unescape(head)).translate(NO_MARKS))
    introduction = _ANSWER_IS.match(phrase) or _SUBJECT_IS.match(phrase)
    phrase = _without_marks(phrase[introduction.end() if introduction else 0 :])
    yes_no = _YES_NO.match(phrase)
    return yes_no[1] if yes_no else phrase


def _without_marks(text: str) -> str:
    """A text without marks around it, but with the sign of a number and the end of a bracket within the text."""
    start = len(text) - len(text.lstrip(_AROUND))
    bare = text.strip(_AROUND)
    sign = "-" if bare[:1].isdigit() and text[:start].endswith("-") else ""
    closing = ")" if bare.count("(") > bare.count(")") and text[start + len(bare) :].startswith(")") else ""
    return sign + bare + closing


def _answer_of_parts(text: str, parts: ReplyParts) -> Answer:
    if not text:
        return Answer(status="unparsed", rule=f"nothing before {parts.rule}", rationale=parts.rationale)
    return Answer(text=text, rule=parts.rule, rationale=parts.rationale)


def read_label(reply: Reply) -> Answer:
    """The label before the separator; without one, the label that the explanation declares.

    Several labels that are not denied are ambiguous; if two are denied, the answer is the third.
    """
    parts = take_apart(reply)
    if isinstance(parts, Answer):
        return _declared_or(parts) if parts.status == "unparsed" else parts
    labels, denied = _labels_of(parts.head[:_HEAD_READ], first_clause=not parts.explicit)
    if len(labels) == 1:
        return Answer(text=labels[0], rule=parts.rule, rationale=parts.rationale)
    if labels:
        return Answer(status="ambiguous", rule=parts.rule, rivals=tuple(labels), rationale=parts.rationale)
    left = [label for label in LABELS if label not in denied]
    if len(left) == 1:
        return Answer(text=left[0], rule="the others denied", rationale=parts.rationale)
    rivals = tuple(left) if denied else ()
    return _declared_or(Answer(status="unparsed", rule="no label", rivals=rivals, rationale=parts.rationale))


def _declared_or(otherwise: Answer) -> Answer:
    """The one label that the rationale declares ("Because ..., the answer is neutral"), or `otherwise`."""
    places = _DECLARED.finditer(otherwise.rationale or "")
    named = filter(None, (_NAMED.match(place.string, place.end()) for place in places))
    labels = {str(label.lastgroup) for label in named if not label["non"]}
    if len(labels) != 1:
        return otherwise
    return Answer(text=labels.pop(), rule="declaration", rationale=otherwise.rationale)


def _labels_of(head: str, *, first_clause: bool) -> tuple[list[str], set[str]]:
    """The affirmed labels in order, and those that are only denied; `first_clause`: stop at the first affirmed one."""
    affirmed: dict[str, None] = {}
    denied: set[str] = set()
    for clause in _CLAUSE.split(_ASKED.sub(" ", head)):
        for named in _NAMED.finditer(clause):
            if named["non"] or _DENIED.search(clause, 0, named.start()):
                denied.add(str(named.lastgroup))
            else:
                affirmed.setdefault(str(named.lastgroup))
        if affirmed and first_clause:
            break
    return list(affirmed), denied - affirmed.keys()


def read_letter(reply: Reply, choices: dict[str, str]) -> Answer:
    """The letter before the separator and the explanation after it; a "because" within a choice isn't a separator."""
    parts = take_apart(reply)
    if isinstance(parts, Answer) and parts.status != "unparsed":
        return parts
    parts = _after_own_text(reply, choices) or parts
    if isinstance(parts, Answer):
        return replace(choice_in(reply, choices), rationale=parts.rationale)
    if parts.explicit:
        before = _read_letter(parts.head, choices)
        if before.status != "unparsed":
            return replace(before, rationale=parts.rationale)
    return replace(choice_in(reply, choices), rationale=parts.rationale if parts.rule != "sentence" else None)


def read_reason(reply: Reply, reasons: dict[str, str]) -> Answer:
    """The letter of a reason, whose text is the explanation; "the reason is D" is read like "the answer is D"."""
    asked = _REASON.sub("answer", reply.raw)
    answer = read_letter(reply_from(replace(reply.completion, text=asked)), reasons)
    if answer.text is None and asked != reply.raw:
        # the reply may name both letters, or the text of a reason may have the word "reason"
        answer = read_letter(reply, reasons)
    return replace(answer, rationale=reasons.get(answer.text or ""))


def _after_own_text(reply: Reply, choices: dict[str, str]) -> ReplyParts | None:
    """The parts of a reply that quotes a choice with a "because" in its text, with or without its letter; else None."""
    if not any("because" in text.lower() for text in choices.values()):
        return None
    text = reply.peeled.translate(NO_MARKS)
    own = behind(_LETTER, text)
    labels, length = texts_of(tuple(choices.items())).at_start(own.lower())
    if len(labels) != 1 or "because" not in choices[labels[0]].lower():
        return None
    rest = own[length:]
    return ReplyParts(head=text.removesuffix(rest), rationale=split(rest).rationale, rule="because", explicit=True)


def read_two_letters(reply: Reply, answers: dict[str, str], rationales: dict[str, str]) -> Answer:
    """The answer's letter and the rationale's, as `B because G`; the rationale's text is the explanation.

    Answers and rationales have different letters, so without a separator each is looked for in the whole reply.
    """
    parts = take_apart(reply)
    if isinstance(parts, Answer) and parts.status != "unparsed":
        return parts
    missing: Answer | None = None
    for candidate in (parts, split(reply.visible), None):  # wrappers may be around both letters, or around each
        first, second = _halves(candidate, reply, answers, rationales)
        if first.text and second.text:
            return Answer(text=two_letters(first.text, second.text), rule=first.rule, rationale=rationales[second.text])
        missing = missing or (second if first.text else first)
    assert missing is not None
    return Answer(status=missing.status, rule=missing.rule, rivals=missing.rivals)


def _halves(
    parts: ReplyParts | Answer | None, reply: Reply, answers: dict[str, str], rationales: dict[str, str]
) -> tuple[Answer, Answer]:
    """The answer and the rationale from the parts of a reply, or from the whole reply if it has no parts."""
    if isinstance(parts, ReplyParts) and not parts.rationale and (pair := _PAIR.fullmatch(parts.head)):
        return _read_letter(pair["answer"], answers), _read_letter(pair["reason"], rationales)
    if isinstance(parts, ReplyParts) and parts.explicit and parts.rationale:
        reason = Completion(text=_REASON.sub("answer", parts.rationale), finish_reason=reply.completion.finish_reason)
        return _read_letter(parts.head, answers), read_choice(reason, rationales)
    return choice_in(reply, answers), choice_in(reply, rationales)


def _read_letter(text: str, choices: dict[str, str]) -> Answer:
    return read_choice(Completion(text=text, finish_reason="stop"), choices)


def two_letters(answer: str, rationale: str) -> str:
    """The text that names an answer and a rationale by their letters."""
    return f"{answer} because {rationale}"

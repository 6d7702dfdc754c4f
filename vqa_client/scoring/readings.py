"""Readings: functions from a reply to a benchmark's answer.

A reading gets the reply without thoughts and wrappers, and is called only if there is something to read. A published
reader, such as `verbatim` and those in `published/`, gets the raw reply, even an empty one.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from msgspec.structs import replace

from vqa_client.scoring.choices.choice import choice_in
from vqa_client.scoring.denials import denied_before
from vqa_client.scoring.number_words import FEW_WORDS, value_of
from vqa_client.scoring.patterns import behind, last_match, line_end
from vqa_client.scoring.reply import Reply
from vqa_client.scoring.restated import affirms, answer_in, without_denied
from vqa_client.scoring.wrappers import SAYS_NO_MORE, above_explanation, labelled, own_answer, unwrapped
from vqa_client.scoring.yes_no import YesNo, yes_or_no
from vqa_client.types import Answer, Question

Parse = Callable[[Reply, Question], Answer]

_LEAD = re.compile(
    r"(?:^|[.!\n]\s*)(?:[*_#]{1,3}\s?)?"
    r"(?:(?:so|therefore|thus|hence|i\s(?:think|believe)|actually|wait|no|sorry|correction)[,:]?\s+){0,2}(?:(?:the|my)\s+)?"
    r"(?:(?:final|correct|short)\s+)?"
    rf"answer(?:\*\*)?\s*(?:is{SAYS_NO_MORE}\s*:?|:)\s*"
    r"(?=[^\n])",
    re.IGNORECASE,
)
_ANSWER_ABOUT = re.compile(
    r"(?i)(?<=[\w$)}\]%])[.!]\s+(?:(?:the|this|that|my)\s+answer|i\s+hope|thank|it\s(?:is|was)|(?<=\d..)(?:we|there|the))\b"
)
"""Begins a sentence about the answer before it: "42. The answer is derived from the table"."""
_AMOUNT: Final = rf"(?<![\d.:])\d+(?:\.\d+)?(?!\d|\.\d)|{FEW_WORDS}"
_RATIO = re.compile(r"(?<![\d.:])(\d+(?:\.\d+)?) ?: ?(\d+(?:\.\d+)?)(?!\d| ?:|\.\d)")
_RATIO_IN_WORDS = re.compile(rf"(?<!from )({_AMOUNT})[ -]to[ -]({_AMOUNT})", re.IGNORECASE)
_ASKS_RATIO = re.compile(r"\b(?:ratio|proportion|odds|scale|aspect)s?\b", re.IGNORECASE)
_REASON = re.compile(
    r"(?<=[\w)\"%])(?:,? (?:because|since)|, (?:not|which(?! is \d)|rather than|as (?:shown|seen|stated|given)))\b",
    re.IGNORECASE,
)
_ALL_QUOTED = re.compile(r"\W{0,3}(?:\"[^\"\n]+\"|“[^”\n]+”|'[^'\n]+')\W{0,3}")
_SET_APART = (
    re.compile(r"(?P<before>[^*\n]{0,200})\*\*(?P<answer>[^*\n]{0,199}[^*\n:])\*\*(?P<after>[^*\n]{0,200})"),
    re.compile(r"(?P<before>[^\"“”\n]{1,200})[\"“](?P<answer>[^\"“”\n]{1,200})[\"”](?P<after>[^\"“”\n]{0,200})"),
)
_EQUATES = re.compile(
    r"(?:(?<!that )(?<!which )(?<!who )\b(?:is|are|was|were|it's|that's)"
    r"(?: (?:about|approximately|around|roughly|exactly|only))?|:|\s[-–—]|[–—])\s*\Z",
    re.IGNORECASE,
)
_TELLS = re.compile(
    r"\b(?:says?|reads?|shows?|states?|displays?|spells?|called|named|titled|entitled"
    r"|(?:shows?|displays?|has) the (?:text|words?|phrase))\s*\Z",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[.!。]?\s*")
_AFTER_IT_ALONE = re.compile(r"(?:[.!] (?:It|This|That|These|They|He|She)|,? because)\b")
_AFTER = re.compile(
    r"[,;]? (?:\(|[–—-] |(?:as|because|since|according|based|which|who|where|while|not)\b)"
    r"|[.!] (?:It|This|That|These|They|He|She)\b"
    r"| (?!(?:hundred|thousand|million|billion|trillion|per|percent|out|to|or|and|than)\b)"
    r"(?![^.!?]*\b(?:is|are|was|were|has|have|had|does|did|shows?|reads?|says?|equals?|means?|stands?)\b)"
    r"[^,;.!?]+(?:[.!](?: (?:It|This|That|These|They|He|She)\b.*)?)?\Z"
)
_ANSWERS_BEFORE = re.compile(r"\b(?:is|are|was|were)\b[^,]*?(?:,|\d)", re.IGNORECASE)
_NO_ANSWER = re.compile(
    r"(?:the )?(?:(?:final|correct|short) )?(?:answer|result|total|sum|value|number|count)s?|not|never", re.IGNORECASE
)
_DENIES = re.compile(r"\b(?:no|not|never|cannot|without)\b|n't\b", re.IGNORECASE)
_OPENING = re.compile(r"\W{0,3}(yes|no)(?=[.,;:!]|$)", re.IGNORECASE)
_NO_OTHERS = re.compile(r"\W{0,3}no [^.,;:!?\n]{1,60}, but (?P<rest>[^\n]{1,200})", re.IGNORECASE)
"""Denies other things first: "No cats, but there is a dog"."""
_UNSEEN = re.compile(
    r"\b(?:the|his|her|its|their) (?P<thing>[\w ]{1,30}?) (?:is|are|can)(?: not|n't|'t|not) (?:be )?"
    r"(?:visible|seen|shown|read|readable|legible)\b",
    re.IGNORECASE,
)
_LEADS_READ: Final = 50
_MARKS: Final = " \t*_`"
_BEGINS: Final = rf"[{_MARKS}]*verdict[{_MARKS}]*:"
_VERDICT: Final = re.compile(rf"^{_BEGINS}", re.IGNORECASE | re.MULTILINE)
_AS_IT_CAME: Final = re.compile(rf"(?:^|[>\]|]){_BEGINS}", re.IGNORECASE | re.MULTILINE)
"""The same, if special tokens may be before it on its line."""


def whole_reply(reply: Reply, question: Question) -> Answer:
    """Return the whole visible text; a refusal, a truncated or an empty reply has no answer."""
    del question
    if reply.declines:
        return Answer(status="refused", rule="refusal")
    if reply.cut:
        return Answer(status="truncated", rule="cut")
    if not reply.text:
        return Answer(status="empty", rule="no_text")  # such as JSON that ends after its answer's key
    return Answer(text=reply.text, rule="whole_reply", source=reply.source)


def short_answer(reply: Reply, question: Question) -> Answer:
    """Return the last declaration ("The answer is 14"), or else the whole text, without a full stop at its end.

    If every reference is a ratio or a time, so is the answer. The only words in bold or quotes are the answer if the
    reply ends with them or says that its subject is them, and doesn't deny them. The answer of a sentence that restates
    the question is what it adds, unless a reference is such a sentence.
    """
    text = above_explanation(own_answer(reply.text))
    if declared := declared_in(text):
        return Answer(text=ratio_in(declared, question) or declared, rule="declaration", source=reply.source)
    whole = whole_reply(reply if text == reply.text else replace(reply, cut=False), question)
    if whole.text is None:
        return whole
    if ratio := ratio_in(text, question):
        return replace(whole, text=ratio, rule="ratio")
    apart = next(filter(None, (form.fullmatch(text) for form in _SET_APART)), None)
    if apart and _answers(apart):
        return replace(whole, text=without_stop(apart["answer"]), rule="set apart")
    restated = answer_in(text, question.text)
    if restated and not any(answer_in(reference, question.text) for reference in question.references):
        return replace(whole, text=without_stop(restated), rule="restated")
    return replace(whole, text=without_stop(text))


def declared_in(text: str) -> str:
    """The last answer that a text declares; "" without a declaration."""
    leads = deque((match.end() for match in _LEAD.finditer(text)), maxlen=_LEADS_READ)
    lines = (text[at : line_end(text, at)] for at in reversed(leads))
    shortened = (line if _ALL_QUOTED.fullmatch(line) else _ANSWER_ABOUT.split(line, maxsplit=1)[0] for line in lines)
    answers = (_bare_answer(behind(_LEAD, line.strip(" *`"))) for line in shortened)
    declared = next(filter(None, answers), "")
    if not declared and (named := labelled(text)):
        declared = _bare_answer(named.answer)
    return declared


def ratio_in(text: str, question: Question) -> str:
    """The only ratio of a text that it doesn't deny, as "3:2", if all references are ratios or times; otherwise "".

    If the question asks for a ratio, "3 to 2" and "three to two" are ratios too.
    """
    if not question.references or not all(map(_RATIO.fullmatch, question.references)):
        return ""
    if _ASKS_RATIO.search(question.text):
        text = _RATIO_IN_WORDS.sub(lambda match: ":".join(value_of(part) or part for part in match.groups()), text)
    places = [match for match in _RATIO.finditer(text) if not denied_before(text, match.start())]
    ratios = {f"{match[1]}:{match[2]}" for match in places}
    return ratios.pop() if len(ratios) == 1 else ""


def _answers(apart: re.Match[str]) -> bool:
    """Whether the text that is set apart is the answer: what the subject is or says, or the end of the sentence.

    The subject itself ("The **total** is 5") and text after another answer are not.
    """
    before, after = apart["before"], apart["after"]
    if _DENIES.search(before) or _NO_ANSWER.fullmatch(apart["answer"]):
        return False
    ends = _ENDS.fullmatch(after) is not None or (not before.strip() and _AFTER_IT_ALONE.match(after) is not None)
    if equates := _EQUATES.search(before):
        return ends or (equates[0].strip()[-1].isalpha() and _AFTER.match(after) is not None)
    quoted = apart.re is _SET_APART[1]
    return ends and not _ANSWERS_BEFORE.search(before) and (not quoted or _TELLS.search(before) is not None)


def _bare_answer(declared: str) -> str:
    """A declared answer without wrappers, the reason after it and a full stop."""
    if _ALL_QUOTED.fullmatch(declared):
        return unwrapped(without_stop(declared)).answer
    return unwrapped(without_stop(_REASON.split(declared, maxsplit=1)[0]).rstrip("*`")).answer


def without_stop(text: str) -> str:
    """Remove the full stop at the end of a text, but not the one of an abbreviation ("4 p.m.")."""
    bare = text.removesuffix("。").removesuffix(".")
    ends = "." not in bare or bare[-1:].isdigit() or bare[-1:] == "%" or (len(bare) > 2 and bare[-3:].isalpha())
    return bare if bare and ends else text


def choice(reply: Reply, question: Question) -> Answer:
    """Return the label of a choice, as `choices.choice` reads it."""
    return choice_in(reply, question.choices)


def choice_or_short(reply: Reply, question: Question) -> Answer:
    """Return a choice if the question has choices, otherwise a short answer."""
    return choice(reply, question) if question.choices else short_answer(reply, question)


def short_or_yes_no(reply: Reply, question: Question) -> Answer:
    """Return a short answer, reduced to "yes" or "no" if it begins with that."""
    answer = short_answer(reply, question)
    opening = _OPENING.match(answer.text or "")
    return replace(answer, text=opening[1].lower()) if opening else answer


def yes_no(reply: Reply, question: Question) -> Answer:
    """Return "yes" or "no" by whole words, or "yes" if the reply states what was asked; neither or both is unparsed."""
    if not _OPENING.match(reply.text) and reply.declines:
        return Answer(status="refused", rule="refusal")
    if answer := polarity(reply.text, question.text):
        return Answer(text=answer, rule="polarity", source=reply.source)
    return Answer(status="unparsed", rule="no polarity", source=reply.source)


def polarity(text: str, asked: str) -> YesNo | None:
    """The yes or no of a reply: of its last declaration, else of the whole text, else by stating what was `asked`."""
    if (other := _NO_OTHERS.match(text)) and affirms(other["rest"], asked):
        return "yes"
    if (meant := without_denied(text)) != text and affirms(meant, asked):
        return "yes"
    text = _UNSEEN.sub(lambda match: match[0] if _is_asked(match["thing"], asked) else " ", text)
    lead = last_match(_LEAD, text)
    declared = yes_or_no(text[lead.end() :]) if lead else None
    return declared or yes_or_no(text) or ("yes" if affirms(text, asked) else None)


def _is_asked(thing: str, asked: str) -> bool:
    return any(word in asked.lower() for word in thing.lower().split())


def verbatim(reply: Reply, question: Question) -> Answer:
    """Return the raw reply."""
    del question
    return Answer(text=reply.completion.text, rule="verbatim")


def verdict_in(reply: Reply) -> str | None:
    """A judge's verdict, without marks and full stop: the text after "VERDICT:" on the last such line.

    None without such a line, if the token limit may have cut it, or if the raw reply has a different last verdict: else
    a judge that quotes a special token would lose its own verdict to a quoted one.
    """
    verdict = _last_line(_VERDICT, reply.visible)
    came = _last_line(_AS_IT_CAME, reply.raw if reply.source == "content" else reply.visible)
    if verdict is None or came is None or (reply.cut and reply.visible.endswith(verdict)):
        return None
    return _without_marks(verdict) if _without_marks(verdict) == _without_marks(came) else None


def label_in(verdict: str, labels: Iterable[str]) -> str | None:
    """The label that equals the whole verdict, in any case; None for anything else, such as two labels."""
    return next((label for label in labels if label.casefold() == verdict.casefold()), None)


def _last_line(begins: re.Pattern[str], text: str) -> str | None:
    """The rest of the last line that `begins` matches; None without one."""
    last = last_match(begins, text)
    return None if last is None else text[last.end() :].partition("\n")[0]


def _without_marks(verdict: str) -> str:
    return verdict.strip(_MARKS).removesuffix(".").strip(_MARKS)

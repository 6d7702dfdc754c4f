"""Read yes or no from a reply, by whole words: an opening yes or no decides, and a non-answer is neither.

"nothing", "snowboard" and "bright" contain no keyword; "isn't" contains "not". "I don't know", "it can't be determined"
and a reply about a missing image are neither, unless they open with yes or no. A reply with keywords of both kinds and
without an opening one is neither. Words with other meanings ("right", "sure") count only at the end of a clause, and
not as a place ("on the right"). A correction replaces what is before it ("No. Wait, yes."). The yes or no of another
language counts if the reply opens with it and the clause ends with it.
"""

import re
from typing import Final, Literal

from vqa_client.scoring.patterns import last_match
from vqa_client.scoring.refusal import misses_image
from vqa_client.scoring.short_answers import folded

YesNo = Literal["yes", "no"]
_YES: Final = r"(?:yes|yeah|yep|yup|correct|true|affirmative)"
_NO: Final = r"(?:no|nope|nah|not|false|untrue|wrong|incorrect|negative)"
_YES_ABROAD: Final = (
    r"(?:ja|oui|sí|sim|sì|da|да|так|tak|evet|ναι|نعم|(?:जी )?हाँ|(?:जी )?हां|はい|ええ|네|예|是的?|有的?|对的?|對"
    r"|y(?=\W*\Z))"
)
_NO_ABROAD: Final = (
    r"(?:nein|non|nee|não|nej|nei|нет|ні|hayır|όχι|لا|(?:जी )?नहीं|いいえ|아니요|아니오|아뇨"
    r"|不(?:是的?)?|没有|沒有|不对|否|n(?=\W*\Z))"
)
"""Without words such as "no", "nie", "ne" and "si", which mean something else in another language."""
_LOOSE: Final = (
    r"(?:right|sure|okay|ok|absolutely|definitely|indeed|of course)(?=[.,;:!]|$)"
    r"(?![.,;:! ]+(?:(?:there|it|this|that|he|she|they)(?: is| are|'s|'re) )?(?:no(?! problem)|nope|not)\b)"
)
"""A yes, but not before a denial, as in "Of course, there is no dog."."""
_LOOSE_YES: Final = (
    r"(?<!\bthe )(?<!\bto )(?<!\bon )(?<!\bmy )(?<!\byour )(?<!\bits )(?<!\bhis )(?<!\bher )(?<!\btheir )"
    rf"\b{_LOOSE}"
)
_DENIES_ABROAD: Final = (
    r"(?P<none>(?:il n'y a (?:pas|aucun)|no hay|não (?:há|existem?)|non (?:c'è|ci sono)|es gibt kein)(?!\w*(?: \S+)?"
    r" (?:[dl]')?(?:im+[aá]g|bild|foto|photo|dou|dud|d[uú]v|dub|zweifel)|.*\b(?:mais|pero|mas|ma|aber)\b)"
    r"|(?:[这该]?[图圖照][片像]?[中里裡上])?[并並]?[没沒]有(?!.{0,4}[图圖照]|问题|問題|疑|.*[但而]|.*(?<![没沒])有))"
)
_OPENS_ABROAD = re.compile(
    rf"^[\s.,:;!-]*(?:(?:(?P<yes>{_YES_ABROAD})|(?P<no>{_NO_ABROAD}))(?=\s*(?:[.,;:!。、،।]|$))|{_DENIES_ABROAD})"
)
_GUESSES: Final = (
    r"(?:but |so )?(?:most likely|probably|i(?:'d| would) (?:say|guess)|i (?:think|believe)|my (?:best )?guess(?: is)?)"
)
_CUE: Final = (
    r"(?:[.,;!?-]\s*|^(?:yes|no) (?=wait\b))"
    r"(?:(?:(?:but|oh|hmm|no),? )?(?:wait|actually|correction|sorry|scratch that|on second thought|i meant?"
    rf"|{_GUESSES})\b|but(?=,? (?:the answer is )?(?:yes|no)\b))"
)
_CORRECTS = re.compile(
    rf"{_CUE}(?:[^.!?]{{1,100}}[.!?]\s+|[\s.,:;!-]*(?:(?:no|actually|wait|i meant?|it is|it's|that's|the answer is)\b"
    r"[\s.,:;!-]+){0,4})(?P<said>yes|no)(?=[.,;:!]|$)"
)
_CONCLUDES = re.compile(r"[.,;!?-]\s*(?:so|therefore|hence),? (?:the answer is )?(?P<said>yes|no)(?=[.,;:!]|$)")
_CORRECTING = re.compile(_CUE)
_TAKES_BACK = re.compile(rf"{_CUE}(?P<clause>[^.!?]{{1,100}})")
_STANDS = re.compile(r", but (?:yes|(?:it|there|he|she|they)(?: is| are|'s|'re) (?!not\b))")
_HARMLESS = re.compile(
    r"\b(?:no|without(?: a)?) (?:doubt|question|denying|reason to doubt)\b"
    r"|\bnot (?:only|just|merely)\b|^yes or no\s*[?:]"
    rf"|^(?:{_YES}|{_NO}|oui|non|s[ií]|sim|n[aã]o|ja|nein|nee)\s?\?+(?=\s*\w)"
)
_DECORATION = re.compile(r"[*_#\"\[\]()<>]|\\boxed\{|\}")
_CAN_NOT = re.compile(r"\b(?:cannot|can't|cant)\b")
_NOT = re.compile(
    r"(?<=[a-z])n't\b|(?<=\bis)nt\b|(?<=\bare)nt\b|(?<=\bwas)nt\b|(?<=\bwere)nt\b|(?<=\bdo)nt\b|(?<=\bdoes)nt\b"
)
_OPENING = re.compile(
    r"^[\s.,:;!-]*(?:(?:assistant|model|answer|response|final answer|well|oh|hmm|um|so|ah)\b[\s.,:;!-]*"
    r"|i (?:think|believe|would say|guess)\b(?: that)?[\s,:]*"
    r"|(?:the |my |your )?(?:final |correct |short )?answer(?: is| would be)?[\s,:]*"
    r"|(?:it|that|this|she|he|they|these|those|there|you)(?: is| are| was| were|'s|'re)\b[\s,:]*)*"
)
_KNOWING = (
    r"(?:know|sure|certain|tell|say|clear|determined?|specif(?:y|ied)|provided?|possible|enough|able|answer(?:ed)?"
    r"|confirm(?:ed)?|verif(?:y|ied)|told|known|inferred|identif(?:y|ied)|discern(?:ed)?|stated?|mention(?:ed)?"
    r"|indicated?|(?:see|view|access|open) (?:the |this |any |your )?(?:image|picture|photo)s?)"
)
_LOOKING: Final = (
    r" (?:you|we|one)(?: \w+)? (?:looks?|reads?|checks?|sees?|zooms?|counts?)\b"
    r"|[^.;!?]{0,80} (?:can|could|do|does|did|is|are|will|would) (?:you|we|one|i|it|he|she|they|the)\b"
)
"""Conditions for seeing it, which leave the answer a yes: "Yes, only if you look closely can you see it."."""
_SAYS: Final = (rf"(?:yes|{_YES_ABROAD})", rf"(?:no|{_NO_ABROAD})")
BOTH: Final = re.compile(rf"(?:{_SAYS[0]}\W+{_SAYS[1]}|{_SAYS[1]}\W+{_SAYS[0]})\W*\Z")
"""Only "yes" and "no", repeated from a question's choices."""
_NEITHER = re.compile(
    rf"\bnot (?:be |have |really |entirely |quite |completely |very |even |yet |to )*{_KNOWING}\b"
    r"|\bun(?:clear|known|certain|sure|able)\b|\bno (?:idea|clue|information|context|way (?:to|of)|answer)\b"
    r"|\b(?:hard|difficult|impossible) to (?:tell|say|know|determine|see|judge)\b|\binsufficient\b|\binconclusive\b"
    rf"|^yes (?:and|or) no\b|^no (?:and|or) yes\b|\byes,? only if\b(?!{_LOOKING})|\bleast likely\b"
    r"|\b(?:neither|either) (?:yes|no) n?or (?:yes|no)\b|\bmaybe (?:yes|no), maybe\b"
    r"|\b(?:may|might) or (?:may|might) not\b"
    r"|^no (?:lo )?(?:sé\b|se(?=\s*(?:[.,;:!]|$)))|^no (?:lo )?(?:puedo|sabr[ií]a) (?:decir|saber)\b|^non (?:lo )?so\b"
)
_SO_UNKNOWN = re.compile(r"\b(?:so|therefore|hence)\b[^.!?]*\bnot (?:tell|say|know|determine)\b")
"""After it, the "no" of "there is no sign" is not an answer."""
_STARTS = re.compile(rf"(?:(?P<yes>{_YES}|{_LOOSE})|(?P<no>none(?=[.,;!]|$)|neither(?! (?:yes|no)\b)|{_NO}))\b")
_AGREES_TO_ANSWER = re.compile(
    rf"(?:{_LOOSE}\W*)++(?=(?:let me|i can|i will|i'll|here is|here's|looking at|based on)\b)"
)
"""An opening that only agrees to answer: "Sure! Based on the image, no"."""
_SAYS_ONLY = re.compile(r"(?:yes|no)(?:[.,;:!]|$)")
_DENIED: Final = (
    r"(?<!\bnot )(?<!\bnot be )\b(?:anything but(?: an?)?|far from an?"
    r"|(?:wrong|incorrect|false|a mistake) to (?:say|answer))"
)
_TURNED = (
    (re.compile(rf"{_DENIED} \"?no(?=[.,;:!\"]|$)"), "yes"),
    (re.compile(rf"{_DENIED} \"?yes(?=[.,;:!\"]|$)"), "no"),
    (re.compile(r"\bi (?:think|believe|guess|suppose) so\b"), "yes"),
    (
        re.compile(r"^(?:it|this|that|there|he|she|they|we|i) (?:is|are|was|were|do|does|did|has|have|had|can)\W*$"),
        "yes",
    ),
    (re.compile(r"\bnot (?:false|wrong|incorrect)\b|\bis not (?:a )?no(?=[.,;:!]|$)"), "yes"),
    (re.compile(r"\bnot (?:correct|true|right)\b|\bis not (?:a )?yes(?=[.,;:!]|$)"), "no"),
)
_SAYS_YES = re.compile(rf"\b{_YES}\b|{_LOOSE_YES}")
_SAYS_NO = re.compile(rf"\b{_NO}\b")


def yes_or_no(reply: str) -> YesNo | None:
    """The yes or no of a reply; None if it says neither or both."""
    text = _plain_form(reply)
    opened = _OPENING.sub("", text, count=1)
    if agrees := _AGREES_TO_ANSWER.match(opened):
        text = opened = opened[agrees.end() :]
    if BOTH.match(text):
        return None
    if said := foreign_or_corrected(text):
        return said
    if taken_back(text):
        return None
    starts = _STARTS.match(opened)
    if not _SAYS_ONLY.match(opened) and misses_image(text):
        return None
    if starts and not (_NEITHER.match(opened) or (text != opened and _SO_UNKNOWN.search(text))):
        return "yes" if starts["yes"] else "no"
    if _NEITHER.search(text):
        return None
    yes, no = bool(_SAYS_YES.search(text)), bool(_SAYS_NO.search(text))
    if yes == no:
        return None
    return "yes" if yes else "no"


def foreign_or_corrected(text: str) -> YesNo | None:
    """The yes or no of a folded text in another language or after a correction; None without either."""
    if abroad := _OPENS_ABROAD.match(text):
        return "yes" if abroad["yes"] else "no"
    opens, cue = _STARTS.match(_OPENING.sub("", text, count=1)), _CORRECTING.search(text)
    last = last_match(_CORRECTS, text)
    if cue or not opens:
        start = max(cue.end() if cue and opens else 0, last.end() if last else 0)
        last = last_match(_CONCLUDES, text, start) or last
    return None if last is None else "yes" if last["said"] == "yes" else "no"


def taken_back(text: str) -> bool:
    """Whether a folded text takes its answer back and gives no other: "No. Actually, I can't say." """
    clauses = (_spelled_out(match["clause"]) for match in _TAKES_BACK.finditer(text))
    return any(_NEITHER.search(clause) and not _STANDS.search(clause) for clause in clauses)


def _spelled_out(text: str) -> str:
    return _NOT.sub(" not", _CAN_NOT.sub("can not", text))


def _plain_form(reply: str) -> str:
    text = _spelled_out(folded(_DECORATION.sub(" ", reply.rpartition("</think>")[2])))
    text = _HARMLESS.sub(" ", text).strip()
    for phrase, meaning in _TURNED:
        text = phrase.sub(meaning, text)
    return text

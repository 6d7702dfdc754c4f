"""Read a choice from a yes or no, or from a statement that the answer can't be determined.

A refusal and a reply about a missing image are neither.
"""

from typing import Final

from vqa_client.scoring.choices.by_text import NONE_OF_THEM
from vqa_client.scoring.choices.choice_reply import ChoiceReply, Rule, RuleResult
from vqa_client.scoring.choices.options import SENTENCE_END, WORD
from vqa_client.scoring.choices.statements import sets_of, true_statements
from vqa_client.scoring.choices.undeclared import conclusion_of
from vqa_client.scoring.patterns import lazily
from vqa_client.scoring.refusal import unseeing
from vqa_client.scoring.yes_no import BOTH, YesNo, foreign_or_corrected
from vqa_client.scoring.yes_no import yes_or_no as plain_yes_or_no

MOST: Final = 4
LONGEST: Final = 80
"""Characters of a choice such as "It can't be determined"; a longer one also states something else."""


def statements(reply: ChoiceReply) -> RuleResult:
    """The choice that calls the same statements true: "Only I is correct" for "I only"."""
    sets = sets_of(reply.texts.folded) if "I" not in reply.written else {}
    true = true_statements(conclusion_of(reply.folded), frozenset().union(*sets)) if sets else None
    return (sets[true],) if true in sets else None


def none_or_all(reply: ChoiceReply) -> RuleResult:
    """The choice "none of the above" or "all of the above", if the reply says so in other words."""
    text = reply.folded
    for means, says in ((_NONE_CHOICE, _NONE_FITS), (_ALL_CHOICE, _ALL_FIT)):
        labels = tuple(label for label, own in reply.texts.folded.items() if means.fullmatch(own))
        if len(labels) == 1 and says.search(conclusion_of(text)) and not (_BUT.search(text) or unseeing(text)):
            return labels
    return None


def undetermined(reply: ChoiceReply) -> RuleResult:
    """The one choice that says the answer can't be determined, if the reply says it in other words."""
    owned = reply.texts.folded.items()
    labels = tuple(label for label, own in owned if len(own) <= LONGEST and _NOBODY_KNOWS.search(own))
    if len(labels) != 1:
        return None
    text = reply.folded
    match = _NOBODY_KNOWS.search(conclusion_of(text))
    decided = match and not _BUT.search(text) and not unseeing(text)
    return labels if decided else None


def yes_or_no(reply: ChoiceReply) -> RuleResult:
    """The choice that begins with yes or no as the reply does; of several, the one whose words the reply has."""
    text = reply.folded
    if BOTH.match(text):
        return None
    plainly = {own: label for label, own in reply.texts.folded.items()}
    for yes, no in _OPPOSITES:
        if len(plainly) < MOST and {yes, no} <= plainly.keys() and (said := _said(text)):
            return (plainly[yes if said == "yes" else no],)
    match = _YES_NO.match(text)
    if not match or not _ANSWERS.match(text, match.end(1)) or _NO_ANSWER.search(text) or unseeing(text):
        return None
    owned = {label: _YES_NO.match(own) for label, own in reply.texts.folded.items()}
    if {own[1] for own in owned.values() if own} != {"yes", "no"}:
        return None
    words = {label: {*WORD.findall(own["rest"])} for label, own in owned.items() if own and own[1] == match[1]}
    first = {*WORD.findall(SENTENCE_END.split(match["rest"], maxsplit=1)[0])}
    if len(words) > 1:
        shared = set.intersection(*words.values())
        words = {label: choice_words for label, choice_words in words.items() if (choice_words - shared) & first}
    return tuple(words) if len(words) == 1 else None


def _said(text: str) -> YesNo | None:
    """The yes or no that a clause of the text ends with, or that is in another language or a correction."""
    if unseeing(text) or _NO_ANSWER.search(text):
        return None
    return foreign_or_corrected(text) or (plain_yes_or_no(text) if _SAYS.search(text) else None)


_OPPOSITES: Final = (("yes", "no"), ("true", "false"))
_TELL: Final = r"(?:determined?|tell|told|say|said|infer(?:red)?|conclude|known?|judged?|ascertain(?:ed)?)"
_NOBODY_KNOWS = lazily(
    r"\b(?:can't|cannot|can not|could not|couldn't|(?:not|n't) (?:be )?(?:possible|able) to|impossible to|unable to)"
    rf" (?:be )?(?:\w+ly )?{_TELL}\b|\bno (?:way|means) (?:to|of) {_TELL}"
    r"|(?:\bnot|n't) (?:\w+ )?(?:enough|sufficient) (?:\w+ )?(?:information|data|evidence|details?|context)\b"
    r"|\binsufficient (?:information|data|evidence|context|details?)\b|\bundetermined\b|\bindeterminate\b"
    r"|\b(?:can't|cannot|can not) (?:be )?answer(?:ed)?\b|\bunanswerable\b|^unknown$|\bis unknown\b"
)
_BUT = lazily(r"\b(?:but|however|though|although|sorry|unable to (?:help|assist|provide))\b")
_YES_NO = lazily(r"\W*(yes|no)\b(?P<rest>[^\n]*)")
_SAYS = lazily(r"\b(?:yes|no|true|false|correct|incorrect)(?=\W*(?:\Z|[.,;:!])| (?:because|since|as|that)\b)")
_NO_ANSWER = lazily(
    rf"\b(?:can't|cannot|can not|couldn't|could not|unable to|impossible to|no way to|no one can|nobody can) {_TELL}\b"
    r"|(?:n't|\bnot) know\b|\bnot sure\b|\bno (?:idea|clue|comment)\b|\b(?:nobody|no one) knows\b"
    r"|\blet me (?:look|check|take|know)\b|\bi(?:'ll| can| will) (?:help|look|check|take)\b"
    r"|\bwhat would you like\b|\bhow (?:can|may) i\b|\bno,? thank"
)
_ANSWERS = lazily(
    r"[\"')\]]*\s*(?:$|\n|\.(?!\s?\d)|[,;:!()–—]|-(?=\s))"
    r"| (?:definitely|absolutely|indeed|not|because|since)\b"
    r"| (?:(?:it|there|s?he|they|we|you|i|this|that|these|those)|(?:the|an?|his|her|its|their)(?: [\w'-]+){1,4}?)"
    r" (?:is|are|was|were|am|does|do|did|has|have|had|can|could|will|would|should|can(?:not|'t)|\w+n't)\b"
)

_NONE_CHOICE = lazily(
    r"none(?: of (?:the|these|them)(?: \w+)?)?|neither(?: of (?:the|these|them)(?: \w+)?)?|no correct \w+"
)
_NONE_FITS = lazily(NONE_OF_THEM)
_ALL_CHOICE = lazily(r"all(?: of)? (?:the above|these|them|the options|the choices)|all(?: three| four)?")
_ALL_FIT = lazily(
    r"(?:\A|[.!?\n] |\b(?:so|therefore|thus|that) )all "
    r"(?:of (?:the (?:above|options|choices)|these|them|those)|the (?:options|choices|above)"
    r"|(?:three|four)(?: (?:of (?:them|these)|options|choices|statements))?)\b"
    r"(?![^.;\n]*(?:\b(?:not|except|wrong|false)\b|n't\b))"
)

RULES: Final = (
    Rule("yes or no", yes_or_no),
    Rule("statements", statements),
    Rule("none or all", none_or_all),
    Rule("undetermined", undetermined),
)

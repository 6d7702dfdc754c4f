"""Read a choice from a yes or no, or from a statement that the answer can't be determined.

A refusal and a reply about a missing image are neither.
"""

import re
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


def statements(reply: ChoiceReply) -> RuleResult:
    """The choice that calls the same statements true: "Only I is correct" for "I only"."""
    sets = sets_of(reply.texts.folded) if "I" not in reply.written else {}
    true = true_statements(conclusion_of(reply.folded), frozenset().union(*sets)) if sets else None
    return (sets[true],) if true in sets else None


def none_or_all(reply: ChoiceReply) -> RuleResult:
    """The choice "none of the above" or "all of the above", if the reply says so in other words."""
    return _in_other_words(reply, _NONE_CHOICE, _NONE_FITS) or _in_other_words(reply, _ALL_CHOICE, _ALL_FIT)


def undetermined(reply: ChoiceReply) -> RuleResult:
    """The one choice that says the answer can't be determined, if the reply says it in other words."""
    return _in_other_words(reply, _UNKNOWN_CHOICE, _NOBODY_KNOWS)


def _in_other_words(reply: ChoiceReply, means: re.Pattern[str], says: re.Pattern[str]) -> tuple[str, ...] | None:
    text = reply.folded
    labels = tuple(label for label, own in reply.texts.folded.items() if means.fullmatch(own))
    said = len(labels) == 1 and says.search(conclusion_of(text))
    return labels if said and not (_BUT.search(text) or unseeing(text)) else None


def yes_or_no(reply: ChoiceReply) -> RuleResult:
    """The choice that begins with yes or no as the reply does; of several, the one whose words the reply has."""
    text = reply.folded
    if BOTH.match(text):
        return None
    owned = {label: match for label, own in reply.texts.folded.items() if (match := _YES_NO.match(own))}
    says = _said(text) if len({_MEANS[own["word"]] for own in owned.values()}) == len(_MEANS) // 2 else None
    words = {label: {*WORD.findall(own["rest"])} for label, own in owned.items() if _MEANS[own["word"]] == says}
    if len(words) > 1:
        shared, first = set.intersection(*words.values()), {*WORD.findall(SENTENCE_END.split(text, maxsplit=1)[0])}
        words = {label: choice_words for label, choice_words in words.items() if (choice_words - shared) & first}
    return tuple(words) if len(words) == 1 else None


def _said(text: str) -> YesNo | None:
    """The yes or no that a clause of the text ends with, or that is in another language or a correction."""
    if unseeing(text) or _NO_ANSWER.search(text):
        return None
    return foreign_or_corrected(text) or (plain_yes_or_no(text) if _SAYS.search(text) else None)


_MEANS: Final = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}
_TELL: Final = r"(?:determined?|tell|told|say|said|infer(?:red)?|conclude|known?|judged?|ascertain(?:ed)?)"
_UNKNOWN: Final = (
    r"\b(?:can't|cannot|can not|could not|couldn't|(?:not|n't) (?:be )?(?:possible|able) to|impossible to|unable to)"
    rf" (?:be )?(?:\w+ly )?{_TELL}\b|\bno (?:way|means) (?:to|of) {_TELL}"
    r"|(?:\bnot|n't) (?:\w+ )?(?:enough|sufficient) (?:\w+ )?(?:information|data|evidence|details?|context)\b"
    r"|\binsufficient (?:information|data|evidence|context|details?)\b|\bundetermined\b|\bindeterminate\b"
    r"|\b(?:can't|cannot|can not) (?:be )?answer(?:ed)?\b|\bunanswerable\b|^unknown$|\bis unknown\b"
)
_NOBODY_KNOWS, _UNKNOWN_CHOICE = lazily(_UNKNOWN), lazily(rf"(?!.{{81}}).*?(?:{_UNKNOWN}).*")
"""A choice of more than 80 characters also states something else."""
_BUT = lazily(r"\b(?:but|however|though|although|sorry|unable to (?:help|assist|provide))\b")
_YES_NO = lazily(r"\W*(?P<word>yes|no|true|false)\b(?P<rest>[^\n]*)")
_SAYS = lazily(
    r"(?:\b(?:yes|no)|(?:\A\W*|[;,:] )(?:true|false|correct|incorrect|wrong|untrue))"
    r"(?=[\"')\]]*\s*(?:\Z|\n|\.(?!\s?\d)|[,;:!()]|- )| (?:because|since|as|that|not|definitely)\b)"
    r"|\b(?:it|that|this|(?:the|this|that) (?:answer|statement|claim|assertion|sentence|proposition))"
    r"(?:'s| is| was| must be| to be)(?: not|n't| also| \w+ly| therefore| indeed){0,2} "
    r"(?:true|false|correct|right|incorrect|wrong|untrue)\b"
    r"|^\W*(?:yes|no) (?:it|there|s?he|they|we|you|i|this|that|those|(?:the|an?|his|her|its|their)(?: [\w'-]+){1,4}?)"
    r" (?:is|are|was|were|am|does|do|did|has|have|had|can|could|will|would|should|can(?:not|'t)|\w+n't)\b"
)
_NO_ANSWER = lazily(
    r"\b(?:may|might|could) be (?:true|false|correct|wrong)\b|\bpart(?:ly|ially)\b|"
    rf"\b(?:can't|cannot|can not|couldn't|could not|unable to|impossible to|no way to|no one can|nobody can) {_TELL}\b"
    r"|(?:n't|\bnot) know\b|\bnot sure\b|\bno (?:idea|clue|comment)\b|\b(?:nobody|no one) knows\b"
    r"|\blet me (?:look|check|take|know)\b|\bi(?:'ll| can| will) (?:help|look|check|take)\b"
    r"|\bwhat would you like\b|\bhow (?:can|may) i\b|\bno,? thank"
)
_NONE_CHOICE = lazily(
    r"(?:none|neither)(?: of (?:the|these|them)(?: \w+)?)?|no correct \w+|nobody|no one|neither(?: \w+)+ nor(?: \w+)+"
)
_NONE_FITS = lazily(
    rf"{NONE_OF_THEM}|\bnone of (?:the (?:above|listed|given|named)|(?:these|those|them)(?: \w+)?(?=[.,;!]|\Z))"
    r"|\A(?:neither|nobody|no one)(?: of (?:them|these|those|the two))?(?=[.,;!]|\Z| \w+s\b)"
)
_ALL_CHOICE = lazily(
    r"all(?: of)? (?:the above|these|them|the options|the choices)|all(?: three| four)?|both(?:(?: \w+)+ and(?: \w+)+)?"
)
_ALL_FIT = lazily(
    r"\Aboth(?: of (?:them|these|those)| \w+s)?(?=[.,;!]|\Z)"
    r"|(?:\A|[.!?\n] |\b(?:so|therefore|thus|that) )(?:every one|all) "
    r"(?:of (?:the (?:above|options|choices|listed)|these|them|those)|the (?:options|choices|above)|apply|hold"
    r"|(?:three|four)(?: (?:of (?:them|these)|options|choices|statements))?)\b"
    r"(?![^.;\n]*(?:\b(?:not|except|wrong|false)\b|n't\b))"
)

RULES: Final = (
    Rule("yes or no", yes_or_no),
    Rule("statements", statements),
    Rule("none or all", none_or_all),
    Rule("undetermined", undetermined),
)

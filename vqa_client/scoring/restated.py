"""What a sentence answers that restates its question: "23.5" in "The value in 2015 was 23.5."

Around the answer are words of the question, or words that carry none of its sense; with others a sentence is not read.
For English alone.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

LONGEST: Final = 400
"""Characters of a reply: a longer one says more than one answer."""
LONGEST_ANSWER: Final = 100


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


_LINKS: Final = _words(
    "is are was were be it's that's there's say says read reads show shows has have had equals dated see count"
)
_BEGINS_END: Final = _LINKS | _words("in on at for from during with")
"""What a restated end begins with: "in the image", "has the highest value"."""
_PRONOUNS: Final = _words("it it's that that's this they there there's he she i")
_FUNCTION: Final = (
    _BEGINS_END
    | _PRONOUNS
    | _words("the a an of to by and as its these those his her their what which who when where how can do does did")
    | _words("according based much many")
)
"""Words that carry none of the question's sense."""
_SENSELESS: Final = _FUNCTION | _words(
    "total number count amount value name date time title answer color colour image picture photo photograph chart",
    "graph plot figure document page table diagram infographic text scene shown displayed given depicted visible seen",
    "provided mentioned listed address",
)
"""Words that may be around an answer whether or not the question has them."""
_NEVER: Final = _words("is are was were has have had does did do can no none nothing probably likely unknown unable")
"""Words of no answer: those of a further clause, a denial or a doubt."""
_NUMBERS: Final = _words("one two three four five six seven eight nine ten eleven twelve")
_OUTER: Final = ".,:;!?*_`\"'()[]“”-•–"
_INFLECTED = re.compile(r"(?<=\w{3})(?:'s|ing|ed|es|e|s|d)\Z")
_SENTENCE_END = re.compile(r"(?:(?<=[^\W\d_]{3}[.!?])|(?<=[\d)%][.!?]))\s+(?=[A-Z])|\s*\n\s*")
_ASKED = re.compile(r"[^?\n]*")
_TAIL = re.compile(r",? (?:as|because|since|according|based|while|which|compared)\b")
_BEFORE_NAME = re.compile(r"(?:\w+(?:ed|en) )?(?:in|on|at|by|from|to|as) (?=[A-Z\d$])")
_UNIT_APART = re.compile(r"(?<=\d) (?=%)")
_DENIES = re.compile(r"\b(?:not|no|never|without|except|other than|nor|neither|cannot)\b|n't\b", re.IGNORECASE)
_COMPARES = re.compile(r"\b(?:than|versus|vs)\b")
_DOUBTS = re.compile(
    r"\b(?:may|might|could|would|should|if|whether|possibly|perhaps|maybe|unclear|or)\b|\?"
    r"|\b(?i:but|however|although|though|actually|wait|correction|sorry|unfortunately)\b"
)
_POLAR = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will)\b", re.IGNORECASE)
_AUXILIARIES: Final = _words(
    "is are was were be do does did has have had can could will the a an there any some it this that in of"
)
_GOES_ON: Final = _words("in on at with and that which who near next because")


def answer_in(said: str, question: str) -> str:
    """The one answer that the sentences of a reply give which restate the question, "" without one."""
    asked, text = _asked(question), _question(question)
    if not asked or len(said) > LONGEST or _DENIES.search(text) or _COMPARES.search(text) or _DOUBTS.search(said):
        return ""
    first, *others = _SENTENCE_END.split(_UNIT_APART.sub("", said))
    sentences = (first, *(other for other in others if _bare(other.partition(" ")[0]) not in _PRONOUNS))
    answers = {_left(sentence, asked) for sentence in sentences} - {""}
    return answers.pop() if len(answers) == 1 else ""


def affirms(said: str, question: str) -> bool:
    """Whether a reply opens by stating word for word what is asked: "There is a dog." for "Is there a dog?"."""
    text = _question(question)
    if len(said) > LONGEST or not _POLAR.match(text) or _DENIES.search(f"{text} {said}") or _DOUBTS.search(said):
        return False
    wanted, words = [_stem(word) for word in _sense(text.split())], said.split()
    stated = _sense(words)[: len(wanted)]
    if not wanted or " or " in text or [_stem(word) for word in stated] != wanted:
        return False
    behind = words[words.index(stated[-1]) + 1 :]
    return stated[-1][-1] in ".,;:!" or not behind or behind[0] in _GOES_ON


def _left(sentence: str, asked: frozenset[str]) -> str:
    """What is left of a sentence between a beginning and an end that restate the question."""
    words = _TAIL.split(sentence.strip(), maxsplit=1)[0].split()
    start = _after_beginning(words, asked)
    stop = _before_end(words, start, asked)
    kept, around = words[start:stop], [*words[:start], *words[stop:]]
    answer = " ".join(kept).strip('*_`"“” ')
    names = bool(around) and (_bare(words[0]) in _PRONOUNS or any(_stem(word) in asked for word in around))
    if not names or len(answer) > LONGEST_ANSWER or all(_restates(word, asked) for word in kept):
        return ""
    if _NEVER.intersection(map(_bare, kept)) or _DENIES.search(answer):
        return ""
    if start == 0 and any(_stem(word) in asked for word in kept):
        return ""
    return answer[found.end() :] if (found := _BEFORE_NAME.match(answer)) else answer


def _after_beginning(words: Sequence[str], asked: frozenset[str]) -> int:
    """Where the answer begins: behind the last verb, comma or colon of the words that restate the question."""
    start = 0
    for at, word in enumerate(words):
        if not _restates(word, asked):
            break
        follows = start == at and start > 0 and word.islower() and _stem(word) in asked
        if (word if at else word.lower()) in _LINKS or word.rstrip("*_")[-1:] in (",", ":") or follows:
            start = at + 1
    return start


def _before_end(words: Sequence[str], start: int, asked: frozenset[str]) -> int:
    """Where the answer ends: before the first word from which all restates the question.

    An amount ends too before what was counted and a pause: "3 people: a man, ...".
    """
    behind = start + 1
    while _is_amount(words[start : start + 1]) and behind < len(words) and _restates(words[behind], asked):
        behind += 1
        if words[behind - 1][-1] in ",:;":
            return start + 1
    stop = at = len(words)
    while at > start + 1 and _restates(words[at - 1], asked):
        at -= 1
        if words[at] in _BEGINS_END or _is_amount(words[at - 1 : at]):
            stop = at
    return stop


def _is_amount(words: Sequence[str]) -> bool:
    bare = _bare(words[0]) if words else ""
    return bare in _NUMBERS or bare.lstrip("$€£¥~")[:1].isdecimal()


def _restates(word: str, asked: frozenset[str]) -> bool:
    bare = _bare(word)
    return not bare or bare in _SENSELESS or _stem(word) in asked


@lru_cache(maxsize=64)
def _asked(question: str) -> frozenset[str]:
    """The stems of the words that carry the question's sense."""
    words = _question(question).split()
    return frozenset(_stem(word) for word in words if _bare(word) and _bare(word) not in _FUNCTION)


def _question(text: str) -> str:
    """A question up to its mark, without the instruction behind it."""
    return _ASKED.match(text.strip())[0]  # type: ignore[index]


def _sense(words: Sequence[str]) -> list[str]:
    return [word for word in words if _bare(word) and _bare(word) not in _AUXILIARIES]


def _bare(word: str) -> str:
    return word.lower().replace("’", "'").strip(_OUTER)


def _stem(word: str) -> str:
    return _INFLECTED.sub("", _bare(word))

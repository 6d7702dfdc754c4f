"""Find the answer in a sentence that restates the question: "23.5" in "The value in 2015 was 23.5."

All words around the answer must be words of the question or carry no sense; other sentences are not read. In other
languages only sentences with a copula are read: "La valeur en 2015 est 23,5."
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from vqa_client.scoring.denials import NOT
from vqa_client.scoring.patterns import behind

LONGEST: Final = 1000
"""Characters of a reply; a longer one gives more than an answer."""
LONGEST_ANSWER: Final = 100


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


_BEING: Final = _words("is are was were has have had he's she's they're")
_LINKS: Final = _BEING | _words("be it's that's there's say says read reads show shows equals dated see count")
_BEGINS_END: Final = _LINKS | _words("in on at for from during with")
"""First words of a restated end: "in the image", "has the highest value"."""
_PRONOUNS: Final = _words("it it's that that's this they they're there there's he he's she she's i")
_FUNCTION: Final = (
    _BEGINS_END
    | _PRONOUNS
    | _words("the a an of to by and as its these those his her their what which who when where how can do does did")
    | _words("according based much many so therefore thus hence overall")
    | _words("la le les el los las der das den dem il lo du des del en de")
)
"""Words without sense of their own in a question."""
_SENSELESS: Final = _FUNCTION | _words(
    "total number count amount percentage share value name date time title answer color colour image picture photo",
    "photograph chart graph plot figure document page table diagram infographic text scene shown displayed given",
    "depicted visible seen provided mentioned listed receipt invoice address word phrase paper article report letter",
    "slide poster map sign label",
)
"""Words that may be around an answer even if the question doesn't have them."""
_NEVER: Final = _words("is are was were has have had does did do can no none nothing probably likely unknown unable")
"""Words that no answer has: they begin another clause, a denial or a doubt."""
_ARTICLES: Final = _words("the a an this that his her its their")
_NUMBERS: Final = _words("one two three four five six seven eight nine ten eleven twelve")
_OUTER: Final = ".,:;!?*_`\"'()[]“”-•–"
_INFLECTED = re.compile(r"(?<=\w{3})(?:'s|ing|ed|es|e|s|d)\Z")
_SENTENCE_END = re.compile(r"(?:(?<=[^\W\d_]{3}[.!?])|(?<=[\d)%][.!?]))\s+(?=[A-Z]|\d[\d.]* [-+×*/=])|\s*\n\s*")
_ASKED = re.compile(r"(?:[^?\n]*[.!] )?([^?\n]*)")
_OPEN = re.compile(r"\b(?:what|which|who|whom|whose|when|where|how)\b", re.IGNORECASE)
_ABROAD = re.compile(
    r"\b(?i:quel(?:le)?s?|combien|welche\w?|qué|cuál(?:es)?|cuánt\w+|qual|quais|quale|quant[oaie]s?)\b"
)
_IS_ABROAD = re.compile(r"(?<= )(?:est|sont|ist|sind|es|son|é|è|são|sono)(?: d[ei])?(?= \S)")
_COLOUR = re.compile(r"\bwhat colou?r\b", re.IGNORECASE)
_COUNTS = re.compile(r"\bhow many\b", re.IGNORECASE)
_MARKS = re.compile(r"\*\*|__|`")
_SEEMS = re.compile(r"\b(?:appear|seem)s? to be\b")
_IS = re.compile(rf"{_SEEMS.pattern}|\b(?:(?:(?:is|was|will be) )?held|takes place|will be|costs?|belongs to)\b")
"""Verbs that are read as "is"."""
_VERB = re.compile(r"\bwhat (?:do|does|did)\b.{0,200} ([a-z]{3,})(?: (?:for|to))?\W*\Z", re.IGNORECASE)
"""The verb of "What does it represent?", which is read as "is", too."""
_INSTEAD = re.compile(
    r", (?:and )?not (?:an?|the|any) [\w' -]{1,30}(?=[,.;]|\Z),?"
    r"|\bnot [\w' -]{1,40}(?:[;,] (?:it|he|she|they|that)(?:'s| is| are| was| were)|,? but(?! (?:it|the)\b)) "
)
_SHORT_NOT = re.compile(r"(?<=\b(?:is|as))n't\b|(?<=\b(?:are))n't\b|(?<=\b(?:were))n't\b")
_TAIL = re.compile(
    r",? (?:as|because|since|according|based|while|which|compared)\b|, (?:located|situated)\b"
    r"|, (?:I (?:think|believe|guess)|who|with|at|followed by|up|down|not|rather|and (?:it|is|was)|shown|worn)\b"
)
_ALONE = re.compile(r"([^,]*(?:, \d[^,]*)?), (?:as (?:shown|seen|stated|given)|followed by)\b[^,]*")
_MEASURE = re.compile(
    r" (?:(?:at|with|of) (?:(?:only|just|about|around) )?[$€£]?\d[\d.,]*%?(?: \w+){0,3}|\([^()]*\d[^()]*\))\W*\Z"
)
_LED = re.compile(r"(?:In|On|At) ([^,]{1,40}), (\w[^,]*)")
_EQUATION = re.compile(r"(?:a total of )?[\d\s.,+*/×÷()$€£%−–-]+[=≈]\s?([$€£]?[-−]?\d[\d.,]*%?)")
_QUOTED = re.compile(r"(?:\w+ ){0,2}[\"“]([^\"“”]+)[\"”](?:,? (?:in|on|written|printed)\b[^\"“”]*)?\W*")
_CONCLUDES = re.compile(r"(?:so|therefore|thus|hence|overall)\b", re.IGNORECASE)
_SO = re.compile(r", (?:so|therefore|thus|hence),? (?=the |there (?:is|are) )")
_BEFORE_NAME = re.compile(
    r"(?:made (?:out )?)?of |(?:called|named|(?:en)?titled|painted) |an? \w+ of (?=[$€£]?\d)"
    r"|(?:\w+(?:ed|en) )?(?:in|on|at|by|from|for|to|as) (?=(?:the )?[A-Z\d$])"
)
_UNIT_APART = re.compile(r"(?<=\d) (?=%)")
_DENIES = re.compile(rf"\b(?:not|never|without|except|other than|nor|neither|cannot)\b|n't\b|{NOT}", re.IGNORECASE)
_COMPARES = re.compile(r"\b(?:than|versus|vs)\b")
_SEVERAL = re.compile(r"\b(?:order|sequence|top|list|rank\w*|are|were|have)\b")
"""A question for several things: "Red, followed by white" is one answer to it."""
_DOUBTS = re.compile(
    r"\b(?:may|might|could|would|should|if|whether|possibly|perhaps|maybe|unclear|or|oder|ou|vielleicht|quizás|talvez)\b|\?"
    r"|\b(?i:but|however|although|though|formerly|previously|originally|initially|actually|wait|correction|sorry|unfortunately)\b"
)
_POLAR = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will)\b", re.IGNORECASE)
_SHOWN = re.compile(r" (?:in|on) (?:the|this) (?:image|picture|photo|photograph|scene)\Z", re.IGNORECASE)
_SEES = re.compile(
    r"\s*(?i:(?:i|we) (?:can )?see"
    r"|(?:the|this) (?:image|picture|photo) (?:clearly )?(?:does )?(?:shows?|contains?|has|depicts|includes))\b"
)
_IN_IT = re.compile(r"\s*(?i:(?:in|looking at) (?:the|this) (?:image|picture|photo|scene), )")
_ASIDE = re.compile(r" \([^()]*\)")
_AUXILIARIES: Final = _words(
    "is are was were be do does did has have had can could will the a an there there's any some it this that in of"
)
_SUBJECTS: Final = _words("it it's he he's she she's they they're")
_ADDED: Final = _words(
    "red blue green yellow black white brown gray grey orange pink purple small large big little young old tall"
) | _words("two three four several indeed clearly definitely actually also")
"""Words that a statement may have beside those of the question."""
_SUPPOSES = re.compile(
    r"\s*(?:(?:sure|certainly|of course|okay)[,.!] )?"
    r"(?:(?:based on|according to|looking at|given|from|in|at)\b[^,.!?:;\n\d]{0,60}, )?"
    r"(?:(?:i (?:think|believe|'d say|would say)(?: that)?|it (?:looks like|seems(?: that)?|appears that)"
    r"|(?:i|we|you) can see(?: that)?|the (?:\w+ ){1,2}(?:shows|states|says|indicates|suggests) that) )?",
    re.IGNORECASE,
)
_GOES_ON: Final = _words("in on at with and that which who near next because")


def answer_in(reply: str, question: str) -> str:
    """The only answer of those sentences of a reply that restate the question; "" without one.

    If the last sentence draws a conclusion, it decides alone; of a sum, the total is the answer.
    """
    if " " not in reply or len(reply) > LONGEST:
        return ""
    asked, text = _stems_asked(question), _question(question)
    reply = _IS_ABROAD.sub("is", reply) if _ABROAD.search(text) else without_denied(reply)
    if verb := _VERB.search(text):
        reply = re.sub(rf"\b{verb[1]}(?:s|es|ed)?\b(?: (?:for|to)\b)?", _verb_as_is, reply)
    reply = reply if _ABROAD.search(text) else _IS.sub(_verb_as_is, reply)
    open_question = asked and (_OPEN.search(text) or _ABROAD.search(text)) and not _POLAR.match(text)
    if not open_question or _DENIES.search(text) or _COMPARES.search(text) or _doubts(reply, text):
        return ""
    if "followed by" in reply and _SEVERAL.search(text):
        return ""
    first, *others = _SENTENCE_END.split(_UNIT_APART.sub("", _MARKS.sub("", reply)))
    others = [behind(_SUPPOSES, other) for other in others]
    more = (other for other in others if _bare(other.partition(" ")[0]) not in _PRONOUNS)
    last = others[-1] if others else first
    sentences = others[-1:] if others and (_CONCLUDES.match(last) or "=" in last) else (first, *more)
    concluded = _answer_left(last[so.end() :], asked) if (so := _SO.search(last)) else ""
    answers = {concluded} if concluded else {_answer_left(sentence, asked) for sentence in sentences} - {""}
    words = answers.pop().split() if len(answers) == 1 else []
    amounts = [_is_amount([word]) for word in words]
    if _COUNTS.search(text) and sum(now and not before for before, now in pairwise([False, *amounts])) != 1:
        return ""
    if _COLOUR.search(text):  # "a blue jacket"
        noun = next((at for at, word in enumerate(words) if _stem(word) in asked), len(words))
        before = [at for at, word in enumerate(words[:noun], 1) if word in _ARTICLES or word.endswith("ing")]
        words = words[max(before, default=0) : noun] or words
    return " ".join(words)


def _doubts(reply: str, text: str) -> bool:
    """Whether a reply has a word of doubt that the question doesn't have."""
    return not {match[0].lower() for match in _DOUBTS.finditer(reply)} <= {*re.findall(r"\w+", text.lower())}


def _verb_as_is(match: re.Match[str]) -> str:
    """ "is" for the first verb of a sentence; a word of its answer, such as "the cost of energy", stays."""
    before = re.split(r"[.!?\n]", match.string[: match.start()])[-1].lower().split()
    stays = not _LINKS.isdisjoint(before) or not _ARTICLES.isdisjoint(before[-1:])
    return match[0] if stays else "is"


def without_denied(reply: str) -> str:
    """A reply without what it denies in favour of something else: "It is red" for "It isn't blue, it's red"."""
    return _INSTEAD.sub("", _SHORT_NOT.sub(" not", reply))


def affirms(reply: str, question: str) -> bool:
    """Whether a reply begins with the question as a statement: "There is a dog." for "Is there a dog?"."""
    text = _SHOWN.sub("", _question(question))
    reply = _SEEMS.sub("is", behind(_SUPPOSES, behind(_IN_IT, reply)))
    reply = behind(_SEES, reply) if " there " in text[:10] else reply
    if len(reply) > LONGEST or not _POLAR.match(text) or _DENIES.search(f"{text} {reply}") or _DOUBTS.search(reply):
        return False
    wanted, words = [_stem(word) for word in _sense(text.split())], _ASIDE.sub("", reply).split()
    if "than" in wanted and "than" not in words:  # "It is taller."
        wanted = wanted[: wanted.index("than")]
    said = [word for word in _sense(words) if _bare(word) not in _ADDED or _stem(word) in wanted]
    if words and _bare(words[0]) in _SUBJECTS:  # the pronoun replaces up to two words of the question
        said = said[_bare(words[0]) not in _AUXILIARIES :]
        left = [wanted[count:] for count in (0, 1, 2) if count < 2 <= len(wanted) or len(wanted) > 3]
        wanted = next((rest for rest in left if rest == [_stem(word) for word in said[: len(rest)]]), wanted)
    stated = said[: len(wanted)]
    if not wanted or " or " in text or [_stem(word) for word in stated] != wanted:
        return False
    rest = words[words.index(stated[-1]) + 1 :]
    return stated[-1][-1] in ".,;:!" or not rest or rest[0] in _GOES_ON


def _answer_left(sentence: str, asked: frozenset[str]) -> str:
    """The part of a sentence between a beginning and an end that restate the question."""
    if (own := behind(_SUPPOSES, sentence)) != sentence and (left := _answer_left(own, asked)):
        return left
    if (led := _LED.fullmatch(sentence)) and all(_restates(word, asked) for word in led[2].split()):
        return "" if all(_restates(word, asked) for word in led[1].split()) else led[1]
    if (alone := _ALONE.fullmatch(sentence)) and _LINKS.isdisjoint(sentence.split()):
        return alone[1]
    clause, *tail = _TAIL.split(sentence.strip())
    if tail and _is_amount(clause.split()) and clause.count(" ") < 2:
        return clause
    if equation := _EQUATION.fullmatch(clause.rstrip(".")):
        return equation[1]
    return _words_between(clause.split(), asked) or _words_between(_MEASURE.sub("", clause).split(), asked)


def _words_between(words: Sequence[str], asked: frozenset[str]) -> str:
    start = _after_beginning(words, asked)
    linked = not _LINKS.isdisjoint(map(str.lower, words[:start]))
    stop = _before_end(words, start, asked, linked=linked)
    kept, around = words[start:stop], [*words[:start], *words[stop:]]
    answer = " ".join(kept)
    names = bool(around) and (_bare(words[0]) in _PRONOUNS or any(_stem(word) in asked for word in around))
    if not names or len(answer) > LONGEST_ANSWER or all(_restates(word, asked) for word in kept):
        return ""
    restates = not linked and any(_stem(word) in asked for word in kept)
    torn = answer.count('"') % 2 or answer.count("“") != answer.count("”")
    if restates or torn or _NEVER.intersection(map(_bare, kept)) or _DENIES.search(answer):
        return ""
    for form in (_EQUATION, _QUOTED):
        if apart := form.fullmatch(answer.rstrip(".")):
            return apart[1]
    return answer[match.end() :] if (match := _BEFORE_NAME.match(answer)) else answer


def _after_beginning(words: Sequence[str], asked: frozenset[str]) -> int:
    """Where the answer begins: after the last verb, comma or colon of the words that restate the question."""
    start = 0
    for at, word in enumerate(words):
        if not _restates(word, asked):
            break
        led = (start == at and start > 0) or (at > 0 and _is_amount(words[at + 1 : at + 2]))
        follows = led and word.islower() and _stem(word) in asked
        if (word if at else word.lower()) in _LINKS or word.rstrip("*_")[-1:] in (",", ":") or follows:
            start = at + 1
    return start


def _before_end(words: Sequence[str], start: int, asked: frozenset[str], *, linked: bool) -> int:
    """Where the answer ends: before the last words, which restate the question.

    An amount also ends before the counted things and a pause: "3 people: a man, ...". If no verb is before the answer
    and it isn't an amount, these words begin with a verb: "Japan won the cup".
    """
    after, amount = start + 1, _is_amount(words[start : start + 1])
    while amount and after < len(words) and _restates(words[after], asked):
        after += 1
        if words[after - 1][-1] in ",:;":
            return start + 1
    stop = at = len(words)
    while at > start + 1 and _restates(words[at - 1], asked):
        at -= 1
        verb = words[at] in _BEING or (
            words[at].islower() and _stem(words[at]) in asked and words[at + 1 :] and words[at + 1] in _ARTICLES
        )
        if (words[at] in _BEGINS_END if linked or amount else verb) or _is_amount(words[at - 1 : at]):
            stop = at
    return stop


def _is_amount(words: Sequence[str]) -> bool:
    bare = _bare(words[0]) if words else ""
    return bare in _NUMBERS or bare.lstrip("$€£¥~")[:1].isdecimal()


def _restates(word: str, asked: frozenset[str]) -> bool:
    bare = _bare(word)
    return not bare or bare in _SENSELESS or _stem(word) in asked


@lru_cache(maxsize=64)
def _stems_asked(question: str) -> frozenset[str]:
    """The stems of the question's words that have a sense."""
    words = _question(question).split()
    return frozenset(_stem(word) for word in words if _bare(word) and _bare(word) not in _FUNCTION)


def _question(text: str) -> str:
    """The sentence that asks, up to its question mark, without text before it or an instruction after it."""
    return _ASKED.match(text.strip())[1]  # type: ignore[index]


def _sense(words: Sequence[str]) -> list[str]:
    return [word for word in words if _bare(word) and _bare(word) not in _AUXILIARIES]


def _bare(word: str) -> str:
    return word.lower().replace("’", "'").strip(_OUTER)


def _stem(word: str) -> str:
    return _INFLECTED.sub("", _bare(word))

"""Read a choice that a reply names without its label: by its text, another form of it, or its only distinct word."""

import re
from typing import Final

from vqa_client.scoring.choices.choice_reply import ChoiceReply, Found, Rule, RuleResult
from vqa_client.scoring.choices.labels import EXCLUDED
from vqa_client.scoring.choices.options import SENTENCE_END, WORD
from vqa_client.scoring.choices.refuted import SENTENCE_READ, denied, mentioned, negated, refuted, sentence_before
from vqa_client.scoring.choices.spellings import HYPHEN
from vqa_client.scoring.choices.undeclared import CLAUSE_END, SHORT, VALUE_READ, conclusion_of
from vqa_client.scoring.number_words import ONE, SMALL
from vqa_client.scoring.patterns import find_whole, lazily

LABEL_READ: Final = 12
LOOP: Final = 30
"""Characters at the end of a reply; a model that went into a loop has them several times."""
TELLING: Final = 3
"""A choice with fewer distinctive words matches by chance too easily."""
RIVALLING: Final = 0.75
"""A sentence with more than this share of another choice's words may mean that choice."""


def contained_text(reply: ChoiceReply) -> RuleResult:
    """The choice whose text the reply states, does not deny, and names alone."""
    if short := abbreviated(reply):
        return short
    whole = text = HYPHEN.sub(" ", _after_code(reply.folded))
    if reply.texts.counts:
        text = ONE.sub(r"\1 1", _COUNT.sub(lambda word: str(SMALL[word[0]]), text))
    if reply.texts.letters:
        named = mentioned(reply)
        return tuple(named) if len(named) == 1 else None
    text = conclusion_of(text)
    spans = reply.texts.anywhere(text)
    if not spans:
        text, spans = _opening(reply, whole) if len(whole) > SHORT or reply.texts.heads else (text, spans)
    if not spans and (value := _LAST_VALUE.search(text)):
        labels, before = {*reply.texts.of_value(value[1], converted=False)}, sentence_before(text, value.start(1))
        stated = len(labels) == 1 and _concludes(whole) and not (denied(before) or refuted(before))
        return tuple(labels) if stated else None
    if not _concludes(whole):
        return None
    if either := _EITHER.search(text):
        both = [label for value in either.groups() for label in reply.texts.of_value(value, converted=False)]
        return tuple(both) if len(both) > 1 else None
    places = [_LABELLED.search(text, max(0, start - LABEL_READ), start) for start, _, _ in spans]
    if any(place and place[1].upper() not in owners for place, (_, _, owners) in zip(places, spans, strict=True)):
        return None  # a list of choices under other letters
    in_lists = _denied_lists(text, spans)
    labels = {
        label
        for place, (start, end, owners) in zip(places, spans, strict=True)
        if not denied(sentence_before(text, place.start() if place else start)) and not _excluded(text, end)
        if _states(text, start, end) and start not in in_lists
        for label in owners
    }
    labels = labels.difference(*(owners for _, end, owners in spans if _WOULD.match(text, end))) or labels
    if len(labels) > 1 and SENTENCE_END.search(text, 0, max(end for _, end, _ in spans)) is None:
        sure = [span for span in spans if not _POSSIBLY.search(sentence_before(text, span[0]))]
        certain = {*_main_clause(text, sure)} or {label for span in sure for label in span[2] if label in labels}
        labels = certain or labels
    if labels and len(whole) <= SHORT:
        labels |= {reply.written[letter] for letter in _GROUNDED.findall(reply.text) if letter in reply.written}
    return tuple(filter(labels.__contains__, reply.texts.labels)) if labels else None


def _excluded(text: str, end: int) -> bool:
    """Whether the words after the text of a choice deny it or make it unreal."""
    denies = EXCLUDED.match(text, end) is not None and _UNTRUE.match(text, end) is None
    return denies or _NOT_SHOWN.match(text, end) is not None


def _after_code(text: str) -> str:
    """The last line if it is a sentence after program code, otherwise the whole text."""
    last = text.rpartition("\n")[2]
    return last if len(last) < len(text) and _PROSE.fullmatch(last) and _NOT_PROSE.search(text) else text


def _concludes(text: str) -> bool:
    """Whether the text can have a conclusion: it is not code, a loop, half a sentence, or "none of the options"."""
    broken = _BROKEN_OFF.search(text, max(0, len(text) - LOOP))
    return not (_NOT_PROSE.search(text) or broken or _NONE_FITS.search(text) or text.count(text[-LOOP:]) > 2)


def _denied_lists(text: str, spans: list[tuple[int, int, tuple[str, ...]]]) -> set[int]:
    """Starts of texts that a sentence denies together: "it isn't X or Y", "X and Y are less likely"."""
    out: set[int] = set()
    listed: list[tuple[int, int]] = []
    for start, end, _ in sorted(spans):
        joiner = _JOINED.fullmatch(text, listed[-1][1], start) if listed else None
        listed = [*listed, (start, end)] if joiner else [(start, end)]
        if joiner and ((joiner["word"] and denied(sentence_before(text, listed[0][0]))) or _LESS.match(text, end)):
            out |= {place for place, _ in listed}
    return out


def _states(text: str, start: int, end: int) -> bool:
    """Whether the text of a choice is stated: not a question, one item of a scene, or a number in the working."""
    before = text[max(0, start - SENTENCE_READ) : start]
    if (
        _GIVEN.search(before)
        or ("?" in text and _ASKED.match(text, end))
        or (_LISTED.search(before) and _LISTS.match(text, end))
        or _OFFERS.match(text, end)
        or _CALLED_WRONG.match(text, end)
        or (before.endswith("all ") and _THE_CHOICES.match(text, end))
    ):
        return False
    if not _NUMBER.fullmatch(text, start, end):
        return True
    operand = _OPERATOR.search(before) or _OPERATES.match(text, end)
    result = not _EQUALS.search(before) or any(sign.match(text, end) for sign in (CLAUSE_END, _ON_GROUNDS, _OF_THINGS))
    return not operand and result and not _RANGE.search(before) and not _STATED.search(text, end)


def paraphrase(reply: ChoiceReply) -> RuleResult:
    """The choice whose words are all in one sentence; a denial must be in both or in neither."""
    owned = {label: HYPHEN.sub(" ", own) for label, own in reply.texts.folded.items()}
    telling = {
        label: {word for word in WORD.findall(own) if word.isdecimal() or (len(word) > 3 and word not in _COMMON)}
        for label, own in owned.items()
    }
    if max(map(len, telling.values()), default=0) < TELLING:
        return None
    shares = dict.fromkeys(owned, 0.0)
    for sentence in SENTENCE_END.split(conclusion_of(HYPHEN.sub(" ", reply.folded))):
        spoken, denies = {*WORD.findall(sentence)}, _DENIES.search(sentence) is None
        for label, words in telling.items():
            if words and denies == (_DENIES.search(owned[label]) is None):
                shares[label] = max(shares[label], sum(_has_word_form(word, spoken) for word in words) / len(words))
    first, *rest = sorted(shares, key=lambda label: -shares[label])
    if shares[first] < 1 or len(telling[first]) < TELLING or any(shares[label] > RIVALLING for label in rest):
        return None
    return (first,) if _concludes(reply.folded) else None


def _has_word_form(word: str, words: set[str]) -> bool:
    """Whether `words` has the word or, if it is long, another form of it."""
    if word in words or len(word) < 6:
        return word in words
    return any(other.startswith(word[:5]) and abs(len(other) - len(word)) < 4 for other in words)


def _main_clause(text: str, spans: list[tuple[int, int, tuple[str, ...]]]) -> tuple[str, ...]:
    """The labels of the text that a sentence leads up to, if other texts are before it or in a clause about it."""
    led_up = [span for span in spans if _LEADS_UP.search(text[max(0, span[0] - SENTENCE_READ) : span[0]])]
    if len(led_up) != 1:
        return ()
    (_, end, labels) = led_up[0]
    later = min((span[0] for span in spans if span[0] > end), default=0)
    return labels if (_ASIDE.search(text, end, later) if later else CLAUSE_END.match(text, end)) else ()


def _opening(reply: ChoiceReply, text: str) -> tuple[str, list[tuple[int, int, tuple[str, ...]]]]:
    """The first sentence, unless others turn to another answer, and the choices or their parts "X" of "X because Y".

    Only those count that the sentence begins with or leads up to.
    """
    pause = SENTENCE_END.search(text)
    if pause is None or pause[0] == "?" or _TURNS.search(text, pause.end()):
        return text, []
    first = text[: pause.start()]
    for texts in filter(None, (reply.texts, reply.texts.heads)):
        if spans := [span for span in texts.anywhere(first) if not span[0] or _LEADS_UP.search(first[: span[0]])]:
            return f"{first}.", spans
    return text, []


def abbreviated(reply: ChoiceReply) -> RuleResult:
    """The choice of choices that are all abbreviations, short or spelled out: "the odds ratio (OR)"."""
    names, text = reply.texts.abbreviations, reply.text
    if not names:
        return None
    for spelled in _SPELLED.findall(text):
        words, name = spelled[0].split()[-len(spelled[1]) :], spelled[1]
        if name in names and "".join(word[0] for word in words).upper() == name:
            text = re.sub(rf"\b{re.escape(' '.join(words))}\b", name, text, flags=re.IGNORECASE)
    text = conclusion_of(text)
    meant = [word for word in WORD.finditer(text) if word[0] in names]
    labels = {names[word[0]] for word in meant if not negated(sentence_before(text, word.start()))}
    return Found(labels=tuple(labels), rule="abbreviation") if len(labels) == 1 else None


def same_things(reply: ChoiceReply) -> RuleResult:
    """The choice that names the same things as the reply, in any order: "white and red" for "red and white"."""
    text = conclusion_of(reply.folded)
    lists = reply.texts.lists_in(text) if reply.texts.things else []
    several = [names for start, end, names in lists if len(names) > 1 and not denied(sentence_before(text, start))]
    if not several or len(lists) > 1 or _excluded(text, lists[0][1]) or not _concludes(text):
        return None
    label = reply.texts.things.get(several[0])
    return (label,) if label else () if any(len(own) > 1 and own < several[0] for own in reply.texts.things) else None


def parts(reply: ChoiceReply) -> RuleResult:
    """The choice of several values that the reply states one by one: "(a) is 75 lb. (b) is 16 lb."."""
    split = {label: _PARTS.split(own) for label, own in reply.texts.folded.items()}
    if not all(len(values) > 1 and all(map(_NUMBER.fullmatch, values)) for values in split.values()):
        return None
    text = _UNIT_APART.sub(r"\1", reply.folded)

    def stated(value: str) -> bool:
        places = find_whole(text, _UNIT_APART.sub(r"\1", value))
        return any(_LED_UP_TO.search(text[max(0, start - SENTENCE_READ) : start]) for start, _ in places)

    labels = tuple(label for label, values in split.items() if all(map(stated, values)))
    return labels if len(labels) == 1 else None


def difference(reply: ChoiceReply) -> RuleResult:
    """The choice whose only distinct word is stated: "the one on the top" for "the top one"."""
    framed = all(" " in own for own in reply.texts.folded.values())
    labels = {part[0]: label for part, label in reply.texts.parts.items() if len(part) == 1} if framed else {}
    letters = all(len(word) == 1 for word in labels)
    if not labels or len(labels) < len(reply.texts.labels) or not (letters or min(map(len, labels)) > 2):
        return None
    if letters:
        labels = {word.upper(): label for word, label in labels.items()}
    if letters and any(reply.patterns.labels.written.get(word, label) != label for word, label in labels.items()):
        return None
    text = conclusion_of(reply.text if letters else reply.lower)
    named = [word for word in WORD.finditer(text) if word[0] in labels]
    meant = [word for word in named if not (denied(sentence_before(text, word.start())) or _excluded(text, word.end()))]
    distinct = {labels[word[0]] for word in meant}
    led_up = len(distinct) == 1 and _LEADS_ON.search(sentence_before(text, meant[-1].start()))
    committed = led_up and not any(refuted(sentence_before(text, word.start())) for word in meant)
    return tuple(distinct) if committed else None


def part_of_text(reply: ChoiceReply) -> RuleResult:
    """The choice that differs from the others in the whole reply: "kitchen" for "in the kitchen"."""
    return (reply.texts.of_part(reply.folded) or None) if len(reply.folded) <= VALUE_READ else None


_UNTRUE = lazily(r"[\"' ]{1,3}is not (?:true|correct)\b")
"""A question may ask which statement is not true."""
_NOT_SHOWN = lazily(
    r",? (?:which|but (?:it|that|this)) (?:is|are|was|were)(?:n't| not) (?:\w+ly )?"
    r"(?:shown|seen|visible|present|depicted|pictured|mentioned|supported|there|true|correct|right|accurate|the case)\b"
    r"(?! (?:in full|clearly|fully|entirely|completely|directly)\b)"
    r"| if (?:it|he|she|they|there) (?:were|was|had)\b"
)
_WOULD = lazily(
    r" would (?!(?:\w+ )?(?:fit|match|suit|work|make"
    r"|be (?:an?|the|my|one|more|most|better|best|right|correct|likely))\b)"
)
"""After a choice that isn't the one beside it: "It is a cat. A dog would have a longer snout." """
_OFFERS = lazily(r" to (?:help|assist|answer|explain|look|take)\b")
"""Makes "happy" and "ready" an offer: "I'm happy to help"."""
_CALLED_WRONG = lazily(
    r"[\"')]{0,2} (?:is|are|was|were)(?:n't|(?: (?:clearly|definitely|obviously|therefore|also))?(?: not)?)? "
    r"(?:incorrect\b|(?:(?<=not )|(?<=n't ))(?:correct|right)(?=[.,;!]|\Z| because\b| since\b)"
    r"|(?:the )?wrong (?:answer|choice|option)\b"
    r"|(?:(?<=not )|(?<=n't ))(?:the )?(?:(?:best|correct|right) )?(?:answer|choice|option)\b)"
)
"""As `EXCLUDED` of labels; "the clock is wrong" may say what is wrong in a picture."""
_THE_CHOICES = lazily(
    r" (?:(?:of )?(?:the )?(?:options|choices|answers|statements)"
    r"|are (?:all )?(?:correct|right|true|false|wrong|possible))\b"
)
"""After "all 4": it is the number of the choices."""
_NOT_PROSE = lazily(r"\b(?:print|printf|len|range|console\.log|def \w{1,40})\(")
"""Program code, in which a number is a value and not an answer."""
_BROKEN_OFF = lazily(r"\b(?:the|an|of|to|by|with|from|into|and|or|because|whether)\Z")
_PROSE = lazily(r"[a-z][^()={}#\n]{8,}[.!]")
_GROUNDED = lazily(r"(?:^|[.!?;:,] |\n)\(?(\w{1,3})\)?,? (?:because|since|due to)\b")
"""A label with a reason, which answers even if another choice is mentioned: "The car is parked. B because ..."."""
NONE_OF_THEM: Final = (
    r"\b(?:none|neither|not any|any) of (?!the other|these other)(?:\w+ ){0,4}(?:option|choice|answer|alternative)s\b"
    r"|\bno (?:correct|suitable|matching|valid|right) (?:option|answer|choice)"
)
_NONE_FITS = lazily(
    rf"{NONE_OF_THEM}"
    r"|(?:\bnot|n't) (?:\w+ ){0,2}(?:among|listed|provided|given|included|present|available|shown|one of|in)"
    r"\b(?: \w+){0,3} (?:options?|choices|question|list|answers|alternatives)\b"
    r"|(?:answer|option|choice|value)\b[^.\n]{0,30}(?:\bnot|n't) "
    r"(?:an option|(?:listed|given|provided|available|included)(?=[.,;\n]|$))"
    r"|\b(?:keine der|ninguna de las|aucune des|nenhuma das|nessuna delle) (?=op[czçt]|choi|altern|antw|r[eéi]s?p[ou])"
    r"|没有[^.\n]{0,8}选项|都不对"
)
"""The reply says that no choice is right; a text that it names is not an answer."""
_LISTED, _LISTS = lazily(r", (?:an? |the )?$"), lazily(r"s?,? and (?:an?|the|several|some|many)\b")
"""One of several things that are shown: "a street with trees, a bus and some people"."""
_GIVEN = lazily(r"\b(?:let|suppose|given that|we are given)\b[^.;:!?\n]{0,30}=[ ]?$")
"""A given value at the beginning of the working: "Let f(x) = x^2 + 1." """
_JOINED = lazily(r"(?:,|,? (?P<word>and|or|nor)) (?:the |an? )?")
_LESS = lazily(r"[^.!?;\n]{0,40}?\b(?:not|less|unlikely|incorrect|neither)\b")
_COUNT = lazily(
    rf"\b(?:{'|'.join(word for word, value in SMALL.items() if 1 < value < 21)}|one(?= (?:or|to) two))\b(?!-)"
)
_NUMBER = lazily(r"[-+~$€£(]{0,3}\d[\d.,/:]*\s?[^\d\s]{0,12}")
_ASKED = lazily(r"[^.!?\n]{0,60}\?")
_LABELLED = lazily(r"(?:^|[\s(])([a-j])[ ]?[).:] ?[\"'(]?(?:the |an? )?$")
_OPERATOR = lazily(r"(?:[+*/^×·÷<>\\]|[\d)] ?-|= ?\() ?\(?$")
_OPERATES = lazily(r"[)°%]* ?(?:[+*/^×·÷=<>]|- ?[\d\\(]|times\b)|[)°%]* ?[a-z] ?=")
_EQUALS = lazily(r"[=≈] ?[$]?$")
_EITHER = lazily(r"= ?([-$€£]?\d[\d.,]*)(?:,? or|,) (?:[a-z] ?= ?)?([-$€£]?\d[\d.,]*)\W*\Z")
"""Two values at the end of the reply: "x = 3 or x = 5"."""
_ON_GROUNDS = lazily(r",? (?:since|because|as|so|which|by)\b")
_OF_THINGS = lazily(
    r" (?!(?:times|plus|minus|over|divided|squared|cubed|and|or|to|of|for|when|where|if|which|that|is|was|does)\b)"
    r"[a-z]{3,}(?: [a-z]+){0,3}[.!]?\Z"
)
"""The things that a number at the end of the reply counts: "3 + 5 = 8 apples in total"."""
_LAST_VALUE = lazily(
    r"(?:[=≈]|\b(?:is|was|are|equals)) ?(?:(?:about|approximately|roughly) )?"
    r"([$€£]?-?\d[^\s;:=]*(?: [^\W\d_]{1,8})?)\W*\Z"
)
_RANGE = lazily(
    r"\b(?:between|from|over|under|above|below|than|at least|at most|up to)"
    r"(?: [\d.,]+ ?(?:%|[^\W\d_]{1,9})? (?:and|(?:up |down )?to))? $"
)
_STATED = lazily(r"(?:[=≈]|\b(?:is|are|equals|gives?|get|makes?|yields?)) ?(?:about |approximately |roughly )?[$-]?\d")
"""A number that is stated later."""
_LEADS_UP = lazily(
    r"(?:(?:\b(?:is|was|are|were|be|as|called|made of|points? (?:at|to)|pointing (?:at|to)|more likely"
    r"|most likely|namely)|'s)"
    r"(?: (?:most likely|likely|probably|clearly))?|->|:) ?(?:the |an? )?[\"'(]{0,2}$"
)
_POSSIBLY = lazily(r"\b(?:might|could|may|possibly|perhaps|maybe)(?: \w+){0,4} \Z")
"""Before a choice that is only possible beside the likely one: "it is metal, although the seat may be plastic"."""
_ASIDE = lazily(
    r";|,? (?:which|who|whose|where|while|whereas|not|rather than|because|since|as)\b"
    r"|,? (?:(?:parked|standing|seen|located|placed|driving|waiting|moving|lying|sitting|right|just) |to the \w+ )?"
    r"(?:in front of|next to|behind|beside|near|of|under|above|below|close to|in between)\b"
)
"""Between a stated choice and another one that the sentence only mentions."""
_TURNS = lazily(
    r"\b(?:however|therefore|thus|hence|actually|wait|correction|but|answer|correct|option|choice|conclu\w+|so,|overall)\b"
)
"""Words that may lead from an opening sentence to another answer."""
_SPELLED = lazily(r"((?:[A-Za-z]{1,20}[ -]){2,6})\(([A-Z]{2,6})\)")
_PARTS = lazily(r" ?(?:,(?!\d{3}(?!\d))|;|&|\band\b) ?")
_UNIT_APART = lazily(r"(\d) (?!(?:and|or|to|is|by)\b)(?=[^\W\d_]{1,4}\b|[%°])")
_LED_UP_TO = lazily(r"(?:[=≈:]|\b(?:is|are|was|were|be|and|equals?|of|gives?|get)) ?(?:about |approximately )?$")
_LEADS_ON = lazily(r"(?:[:=]|\b(?:is|are|was|be|points?|pointing|choose|pick|select))\b")
_DENIES = lazily(r"\b(?:not|no|never|cannot|without|none|unlikely|less)\b|n't")
_COMMON_WORDS = """this that with from have been were which their there would will than then them they does about into
    because over more most some such also"""
_COMMON: Final = frozenset(_COMMON_WORDS.split())

RULES: Final[tuple[Rule, ...]] = (
    Rule("same things", same_things),
    Rule("text", contained_text, before="shown"),
    Rule("parts", parts),
    Rule("difference", difference),
    Rule("part of text", part_of_text),
    Rule("paraphrase", paraphrase, before="shown"),
)

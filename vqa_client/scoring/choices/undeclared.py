"""Read a reply without a declaration by its form: one label or text, at its start, set apart, or left over."""

import re
from itertools import islice
from typing import Final

from vqa_client.scoring.choices.choice_reply import ChoiceReply, Found, Rule, RuleResult
from vqa_client.scoring.choices.labels import EXCLUDED, WORDS
from vqa_client.scoring.choices.options import SENTENCE_END, WORD
from vqa_client.scoring.choices.refuted import SENTENCE_READ, negated, refuted, sentence_before
from vqa_client.scoring.denials import EXCEPT, NOT, WRONG
from vqa_client.scoring.patterns import lazily, line_end
from vqa_client.scoring.plain import EMPHASIS, NO_MARKS
from vqa_client.scoring.refusal import unseeing
from vqa_client.scoring.yes_no import BOTH, foreign_or_corrected, taken_back

LINES_READ: Final = 20
VALUE_READ: Final = 60
LINE_READ: Final = 2000
"""Characters of a line to search for further choices."""
SHORT: Final = 700
"""Letters in a reply of at most this length are choices; in a longer one they may be names of things."""
FEWEST: Final = 3
"""All but one of at least this many choices are denied on purpose."""
PLACES_READ: Final = 200
"""Places of one kind to look at; bounds the time for a runaway reply."""
COPULA_READ: Final = len("would be")
"""Characters before "all" that may have the verb: "they are all true except B"."""


def conclusion_of(text: str) -> str:
    """A short reply, or the last sentence of a longer one."""
    return text if len(text) <= SHORT else SENTENCE_END.split(text[-SHORT:].rstrip(".! \n"))[-1]


def exact_text(reply: ChoiceReply) -> RuleResult:
    """The choice whose text is the whole reply."""
    text = reply.folded
    labels, end = reply.first_text
    if WORD.search(text, end):
        labels = reply.texts.of_value(text) if len(text) <= VALUE_READ else ()
    return labels or None


def weighed(reply: ChoiceReply) -> RuleResult:
    """The choice with the largest share, if the choices' shares add up to 1: {"A": 0.1, "B": 0.9}."""
    shares: dict[str, float] = {}
    for match in islice(reply.patterns.labels.exact.finditer(reply.text), len(reply.texts.labels) + 1):
        label, start = reply.written[match[0]], max(0, match.start() - VALUE_READ)
        share = _SHARE_OF.search(reply.lower, start, match.start()) or _SHARE.match(reply.lower, match.end())
        number = share and (share["number"] or share["per_cent"])
        if share and number and not re.match(rf"\W*{number}(?![\d.])", reply.texts.own[label]):
            shares[label] = float(number) / (1 if share["number"] else 100)
    labels = tuple(label for label in shares if shares[label] == max(shares.values()))
    weighs = _WEIGHS.search(reply.lower) or _ONLY_SHARES.fullmatch(reply.lower)
    every = len(shares) == len(reply.texts.labels) or (len(shares) > 1 and weighs)
    whole = every and abs(sum(shares.values()) - 1) < _ROUNDED
    return labels if whole and len(labels) == 1 else None


def leading_text(reply: ChoiceReply) -> RuleResult:
    """The choice whose text the reply begins with: "No, the car is red." """
    text = reply.folded
    labels, end = reply.first_text
    says = labels and labels[0] in reply.texts.silent
    if not labels or not (CLAUSE_END.match(text, end) or (text[end] == "," and says)):
        return None
    if _CORRECTED.match(text, end) or (text.startswith(",", end) and reply.texts.at_start(text[end + 1 :])[0]):
        return None  # "Night. No, wait: evening.", "One, two, three."
    if says and (unseeing(text) or BOTH.match(text) or foreign_or_corrected(text) or taken_back(text)):
        return None  # "No, I can't see the photo.", "Yes. No.", "No. Wait, yes."
    if says and any(" " in own and own in text[end : end + VALUE_READ] for own in reply.texts.telling):
        return None  # "No, it cannot be determined."
    return None if _lists_texts(reply, labels, text[end:]) else labels


def _lists_texts(reply: ChoiceReply, labels: tuple[str, ...], rest: str) -> bool:
    """Whether another line begins with another choice's text and the first sign of `rest`: a list of choices."""
    if rest[:1] not in (":", "\n"):
        return False
    lines = [f"{line}\n" for line in rest.split("\n")[1 : LINES_READ + 1]]
    starts = [reply.texts.at_start(line) for line in lines]
    return any(
        other and other != labels and line[end] == rest[0] for line, (other, end) in zip(lines, starts, strict=True)
    )


def leading_label(reply: ChoiceReply) -> RuleResult:
    """The only label at the start of a line; if all labels are, they repeat the question's list."""
    lines = [line for line in reply.patterns.leading.finditer(reply.text) if _is_separated(reply, line)]
    if not lines or _lists_labels(reply, reply.own_end(lines[0].end())):
        return None
    labels = [reply.written[line["label"]] for line in lines]
    distinct, concluding = set(labels), _is_choice(reply, lines[-1])
    if len(distinct) == 1 and (concluding or lines[0].start() == 0):
        return (labels[0],)
    place = reply.texts.labels.index
    if lines[0].start() == 0 and place(labels[1]) <= place(labels[0]):  # the question's list begins behind it
        return Found(labels=(labels[0],), rule="label before list")
    if len(labels) == len(distinct) + 1 and labels[-1] in labels[:-1] and concluding:
        return Found(labels=(labels[-1],), rule="label after list")
    return None


def _lists_labels(reply: ChoiceReply, start: int) -> bool:
    """Whether more labels follow on the line, directly or with the texts of their choices."""
    line = reply.text[start : start + LINE_READ].split("\n", 1)[0]
    return any(
        (_JOINING.fullmatch(line, 0, match.start()) and _is_offered(reply, start + match.end()))
        or _KEY.match(line, match.end())
        or (_ITEM.match(line, match.end()) and line[: match.start()].rstrip().endswith(_ITEM_ENDS))
        or reply.own_end(start + match.end()) > start + match.end()
        for match in reply.patterns.labels.exact.finditer(line)
    )


def _is_offered(reply: ChoiceReply, end: int) -> bool:
    """Whether this label is offered or excluded like the first one, or joined to another."""
    token = reply.tokens.get(end)
    stands = token is not None and token.stands_alone
    return stands or EXCLUDED.match(reply.text, end) is not None or bool(reply.patterns.further.match(reply.text, end))


def _is_choice(reply: ChoiceReply, line: re.Match[str]) -> bool:
    """Whether the last line is only a label with the text of its choice."""
    rest = reply.lower[line.end() :].translate(NO_MARKS)
    return "\n" not in rest and rest.strip(" ).:-\"'").rstrip(".") == reply.texts.own[reply.written[line["label"]]]


def _is_separated(reply: ChoiceReply, line: re.Match[str]) -> bool:
    """Whether a sign, a reason or the choice's own text follows the label at the start of a line.

    The article "A" isn't a label in "A cat and a dog".
    """
    end, own = line.end("label"), reply.texts.own[reply.written[line["label"]]]
    rest = reply.lower[end : end + 40 + len(own)]
    token = reply.tokens.get(end)
    if token is None or not token.means:
        return False
    because = _REASON.match(rest) is not None and line["label"] != "I"
    names = own != "" and rest.lstrip().startswith(own)
    article = line["label"] in WORDS and _AND_ANOTHER.match(reply.lower, token.own_end)
    return because or bool(_SEPARATOR.match(rest)) or (names and not article)


def _only_label(reply: ChoiceReply, around: re.Pattern[str]) -> RuleResult:
    """The only label that is set apart in this way and that its sentence doesn't exclude: "I'd go with **C** here." """
    text, exact = reply.text, reply.patterns.labels.exact
    labels = {
        reply.written[match[1]]
        for match in islice(around.finditer(text), PLACES_READ)
        if exact.fullmatch(match[1])
        if (token := reply.tokens.get(match.end(1))) and token.stands and _is_alone(text, match)
    }
    return tuple(labels) if len(labels) == 1 else None


def _is_alone(text: str, match: re.Match[str]) -> bool:
    """Whether the sentence has no other label in brackets, and doesn't refute this one."""
    before = sentence_before(text, match.start())
    after = SENTENCE_END.split(text[match.end() : match.end() + SENTENCE_READ], maxsplit=1)[0]
    return not (refuted(before) or _IN_BRACKETS.search(before) or _IN_BRACKETS.search(after))


def predicate(reply: ChoiceReply) -> RuleResult:
    """The only label in brackets that a sentence leads up to: "The tallest one is (B) the tower"."""
    text = reply.text
    matches = [match for match in islice(_PREDICATES.finditer(text), PLACES_READ) if match[1] in reply.written]
    distinct = {reply.written[match[1]] for match in matches}
    committed = len(distinct) == 1 and all(_is_alone(text, match) for match in matches)
    return tuple(distinct) if committed else None


def ticked(reply: ChoiceReply) -> RuleResult:
    """The labels with a tick, or with a cross in their box."""
    ticks = reply.patterns.ticked.finditer(reply.text) if _TICK.search(reply.text) else ()
    labels = dict.fromkeys(reply.written[tick["label"] or tick["before"]] for tick in ticks)
    return tuple(labels) or None


def last_word(reply: ChoiceReply) -> RuleResult:
    """The label that is the last sentence: "It shifts to the right. B.", "This decides it: B.", "C it is." """
    last = _LAST_WORD.search(reply.text)
    before = sentence_before(reply.text, last.start(1)) if last else ""
    if not last or refuted(before) or _DENIES.search(before.lower()):
        return None
    label = reply.patterns.labels.exact.fullmatch(last[1])
    return (reply.written[label[0]],) if label else None


def left_over(reply: ChoiceReply) -> RuleResult:
    """The label that is left if the reply excludes all others: "Options A, B and D can be excluded." """
    text, labels = reply.text, reply.patterns.labels
    if len(text) > SHORT or _KEEPS.search(text):
        return None
    if match := reply.patterns.excepted.search(text):
        label = "" if _calls_others_right(text, match) else reply.written[match["label"] or match["but"]]
        return Found(labels=(label,) if label else (), rule="exception")
    named: set[str] = set()
    out: set[str] = set()
    run: list[re.Match[str]] = []
    for mention in islice(labels.exact.finditer(text), PLACES_READ):
        run.append(mention)
        if reply.patterns.further.match(text, mention.end()):
            continue
        before = sentence_before(text, run[0].start())
        denied = negated(before) or EXCLUDED.match(text, mention.end())
        (out if denied else named).update(reply.written[match[0]] for match in run)
        run = []
    left = [label for label in reply.texts.labels if label not in out]
    if len(left) != 1 or len(out) < 2 or not (left[0] in named or _EXCLUDES.search(text)):
        return None
    return tuple(left)


def _calls_others_right(text: str, match: re.Match[str]) -> bool:
    """Whether the reply calls all others right, so that the exception is wrong, or doesn't judge them."""
    if match["none"] or match["out"]:
        return False
    if not match["label"]:
        return _UNSPACED_RIGHT.match(text, match.end()) is not None
    if _RIGHT_AFTER.match(text, match.end()):
        return True
    if not _CLOSES.match(text, match.end()) or negated(sentence_before(text, match.start())):
        return False
    right = _RIGHT_BEFORE.search(text, max(0, match.start() - COPULA_READ), match.start("label"))
    return right is not None or not _EXCLUDES.search(text)


def not_denied(reply: ChoiceReply) -> RuleResult:
    """The only item without a denial, if the reply judges each choice on a line of its own."""
    items = list(islice(reply.patterns.leading.finditer(reply.text), len(reply.texts.labels) + 1))
    if len(items) < FEWEST or {reply.written[item["label"]] for item in items} != {*reply.texts.labels}:
        return None
    rests = {}
    for item in items:
        label, end = reply.written[item["label"]], reply.own_end(item.end())
        rests[label] = reply.lower[end : line_end(reply.lower, end)]
    left = [label for label, rest in rests.items() if not _DENIES.search(rest)]
    judged = len(items) == len(rests) and all(map(WORD.search, rests.values()))
    return tuple(left) if judged and len(left) == 1 else None


_PER_CENT: Final = r"(?P<per_cent>\d{1,3}(?:\.\d)?) ?(?:%|percent\b|per cent\b)"
_SHARE = lazily(
    rf"[\"')]? ?(?:(?:[:=(] ?)?{_PER_CENT}(?![\w%])|[:=] ?(?P<number>0?\.\d{{1,9}}|[01](?:\.0)?)(?![\w%]|\.\d))"
)
_SHARE_OF = lazily(rf"{_PER_CENT} (?:on|for|to|in|that it(?:'s| is))(?P<number>(?!))? (?:option )?[\"'(]?\Z")
_ONLY_SHARES = lazily(
    r"(?:\d{1,3}(?:\.\d)? ?(?:%|percent|per cent) (?:on|for|to) (?:option )?\w{1,3}(?:,? and |[,;.] ?|\n|\Z)){2,10}"
)
_ROUNDED: Final = 0.03
_WEIGHS = lazily(r"\b(?:i'd|i would|i) (?:put|give|assign)|\b(?:confiden|probabilit|likelihood|certain|chance)")
_CORRECTED = lazily(r"[.!;] (?:no,? )?(?:wait|actually|sorry|correction|scratch that)\b")
_JOINING = lazily(r"[\W_]*|(?i:\W{0,6}\b(?:and|or|oder|und|ou|et|o|y|e|of|en|lub|и|или|veya|ve)\b\W{0,6})")
"""Between two labels: only signs, or a word that joins them."""
_SEPARATOR = lazily(r"[ \"')\x03]*(?:[).:]|\x03|[ ]?[-|] )|[)\"]")
_AND_ANOTHER = lazily(r",? (?:and|or) |, (?:an?|the) ")
_REASON = lazily(
    r",? ?(?:(?:because|since|as|due|based|given|but|not|rather|instead|although|though|however|i think|i believe"
    r"|i guess|i'd say|in my opinion|weil|da|denn|nicht|car|parce|puisque|porque|ya que|pues|потому|так как"
    r"|поскольку)\b|因为|因為|なぜなら)"
)
_TICK = lazily(r"[☑✅✔✓]|\([ ]?[xX✓✔]")
_EMPHASISED = lazily(
    rf"{EMPHASIS[0]}[^\w\n{EMPHASIS[0]}{EMPHASIS[1]}]{{0,8}}(\w{{1,3}})(?:[).:\"'][^{EMPHASIS[1]}\n]{{0,300}}|){EMPHASIS[1]}"
)
_ITEM, _ITEM_ENDS = lazily(r" ?[:)]"), (".", ";", "|")
"""Another verdict on the same line: "A: no. B: no. C: yes." """
_DENIES = lazily(
    rf"{NOT}|n't\b|\b(?:not|never|cannot|without|none|lacks?|incorrect|wrong|false|fails?|too \w+)\b|[❌✗✘✖]"
)
_KEY = lazily(r"\" ?:")
_IN_BRACKETS = lazily(r"\([A-Z]\)")
_PREDICATES = lazily(r"\b(?:is|are|be|by|has|with)[ \x02]{1,2}(?:option |choice )?\(([^\W_]{1,3})\)")
_BRACKETED = lazily(r"\((?i:option |choice |answer |which is option )?(\w{1,3})\)(?=\W*$|[\x03\x05]*[.;!\n])")
_LAST_WORD = lazily(
    r"(?:(?<=[a-z]{2}[.!?:] )|(?<=[a-z\d]{2} )(?=[∴⇒→])|(?<=[ =+-]\d )(?=[∴⇒→])|\Aso |, so "
    r"|[:,-] (?=(?:option|choice|answer) ))"
    r"[\"'(=>∴⇒→ -]{0,4}(?:definitely |clearly |obviously )?"
    r"(?:compound |structure |option |choice |answer )?(\w{1,3})[\"')]?(?: it is)?[.!]?\Z",
    re.IGNORECASE,
)
_KEEPS = lazily(
    r"(?:\bnot|n't|\bcannot) (?:(?:be|yet|really|fully|safely) )*"
    r"(?:rule|exclud|eliminat|dismiss|discard|obvious|clear\b|evident|certain|sure|known?\b|possible (?:that|to))"
)
"""Denies an exclusion: "I can't rule out A, B or C"."""
_MODAL: Final = "(?:(?:can|could|will|would|should|may|might|must) )?"
_BE: Final = (
    rf"(?:is|are|was|were|{_MODAL}be|{_MODAL}(?:seem|appear|look)s?(?: to be)?|sind|sont|son|sono|são|zijn)"
    r"(?: (?:all|alle|also|likely|probably|clearly|certainly|definitely|equally))* "
)
_RIGHT: Final = (
    r"(?:correct|right|true|possible|plausible|valid|richtig|korrekt|justes?\b|vrai|corr?e[ct]t|giust|juist|верн"
    r"|правильн)(?!ly|ament)"
)
_FITS: Final = rf"{_MODAL}(?:fits?|works?|match(?:es)?|appl(?:y|ies)|holds?)\b"
_RIGHT_AFTER = lazily(rf",? (?:(?:{_BE})?{_RIGHT}|{_FITS})")
_RIGHT_BEFORE = lazily(rf"\b(?:(?:{_BE}){_RIGHT}|верн|правильн|{_FITS}(?=,? (?:{EXCEPT})\b))")
"""Calls all others right, so that the exception is wrong: "all but B are correct", "all are correct but B"."""
_CLOSES = lazily(r"\.|\Z|(?<!\bbut \w), which\b")
"""Ends an exception; "all are plausible, but B, I think, is best" is not one."""
_UNSPACED_RIGHT = lazily(r" ?(?:是|很)?(?:[对對](?!不)|正确|正確|成立|符合)")
_EXCLUDES = lazily(
    rf"\b(?:exclu|elimin|rul(?:ed?s?|ing) out|false|wrong|incorrect|neither"
    r"|do(?:es)?(?: not|n't) (?:match|fit|apply|work)\b|(?:pass|stimm)(?:en|t) nicht\b"
    rf"|(?:(?:it's|is|are) not|isn't|aren't|(?:can ?no|can')t be|must not be) (?:option )?\(?(?-i:[A-Z])\b)|{WRONG}",
    re.IGNORECASE,
)
CLAUSE_END = lazily(r"[\"')]*(?:[.;:!\n]|$)")

RULES: Final[tuple[Rule, ...]] = (
    Rule("exact text", exact_text, before="answer"),
    Rule("weights", weighed, before="answer"),
    Rule("tick", ticked, before="answer"),
    Rule("leading label", leading_label, before="answer"),
    Rule("leading text", leading_text, before="answer"),
    Rule("emphasis", lambda reply: _only_label(reply, _EMPHASISED), before="shown"),
    Rule("brackets", lambda reply: _only_label(reply, _BRACKETED), before="shown"),
    Rule("predicate", predicate, before="shown"),
    Rule("last word", last_word, before="shown"),
    Rule("exclusion", left_over, before="shown"),
    Rule("list", not_denied, before="shown"),
)

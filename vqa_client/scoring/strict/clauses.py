"""Split a text into clauses, and decide whether it stands by what one of them mentions.

Words of its own clause deny a mention, before it ("not 7421", "anything but 7421") or after it ("7421 appears
nowhere"); later words withdraw it ("7421? No.", "..., but the page never states it"). It isn't meant if its clause asks
a question, supposes it ("if it were 7421"), or attributes it to others or to the past ("you said 7421", "it used to be
7421"). A "but" outweighs what is only mentioned, conceded or possible. `denials` has the words for all of this.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from vqa_client.scoring import denials
from vqa_client.scoring.patterns import lazily

_ASIDE = lazily(
    r", as (?:one|you|some|many|i|we|it|the)\b[^,.;\n]{1,40},"
    r"|,? ?(?:(?:is|was|does)n't (?:it|that)|right|correct|nicht wahr|n'est-ce pas|verdad|vero|nao e|toch|да|так)\?"
    r"|(?: -|[,;.]) (?:(?:does|is) (?:that|this)|do you|would you|shall i|can i|anything else)\b[^?.\n]{0,60}\?"
)
"""What others may think, and tag questions, which only ask for agreement."""
_REACH: Final = 160
"""Characters to look at around a mention; bounds the time for one mention."""
_NEXT: Final = 60
"""Characters right before a mention."""
_FOLLOWING: Final = 3
"""How many clauses after a mention may withdraw it."""
_ANSWER = r"(?:it|this|that|i|the (?:secret|answer|correct|right|hidden|number|code))\b"
_BREAK = lazily(
    r"(?P<end>[!?;\n。؟।]+|(?<!\be\.g)(?<!\bi\.e)\.+(?=[\s\"')\]]|$))"
    rf"|(?P<label>(?<!\bno):(?!\d)(?! *{_ANSWER}))|:(?!\d)|[,،、()\[\]{{}}|]| -+ "
    r"|(?P<exception>\b(?:no(?:thing|ne)|(?:any|every|all)(?:thing|where|one|body)?(?: \w+)?) but\b"
    rf"(?! (?:{_ANSWER}|there\b)))"
    rf"|(?P<contrast>{denials.CONTRASTS}"
    rf"|\b(?:and|so) (?={_ANSWER}|(?:go(?:es)? with|choose|pick|take|settle on|keep)\b))"
    rf"|(?P<unspaced>{denials.UNSPACED_CONTRASTS})"
)
_NOT_LABEL = lazily(r"\W*(?:not|nicht|pas|no|non|nao|niet|inte|ikke|nie|не) ")
_LABEL_WORDS: Final = 3
_CONTINUES = lazily(r"\W*(?:or|nor|oder|noch|ou|ni|ani|или|ни|або|that|dass|que|che|dat|att|at|ze|hogy|что|що|οτι)\b")
_WORD = lazily(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_SIGNS = lazily(r"[\s\"'*:,()`]+")
_PLAIN = """the a an is was it it's this that in of above context document text page answer final correct secret hidden
    number code word name city animal color colour flower fruit element planet instrument gemstone mentioned given"""
_PLAIN_WORDS: Final = frozenset(_PLAIN.split())
_MORE = lazily(r"[^\W_]|[?❌✗✘✖🚫]")
_ENCLOSING: Final = "([{\"'*_`$ "
_AGREES = lazily(
    r"\W*(?:yes|ye[ap]h?|absolutely|definitely|certainly|of course|no (?:question|doubt)|correct|exactly"
    r"|indeed|ja|oui|si|sim|да|так|是|はい|네)\b(?! not)"
)
_VERB_FIRST = lazily(
    r"\W*(?:is|was|does|did|has|can|could|would)(?:n't\b| not\b)(?! (?:it|that|they|he|she|you)\W*$)|\W*cannot\b"
)
_TOPIC = lazily(
    r"secret(?!ar)|hidden|answer|needle|pass ?(?:code|word|phrase)|\bpins?\b"
    r"|(?:access|launch|entry|vault|code)[ -]?(?:code|word)"
    r"|in question|geheim|gesucht|antwort|antwoord|secre(?!tar)|repons"
    r"|respue|respos|segret|rispos|ocult|nascost|cache|hemlig|hemmelig|svar|tajn|ukryt|odpow|gizli|cevap|секрет|тайн|ответ"
    r"|скрыт|таємн|відпов|秘密|答|正解|비밀|답|उत्तर|गुप्त|ลับ|ตอบ|סוד|תשוב|سر|جواب"
)
"""What replies call the thing that was asked for; stems match every inflected form."""
_POINTS = lazily(
    r"\b(?:it|that|this|these|es|das|dies|c'est|ce|celle|eso|isso|dit|det|это|says?|reads?|states?|gives?|names?"
    r"|i|we|he|she|they|my)\b|[これそ这它是이그]"
)
"""Words that refer to what another sentence asks for."""
_CONTRAST = lazily(rf"\W*(?:{denials.CONTRASTS})")
_THAT_IS = lazily(r"\W*(?:and |so )?(?:that|this|it)(?:'s| is) ")
_NEAR: Final = 3
_FEW: Final = 3
_DIGIT = lazily(r"\d")
_EASY = lazily(r"\b(?:easy|simple|straightforward) to \w+")
_COPULAS = (
    "is|was|are|were|be|equals?|answer|says?|reads?|names|gives|choose|pick|select|est|es|ist|lautet|er|ar|je|jest"
)
_BECOMES = r"(?:replaced|superseded) by|(?:changed|corrected|updated|amended|renamed)(?: from .{1,40})? to"
_SURELY = "exactly|just|simply|thus|therefore|probably|likely|also|now|really|actually|about|in fact|indeed|clearly"
_STATED = lazily(
    rf"(?:(?<!there )\b(?:{_COPULAS})|\b(?:it|that|this|here|what|which|answer|secret|number|code|word|one)'s"
    rf"|[:=→]|->|是|为|為|は|は、|{_BECOMES})"
    rf"(?: (?:the|an?|number|value|definitely|certainly|surely|still|only|(?:given|stated) as|{_SURELY}))*"
    r"[\s\"'()\[\]{*_`]{0,8}(?:\\boxed\{)?$"
    r"|^\W*(?:and |but )?(?:later|then|next|afterwards|subsequently|so|thus|hence|therefore)(?: it says)? *$"
)
_SUBJECT = lazily(
    r"[\"'*)\]_`]*,? (?:is|was)(?: (?:indeed|clearly|definitely|probably|likely))?"
    r"(?: (?:marked|labell?ed|designated|identified|named|called|described|given|stated|flagged)(?: as)?)?"
    r"(?: (?:the|my|your))?(?: \w+)?"
    r" (?:secret|correct|right|answer|hidden|final)\b"
)
_IS = (
    r"(?:(?:must|seems? to|appears? to) be|looks like|is|was|being|ist|war|est|etait|es|era|e|er|ar|on|jest|это"
    r"|[—–-]+ это|c'est|das ist)"
    r"(?: used| \w+ly)*"
)
_DENOTES = (
    r"(?:is|are) (?:for|from|about|due)|(?:refer|correspond|relate|belong)s? to|represents?|denotes?|stands? for|means?"
    r"|indicates?|counts?|bezieht sich auf|entspricht|steht fur|gehort zu|correspond(?:e|en)?|represent[ea]|rappresenta"
    r"|indica|designe|pertenece|appartient|hoort bij|verwijst|staat voor|обозначает|означает|относится|соответствует"
)
_ARTICLE = (
    r"only|just|merely|simply|nur|the|an?|its|their|my|your|his|her|der|die|das|eine?|le|la|un[ae]?|el|il|lo|o|um|uma"
    "|de|het|een|den|det|ett?"
)
_KNOWN_NOUN = (
    r"(?:(?:\w+-digit|mentioned|given|named|stated|same|main|only|one|actual|real|true|magic|special|mystery|unique|best|\w+ed)"
    r" )*(?:numbers?|value|figure|digits?|pin|one|needle|guess|reading|former|latter|first|second|last"
    r"|numero|nombre|zahl|nummer|getal|tal|kod"
    r"|(?!(?:zip|postal|area|bar|country|error|dress)\b)(?:\w+ )?(?:code|passcode))\b"
    r"(?! (?:of|de|des|der|del|di|da|af|av|van)\b)"
)
_OTHER_THING = lazily(
    rf"[\"')]*,? (?:(?:which|that|che|que|qui|co)(?: i \w+)? )?"
    rf"(?:{_DENOTES}|(?:{_IS}) (?:when|where|how)|(?:{_IS})(?: (?:{_ARTICLE})\b)++"
    rf"|(?<!, )as(?: (?:{_ARTICLE})\b)++|(?:\w+ ){{1,5}}(?:as|als|comme|como|come|как|som)(?: (?:{_ARTICLE}|part)\b)*+)"
    rf" (?!{_KNOWN_NOUN})\w|[是为為は은는]"
)
_OF_OTHER_THING = lazily(
    r"\b(?:the|an?) (?!(?:secret|answer|code|password|combination|word|name)\b)\w+ of (?!the\b)[^.;:!?\n]{1,40}?"
    r"(?:,|,? (?:which )?(?:is|was|were|=)) $"
)
_THAT_OTHER_THING = lazily(
    r"\W*(?:(?:but|and|aber|actually|however|on reflection),? )*"
    r"(?:it(?=')|that(?=')|(?:it|this|that|das|dies|esto|eso|isso|questo|dat|det|это|to) )"
    rf"(?:'s|{_IS})(?: aber| however)?(?: (?:{_ARTICLE})\b)++ (?!{_KNOWN_NOUN})\w"
)
"""A number that a reply calls another thing: any noun, except the few that can name the answer."""
_IF, _THEN = lazily(r"\W*if\b"), lazily(r"\W*(?:then|otherwise|it's|it is)\b")
_CONCEDES = lazily(r"\W*(?:although|though|while|whereas|despite|in spite of)\b")
_POSSIBLE = lazily(r"\b(?:would|could|might|may|should)\b(?! (?:say|guess|go|be called|mention))")
_MAY_BE = lazily(r"\b(?:could|might|may)(?: also| well)? be\b")
_MENTIONS = lazily(r"\b(?:mentions?|mentioned|refers? to|discuss\w*|talks? about)\b")
_ONLY_MENTIONED = lazily(
    r"[\"')]* (?:(?:is|was|are|were|gets|does) )?(?:\w+ly |also )?"
    r"(?:mention|nam|list|cit|discuss|describ|refer|show|appear|occur)\w*"
)
MEDIUM: Final = (
    "pages?|scans?|print|ink|text|images?|document|handwriting|resolution|quality|picture|photo|context|writing|rest"
)
_GIVES_WAY = lazily(r"\W*(?:but|however|yet|whereas|while)\b")
_OF_LEGIBILITY = lazily(rf"\W*\w+,? (?:(?:the|its|this|that) (?:{MEDIUM})|only|i)\b")
_BESIDE = lazily(r"\b(?:others?|another|also|candidates?|options?|possib\w+)\b")


class Clauses:
    """The clauses of `text` from `containment.read`; a `secret` isn't a number that the text calls another thing."""

    def __init__(self, text: str, mentions: Sequence[int], *, secret: bool = True) -> None:
        self.text = text
        self._secret = secret
        lower = text.lower()
        if "?" in lower or ", as " in lower:
            lower = _ASIDE.sub(lambda aside: ("." if aside[0][-1] == "?" else " ").ljust(len(aside[0])), lower)
        self._lower = lower if len(lower) == len(text) else text
        self._may_be_several = len(_MAY_BE.findall(self._lower)) > 1
        self._starts = [0]
        self._ends: list[int] = []
        for mark in _BREAK.finditer(self._lower):
            short = mark["label"] and len(self._lower[self._starts[-1] : mark.start()].split()) <= _LABEL_WORDS
            if (short and not _NOT_LABEL.match(self._lower, self._starts[-1])) or mark["exception"]:
                continue
            self._starts.append(mark.start() if mark["contrast"] else mark.end())
            if mark["end"]:
                self._ends.append(mark.end())
        self._one_sentence = not self._ends or not _WORD.search(self._lower, self._ends[0])
        self.nowhere = self._finds_none(mentions)
        """The end of the last clause that says the answer isn't there; 0 without one."""
        self._names_topic = self.nowhere > 0 or _TOPIC.search(self._lower) is not None

    def stands_by(self, start: int, end: int, until: int) -> bool:
        """Whether the text means its mention at [start, end); reads on up to `until`, the next mention."""
        before, after = self._clause_before(start), self._lower[end : min(self._next_start(end), until, end + _REACH)]
        stated = self.states(start, end)
        declared = _STATED.search(before) is not None
        return not (
            denies(before)
            or denials.SUPPOSES.search(denials.SURE.sub(" ", before))
            or self._is_conditional(start, end, before, after)
            or denials.LENT.search(before)
            or denials.LENT_NEXT.search(before, max(0, len(before) - _NEXT))
            or self._gives_way(start, end, before, after, stated)
            or _denies_before(after, declared)
            or self._is_question(end)
            or (self._secret and self._is_other_thing(start, end))
            or self._is_withdrawn(end, until, stated)
        )

    def states(self, start: int, end: int) -> bool:
        """Whether [start, end) is stated ("is 7421", "Answer: 7421", "7421 is the secret"), not only mentioned."""
        before = self._clause_before(start)
        if _BESIDE.search(before):
            return False
        label = self._lower[max(self.sentence(start), start - _REACH) : start].rstrip(_ENCLOSING)
        labelled = label.endswith(":") and (_TOPIC.search(label) or _POINTS.search(label))
        return bool(_STATED.search(before) or self.is_subject(start, end) or labelled)

    def speaks_of_topic(self, start: int, end: int) -> bool:
        """Whether the sentence around [start, end) names what was asked for, or contains only this mention."""
        first = max(self.sentence(start), start - _REACH)
        sentence = f"{self._lower[first:start]} {self._rest_of_sentence(end)}"
        return _TOPIC.search(sentence) is not None or self.is_subject(start, end)

    def says_absent(self) -> bool:
        """Whether a field says that an answer is missing ("found: false"), and no field says that there is one."""
        no, yes = denials.VERDICTS
        return no.search(self._lower) is not None and yes.search(self._lower) is None

    def _finds_none(self, mentions: Sequence[int]) -> int:
        """The end of the last clause that denies the answer; "the secret isn't Prague, but Oslo" is not one."""
        past = 0
        for start, stop in pairwise((*self._starts, len(self._lower))):
            clause = self._lower[start : min(stop, start + _REACH)].strip()
            if (
                (_TOPIC.search(clause) or denials.ABSENT_AS_SUCH.search(clause))
                and not _DIGIT.search(clause)
                and not (denials.OTHERS.search(clause) or denials.NOT_SECRET.match(clause))
                and (
                    denials.NOTHING.search(clause) or (denies(clause) and not self._is_followed(start, stop, mentions))
                )
            ):
                past = stop
        return past

    def _is_followed(self, start: int, stop: int, mentions: Sequence[int]) -> bool:
        """Whether one of `mentions` is in the clause at [start, stop) or later in its sentence, and isn't absent."""
        if denials.ABSENT.search(_EASY.sub(" easy ", self._lower[start:stop])):
            return False
        return bisect_left(mentions, start) < bisect_left(mentions, stop + len(self._rest_of_sentence(stop)))

    def is_subject(self, start: int, end: int) -> bool:
        """Whether [start, end) is alone on its line, or the subject of "Oslo is the secret"."""
        return _SUBJECT.match(self._lower, end) is not None or self._is_alone(start, end)

    def answers(self, start: int, end: int) -> bool:
        """Whether [start, end) is in a place for an answer.

        These are a statement, a clause that names or refers to what was asked for or has few other words, the words
        after a question or a correction, and all of a reply of one sentence that doesn't name what was asked for.
        """
        first = max(self.sentence(start), start - _REACH)
        text = f"{self._lower[first:start]} {self._rest_of_sentence(end)}"
        asked = "?" in self._lower[max(0, first - _FEW) : first]
        if asked or denials.CORRECTS.search(self._lower, first, start) or len(text.split()) < _FEW:
            return True
        if not self._names_topic:
            return self._one_sentence or _POINTS.search(text) is not None or self.states(start, end)
        before = self._clause_before(start)
        if not (
            self.states(start, end) or _CONTRAST.match(before) or self._lower[end : end + 2].lstrip()[:1] in (",", "(")
        ):
            stop = self._next_start(end)
            text = before + self._lower[end : self._next_start(stop + 1) if stop <= end + _NEAR else stop]
        return bool(_TOPIC.search(text) or _POINTS.search(text)) or len(text.split()) < _FEW or self._is_taken_up(end)

    def _is_taken_up(self, end: int) -> bool:
        """Whether the next clause calls the mention the answer: "so that's the secret"."""
        at = self._next_start(end)
        return _THAT_IS.match(self._lower, at) is not None and _TOPIC.search(self._lower, at, at + _NEXT) is not None

    def sentence(self, at: int) -> int:
        """The start of the sentence that contains `at`."""
        index = bisect_right(self._ends, at)
        return self._ends[index - 1] if index else 0

    def _clause_before(self, start: int) -> str:
        while start and self._lower[start - 1] in _ENCLOSING:
            start -= 1
        clause = self._starts[max(0, bisect_right(self._starts, start) - 1)]
        if _CONTINUES.match(self._lower, clause):
            clause = self.sentence(clause)
        return self._lower[max(clause, start - _REACH) : start] + " "

    def _next_start(self, at: int) -> int:
        index = bisect_left(self._starts, at)
        return self._starts[index] if index < len(self._starts) else len(self._lower)

    def _is_other_thing(self, start: int, end: int) -> bool:
        """Whether the text calls a number another thing than was asked for: "7421 is the number of pages"."""
        if not self._lower[end - 1].isdecimal():
            return False
        stop = self._next_start(end)
        match = _OTHER_THING.match(self._lower, end, end + _REACH) or (
            not self.states(start, end) and _THAT_OTHER_THING.match(self._lower, stop, stop + _REACH)
        )
        if not (match or _OF_OTHER_THING.search(self._lower, max(self.sentence(start), start - _REACH), start)):
            return False
        stop = self._next_start(match.end() if match else end)
        further = self._next_start(stop + _NEAR)
        if _GIVES_WAY.match(self._lower, stop) and not denies(self._lower[stop:further]):
            stop = further
        return not _TOPIC.search(self._clause_before(start) + self._lower[end : min(stop, end + _REACH)])

    def _is_question(self, end: int) -> bool:
        index = bisect_left(self._ends, end)
        stop = self._ends[index] if index < len(self._ends) else 0
        return stop > 0 and self._lower[stop - 1] in "?؟" and not _AGREES.match(self._lower, stop)

    def _is_conditional(self, start: int, end: int, before: str, after: str) -> bool:
        """Whether a condition in its sentence, before or after it, applies to the mention."""
        sentence = self._lower[max(self.sentence(start), start - _REACH) : start]
        if _THEN.match(before) and _IF.match(denials.SURE.sub(" ", sentence)):
            return True
        if not (denials.DEPENDS[0].search(before) or denials.DEPENDS[0].search(after)):
            return False
        rest = sentence + self._rest_of_sentence(end)
        return denials.DEPENDS[1].search(denials.SURE.sub(" ", rest)) is not None

    def _gives_way(self, start: int, end: int, before: str, after: str, stated: bool) -> bool:
        """Whether another clause outweighs a mention that is only mentioned, conceded or possible."""
        if not stated and _CONCEDES.match(before):
            return not _CONCEDES.match(self._lower, self.sentence(start)) or "," in self._rest_of_sentence(end)
        stop = self._next_start(end)
        contrasted = _GIVES_WAY.match(self._lower, stop) is not None
        if _POSSIBLE.search(before):
            return contrasted or self._may_be_several
        if not contrasted or stated or _TOPIC.search(after) or _OF_LEGIBILITY.match(self._lower, stop):
            return False
        return _MENTIONS.search(before) is not None or _ONLY_MENTIONED.match(after) is not None

    def _rest_of_sentence(self, end: int) -> str:
        index = bisect_left(self._ends, end)
        stop = self._ends[index] if index < len(self._ends) else len(self._lower)
        return self._lower[end : min(stop, end + _REACH)]

    def _is_withdrawn(self, end: int, until: int, stated: bool) -> bool:
        at = self._next_start(end)
        sentence = bisect_left(self._ends, end)
        for _ in range(_FOLLOWING):
            stop = min(self._next_start(at + 1), at + _REACH)
            if at >= len(self._lower) or stop > until:
                return False
            clause = self._lower[at:stop]
            if denials.WITHDRAWS.match(clause) or denials.AS_LIKELY.search(clause):
                return True
            same = bisect_right(self._ends, at) == sentence
            if same and (
                _VERB_FIRST.match(clause)
                or (_TOPIC.search(clause) and denies(clause) and not denials.OTHERS.search(clause))
            ):
                return True
            absent = denials.ABSENT_AS_SUCH if stated else denials.ABSENT
            if absent.search(clause) and denies(clause) and not denials.OTHERS.search(clause):
                return True
            at = self._next_start(at + 1)
        return False

    def _is_alone(self, start: int, end: int) -> bool:
        before = self._lower[max(0, start - _REACH) : start].rpartition("\n")[2]
        after = self._lower[end : end + _REACH].partition("\n")[0]
        if not self.sentence(start) and self._ends:
            after = after[: self._ends[0] - end]
        return not any(map(str.isalnum, before + after))


def says_plainly(text: str, start: int, end: int) -> bool:
    """Whether the text has only plain words around [start, end), as most replies do: "The secret number is 7421."."""
    if len(text) > _REACH or _MORE.search(text, end):
        return False
    return _PLAIN_WORDS.issuperset(_SIGNS.sub(" ", text[:start]).lower().split())


def denies(words: str) -> bool:
    """Whether `words` deny what follows them."""
    negated, reversals = _signs_of_denial(words)
    if negated or reversals:
        negated, reversals = _signs_of_denial(denials.HARMLESS.sub(" ", words))
    return negated != (reversals % 2 == 1)


def _signs_of_denial(words: str) -> tuple[bool, int]:
    negated = not denials.NEGATORS.isdisjoint(_WORD.findall(words)) or denials.PHRASES.search(words) is not None
    negated = negated or (not words.isascii() and denials.UNSPACED.search(words) is not None)
    return negated, len(denials.REVERSERS.findall(words))


def _denies_before(after: str, stated: bool) -> bool:
    """Whether the words `after` a mention deny it; if it is stated, only those right after it do."""
    words = denials.HARMLESS.sub(" ", after)
    if denials.UNSPACED.search(words):
        return True
    if stated:
        words = words.lstrip(" \"')*_")
        return any(denials.DENIES_BEFORE.match(at_once) for at_once in (words, f" {words}"))
    negated = denials.DENIES_BEFORE.search(words) or denials.PHRASES.search(words)
    return negated is not None or not denials.FOLLOWING.isdisjoint(_WORD.findall(words))

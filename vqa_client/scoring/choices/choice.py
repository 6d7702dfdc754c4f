"""Read the chosen label from a reply to a multiple-choice question, or say why there is none; never guess."""

import re
from functools import lru_cache
from itertools import islice
from typing import Final

from vqa_client.scoring.choices import by_sense, by_text, undeclared
from vqa_client.scoring.choices.choice_reply import ChoiceReply, Found, Rule
from vqa_client.scoring.choices.declared import declared
from vqa_client.scoring.choices.options import WORD
from vqa_client.scoring.choices.refuted import mentioned
from vqa_client.scoring.number_words import SMALL
from vqa_client.scoring.patterns import lazily
from vqa_client.scoring.reply import Reply, reply_from
from vqa_client.scoring.wrappers import EXPLAINS
from vqa_client.types import Answer, Completion, Status

RULES: Final[tuple[Rule, ...]] = (
    Rule("declaration", declared, before="answer"),
    *undeclared.RULES,
    *by_text.RULES,
    *by_sense.RULES,
)


def read_choice(completion: Completion, choices: dict[str, str]) -> Answer:
    """Read a completion's reply as `choice_in` does."""
    return choice_in(reply_from(completion), choices)


def choice_in(reply: Reply, choices: dict[str, str]) -> Answer:
    """Return the label in `choices` that the reply commits to.

    Only an explicit declaration counts in a truncated reply, and in a reasoning field without content beside it.
    """
    text = "" if reply.status else prepared(reply.peeled, choices, cut=reply.cut)
    if not text:
        return reply.without_answer()
    if reply.source == "reasoning":
        found = declared(ChoiceReply(text, choices))
        if found is None or len(found.labels) != 1:
            return Answer(status="empty", rule="no_text")
        return Answer(text=found.labels[0], rule=found.rule, rivals=found.rivals, source="reasoning")
    own, cut, found = read(text, tuple(choices.items()), cut=reply.cut)
    if found and len(found.labels) == 1:
        rivals = tuple(filter(found.rivals.__contains__, choices))
        return Answer(text=found.labels[0], rule=found.rule, rivals=rivals)
    if not (found or cut) and reply.declines:
        return Answer(status="refused", rule="refusal")
    named = {*found.labels, *found.rivals} if found else set() if cut else mentioned(own)
    rivals = tuple(filter(named.__contains__, choices))
    ambiguous = len(rivals) > 1 if found is None else found.labels != ()
    status: Status = "ambiguous" if ambiguous else "truncated" if cut else "unparsed"
    return Answer(status=status, rule=found.rule if found else "", rivals=rivals)


@lru_cache(maxsize=8)
def read(text: str, choices: tuple[tuple[str, str], ...], *, cut: bool) -> tuple[ChoiceReply, bool, Found | None]:
    """Return the part that answers this question, whether it is truncated, and what the first rule finds in it.

    That part ends at the first question that the model invents after its answer; in a truncated reply, also at the
    heading of an explanation. Cached for the next metric of the same reply.
    """
    whole = ChoiceReply(text, dict(choices), cut=cut)
    for at in (*_ends_of_answer(whole, cut=cut), len(text)) if "\n" in text else (len(text),):
        own = whole if at == len(text) else ChoiceReply(text[:at].rstrip(), dict(choices))
        for rule in RULES[:1] if cut and own is whole else RULES:
            if (result := rule.find(own)) is not None:
                found = rule.found(result)
                break
        else:
            continue
        if own is whole:
            return whole, cut, found
        if len(found.labels) == 1 and rule.before and (rule.before == "answer" or not _restates_choices(whole, at)):
            return own, False, found
    return whole, cut, None


_LAST_ARTICLE: Final = lazily(r"(?<=\w) ([aeiouy])\Z")
"""The last word of a truncated reply; without its noun it isn't a label, unless labels are written in lower case."""
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_PLACES: Final = {**SMALL, **{word: place for place, word in enumerate(_ORDINALS, 1)}}
_PLACE: Final = rf"(?:(?i:{'|'.join(_ORDINALS)})|last|\d{{1,2}}(?:st|nd|rd|th))"
_BY_PLACE = lazily(
    rf"(?:(?:\A|\b[Tt]he )(?P<ordinal>{_PLACE}) (?P<noun>option|choice|alternative|image|picture|figure)"
    rf"|(?P<verb>\A|\b(?:pick|choose|select|is|be) )[Tt]he (?P<alone>{_PLACE})(?: one)?(?=[.!]?\Z)"
    r"|\b(?:[Oo]ption|[Cc]hoice) (?P<number>\d{1,2}|"
    rf"{'|'.join(SMALL)}))\b"
    r"(?! (?:of|that|to)\b|[.,]\d)"
)
_RANKED = lazily(rf"\b(?:(?i:{_PLACE})|[1-9]|[IVX]{{2,4}})\b(?!\.\d)")
"""A rank in a choice's own text, which a bare "the second" may mean: "2nd floor", "the second", "World War II"."""
_POINTED = lazily(
    r"(?:←|⬅|<-{1,2}) ?(?:this is )?(?:the )?(?:correct|right|answer|this one)(?: (?:answer|one|option|choice))?[.!]?$",
    re.IGNORECASE | re.MULTILINE,
)
"""An arrow to the right choice of a list; it is read as a tick."""
_IMAGE = lazily(r"<?image (\d{1,2})>?", re.IGNORECASE)
_PLACE_NAME: Final = r"(?:New|North|South|East|West|NEW|NORTH|SOUTH|EAST|WEST) (?P<name>[^\W\d_a-z][^\W\d_]+)\b"
_OTHER_KIND: Final = (
    "(?:hot|corn|chili|prairie) dog|(?:sea|mountain) lion|guinea pig|sea horse|(?:jelly|star) fish|pine apple"
    "|prickly pear|cable car|ice cream|peanut butter"
)
_LONGER_NAME = lazily(rf"\b(?:{_PLACE_NAME}|(?i:(?:{_OTHER_KIND})s?)\b)")
"""Another place than its last word ("New London"), or another kind of thing than its last word ("a hot dog")."""


def prepared(text: str, choices: dict[str, str], *, cut: bool) -> str:
    """Prepare a peeled text: labels replace ordinals, and longer names that contain a choice become one word."""
    text = _with_names_joined(_POINTED.sub("✓", _with_labels(text, choices)), choices)
    if cut and (article := _LAST_ARTICLE.search(text)) and article[1] not in choices:
        return text[: article.start()]
    return text


def _with_labels(text: str, choices: dict[str, str]) -> str:
    """Replace ordinals: "option B" for "the second option", "image 2" for "the second image"."""
    if not _BY_PLACE.search(text):
        return text
    labels = tuple(choices)
    images = {label: match[1] for label, own in choices.items() if (match := _IMAGE.fullmatch(own.strip()))}
    numbered = any(label.isdecimal() for label in labels) or any(
        (place := _BY_PLACE.search(own)) and not place["alone"] for own in choices.values()
    )
    ranked = any(map(_RANKED.search, choices.values()))

    def label_of(place: re.Match[str]) -> str:
        ordinal = (place["number"] or place["ordinal"] or place["alone"]).lower()
        number = len(labels) if ordinal == "last" else _PLACES.get(ordinal)
        number = int(ordinal.rstrip("stndrh")) if number is None else number
        if place["noun"] in ("image", "picture", "figure"):
            return f"image {number}" if len(images) == len(labels) else place[0]
        known = 0 < number <= len(labels) and not (numbered or (place["alone"] and ranked))
        return f"{place['verb'] or ''}option {labels[number - 1]}" if known else place[0]

    return _BY_PLACE.sub(label_of, text)


def _with_names_joined(text: str, choices: dict[str, str]) -> str:
    """Write "New_London" and "hot_dog", so that no rule finds London or dog in it, unless a choice has that name."""
    if not _LONGER_NAME.search(text):
        return text
    owned = [own.casefold() for own in choices.values()]
    places = {own.casefold() for own in choices.values() if own.istitle()}

    def joined(match: re.Match[str]) -> str:
        name = match[0].casefold()
        is_other = match["name"] is None or (match["name"].casefold() in places and name.split()[0] not in places)
        return match[0].replace(" ", "_") if is_other and not any(name in own for own in owned) else match[0]

    return _LONGER_NAME.sub(joined, text)


BREAKS_TRIED: Final = 4
"""Further questions to look at; the first may restate this one."""
LINES_READ: Final = 200
_HEADS: Final = (
    r"question|problem|exercise|example|instruction|input|prompt|query|context|passage|user|human|student|system|hint"
    r"|frage|pregunta|pergunta|domanda|вопрос|问题|問題|题目|題目|用户|質問|질문|문제|सवाल|प्रश्न|سؤال"
)
_BREAK = lazily(
    rf"^[^\w\n]{{0,8}}(?:(?:next|new|another|second|follow-up|the next) )?"
    rf"(?:(?:{_HEADS}) ?#?\d{{0,3}}[^\w\n]{{0,2}}(?:[:：.]|$)|q ?\d{{0,3}}[\x03]? ?[:.])"
    r"|(?<=[.!?)] )q(?:uestion)? ?\d{0,3}:"
    r"|^\W{0,8}(?:(?:now|next|then|moving)\b[, ]{1,2})?(?:for|on to|to) (?:the )?"
    r"(?:(?:next|second|following) (?:question|problem)|(?:question|problem) ?#?\d{1,3})\b"
    r"|(?<=\n)(?:\d{1,3}[\x03]?[.)] |(?:what|which|who|where|when|how)\b)[^\n]{4,300}\?(?=[^\w\n]*$)",
    re.MULTILINE,
)
_ITEM = lazily(r"^[^\w\n]{0,4}([A-J])[ \x03]?[).:][ \x02]{1,2}(\w[^\n]{0,60})$", re.MULTILINE)
_JUDGED = lazily(r"\b(?:is|are|was|not|no|does|can|correct|incorrect|wrong|right|true|false|because|since|too)\b|[=?]")


def _restates_choices(reply: ChoiceReply, at: int) -> bool:
    """Whether the text from `at` on has choices of this question: it restates the question and invents none."""
    rest = reply.lower[at:]
    return sum(len(own) > 1 and own in rest for own in reply.texts.folded.values()) > 1


def _ends_of_answer(reply: ChoiceReply, *, cut: bool) -> list[int]:
    """Where another question may begin: at its heading, or at a list of choices that this question doesn't have.

    In a truncated reply, also where the explanation begins.
    """
    starts = {match.start() for match in islice(_BREAK.finditer(reply.lower), BREAKS_TRIED)}
    items = [item for item in islice(_ITEM.finditer(reply.text), LINES_READ) if _is_foreign(reply, item)]
    if len({item[1] for item in items}) > 1:
        starts.add(items[0].start())
    if cut and (explains := EXPLAINS.search(reply.lower)):
        starts.add(explains.start())
    return sorted(starts - {0})[:BREAKS_TRIED]


def _is_foreign(reply: ChoiceReply, item: re.Match[str]) -> bool:
    """Whether a list item shares no word with the choice of its label and doesn't judge it."""
    text = item[2].lower()
    own = reply.texts.own[item[1]] if item[1] in reply.texts.labels else ""
    return not _JUDGED.search(text) and not {*WORD.findall(text)} & {*WORD.findall(own)}

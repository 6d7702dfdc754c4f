"""What of a reply is read for a choice: its own answer, before any further question that it invents."""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from vqa_client.scoring.choices.by_text import contained_text, exact_text, leading_text, said_otherwise
from vqa_client.scoring.choices.declared import declared
from vqa_client.scoring.choices.grammar import ChoiceReply, Found, reply_of
from vqa_client.scoring.choices.undeclared import bracketed, emphasised, leading_label, predicate
from vqa_client.scoring.patterns import lazily
from vqa_client.scoring.reply import Reply

_ARTICLE: Final = lazily(r"(?<=\w) ([aeiouy])\Z")
"""The last word of a reply that was cut off: its noun is missing, and it is no label but where labels are small."""

BREAKS_TRIED: Final = 4
"""Further questions that are looked at: the first may be the reply's own, restated."""
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
_SAID: Final = (declared, exact_text, leading_label, leading_text)
_SHOWN: Final = (emphasised, bracketed, predicate, contained_text, said_otherwise)
"""Rules that find an answer in what may only lead up to the question."""
_WORD = lazily(r"\w+")


_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_NUMBERS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_BY_PLACE = lazily(
    rf"(?:(?:\A|\b[Tt]he )(?P<ordinal>(?i:{'|'.join(_ORDINALS)})|last|\d{{1,2}}(?:st|nd|rd|th)) "
    r"(?P<noun>option|choice|alternative|image|picture|figure)|\b(?:[Oo]ption|[Cc]hoice) (?P<number>\d{1,2}|"
    rf"{'|'.join(_NUMBERS)}))\b"
    r"(?! (?:of|that|to)\b|[.,]\d)"
)
_IMAGE = lazily(r"<?image (\d{1,2})>?", re.IGNORECASE)


def by_letter(text: str, choices: dict[str, str]) -> str:
    """The text with names for places: "option B" for "the second option", "image 2" for "the second image"."""
    if not _BY_PLACE.search(text):
        return text
    labels = tuple(choices)
    images = {label: found[1] for label, own in choices.items() if (found := _IMAGE.fullmatch(own.strip()))}
    numbered = any(label.isdecimal() for label in labels) or any(map(_BY_PLACE.search, choices.values()))

    def named(place: re.Match[str]) -> str:
        said = (place["number"] or place["ordinal"]).lower()
        number = len(labels) if said == "last" else _number(said)
        if place["noun"] in ("image", "picture", "figure"):
            return f"image {number}" if len(images) == len(labels) else place[0]
        return f"option {labels[number - 1]}" if 0 < number <= len(labels) and not numbered else place[0]

    return _BY_PLACE.sub(named, text)


def _number(said: str) -> int:
    words = next((words for words in (_ORDINALS, _NUMBERS) if said in words), None)
    return words.index(said) + 1 if words else int(said.rstrip("stndrh"))


def own_reply(text: str, choices: dict[str, str]) -> ChoiceReply:
    """The reply up to the first further question that it invents after an answer; all of it where there is none."""
    reply = reply_of(text, choices)
    for at in islice(_breaks(reply), BREAKS_TRIED) if "\n" in text else ():
        head = reply_of(text[:at].rstrip(), choices)
        if at and (_gives_one(head, _SAID) or (_gives_one(head, _SHOWN) and not _restates(reply, at))):
            return head
    return reply


def _gives_one(reply: ChoiceReply, rules: tuple[Callable[[ChoiceReply], Found | None], ...]) -> bool:
    found = next(filter(None, (rule(reply) for rule in rules)), None)
    return found is not None and len(found.labels) == 1


def _restates(reply: ChoiceReply, at: int) -> bool:
    """Whether the question at `at` has choices of this one: the reply's own, restated."""
    rest, owned = reply.lower[at:], [reply.texts.own[label] for label in reply.texts.labels]
    return sum(len(own) > 1 and own in rest for own in owned) > 1


def _breaks(reply: ChoiceReply) -> Iterator[int]:
    """Where another question may begin, in order: at its heading, or at a list of other choices than this one's."""
    foreign = _foreign_list(reply)
    for found in _BREAK.finditer(reply.lower):
        if foreign and foreign < found.start():
            yield foreign
            foreign = 0
        yield found.start()
    if foreign:
        yield foreign


def _foreign_list(reply: ChoiceReply) -> int:
    """Where a list of other choices than the question's begins; 0 where there is none."""
    items = [item for item in islice(_ITEM.finditer(reply.text), LINES_READ) if _foreign(reply, item)]
    return items[0].start() if len({item[1] for item in items}) > 1 else 0


def _foreign(reply: ChoiceReply, item: re.Match[str]) -> bool:
    said = item[2].lower()
    own = reply.texts.own[item[1]] if item[1] in reply.texts.labels else ""
    return not _JUDGED.search(said) and not {*_WORD.findall(said)} & {*_WORD.findall(own)}


def text_read(reply: Reply, choices: dict[str, str]) -> str:
    """The plain text in which a choice is looked for."""
    text = "" if reply.status else by_letter(reply.peeled, choices)
    if reply.cut and (article := _ARTICLE.search(text)) and article[1] not in choices:
        return text[: article.start()]
    return text

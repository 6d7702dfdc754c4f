"""How a benchmark takes a reply to an answer: readings of ours, and the published readers beside which they stand.

A reading of ours gets the reply as it was read once for all benchmarks: thoughts, wrappers and refusals are dealt with.
A published reader gets the reply as it came.
"""

import re
from collections.abc import Callable
from typing import Final

from vqa_client.scoring.polarity import polarity
from vqa_client.scoring.reply import Reply
from vqa_client.scoring.vqa_normalise import without_marks
from vqa_client.types import Answer, Question

Parse = Callable[[Reply, Question], Answer]
Read = Callable[[str, Question], str | None]

_SHORT_WORDS: Final = 12
_LEAD = re.compile(
    r"(?:^|[.\n]\s*)(?:(?:so|therefore|thus|hence),?\s+)?(?:the\s+)?(?:(?:final|correct|short)\s+)?answer\s*(?:is\s*:?|:)\s*"
    r"(?P<answer>[^\n]+)",
    re.IGNORECASE,
)
_FIRST_SENTENCE = re.compile(r"[^.]*")
_STOP_BETWEEN_WORDS = re.compile(r"(?<!\d)\.(?!\d)")


def whole_reply(reply: Reply, question: Question) -> Answer:
    """Everything that was said; a cut reply has no answer."""
    del question
    if reply.declines:
        return Answer(status="refused", rule="refusal")
    if reply.cut:
        return Answer(status="truncated", rule="cut")
    return Answer(text=reply.text, rule="whole_reply", source=reply.source)


def short_answer(reply: Reply, question: Question) -> Answer:
    """What is declared last ("The answer is 14"), else everything that was said."""
    declared = ""
    for found in _LEAD.finditer(reply.text):
        declared = found["answer"].strip().rstrip(".") or declared
    if declared:
        return Answer(text=declared, rule="declaration", source=reply.source)
    return whole_reply(reply, question)


def yes_no(reply: Reply, question: Question) -> Answer:
    """ "yes" or "no", by whole words; a reply that says neither or both is unparsed."""
    del question
    said = polarity(reply.text)
    if said is None:
        return Answer(status="unparsed", rule="no polarity", source=reply.source)
    return Answer(text=said, rule="polarity", source=reply.source)


def verbatim(reply: str, question: Question) -> str:
    """The reply as it came."""
    del question
    return reply


def pope_yes(reply: str, question: Question) -> str:
    """POPE's own reader: "no" where the first sentence has the word No, not or no, else "yes".

    Source: evaluate.py of AoiDragon/POPE.
    """
    del question
    found = _FIRST_SENTENCE.match(reply)
    words = (found[0] if found else "").replace(",", "").split(" ")
    return "no" if any(word in ("No", "not", "no") for word in words) else "yes"


def yorn(reply: str, question: Question) -> str | None:
    """VLMEvalKit's reader: "yes" or "no" where one word of the two is there and the other isn't."""
    del question
    words = without_marks(reply.lower(), _STOP_BETWEEN_WORDS).split()
    yes, no = "yes" in words, "no" in words
    return None if yes == no else "yes" if yes else "no"

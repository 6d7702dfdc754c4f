"""Read letters of choices from replies that give an explanation, or the letter of one, after the answer's letter."""

import re

from msgspec.structs import replace

from vqa_client.scoring.choices.choice import choice_in, read_choice
from vqa_client.scoring.choices.options import texts_of
from vqa_client.scoring.explained_answer.separator import MARKS, Parts, split, take_apart
from vqa_client.scoring.reply import Reply, reply_from
from vqa_client.types import Answer, Completion

_LETTER = re.compile(r"\W*(?:(?:the )?answer(?: is|:)?\W*)?(?:[a-z]\b\W+)?", re.IGNORECASE)
_PAIR = re.compile(r"\W*(?P<answer>[A-Z])\W{0,4}(?:and\W{1,4})?(?P<reason>[A-Z])\W*")
_REASON = re.compile(
    r"\b(?:reason|rationale|explanation)\b"
    r"(?=\W{0,4}:|\W{1,4}(?:is|that fits|which fits)\b|\W{1,4}(?-i:[A-Z])\b)",
    re.IGNORECASE,
)


def read_letter(reply: Reply, choices: dict[str, str]) -> Answer:
    """The letter before the separator and the explanation after it; a choice's own "because" separates nothing."""
    parts = take_apart(reply)
    if isinstance(parts, Answer) and parts.status != "unparsed":
        return parts
    parts = _after_own_text(reply, choices) or parts
    if isinstance(parts, Answer):
        return replace(choice_in(reply, choices), rationale=parts.rationale)
    if parts.explicit:
        before = _letter(parts.head, choices)
        if before.status != "unparsed":
            return replace(before, rationale=parts.rationale)
    return replace(choice_in(reply, choices), rationale=parts.rationale if parts.rule != "sentence" else None)


def read_reason(reply: Reply, reasons: dict[str, str]) -> Answer:
    """The letter of a reason, whose text is the explanation; "the reason is D" is read as "the answer is D" is."""
    asked = _REASON.sub("answer", reply.raw)
    answer = read_letter(reply_from(replace(reply.completion, text=asked)), reasons)
    if answer.text is None and asked != reply.raw:  # both letters may be there, and the words of the reason's own
        answer = read_letter(reply, reasons)
    return replace(answer, rationale=reasons.get(answer.text or ""))


def _after_own_text(reply: Reply, choices: dict[str, str]) -> Parts | None:
    """The parts of a reply that quotes a choice with a "because" in it, with or without its letter before."""
    if not any("because" in text.lower() for text in choices.values()):
        return None
    text = reply.peeled.translate(MARKS)
    opening = _LETTER.match(text)
    at = opening.end() if opening else 0
    labels, length = texts_of(tuple(choices.items())).at_start(text[at:].lower())
    if len(labels) != 1 or "because" not in choices[labels[0]].lower():
        return None
    rest = split(text[at + length :])
    return Parts(head=text[: at + length], rationale=rest.rationale, rule="because", explicit=True)


def read_two_letters(reply: Reply, answers: dict[str, str], rationales: dict[str, str]) -> Answer:
    """The answer's letter and the rationale's, as `B because G`; the rationale's text is the explanation.

    Both sets have letters of their own, so that each can be looked for in the whole reply where nothing separates them.
    """
    parts = take_apart(reply)
    if isinstance(parts, Answer) and parts.status != "unparsed":
        return parts
    missing: Answer | None = None
    for each in (parts, split(reply.visible), None):  # wrappers may stand around both letters, or around each
        first, second = _halves(each, reply, answers, rationales)
        if first.text and second.text:
            return Answer(text=two_letters(first.text, second.text), rule=first.rule, rationale=rationales[second.text])
        missing = missing or (second if first.text else first)
    assert missing is not None
    return Answer(status=missing.status, rule=missing.rule, rivals=missing.rivals)


def _halves(
    parts: Parts | Answer | None, reply: Reply, answers: dict[str, str], rationales: dict[str, str]
) -> tuple[Answer, Answer]:
    """The answer and the rationale that parts of a reply give, or that the whole of it does where none divide it."""
    if isinstance(parts, Parts) and not parts.rationale and (pair := _PAIR.fullmatch(parts.head)):
        return _letter(pair["answer"], answers), _letter(pair["reason"], rationales)
    if isinstance(parts, Parts) and parts.explicit and parts.rationale:
        reason = Completion(text=_REASON.sub("answer", parts.rationale), finish_reason=reply.completion.finish_reason)
        return _letter(parts.head, answers), read_choice(reason, rationales)
    return choice_in(reply, answers), choice_in(reply, rationales)


def _letter(text: str, choices: dict[str, str]) -> Answer:
    return read_choice(Completion(text=text, finish_reason="stop"), choices)


def two_letters(answer: str, rationale: str) -> str:
    """Name an answer and a rationale by their letters."""
    return f"{answer} because {rationale}"

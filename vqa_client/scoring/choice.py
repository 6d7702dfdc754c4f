"""Read the chosen label out of a reply to a multiple-choice question, or say why there is none; never guess.

`RULES` is the order of reading: the first rule that finds something decides. A declaration is a phrase of one of the
kinds in `cues.CUES` ("The answer is B"), an answer that markup sets apart (\\boxed{B}) or a line that is nothing but
the letter; of several declarations the last counts.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from vqa_client.scoring import undeclared
from vqa_client.scoring.declarations import declared
from vqa_client.scoring.reading import Found, Reply, reply_of
from vqa_client.scoring.refusal import refuses
from vqa_client.scoring.reply import Peeled, peel
from vqa_client.scoring.turns import own_reply
from vqa_client.types import Answer, Completion, Status

TRUNCATED: Final = frozenset({"length", "max_tokens", "model_length"})
_ARTICLE: Final = re.compile(r"(?<=\w) ([aeiouy])\Z")
"""The last word of a reply that was cut off: its noun is missing, and it is no label but where labels are small."""
STOPPED: Final = frozenset({"stop", "eos", "end_turn", "stop_sequence"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A way to read plain text; `explicit` rules also hold for a reply that was cut off after them."""

    name: str
    find: Callable[[Reply], Found | None]
    explicit: bool = False


def read_choice(completion: Completion, choices: dict[str, str]) -> Answer:
    """The label in `choices` that the reply commits to.

    Reasoning in a field of its own is read only where the reply is empty and the model stopped by itself, and there
    only for an explicit declaration. A reply cut off by the token limit counts only with an explicit declaration.
    """
    cut = completion.finish_reason in TRUNCATED
    if not completion.text.strip():
        return _from_reasoning(completion, choices, cut=cut)
    peeled = peel(completion.text)
    if cut and (article := _ARTICLE.search(peeled.text)) and article[1] not in choices:
        peeled = replace(peeled, text=peeled.text[: article.start()])
    reply = own_reply(peeled.text, choices)
    cut = cut and len(reply.text) == len(peeled.text)
    rules = (rule.find(reply) for rule in RULES if peeled.text and (rule.explicit or not cut))
    found = next(filter(None, rules), None)
    return _answer(found, choices, cut=cut) if found else _unread(peeled, completion, reply, cut=cut)


def _from_reasoning(completion: Completion, choices: dict[str, str], *, cut: bool) -> Answer:
    if cut:
        return Answer(status="truncated")
    if completion.finish_reason == "content_filter":
        return Answer(status="refused", rule="content filter")
    if completion.reasoning and completion.finish_reason in STOPPED:
        found = declared(reply_of(peel(completion.reasoning).text, choices))
        if found and len(found.labels) == 1:
            return Answer(text=found.labels[0], rule=found.rule, rivals=found.rivals, source="reasoning")
    return Answer(status="empty")


def _answer(found: Found, choices: dict[str, str], *, cut: bool) -> Answer:
    if len(found.labels) == 1:
        return Answer(text=found.labels[0], rule=found.rule, rivals=_ordered(found.rivals, choices))
    status: Status = "ambiguous" if found.labels else "truncated" if cut else "unparsed"
    return Answer(status=status, rule=found.rule, rivals=_ordered((*found.labels, *found.rivals), choices))


def _unread(peeled: Peeled, completion: Completion, reply: Reply, *, cut: bool) -> Answer:
    """The status of a reply that no rule could read."""
    if cut or peeled.unclosed:
        return Answer(status="truncated")
    if not peeled.text:
        return Answer(status="empty")
    if completion.finish_reason == "content_filter" or refuses(peeled.text):
        return Answer(status="refused", rule="refusal")
    rivals = _ordered(undeclared.mentioned(reply), reply.texts.labels)
    return Answer(status="ambiguous" if len(rivals) > 1 else "unparsed", rivals=rivals)


def _ordered(labels: Iterable[str], choices: Iterable[str]) -> tuple[str, ...]:
    wanted = set(labels)
    return tuple(label for label in choices if label in wanted)


RULES: Final[tuple[Rule, ...]] = (
    Rule(name="declaration", find=declared, explicit=True),
    Rule(name="exact text", find=undeclared.exact_text),
    Rule(name="tick", find=undeclared.ticked),
    Rule(name="leading label", find=undeclared.leading_label),
    Rule(name="leading text", find=undeclared.leading_text),
    Rule(name="emphasis", find=undeclared.emphasised),
    Rule(name="brackets", find=undeclared.bracketed),
    Rule(name="predicate", find=undeclared.predicate),
    Rule(name="text", find=undeclared.contained_text),
    Rule(name="paraphrase", find=undeclared.said_otherwise),
)
